"""One tool twice: as its server offers it, and as a model sees it once overrides have been applied."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .catalogue import Catalogue
from .ids import ToolId
from .policy import Policy
from .resolve import LockedTool, OpenTool, judge_tool
from .rules import overridden_tool_of
from .sections import SpecSection, spec_sections
from .tool import Tool, ToolSpec
from .unknown_names import with_suspects


@dataclass(frozen=True)
class ToolEditPreview:
    """What an edit makes of one tool."""

    tool: Tool
    before: ToolSpec
    after: ToolSpec
    difference: tuple[SpecSection, ...]
    problems: tuple[str, ...]
    """What the edit says of arguments that cannot be applied to the tool as it is."""
    verdict: OpenTool | LockedTool
    """Before what a view removes: an edit cannot open what a caller may not see."""


def overridden_spec(tool: Tool, policy: Policy) -> ToolSpec:
    """With the title, the description and the arguments that overrides give it. Its fingerprint is nobody's."""
    look, shape = policy.overrides.for_tool(tool.id), overridden_tool_of(tool, policy)
    spec = (tool if shape is None else shape.tool).spec
    title = spec.title if look.name_override is None else look.name_override
    description = spec.description if look.description_override is None else look.description_override
    return replace(spec, title=title, description=description)


def preview_edit(
    catalogue: Catalogue, before: Policy, after: Policy, about: ToolId | None
) -> Iterator[ToolEditPreview]:
    """Of the tool that an edit is about; or of every one to which it says something new, where it is a pattern."""
    named = catalogue.tools.get(about) if about is not None else None
    for tool in tools_changed_by(catalogue, before, after) if named is None else (named,):
        was, now = overridden_spec(tool, before), overridden_spec(tool, after)
        listing = catalogue.listings.get(tool.id.source)
        shape = overridden_tool_of(tool, after)
        unfit = () if shape is None else tuple(f"arguments.{each.parameter}: {each.why}" for each in shape.inapplicable)
        verdict = judge_tool(tool, None if listing is None else listing.health, with_suspects(catalogue, after))
        yield ToolEditPreview(tool, was, now, spec_sections(was, now), unfit, verdict)


def tools_changed_by(catalogue: Catalogue, before: Policy, after: Policy) -> Iterator[Tool]:
    """Those of which overrides say something else."""
    for id, tool in catalogue.tools.items():
        if before.overrides.for_tool(id) != after.overrides.for_tool(id):
            yield tool
