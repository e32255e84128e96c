"""The meta presentation over the protocol: five tools instead of all. None approves, enables or widens anything."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import anyio

from pegboard.core.call import Arguments, BadArguments
from pegboard.core.presentations import PresentationMode
from pegboard.core.presentations.meta import (
    GET_INPUT_SCHEMA,
    GET_OUTPUT_SCHEMA,
    INSTRUCTIONS,
    LIST_TOOLS,
    LIST_TOOLSETS,
    TOOLS,
    NoSuchToolset,
    get_input_schema,
    get_output_schema,
    list_tools,
    list_toolsets,
)
from pegboard.core.presentations.own import CALL_TOOL
from pegboard.core.tool import Tool
from pegboard.core.view import View
from pegboard.gateway.answering import PresentationAnswer
from pegboard.gateway.gateway import Gateway

from .presentation import BoardCall, OwnCall
from .wrapping import WrappingPresentation, json_result, to_tool_answer

_AnswerToolCall = Callable[[Arguments, View], Awaitable[PresentationAnswer]]


class MetaPresentation(WrappingPresentation):
    call_arguments = "tool", "input"
    schema_tool = GET_INPUT_SCHEMA

    def __init__(self, gateway: Gateway, ready: anyio.Event | None = None) -> None:
        super().__init__(gateway, PresentationMode.META.value, TOOLS, LIST_TOOLS, ready)
        self._handlers: Final[dict[str, _AnswerToolCall]] = {
            LIST_TOOLSETS: self._list_toolsets,
            LIST_TOOLS: self._list_tools,
            GET_INPUT_SCHEMA: self._input_schemas,
            GET_OUTPUT_SCHEMA: self._output_schemas,
        }

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def _resolve_own_call(self, tool: Tool, arguments: Arguments, view: View) -> BoardCall | OwnCall:
        if tool.id.name == CALL_TOOL:
            given = arguments.get("input", {})
            assert isinstance(given, dict)
            return self.board_call(str(arguments["tool"]), given, view)
        return self.own_call(tool, partial(self._handlers[tool.id.name], arguments, view))

    async def _list_toolsets(self, arguments: Arguments, view: View) -> PresentationAnswer:
        await self.wait_until_ready()
        board = self._gateway.board
        return json_result(list_toolsets(board.resolution(view), board.policy))

    async def _list_tools(self, arguments: Arguments, view: View) -> PresentationAnswer:
        await self.wait_until_ready()
        board = self._gateway.board
        offset = arguments.get("offset", 0)
        assert isinstance(offset, int | float)
        found = list_tools(str(arguments["toolset"]), int(offset), board.resolution(view), board.policy)
        return (
            BadArguments(TOOLS[LIST_TOOLS].id, (f"toolset: {found}",))
            if isinstance(found, NoSuchToolset)
            else json_result(found)
        )

    async def _input_schemas(self, arguments: Arguments, view: View) -> PresentationAnswer:
        await self.wait_until_ready()
        board = self._gateway.board
        return to_tool_answer(get_input_schema(str(arguments["tool"]), board.resolution(view), board.policy))

    async def _output_schemas(self, arguments: Arguments, view: View) -> PresentationAnswer:
        await self.wait_until_ready()
        return to_tool_answer(get_output_schema(str(arguments["tool"]), self._gateway.board.resolution(view)))
