"""The search presentation over the protocol: tools that find others instead of all. None approves, enables or widens
anything."""

from functools import partial

import anyio
from anyio import to_thread

from pegboard.core.call import Arguments, BadArguments, ToolSuccess
from pegboard.core.presentations import PresentationMode
from pegboard.core.presentations.own import CALL_TOOL
from pegboard.core.presentations.search import DESCRIBE, INSTRUCTIONS, RETRIEVE, TOOLS, describe_tools
from pegboard.core.retrieval import BLANK_QUERY_TEXT, DEFAULT_RESULTS, AnswerDetail, ToolSearchQuery
from pegboard.core.tool import Tool
from pegboard.core.upstream import list_upstream_servers
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .presentation import BoardCall, OwnCall
from .wrapping import WrappingPresentation, json_result


class SearchPresentation(WrappingPresentation):
    schema_tool = DESCRIBE

    def __init__(self, gateway: Gateway, ready: anyio.Event | None = None) -> None:
        super().__init__(gateway, PresentationMode.SEARCH.value, TOOLS, RETRIEVE, ready)

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def _resolve_own_call(self, tool: Tool, arguments: Arguments, view: View) -> BoardCall | OwnCall:
        match tool.id.name:
            case name if name == RETRIEVE:
                if not str(arguments["query"]).strip():
                    return self.refuse_arguments(BadArguments(tool.id, (f"query: {BLANK_QUERY_TEXT}",)), tool.id)
                return self.own_call(tool, partial(self._search_tools, _retrieval(arguments), view))
            case name if name == DESCRIBE:
                names = arguments["names"]
                assert isinstance(names, list)
                return self.own_call(tool, partial(self._describe_tools, tuple(map(str, names)), view))
            case name if name == CALL_TOOL:
                given = arguments.get("arguments", {})
                assert isinstance(given, dict)
                return self.board_call(str(arguments["name"]), given, view)
            case _:
                return self.own_call(tool, partial(self._list_servers, view))

    async def _search_tools(self, asked: ToolSearchQuery, view: View) -> ToolSuccess:
        await self.wait_until_ready()
        return json_result(await self._gateway.search.retrieve(asked, view))

    async def _describe_tools(self, names: tuple[str, ...], view: View) -> ToolSuccess:
        await self.wait_until_ready()
        board = self._gateway.board
        return json_result(describe_tools(names, board.resolution(view), board.policy))

    async def _list_servers(self, view: View) -> ToolSuccess:
        board = self._gateway.board
        resolution = await board.resolve_off_loop(view)
        # Beside the loop, because on a large board counting takes longer than calls may wait.
        counted = partial(list_upstream_servers, board.catalogue, board.policy, resolution)
        return json_result(await to_thread.run_sync(counted, abandon_on_cancel=True))


def _retrieval(arguments: Arguments) -> ToolSearchQuery:
    """An integer may have been written as 5.0."""
    query, limit = arguments["query"], arguments.get("limit", DEFAULT_RESULTS)
    assert isinstance(query, str)
    assert isinstance(limit, int | float)

    def says(name: str) -> bool:
        return arguments.get(name) is True

    return ToolSearchQuery(
        query,
        int(limit),
        include_disabled=says("include_disabled"),
        read_only_only=says("read_only_only"),
        exclude_destructive=says("exclude_destructive"),
        exclude_open_world=says("exclude_open_world"),
        server=str(arguments.get("server", "")),
        toolset=str(arguments.get("toolset", "")),
        explain=says("explain"),
        detail=AnswerDetail(str(arguments.get("detail", AnswerDetail.COMPACT))),
    )
