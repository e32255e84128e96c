"""What every command has, and what several of them do: switching, overriding, forgetting a provider."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sized
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from pegboard.core.model.ids import (
    BuiltinKey,
    PrincipalId,
    ProviderKey,
    ServerKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
)
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.overrides.model import Override, OverrideIndex, without_fields
from pegboard.core.policy.policy import Policy, PolicyDecisions, Switch, Switchable

MAX_NAMED: Final = 20
"""Of many things that one command is about, as many are named in the activity."""
_LIST_COMMANDS: Final = {ServerKey: "See: pegboard servers list", ToolsetKey: "See: pegboard toolset list"}


class DecisionSummary(NamedTuple):
    kind: str
    about: str | None
    """The id of the tool, server or toolset; `None` where it is about none of them."""
    text: str
    """In words, without secrets: it is kept, shown and exported."""


class Command(ABC):
    """Something that a person can do to the policy."""

    __slots__ = ()

    @abstractmethod
    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        """What is decided from then on, or why it is not done."""

    @abstractmethod
    def describe(self) -> DecisionSummary:
        """What the activity tells of it."""

    def describe_by_owner(self) -> tuple[DecisionSummary, ...]:
        """What is decided of the tools of several servers is told of each of them: who asks what became of one tool
        asks by its id and by its server."""
        return (self.describe(),)

    @property
    def switch_targets(self) -> tuple[Switchable, ...]:
        """What it switches. No switch may be left of it, because that is as good as one that is on."""
        return ()

    @property
    def reopens(self) -> bool:
        """Whether it may end that callers must show tokens."""
        return False


def count_text(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def and_more(named: Sized) -> str:
    return f" and {len(named) - MAX_NAMED:,} more" if len(named) > MAX_NAMED else ""


def list_command(key: ProviderKey) -> str:
    return _LIST_COMMANDS[type(key)]


def reject_if_missing(policy: Policy, what: Switchable | ToolsetKey) -> CommandRejection | None:
    """Tools come and go, so a switch may name one that is not listed now; its server must be known."""
    match what.source if isinstance(what, ToolId) else what:
        case ServerKey() | ToolsetKey() as key:
            return None if key in policy.servers else reject_unknown_server(key)
        case BuiltinKey():
            return None
        case toolset:
            known = toolset in policy.toolsets
            return None if known else CommandRejection(f"There is no toolset {toolset!r}. {_LIST_COMMANDS[ToolsetKey]}")


def reject_unknown_server(key: ProviderKey) -> CommandRejection:
    what = f"no server {key}" if isinstance(key, ServerKey) else f"no toolset {key.toolset!r} with tools of its own"
    return CommandRejection(f"There is {what}. {list_command(key)}")


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


# A tool's own switch, and people's overrides with `enabled`. What is nearest to the tool wins: its own switch, or its
# own override, whichever was set last; where there is neither, the most specific pattern.


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
