"""A tool's own switch, and people's overrides with `enabled`: which of them holds, and what is left of the others.

One rule: what is nearest to the tool wins. That is its own switch, or its own override, whichever was set last; where
there is neither, the most specific pattern.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pegboard.core.model.ids import BuiltinKey, ProviderKey, ServerKey, ToolId, ToolsetId
from pegboard.core.overrides.model import Override, OverrideIndex, without_fields
from pegboard.core.policy.policy import PolicyDecisions, Switch, Switchable

# What was decided about what leaves the board: it leaves as well, so that nothing comes back trusted.


def forget_providers(
    decided: PolicyDecisions,
    leaves: Callable[[ProviderKey], bool],
    *,
    tools: Callable[[ToolId], bool] = lambda tool: False,
    toolset: ToolsetId | None = None,
) -> PolicyDecisions:
    """Without these providers and what was decided about them; of others, without the `tools` that are meant; and
    without the switch of the `toolset`. Overrides are another matter: they may fit what comes."""

    def is_leaving(tool: ToolId) -> bool:
        return (not isinstance(tool.source, BuiltinKey) and leaves(tool.source)) or tools(tool)

    def is_off(what: Switchable) -> bool:
        match what:
            case ToolId():
                return is_leaving(what)
            case ServerKey():
                return leaves(what)
            case _:
                return what == toolset

    return replace(
        decided,
        servers={key: server for key, server in decided.servers.items() if not leaves(key)},
        switches={what: switch for what, switch in decided.switches.items() if not is_off(what)},
        approvals={tool: approval for tool, approval in decided.approvals.items() if not is_leaving(tool)},
        consents={id: consent for id, consent in decided.consents.items() if not is_leaving(consent.tool)},
        first_seen={key: when for key, when in decided.first_seen.items() if not leaves(key)},
        trust={key: trust for key, trust in decided.trust.items() if not leaves(key)},
    )


@dataclass(frozen=True)
class SetToolSwitches:
    """All of them or none: who switches many at once has looked at them as one list."""

    tools: tuple[ToolId, ...]
    enabled: bool
    note: str = ""


def apply_switch(decided: PolicyDecisions, switch: Switch, *whats: Switchable) -> PolicyDecisions:
    """Who switches on a tool that nothing but its switch keeps off takes that back: no switch is left behind that would
    hold, unseen, against an override that comes later."""
    thrown = frozenset(whats)
    overrides = tuple(kept for row in decided.overrides if (kept := _without_switch(thrown, row)) is not None)
    every = OverrideIndex((*decided.manifest_overrides, *overrides))
    needless = {what for what in thrown if switch.is_on and isinstance(what, ToolId) and not every.disables(what)}
    switches = {**decided.switches, **dict.fromkeys(whats, switch)}
    return replace(
        decided,
        switches={what: kept for what, kept in switches.items() if what not in needless},
        overrides=overrides,
    )


def apply_override(decided: PolicyDecisions, override: Override, *, settles: Override) -> PolicyDecisions:
    rest = tuple(row for row in decided.overrides if override_key(row) != override_key(override))
    return replace(
        decided,
        overrides=(*rest, override) if override.fields_set else rest,
        switches={
            what: switch for what, switch in decided.switches.items() if not _settles(settles, frozenset({what}))
        },
    )


def override_key(override: Override) -> tuple[object, object]:
    return override.toolset, override.target


def find_override(decided: PolicyDecisions, said: Override) -> Override | None:
    return next((row for row in decided.overrides if override_key(row) == override_key(said)), None)


def _settles(override: Override, thrown: frozenset[Switchable]) -> bool:
    """One tool has one switch: whichever of its switch and its own override was set last."""
    return override.enabled is not None and override.target in thrown


def _without_switch(thrown: frozenset[Switchable], row: Override) -> Override | None:
    if not _settles(row, thrown):
        return row
    rest = without_fields(row, frozenset({"enabled"}))
    return rest if rest.fields_set else None
