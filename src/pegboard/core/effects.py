"""What comes of an override for one tool where that is not plain from its words, and above all where nothing does."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from .argument import ASPECTS
from .catalogue import Catalogue
from .ids import ToolId
from .override import Appearance, Override
from .policy import Policy
from .rules import limit_lets_it, no_declared_override_denies_it, no_pattern_denies_it, shape_of
from .server import DeclaredAt, Origin
from .status import sentence
from .tool import Tool


@dataclass(frozen=True, slots=True)
class Effect:
    what: str
    holds: bool = True
    """Whether it is in force."""
    misfit: bool = False
    """Whether it is told as a misfit already."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Something that an override says and that has no effect for this tool now."""

    tool: ToolId
    field: str
    why: str


SENT: Final = Effect("sent, although the tool does not name it; callers cannot send it")
NOT_SENT: Final = Effect("not sent, because the tool takes no such argument; callers cannot send it either")
HIDDEN: Final = Effect("the tool does not name it; callers cannot send it")


def effects(tool: Tool, policy: Policy) -> Mapping[str, Effect]:
    """By the places of an appearance: `enabled`, `arguments.NAME.pin` and the like."""
    look = policy.overrides.for_tool(tool.id)
    if not look.origin:
        return {}
    told = {**_covered(look), **_of_arguments(tool, policy)}
    if (beaten := _beaten(tool, look, policy)) is not None:
        told["enabled"] = Effect(beaten, holds=False)
    return told


def idle(row: Override, said: Override, catalogue: Catalogue, policy: Policy) -> Iterator[Idle]:
    """Of what was `said` in this row of the policy, what has no effect, tool by tool."""
    for tool in catalogue.tools.values():
        if not row.fits(tool.id):
            continue
        look, told = policy.overrides.for_tool(tool.id), effects(tool, policy)
        for place in _places(said):
            holder = look.origin.get(place)
            if holder is row:
                if (effect := told.get(place)) is not None and not effect.holds and not effect.misfit:
                    yield Idle(tool.id, place, effect.what)
            else:
                yield Idle(tool.id, place, _stronger(holder, look, place))


def _places(said: Override) -> Iterator[str]:
    yield from (name for name in said.says if name != "arguments")
    for name, argument in (said.arguments or {}).items():
        yield from (f"arguments.{name}.{aspect}" for aspect in argument.says)


def _stronger(holder: Override | None, look: Appearance, place: str) -> str:
    if holder is None:
        name = place.rpartition(".")[0]
        holder = look.origin.get(f"{name}.pin") or look.origin.get(f"{name}.hide")
    if holder is None:
        return "another override decides it"
    place = place.rpartition(".")[0] if place.startswith("arguments.") else place
    whose = "the operator's file" if holder.declared else f"the override of {holder.target}"
    whose = f"the manifest of toolset {holder.toolset}" if holder.manifest else whose
    return f"{whose} decides it{_at(holder.origin(place))}"


def _at(origin: Origin | None) -> str:
    return f" ({origin.short})" if isinstance(origin, DeclaredAt) else ""


def _covered(look: Appearance) -> Mapping[str, Effect]:
    """Callers do not see an argument that is fixed, so its default and its words are nobody's."""
    return {
        f"arguments.{name}.{aspect}": Effect(f"the argument is {'hidden' if argument.pin is None else 'pinned'}", False)
        for name, argument in (look.arguments or {}).items()
        if argument.is_fixed
        for aspect in ("default", "description")
    }


def _of_arguments(tool: Tool, policy: Policy) -> Mapping[str, Effect]:
    shape = shape_of(tool, policy)
    if shape is None:
        return {}
    told: dict[str, Effect] = {}
    for name in shape.unlisted:
        told[f"arguments.{name}.pin"] = SENT if name in shape.pins else NOT_SENT
        told[f"arguments.{name}.hide"] = HIDDEN
    for unfit in shape.unfit:
        closes = ", which closes the tool" if unfit.grave else ""
        effect = Effect(f"it cannot be applied{closes}: {unfit.why}", holds=False, misfit=True)
        told |= {f"arguments.{unfit.parameter}.{aspect}": effect for aspect in ASPECTS}
    return told


def _beaten(tool: Tool, look: Appearance, policy: Policy) -> str | None:
    """Why `enabled` decides nothing, by the rules that decide instead."""
    row = look.origin.get("enabled")
    if row is None or (row.declared and row.enabled is False):
        return None
    for rule in (limit_lets_it, no_pattern_denies_it, no_declared_override_denies_it):
        if row.enabled and (reason := rule(tool, None, policy)) is not None:
            return sentence(reason).rstrip(".")
    switch = policy.decided.switches.get(tool.id)
    if switch is None or switch.on is row.enabled:
        return None
    way, change = ("on", "disable") if switch.on else ("off", "enable")
    whose = f"by {switch.by} on {switch.at:%Y-%m-%d}"
    return f"its own switch is {way}, {whose}. To change that: pegboard tools {change} {tool.id}"
