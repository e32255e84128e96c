"""One tool twice: as its server offers it, and as a model sees it once overrides have been applied."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .catalogue import Catalogue
from .ids import ToolId
from .policy import Policy
from .resolve import Locked, Open, verdict_on
from .rules import shape_of
from .sections import Section, sections
from .tool import Tool, ToolSpec
from .unknown_names import with_suspects


@dataclass(frozen=True)
class Change:
    """What an edit makes of one tool."""

    tool: Tool
    before: ToolSpec
    after: ToolSpec
    difference: tuple[Section, ...]
    unfit: tuple[str, ...]
    """What the edit says of arguments that cannot be applied to the tool as it is."""
    verdict: Open | Locked
    """Before what a view removes: an edit cannot open what a caller may not see."""


def overridden(tool: Tool, policy: Policy) -> ToolSpec:
    """With the title, the description and the arguments that overrides give it. Its fingerprint is nobody's."""
    look, shape = policy.overrides.for_tool(tool.id), shape_of(tool, policy)
    spec = (tool if shape is None else shape.tool).spec
    title = spec.title if look.name_override is None else look.name_override
    description = spec.description if look.description_override is None else look.description_override
    return replace(spec, title=title, description=description)


def changes(catalogue: Catalogue, before: Policy, after: Policy, about: ToolId | None) -> Iterator[Change]:
    """Of the tool that an edit is about; or of every one to which it says something new, where it is a pattern."""
    named = catalogue.tools.get(about) if about is not None else None
    for tool in touched_by(catalogue, before, after) if named is None else (named,):
        was, now = overridden(tool, before), overridden(tool, after)
        listing = catalogue.listings.get(tool.id.source)
        shape = shape_of(tool, after)
        unfit = () if shape is None else tuple(f"arguments.{each.parameter}: {each.why}" for each in shape.unfit)
        verdict = verdict_on(tool, None if listing is None else listing.health, with_suspects(catalogue, after))
        yield Change(tool, was, now, sections(was, now), unfit, verdict)


def touched_by(catalogue: Catalogue, before: Policy, after: Policy) -> Iterator[Tool]:
    """Those of which overrides say something else."""
    for id, tool in catalogue.tools.items():
        if before.overrides.for_tool(id) != after.overrides.for_tool(id):
            yield tool
