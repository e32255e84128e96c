"""The meta presentation over the protocol: five tools instead of all. None approves, enables or widens anything."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import anyio

from pegboard.core.call import Arguments, BadArguments
from pegboard.core.presentations import Presented
from pegboard.core.presentations.meta import (
    INPUT,
    INSTRUCTIONS,
    OUTPUT,
    TOOLS,
    TOOLS_OF,
    TOOLSETS,
    NoToolset,
    input_of,
    output_of,
    tools_of,
    toolsets,
)
from pegboard.core.presentations.own import CALL
from pegboard.core.tool import Tool
from pegboard.core.view import View
from pegboard.gateway.answering import Answered
from pegboard.gateway.gateway import Gateway

from .presentation import Own, Passed
from .wrapping import Wrapping, answer_of, returned

_Answering = Callable[[Arguments, View], Awaitable[Answered]]


class Meta(Wrapping):
    calls_with = "tool", "input"
    schemas_by = INPUT

    def __init__(self, gateway: Gateway, ready: anyio.Event | None = None) -> None:
        super().__init__(gateway, Presented.META.value, TOOLS, TOOLS_OF, ready)
        self._answers: Final[dict[str, _Answering]] = {
            TOOLSETS: self._toolsets,
            TOOLS_OF: self._tools_of,
            INPUT: self._input,
            OUTPUT: self._output,
        }

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def _own(self, tool: Tool, arguments: Arguments, view: View) -> Passed | Own:
        if tool.id.name == CALL:
            given = arguments.get("input", {})
            assert isinstance(given, dict)
            return self.passed(str(arguments["tool"]), given, view)
        return self.answering(tool, partial(self._answers[tool.id.name], arguments, view))

    async def _toolsets(self, arguments: Arguments, view: View) -> Answered:
        await self.settled()
        board = self._gateway.board
        return returned(toolsets(board.resolution(view), board.policy))

    async def _tools_of(self, arguments: Arguments, view: View) -> Answered:
        await self.settled()
        board = self._gateway.board
        offset = arguments.get("offset", 0)
        assert isinstance(offset, int | float)
        found = tools_of(str(arguments["toolset"]), int(offset), board.resolution(view), board.policy)
        return (
            BadArguments(TOOLS[TOOLS_OF].id, (f"toolset: {found}",))
            if isinstance(found, NoToolset)
            else returned(found)
        )

    async def _input(self, arguments: Arguments, view: View) -> Answered:
        await self.settled()
        board = self._gateway.board
        return answer_of(input_of(str(arguments["tool"]), board.resolution(view), board.policy))

    async def _output(self, arguments: Arguments, view: View) -> Answered:
        await self.settled()
        return answer_of(output_of(str(arguments["tool"]), self._gateway.board.resolution(view)))
