"""A call as a person is to be shown it, by what the overrides of its tool say."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import anyio.to_thread

from pegboard.core.ids import ToolId
from pegboard.core.renderers import RenderContext, RenderedCall, render_call, return_value
from pegboard.core.tool import Json
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.toolsets.files import UnreadablePage
from pegboard.gateway.toolsets.installer import ToolsetInstaller

from .problems import ProblemError


async def render_tool_call(
    gateway: Gateway,
    installer: Callable[[], ToolsetInstaller],
    tool: ToolId,
    arguments: Mapping[str, Json],
    result: Mapping[str, Json],
    chat_id: str | None = None,
    workspace: str | None = None,
) -> RenderedCall | None:
    """`None` without a renderer, and for a result that tells of a failure: its words are shown as they are."""
    look = gateway.board.policy.overrides.for_tool(tool)
    if look.renderer is None or result.get("isError") is True:
        return None
    around = RenderContext(arguments, return_value(result), chat_id, workspace, tool.toolset)
    shown = render_call(look.renderer, look.renderer_config or {}, around)
    return None if shown is None else await _with_page(gateway, installer, tool, shown)


async def _with_page(
    gateway: Gateway, installer: Callable[[], ToolsetInstaller], tool: ToolId, shown: RenderedCall
) -> RenderedCall:
    """The page that `artifact` names, as `content`; what cannot be read is listed under `refused`."""
    artifact = shown.config.get("artifact")
    if shown.renderer != "html" or not isinstance(artifact, str):
        return shown
    try:
        files = installer().files
    except ProblemError as problem:
        page: str | UnreadablePage = UnreadablePage(problem.detail.rstrip("."))
    else:
        page = await anyio.to_thread.run_sync(files.read_page, gateway.board.policy, tool.toolset, artifact)
    if isinstance(page, UnreadablePage):
        without = {name: value for name, value in shown.config.items() if name != "artifact"}
        return replace(shown, config=without, refused_keys={**shown.refused_keys, "artifact": page.why})
    return replace(shown, config={**shown.config, "content": page})
