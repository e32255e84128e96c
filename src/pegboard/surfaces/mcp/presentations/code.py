"""The code presentation over MCP."""

import hashlib
import json
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from pegboard.core.calls.call import (
    Arguments,
    BadArguments,
    LockedToolRefusal,
    ToolCall,
    ToolSuccess,
    UnknownTool,
    find_open_tool,
    refusal_text,
)
from pegboard.core.calls.tickets import TICKET, TICKET_TOOL
from pegboard.core.decision.resolve import OpenTool, Resolution
from pegboard.core.json.values import JsonObject
from pegboard.core.model.foreign_names import near_tools
from pegboard.core.model.ids import WireName
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON, PresentationMode
from pegboard.core.model.tool import Tool
from pegboard.core.presentations.code import INSTRUCTIONS, SEARCH, SEARCH_HINT, TOOLS, FunctionDetail
from pegboard.core.presentations.retrieval import BLANK_QUERY_TEXT, DEFAULT_RESULTS, ToolSearchQuery
from pegboard.gateway.tool_calls import PresentationAnswer
from pegboard.ports.providers import ClientPeer, Progress
from pegboard.surfaces.mcp.gateway_parts import PresentationParts
from pegboard.surfaces.mcp.presentations.base import BoardCall, OwnCall
from pegboard.surfaces.mcp.presentations.direct import tool_document
from pegboard.surfaces.mcp.presentations.wrapper import WrappingPresentation
from pegboard.surfaces.mcp.protocol import INVALID_PARAMS, ProtocolError
from pegboard.surfaces.mcp.results import BadCursor, CallOutcome, ToolPage, error_result
from pegboard.surfaces.mcp.wire import sanitize_text

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams

    from pegboard.prompts.stubs.names import ProgramNames


MAX_CACHED_VIEWS: Final = 64
_TICKET_DOCUMENT: Final = tool_document(TICKET, TICKET_TOOL)


