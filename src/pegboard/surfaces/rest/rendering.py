"""A call as a person is to be shown it, by what the overrides of its tool say."""

from collections.abc import Mapping

from pegboard.core.ids import ToolId
from pegboard.core.renderers import Around, Rendered, rendered, returned
from pegboard.core.tool import Json
from pegboard.gateway.gateway import Gateway


def render(
    gateway: Gateway,
    tool: ToolId,
    arguments: Mapping[str, Json],
    result: Mapping[str, Json],
    chat_id: str | None = None,
    workspace: str | None = None,
) -> Rendered | None:
    """`None` without a renderer, and for a result that tells of a failure: its words are shown as they are."""
    look = gateway.board.policy.overrides.for_tool(tool)
    if look.renderer is None or result.get("isError") is True:
        return None
    around = Around(arguments, returned(result), chat_id, workspace, tool.toolset)
    return rendered(look.renderer, look.renderer_config or {}, around)
