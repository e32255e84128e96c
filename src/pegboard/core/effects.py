"""What comes of an override for one tool where that is not plain from its words, and above all where nothing does."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from .argument import ASPECTS
from .catalogue import Catalogue
from .ids import ToolId
from .override import EffectiveOverride, Override
from .policy import Policy
from .rules import limit_lets_it, no_declared_override_denies_it, no_pattern_denies_it, overridden_tool_of
from .server import DeclaredAt, Origin
from .status import explain_reason
from .tool import Tool


@dataclass(frozen=True, slots=True)
class OverrideEffect:
    text: str
    is_effective: bool = True
    """Whether it is in force."""
    is_misfit: bool = False
    """Whether it is told as a misfit already."""


@dataclass(frozen=True, slots=True)
class IneffectiveField:
    """Something that an override says and that has no effect for this tool now."""

    tool: ToolId
    field: str
    why: str


SENT_TO_SERVER: Final = OverrideEffect("sent, although the tool does not name it; callers cannot send it")
NOT_SENT_TO_SERVER: Final = OverrideEffect(
    "not sent, because the tool takes no such argument; callers cannot send it either"
)
HIDDEN_FROM_CALLERS: Final = OverrideEffect("the tool does not name it; callers cannot send it")


def override_effects(tool: Tool, policy: Policy) -> Mapping[str, OverrideEffect]:
    """By the places of an appearance: `enabled`, `arguments.NAME.pin` and the like."""
    look = policy.overrides.for_tool(tool.id)
    if not look.origin:
        return {}
    told = {**_effects_of_fixed(look), **_argument_effects(tool, policy)}
    if (beaten := _explain_enabled_ignored(tool, look, policy)) is not None:
        told["enabled"] = OverrideEffect(beaten, is_effective=False)
    return told


def ineffective_fields(
    row: Override, said: Override, catalogue: Catalogue, policy: Policy
) -> Iterator[IneffectiveField]:
    """Of what was `said` in this row of the policy, what has no effect, tool by tool."""
    for tool in catalogue.tools.values():
        if not row.matches(tool.id):
            continue
        look, told = policy.overrides.for_tool(tool.id), override_effects(tool, policy)
        for place in _set_places(said):
            holder = look.origin.get(place)
            if holder is row:
                if (effect := told.get(place)) is not None and not effect.is_effective and not effect.is_misfit:
                    yield IneffectiveField(tool.id, place, effect.text)
            else:
                yield IneffectiveField(tool.id, place, _describe_stronger(holder, look, place))


def _set_places(said: Override) -> Iterator[str]:
    yield from (name for name in said.fields_set if name != "arguments")
    for name, argument in (said.arguments or {}).items():
        yield from (f"arguments.{name}.{aspect}" for aspect in argument.aspects_set)


def _describe_stronger(holder: Override | None, look: EffectiveOverride, place: str) -> str:
    if holder is None:
        name = place.rpartition(".")[0]
        holder = look.origin.get(f"{name}.pin") or look.origin.get(f"{name}.hide")
    if holder is None:
        return "another override decides it"
    place = place.rpartition(".")[0] if place.startswith("arguments.") else place
    whose = "the operator's file" if holder.is_declared else f"the override of {holder.target}"
    whose = f"the manifest of toolset {holder.toolset}" if holder.from_manifest else whose
    return f"{whose} decides it{_origin_text(holder.origin(place))}"


def _origin_text(origin: Origin | None) -> str:
    return f" ({origin.short_text})" if isinstance(origin, DeclaredAt) else ""


def _effects_of_fixed(look: EffectiveOverride) -> Mapping[str, OverrideEffect]:
    """Callers do not see an argument that is fixed, so its default and its words are nobody's."""
    return {
        f"arguments.{name}.{aspect}": OverrideEffect(
            f"the argument is {'hidden' if argument.pin is None else 'pinned'}", False
        )
        for name, argument in (look.arguments or {}).items()
        if argument.is_fixed
        for aspect in ("default", "description")
    }


def _argument_effects(tool: Tool, policy: Policy) -> Mapping[str, OverrideEffect]:
    shape = overridden_tool_of(tool, policy)
    if shape is None:
        return {}
    told: dict[str, OverrideEffect] = {}
    for name in shape.unlisted_names:
        told[f"arguments.{name}.pin"] = SENT_TO_SERVER if name in shape.pins else NOT_SENT_TO_SERVER
        told[f"arguments.{name}.hide"] = HIDDEN_FROM_CALLERS
    for unfit in shape.inapplicable:
        closes = ", which closes the tool" if unfit.locks_tool else ""
        effect = OverrideEffect(f"it cannot be applied{closes}: {unfit.why}", is_effective=False, is_misfit=True)
        told |= {f"arguments.{unfit.parameter}.{aspect}": effect for aspect in ASPECTS}
    return told


def _explain_enabled_ignored(tool: Tool, look: EffectiveOverride, policy: Policy) -> str | None:
    """Why `enabled` decides nothing, by the rules that decide instead."""
    row = look.origin.get("enabled")
    if row is None or (row.is_declared and row.enabled is False):
        return None
    for rule in (limit_lets_it, no_pattern_denies_it, no_declared_override_denies_it):
        if row.enabled and (reason := rule(tool, None, policy)) is not None:
            return explain_reason(reason).rstrip(".")
    switch = policy.decisions.switches.get(tool.id)
    if switch is None or switch.is_on is row.enabled:
        return None
    way, change = ("on", "disable") if switch.is_on else ("off", "enable")
    whose = f"by {switch.by} on {switch.at:%Y-%m-%d}"
    return f"its own switch is {way}, {whose}. To change that: pegboard tools {change} {tool.id}"
