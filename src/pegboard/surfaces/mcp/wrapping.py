"""What presentations with tools of their own have in common: how those are listed, checked and told, and how a call of
a tool of the board passes through one of them."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Final

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams

from pegboard.core.call import Arguments, BadArguments, Returned, ToolIsLocked, UnknownTool, refusal_text
from pegboard.core.ids import ToolId, WireName
from pegboard.core.presentations.mending import schema_words
from pegboard.core.ticket import TICKET_TOOL
from pegboard.core.tool import JsonObject, Tool
from pegboard.core.view import View
from pegboard.gateway.answering import Answer, Answered
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.validation import Validators

from .answer import Ended, error_result, result_of
from .beside import Beside
from .direct import tool_document
from .pages import BadCursor, Page
from .presentation import Own, Passed
from .wire import sound_object, sound_text

SETTLE: Final = 3.0
"""Seconds that an answer waits for servers that are starting: what is not listed yet cannot be found."""


class Wrapping(ABC):
    """Its own tools never change. What is found by them does, and is asked of the board each time."""

    def __init__(
        self,
        gateway: Gateway,
        name: str,
        tools: Mapping[str, Tool],
        found_by: str,
        ready: anyio.Event | None = None,
    ) -> None:
        """`found_by` is the tool that names others. Until `ready`, an answer waits; without it, a moment for what is
        starting."""
        self.name: Final = name
        self._gateway = gateway
        self._tools = tools
        self._found_by = found_by
        self._ready = ready
        self._validators = Validators()
        self._beside = Beside(gateway.board, tools)
        self._list = tuple(tool_document(tool, WireName(name)) for name, tool in tools.items())
        self._mark = hashlib.sha256(json.dumps(self._list).encode()).digest()

    def page(self, view: View, cursor: str | None) -> Page | BadCursor:
        if cursor is not None:
            return BadCursor("this list has one page only")
        return Page((*self._list, *self._beside.of(view).documents), None)

    def mark(self, view: View) -> bytes:
        return hashlib.sha256(self._mark + self._beside.of(view).mark).digest()

    def input_schema(self, view: View, name: str) -> JsonObject | None:
        tool = self._tools.get(name)
        schema = self._beside.of(view).schemas.get(WireName(name)) if tool is None else tool.spec.input_schema
        return None if schema is None else dict(schema)

    def meant(self, asked: CallToolRequestParams, view: View) -> Passed | Own:
        tool, arguments = self._tools.get(asked.name), asked.arguments or {}
        if tool is None:
            # The tool of tickets is not listed here, but the answer to a call that must be confirmed tells of it.
            if asked.name == TICKET_TOOL or WireName(asked.name) in self._beside.of(view).names:
                return Passed(asked, partial(result_of, asked.name), self.name)
            return self.refused(UnknownTool(asked.name, tuple(self._tools)), None)
        if problems := self._validators.problems(tool, arguments):
            return self.refused(BadArguments(tool.id, problems), tool.id)
        return self._own(tool, arguments, view)

    @abstractmethod
    def _own(self, tool: Tool, arguments: Arguments, view: View) -> Passed | Own:
        """What a call of one of its own tools stands for. Its arguments fit the schema, so each is of its kind."""

    def passed(self, name: str, arguments: Arguments, view: View) -> Passed:
        call = CallToolRequestParams(name=name, arguments=dict(arguments))
        return Passed(call, partial(self._ended, name, view), self.name)

    def answering(self, tool: Tool, answer: Answer) -> Own:
        return Own(tool.id, answer, partial(self._told, tool.id.name), self.name)

    def refused(self, refusal: BadArguments | UnknownTool, tool: ToolId | None) -> Own:
        async def answer() -> BadArguments | UnknownTool:
            return refusal

        return Own(tool, answer, partial(self._told, ""), self.name)

    def _ended(self, name: str, view: View, ended: Ended) -> JsonObject:
        """That there is no such tool is for the model to read: it made up the name, not its client."""
        match ended:
            case UnknownTool():
                return error_result(f"{refusal_text(ended)} Names are found with {self._found_by}.")
            case BadArguments(id):
                # The model has not read the schema, or not all of it: with it, the next call can be right.
                schema = schema_words(id, self._gateway.board.resolution(view))
                return error_result("\n".join((refusal_text(ended), *schema)))
            case _:
                return result_of(name, ended)

    def _told(self, name: str, ended: Answered) -> JsonObject:
        match ended:
            case UnknownTool() if not name:
                # A tool that the presentation does not list is the client's mistake, and told by the protocol's error.
                told = f"{refusal_text(ended)} What {self._found_by} finds is called with call_tool."
                raise MCPError(INVALID_PARAMS, sound_text(told))
            case UnknownTool():
                return error_result(f"{refusal_text(ended)} Names are found with {self._found_by}.")
            case _:
                return result_of(name, ended)

    async def settled(self) -> None:
        if self._ready is not None:
            await self._ready.wait()
        else:
            await self._gateway.settled(SETTLE)


def returned(body: JsonObject, meta: JsonObject | None = None) -> Returned:
    text = json.dumps(sound_object(body), ensure_ascii=False, separators=(",", ":"))
    result: JsonObject = {"content": [{"type": "text", "text": text}]}
    return Returned(json.dumps(result if meta is None else {**result, "_meta": meta}, ensure_ascii=False).encode())


def answer_of(found: JsonObject | UnknownTool | ToolIsLocked) -> Answered:
    return found if isinstance(found, UnknownTool | ToolIsLocked) else returned(found)
