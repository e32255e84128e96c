"""What presentations with tools of their own have in common: how those are listed, checked and told, and how a call of
a tool of the board passes through one of them."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import anyio

from pegboard.core.call import Arguments, BadArguments, Returned, ToolIsLocked, UnknownTool, looked_up, refusal_text
from pegboard.core.foreign_names import TOOLS, near_tools
from pegboard.core.ids import ToolId, WireName
from pegboard.core.presentations.mending import schema_words
from pegboard.core.presentations.own import CALL
from pegboard.core.prompting import SEARCH
from pegboard.core.resolve import Open
from pegboard.core.ticket import TICKET_TOOL
from pegboard.core.tool import JsonObject, Tool
from pegboard.core.view import View
from pegboard.gateway.answering import Answer, Answered
from pegboard.gateway.builtin_verdicts import refusal_of_builtin, verdict_on_search
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.validation import Validators

from .answer import Ended, error_result, result_of
from .beside import Beside
from .direct import tool_document
from .errors import ProtocolError
from .pages import BadCursor, Page
from .presentation import Own, Passed
from .protocol import INVALID_PARAMS
from .wire import sound_object, sound_text

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams

SETTLE: Final = 3.0
"""Seconds that an answer waits for servers that are starting: what is not listed yet cannot be found."""


class Wrapping(ABC):
    """Its own tools never change. What is found by them does, and is asked of the board each time."""

    calls_with: ClassVar[tuple[str, str]] = "name", "arguments"
    """The arguments of call_tool that say which tool is called, and with what."""
    schemas_by: ClassVar[str]
    """The tool that tells the whole schema of another."""

    def __init__(
        self,
        gateway: Gateway,
        name: str,
        tools: Mapping[str, Tool],
        found_by: str,
        ready: anyio.Event | None = None,
        *,
        also: Sequence[str] = (),
    ) -> None:
        """`found_by` is the tool that names others; `also` are names of the presentation's own beside `tools`. Until
        `ready`, an answer waits; without it, a moment for what is starting."""
        self.name: Final = name
        self._gateway = gateway
        self._tools = tools
        self._own_names = (*tools, *also)
        self._found_by = found_by
        self._ready = ready
        self._validators = Validators()
        self._beside = Beside(gateway.board, (*tools, *also))
        self._list = tuple(tool_document(tool, WireName(name)) for name, tool in tools.items())
        self._mark = hashlib.sha256(json.dumps(self._list).encode()).digest()

    def page(self, view: View, cursor: str | None) -> Page | BadCursor:
        if cursor is not None:
            return BadCursor("this list has one page only")
        return Page((*self._own_documents(view), *self._beside.of(view).documents), None)

    def mark(self, view: View) -> bytes:
        own = self._own_documents(view)
        mark = self._mark if len(own) == len(self._list) else json.dumps(own).encode()
        return hashlib.sha256(mark + self._beside.of(view).mark).digest()

    def input_schema(self, view: View, name: str) -> JsonObject | None:
        tool = self._tools.get(name)
        if tool is not None and self._refusal(tool, view) is not None:
            return None
        schema = self._beside.of(view).schemas.get(WireName(name)) if tool is None else tool.spec.input_schema
        return None if schema is None else dict(schema)

    def meant(self, asked: "CallToolRequestParams", view: View) -> Passed | Own:
        tool, arguments = self._tools.get(asked.name), asked.arguments or {}
        if tool is None:
            # The tool of tickets is not listed here, but the answer to a call that must be confirmed tells of it.
            if asked.name == TICKET_TOOL or WireName(asked.name) in self._beside.of(view).names:
                return Passed(asked, partial(result_of, asked.name), self.name)
            return self._unlisted(asked.name, view)
        if (refusal := self._refusal(tool, view)) is not None:
            return self._switched_off(refusal)
        if problems := self._validators.problems(tool, arguments):
            schema = self._meant_schema(arguments, view) if tool.id.name == CALL else ()
            return self.refused(BadArguments(tool.id, problems), tool.id, schema)
        return self._own(tool, arguments, view)

    def _own_documents(self, view: View) -> tuple[JsonObject, ...]:
        tools = self._tools.values()
        return tuple([each for each, tool in zip(self._list, tools, strict=True) if self._refusal(tool, view) is None])

    def _refusal(self, tool: Tool, view: View) -> ToolIsLocked | UnknownTool | None:
        """Of the tools that presentations have, tool_search is the one that can be taken away by its name."""
        return refusal_of_builtin(verdict_on_search(self._gateway, view)) if tool.id.name == SEARCH else None

    def _switched_off(self, refusal: ToolIsLocked | UnknownTool) -> Own:
        async def answer() -> UnknownTool | ToolIsLocked:
            return refusal

        def result(ended: Answered) -> JsonObject:
            if isinstance(refusal, ToolIsLocked):
                return error_result(refusal_text(refusal))
            raise ProtocolError(INVALID_PARAMS, sound_text(refusal_text(refusal)))

        return Own(refusal.tool if isinstance(refusal, ToolIsLocked) else None, answer, result, self.name)

    @abstractmethod
    def _own(self, tool: Tool, arguments: Arguments, view: View) -> Passed | Own:
        """What a call of one of its own tools stands for. Its arguments fit the schema, so each is of its kind."""

    def passed(self, name: str, arguments: Arguments, view: View) -> Passed:
        from mcp_types import CallToolRequestParams

        call = CallToolRequestParams(name=name, arguments=dict(arguments))
        return Passed(call, partial(self._ended, name, view), self.name)

    def answering(self, tool: Tool, answer: Answer) -> Own:
        return Own(tool.id, answer, partial(self._told, tool.id.name), self.name)

    def refused(self, refusal: BadArguments, tool: ToolId, schema: Sequence[str] = ()) -> Own:
        """With the lines of a `schema` that tells what would have fitted."""

        async def answer() -> BadArguments:
            return refusal

        def result(ended: Answered) -> JsonObject:
            return error_result("\n".join((refusal_text(refusal), *schema)))

        return Own(tool, answer, result if schema else partial(self._told, tool.name), self.name)

    def _meant_schema(self, arguments: Arguments, view: View) -> Sequence[str]:
        """Of the tool that a call of call_tool names, whatever else is wrong with that call: models write the
        arguments as text, or beside the name."""
        name, resolution = arguments.get(self.calls_with[0]), self._gateway.board.resolution(view)
        if not isinstance(name, str):
            return ()
        id = resolution.called(name)
        where = f"The tool's own arguments go into {self.calls_with[1]!r}, as an object and not as text."
        return (where,) if id is None else (where, *schema_words(id, resolution, self.schemas_by))

    def _unlisted(self, name: str, view: View) -> Own:
        """A name that is not in the list. That of a tool of the board is told to the model, which has found it and
        calls it by itself; any other is the client's mistake, and told by the protocol's error."""
        found = looked_up(name, self._gateway.board.resolution(view))
        unknown = UnknownTool(name, *near_tools(name, self._own_names))
        if isinstance(found, Open):
            unknown = UnknownTool(name, (), f"Here it is called with {CALL}.")
        refusal = found if isinstance(found, ToolIsLocked) else unknown

        async def answer() -> UnknownTool | ToolIsLocked:
            return refusal

        def result(ended: Answered) -> JsonObject:
            if isinstance(found, ToolIsLocked):
                return error_result(refusal_text(found))
            if isinstance(found, Open):
                tool, given = self.calls_with
                call = json.dumps({tool: name, given: {}}, ensure_ascii=False)
                return error_result(f"{name!r} is not in this list of tools. Call it with {CALL}: {call}")
            told = f"{refusal_text(unknown, self._found_by)} What it finds is called with {CALL}."
            raise ProtocolError(INVALID_PARAMS, sound_text(told))

        return Own(found.tool if isinstance(found, ToolIsLocked) else None, answer, result, self.name)

    def _ended(self, name: str, view: View, ended: Ended) -> JsonObject:
        """That there is no such tool is for the model to read: it made up the name, not its client."""
        match ended:
            case UnknownTool(unknown, near):
                # By a name that another program has for one of this list, which the board does not know.
                if not near and TOOLS.get(unknown) in self._own_names:
                    ended = replace(ended, near=(TOOLS[unknown],), why="")
                return error_result(refusal_text(ended, self._found_by))
            case BadArguments(id):
                # The model has not read the schema, or not all of it: with it, the next call can be right.
                schema = schema_words(id, self._gateway.board.resolution(view), self.schemas_by)
                return error_result("\n".join((refusal_text(ended), *schema)))
            case _:
                return result_of(name, ended)

    def _told(self, name: str, ended: Answered) -> JsonObject:
        match ended:
            case UnknownTool():
                return error_result(refusal_text(ended, self._found_by))
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
