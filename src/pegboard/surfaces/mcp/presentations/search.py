"""The search presentation over MCP."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from pegboard.core.calls.call import Arguments, BadArguments, ToolSuccess
from pegboard.core.decision.resolve import Resolution
from pegboard.core.json.values import JsonObject
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PresentationMode
from pegboard.core.model.tool import Tool
from pegboard.core.presentations.meta import (
    GET_INPUT_SCHEMA,
    GET_OUTPUT_SCHEMA,
    LIST_TOOLS,
    LIST_TOOLSETS,
    NoSuchToolset,
    get_input_schema,
    get_output_schema,
    list_tools,
    list_toolsets,
)
from pegboard.core.presentations.meta import INSTRUCTIONS as META_INSTRUCTIONS
from pegboard.core.presentations.meta import TOOLS as META_TOOLS
from pegboard.core.presentations.own_tools import CALL_TOOL, choose_presentation
from pegboard.core.presentations.retrieval import BLANK_QUERY_TEXT, DEFAULT_RESULTS, AnswerDetail, ToolSearchQuery
from pegboard.core.presentations.search import DESCRIBE, RETRIEVE, TOOLS, describe_tools, list_upstream_servers
from pegboard.core.presentations.search import INSTRUCTIONS as SEARCH_INSTRUCTIONS
from pegboard.gateway.tool_calls import PresentationAnswer
from pegboard.surfaces.mcp.gateway_parts import PresentationParts
from pegboard.surfaces.mcp.presentations.base import BoardCall, OwnCall
from pegboard.surfaces.mcp.presentations.direct import DirectPresentation
from pegboard.surfaces.mcp.presentations.wrapper import WrappingPresentation, json_result, to_tool_answer
from pegboard.surfaces.mcp.results import BadCursor, ToolPage

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams


class SearchPresentation(WrappingPresentation):
    schema_tool = DESCRIBE

    def __init__(self, parts: PresentationParts, ready: anyio.Event | None = None) -> None:
        super().__init__(parts, PresentationMode.SEARCH.value, TOOLS, RETRIEVE, ready)

    @property
    def instructions(self) -> str:
        return SEARCH_INSTRUCTIONS

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
        return json_result(await self._parts.search.retrieve(asked, view))

    async def _describe_tools(self, names: tuple[str, ...], view: View) -> ToolSuccess:
        await self.wait_until_ready()
        board = self._parts.board
        return json_result(describe_tools(names, board.resolution(view), board.policy))

    async def _list_servers(self, view: View) -> ToolSuccess:
        board = self._parts.board
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


# The meta presentation over the protocol: five tools instead of all. None approves, enables or widens anything.

_AnswerToolCall = Callable[[Arguments, View], Awaitable[PresentationAnswer]]


class MetaPresentation(WrappingPresentation):
    call_arguments = "tool", "input"
    schema_tool = GET_INPUT_SCHEMA

    def __init__(self, parts: PresentationParts, ready: anyio.Event | None = None) -> None:
        super().__init__(parts, PresentationMode.META.value, META_TOOLS, LIST_TOOLS, ready)
        self._handlers: Final[dict[str, _AnswerToolCall]] = {
            LIST_TOOLSETS: self._list_toolsets,
            LIST_TOOLS: self._list_tools,
            GET_INPUT_SCHEMA: self._input_schemas,
            GET_OUTPUT_SCHEMA: self._output_schemas,
        }

    @property
    def instructions(self) -> str:
        return META_INSTRUCTIONS

    def _resolve_own_call(self, tool: Tool, arguments: Arguments, view: View) -> BoardCall | OwnCall:
        if tool.id.name == CALL_TOOL:
            given = arguments.get("input", {})
            assert isinstance(given, dict)
            return self.board_call(str(arguments["tool"]), given, view)
        return self.own_call(tool, partial(self._handlers[tool.id.name], arguments, view))

    async def _list_toolsets(self, arguments: Arguments, view: View) -> PresentationAnswer:
        await self.wait_until_ready()
        board = self._parts.board
        return json_result(list_toolsets(board.resolution(view), board.policy))

    async def _list_tools(self, arguments: Arguments, view: View) -> PresentationAnswer:
        await self.wait_until_ready()
        board = self._parts.board
        offset = arguments.get("offset", 0)
        assert isinstance(offset, int | float)
        found = list_tools(str(arguments["toolset"]), int(offset), board.resolution(view), board.policy)
        return (
            BadArguments(META_TOOLS[LIST_TOOLS].id, (f"toolset: {found}",))
            if isinstance(found, NoSuchToolset)
            else json_result(found)
        )

    async def _input_schemas(self, arguments: Arguments, view: View) -> PresentationAnswer:
        await self.wait_until_ready()
        board = self._parts.board
        return to_tool_answer(get_input_schema(str(arguments["tool"]), board.resolution(view), board.policy))

    async def _output_schemas(self, arguments: Arguments, view: View) -> PresentationAnswer:
        await self.wait_until_ready()
        return to_tool_answer(get_output_schema(str(arguments["tool"]), self._parts.board.resolution(view)))


# The presentation that follows the number of tools: each as itself while they are few, through search when many.

MAX_CACHED_VIEWS: Final = 256
INSTRUCTIONS: Final = (
    "These tools come from several servers behind one gateway. If you are shown retrieve_tools, there are many: find "
    "them with it, in a few words of what you want to do, and call what you found with call_tool. A call that is "
    "refused says why and what to do; when it tells you to ask the user, ask, and do not look for a way around it."
)


class AutoPresentation:
    """Tools come and go while clients still hold the list from before, so a call is taken by either way."""

    def __init__(self, parts: PresentationParts, ready: anyio.Event | None = None) -> None:
        self._board = parts.board
        self._direct = DirectPresentation(parts.board)
        self._search = SearchPresentation(parts, ready)
        self._cache: OrderedDict[View, tuple[Resolution, PresentationMode]] = OrderedDict()

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def page(self, view: View, cursor: str | None) -> ToolPage | BadCursor:
        return self._current_presentation(view).page(view, cursor)

    def fingerprint(self, view: View) -> bytes:
        return self._current_presentation(view).fingerprint(view)

    def input_schema(self, view: View, name: str) -> JsonObject | None:
        return self._presentation_for_tool(view, name).input_schema(view, name)

    def resolve_call(self, asked: "CallToolRequestParams", view: View) -> BoardCall | OwnCall:
        return self._presentation_for_tool(view, asked.name).resolve_call(asked, view)

    def _current_presentation(self, view: View) -> DirectPresentation | SearchPresentation:
        resolution = self._board.resolution(view)
        known = self._cache.get(view)
        if known is None or known[0] is not resolution:
            known = self._cache[view] = (
                resolution,
                choose_presentation(resolution, self._board.policy.declared.presentation),
            )
            while len(self._cache) > MAX_CACHED_VIEWS:
                self._cache.popitem(last=False)
        return self._search if known[1] is PresentationMode.SEARCH else self._direct

    def _presentation_for_tool(self, view: View, name: str) -> DirectPresentation | SearchPresentation:
        """Whose call of this name it is: what is shown now goes before what was shown before."""
        at = self._current_presentation(view)
        is_known = self._board.resolution(view).find_tool(name) is not None
        if at is self._search:
            return self._direct if is_known and name not in TOOLS else self._search
        return self._search if not is_known and name in TOOLS else self._direct
