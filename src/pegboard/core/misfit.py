"""Overrides that do not fit what they are about: a tool that is gone, a parameter it lacks, a configuration it cannot
take. They are told, never applied in part unsaid."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .catalogue import Catalogue, has_listed
from .ids import BUILTIN, BuiltinKey, ServerKey, ToolId
from .override import EffectiveOverride, Override
from .pattern import Pattern
from .policy import Policy
from .reference import closest_names
from .renderers import config_problems, renderer_problem
from .rules import overridden_tool_of
from .tool import Tool
from .unknown_names import BUILTIN_IDS


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