class CodePresentation(WrappingPresentation):
    """Nothing that runs programs is loaded before a client lists its tools."""

    schema_tool = SEARCH

    def __init__(self, parts: PresentationParts, ready: anyio.Event | None = None) -> None:
        super().__init__(parts, PresentationMode.CODE.value, TOOLS, SEARCH, ready, also=(PYTHON, TICKET_TOOL))
        self._cache: OrderedDict[View, tuple[Resolution, ProgramNames, bool]] = OrderedDict()

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def page(self, view: View, cursor: str | None) -> ToolPage | BadCursor:
        if cursor is not None:
            return BadCursor("this list has one page only")
        return ToolPage(
            (*self._own_documents(view), *self._program_tools(view), *self._pinned.for_view(view).documents), None
        )

    def fingerprint(self, view: View) -> bytes:
        own = json.dumps(self._program_tools(view)).encode()
        return hashlib.sha256(super().fingerprint(view) + own).digest()

    def input_schema(self, view: View, name: str) -> JsonObject | None:
        if name == PYTHON and (python := self._python_tool(view)) is not None:
            return dict(python.spec.input_schema)
        return super().input_schema(view, name)

    def resolve_call(self, asked: "CallToolRequestParams", view: View) -> BoardCall | OwnCall:
        if asked.name == PYTHON:
            # Whoever runs it reads its arguments, by the limits of the settings.
            return BoardCall(asked, partial(self._board_result, PYTHON, view), self.name)
        return super().resolve_call(asked, view)

    async def execute(
        self, call: ToolCall, view: View, progress: Progress | None, peer: ClientPeer | None
    ) -> CallOutcome:
        """A program runs here whether its tool hangs on the board or not."""
        if call.name == PYTHON:
            return await self._parts.calls.run_program(call, view, progress, peer)
        return await self._parts.calls.call(call, view, progress, peer)

    def _program_tools(self, view: View) -> list[JsonObject]:
        """Beside the search: what runs programs, and where some call must be confirmed, how to wait for that."""
        python = self._python_tool(view)
        documents = [] if python is None else [tool_document(python, WireName(PYTHON))]
        asks = self._names(view)[1] or self._parts.calls.needs_confirmation(view)
        return [*documents, _TICKET_DOCUMENT] if asks else documents

    def _python_tool(self, view: View) -> Tool | None:
        """What runs programs, where it is open to this caller."""
        is_open = isinstance(self._parts.calls.verdict_on_programs(view), OpenTool)
        return self._parts.calls.program_tool(SEARCH_HINT) if is_open else None

    def _names(self, view: View) -> "tuple[ProgramNames, bool]":
        """What functions are called, and whether a person must confirm any call."""
        from pegboard.prompts.stubs.programs import program_names

        resolution = self._parts.board.resolution(view)
        known = self._cache.get(view)
        if known is None or known[0] is not resolution:
            asks = any(isinstance(each, OpenTool) and each.confirm for each in resolution.verdicts.values())
            known = self._cache[view] = resolution, program_names(resolution), asks
            while len(self._cache) > MAX_CACHED_VIEWS:
                self._cache.popitem(last=False)
        self._cache.move_to_end(view)
        return known[1], known[2]

    def _resolve_own_call(self, tool: Tool, arguments: Arguments, view: View) -> OwnCall:
        if not str(arguments["query"]).strip():
            return self.refuse_arguments(BadArguments(tool.id, (f"query: {BLANK_QUERY_TEXT}",)), tool.id)
        return self.own_call(tool, partial(self._search_functions, arguments, view))

    async def _search_functions(self, arguments: Arguments, view: View) -> ToolSuccess:
        await self.wait_until_ready()
        query, limit = str(arguments["query"]), arguments.get("limit", DEFAULT_RESULTS)
        assert isinstance(limit, int | float)
        asked = ToolSearchQuery(query, int(limit), include_disabled=_is_true(arguments, "include_disabled"))
        answer = await self._parts.search.retrieve(asked, view)
        told = FunctionDetail(str(arguments.get("detail", FunctionDetail.LINE)))
        text = await to_thread.run_sync(self._format_results, asked, answer, told, view, abandon_on_cancel=True)
        return ToolSuccess(json.dumps({"content": [{"type": "text", "text": sanitize_text(text)}]}).encode())

    def _format_results(self, asked: ToolSearchQuery, answer: JsonObject, told: FunctionDetail, view: View) -> str:
        from pegboard.prompts.stubs.programs import named_tools, search_result_text

        board = self._parts.board
        resolution, policy, names = board.resolution(view), board.policy, self._names(view)[0]
        return search_result_text(answer, named_tools(asked.query, names), asked.limit, told, resolution, policy, names)

    def _refuse_unlisted(self, name: str, view: View) -> OwnCall:
        """The name of a tool that is a function here: told to the model, which found it under another roof."""
        found = find_open_tool(name, self._parts.board.resolution(view))
        unknown = UnknownTool(name, *near_tools(name, (*TOOLS, PYTHON)))
        refusal = found if isinstance(found, LockedToolRefusal) else unknown

        async def answer() -> UnknownTool | LockedToolRefusal:
            return refusal

        def result(ended: PresentationAnswer) -> JsonObject:
            if isinstance(found, LockedToolRefusal):
                return error_result(refusal_text(found))
            named = self._names(view)[0].function_of(found.tool.id) if isinstance(found, OpenTool) else None
            if named is not None:
                how = f"Here it is a function: run a program with {PYTHON} that says await {named}(...)."
                return error_result(f"{name!r} is not in this list of tools. {how}")
            raise ProtocolError(INVALID_PARAMS, sanitize_text(refusal_text(unknown, SEARCH)))

        return OwnCall(found.tool if isinstance(found, LockedToolRefusal) else None, answer, result, self.name)


def _is_true(arguments: Arguments, name: str) -> bool:
    return arguments.get(name) is True
