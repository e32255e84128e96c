"""What an override changes of a tool, and overrides that do not apply."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.core.decision.facts import overridden_tool_of
from pegboard.core.decision.rules import limit_lets_it, no_declared_override_denies_it, no_pattern_denies_it
from pegboard.core.decision.status import explain_reason
from pegboard.core.decision.unknown_names import BUILTIN_IDS
from pegboard.core.model.catalogue import Catalogue, has_listed
from pegboard.core.model.ids import BUILTIN, BuiltinKey, ServerKey, ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.references import closest_names
from pegboard.core.model.server import DeclaredAt, Origin
from pegboard.core.model.tool import Tool
from pegboard.core.overrides.model import ASPECTS, EffectiveOverride, Override
from pegboard.core.policy.policy import Policy
from pegboard.core.renderers.render import config_problems, renderer_problem

# What comes of an override for one tool where that is not plain from its words, and above all where nothing does.


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


@dataclass(frozen=True)
class OverrideMisfit:
    override: Override
    problem: str
    tool: ToolId | None = None
    """The tool it does not fit; `None` when there is none that it is about."""
    field: str | None = None


def override_misfits(catalogue: Catalogue, policy: Policy) -> Iterator[OverrideMisfit]:
    """Of servers that have not listed anything nobody knows what they have, and nothing is said of their tools."""
    rows = policy.overrides.rows
    for row in rows:
        # What is assumed fits whatever the server turns out to have.
        if row.is_assumed:
            continue
        yield from _unmatched_misfits(row, catalogue, policy)
    if rows:
        for tool in catalogue.tools.values():
            look = policy.overrides.for_tool(tool.id)
            if look.origin:
                yield from misfits_of_tool(tool, look, policy)


def misfits_of_tool(tool: Tool, look: EffectiveOverride, policy: Policy) -> Iterator[OverrideMisfit]:
    yield from _renderer_misfits(tool, look)
    shape = overridden_tool_of(tool, policy)
    for unfit in () if shape is None else shape.inapplicable:
        places = [place for place in look.origin if place.startswith(f"arguments.{unfit.parameter}.")]
        for place in places[:1]:
            what = f"{unfit.parameter!r} cannot be overridden so: {unfit.why}."
            closed = " Until it is corrected, nobody can call the tool." if unfit.locks_tool else ""
            yield OverrideMisfit(look.origin[place], what + closed, tool.id, f"arguments.{unfit.parameter}")


def _renderer_misfits(tool: Tool, look: EffectiveOverride) -> Iterator[OverrideMisfit]:
    """Each may come from another override, so that they are held against each other only here."""
    if look.renderer is not None and (problem := renderer_problem(look.renderer)) is not None:
        yield OverrideMisfit(look.origin["renderer"], problem, tool.id, "renderer")
    if look.renderer_config is None:
        return
    said = look.origin["renderer_config"]
    if look.renderer is None:
        yield OverrideMisfit(
            said, "there is a renderer_config, and no override names a renderer.", tool.id, "renderer_config"
        )
        return
    for key, problem in config_problems(look.renderer, look.renderer_config):
        yield OverrideMisfit(said, f"{key!r}: {problem}", tool.id, "renderer_config")


def _unmatched_misfits(row: Override, catalogue: Catalogue, policy: Policy) -> Iterator[OverrideMisfit]:
    if row.toolset not in policy.toolsets and row.toolset != BUILTIN:
        yield OverrideMisfit(row, f"there is no toolset {row.toolset!r}.")
        return
    match row.target:
        case ToolId() as id:
            yield from _missing_tool_misfits(row, id, catalogue, policy)
        case Pattern():
            yield from _unmatched_pattern_misfits(row, catalogue, policy)


def _missing_tool_misfits(row: Override, id: ToolId, catalogue: Catalogue, policy: Policy) -> Iterator[OverrideMisfit]:
    if id in catalogue.tools or id in BUILTIN_IDS:
        return
    if not isinstance(id.source, BuiltinKey) and id.source not in policy.servers:
        what = "no server" if isinstance(id.source, ServerKey) else "no tool of its own in toolset"
        yield OverrideMisfit(row, f"there is {what} {id.source}.", id)
        return
    listing = catalogue.listings.get(id.source)
    if listing is not None and has_listed(listing):
        near = closest_names(id.name, (tool.id.name for tool in listing.tools))
        hint = f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
        yield OverrideMisfit(row, f"{id.source} lists no tool {id.name!r}.{hint}", id)


def _unmatched_pattern_misfits(row: Override, catalogue: Catalogue, policy: Policy) -> Iterator[OverrideMisfit]:
    listings = [word for source, word in catalogue.listings.items() if source.toolset == row.toolset]
    servers = {key for key in policy.servers if key.toolset == row.toolset}
    if not all(map(has_listed, listings)) or not servers <= {word.source for word in listings}:
        return
    fitting = [tool for word in listings for tool in word.tools if row.matches(tool.id)]
    if not fitting and any(map(row.matches, BUILTIN_IDS)):
        return  # built-in tools are known, whether they are on the board or not
    if not fitting:
        yield OverrideMisfit(row, f"no tool of toolset {row.toolset!r} fits {str(row.target)!r}.")
        return
    if row.is_exact:
        return  # what such a tool does not take is a misfit of that tool
    for name, argument in (row.arguments or {}).items():
        if any(_takes_argument(tool, name) for tool in fitting):
            continue
        what = f"none of the tools that {str(row.target)!r} fits takes an argument {name!r}."
        if argument.pin is not None:
            reached = sum(_is_sent(tool, name, policy) for tool in fitting)
            what += f" It is sent to {reached} of {len(fitting)} all the same." if reached else " It reaches no tool."
        yield OverrideMisfit(row, what, field=f"arguments.{name}")


def _takes_argument(tool: Tool, name: str) -> bool:
    properties = tool.spec.input_schema.get("properties")
    return isinstance(properties, dict) and name in properties


def _is_sent(tool: Tool, name: str, policy: Policy) -> bool:
    shape = overridden_tool_of(tool, policy)
    return shape is not None and name in shape.pins


def misfits_of_override(found: Sequence[OverrideMisfit], row: Override) -> tuple[OverrideMisfit, ...]:
    place = _layer(row), row.toolset, row.target
    return tuple(
        misfit
        for misfit in found
        if (_layer(misfit.override), misfit.override.toolset, misfit.override.target) == place
    )


def _layer(row: Override) -> tuple[bool, bool]:
    return row.from_manifest, row.is_declared
