"""The code presentation over the protocol: a search for functions, and programs that call them. Neither approves,
enables or widens anything."""

import hashlib
import json
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from pegboard.core.call import (
    Arguments,
    BadArguments,
    Call,
    Returned,
    ToolIsLocked,
    UnknownTool,
    looked_up,
    refusal_text,
)
from pegboard.core.foreign_names import near_tools
from pegboard.core.ids import WireName
from pegboard.core.presentations import Presented
from pegboard.core.presentations.code import FOUND_BY, INSTRUCTIONS, SEARCH, TOOLS, Told
from pegboard.core.prompting import PYTHON
from pegboard.core.resolve import Open, Resolution
from pegboard.core.retrieval import BLANK, FEW, Retrieval
from pegboard.core.ticket import TICKET, TICKET_TOOL
from pegboard.core.tool import JsonObject, Tool
from pegboard.core.view import View
from pegboard.gateway.answering import Answered
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.programs import must_be_confirmed, program, verdict_on_programs
from pegboard.ports import Peer, Progress

from .answer import Ended, error_result
from .direct import tool_document
from .errors import ProtocolError
from .pages import BadCursor, Page
from .presentation import Own, Passed
from .protocol import INVALID_PARAMS
from .wire import sound_text
from .wrapping import Wrapping

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams

    from pegboard.prompts.stubs import Names

REMEMBERED: Final = 64
_TICKET: Final = tool_document(TICKET, TICKET_TOOL)


class Code(Wrapping):
    """Nothing that runs programs is loaded before a client lists its tools."""

    schemas_by = SEARCH

    def __init__(self, gateway: Gateway, ready: anyio.Event | None = None) -> None:
        super().__init__(gateway, Presented.CODE.value, TOOLS, SEARCH, ready, also=(PYTHON, TICKET_TOOL))
        self._known: OrderedDict[View, tuple[Resolution, Names, bool]] = OrderedDict()

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def page(self, view: View, cursor: str | None) -> Page | BadCursor:
        if cursor is not None:
            return BadCursor("this list has one page only")
        return Page((*self._own_documents(view), *self._of(view), *self._beside.of(view).documents), None)

    def mark(self, view: View) -> bytes:
        own = json.dumps(self._of(view)).encode()
        return hashlib.sha256(super().mark(view) + own).digest()

    def input_schema(self, view: View, name: str) -> JsonObject | None:
        if name == PYTHON and (python := self._python(view)) is not None:
            return dict(python.spec.input_schema)
        return super().input_schema(view, name)

    def meant(self, asked: "CallToolRequestParams", view: View) -> Passed | Own:
        if asked.name == PYTHON:
            # Whoever runs it reads its arguments, by the limits of the settings.
            return Passed(asked, partial(self._ended, PYTHON, view), self.name)
        return super().meant(asked, view)

    async def carry(self, call: Call, view: View, progress: Progress | None, peer: Peer | None) -> Ended:
        """A program runs here whether its tool hangs on the board or not."""
        if call.name == PYTHON:
            return await program(self._gateway, call, view, progress, peer)
        return await self._gateway.caller.call(call, view, progress, peer)

    def _of(self, view: View) -> list[JsonObject]:
        """Beside the search: what runs programs, and where some call must be confirmed, how to wait for that."""
        python = self._python(view)
        documents = [] if python is None else [tool_document(python, WireName(PYTHON))]
        asks = self._names(view)[1] or must_be_confirmed(self._gateway, view)
        return [*documents, _TICKET] if asks else documents

    def _python(self, view: View) -> Tool | None:
        """What runs programs, where it is open to this caller."""
        is_open = isinstance(verdict_on_programs(self._gateway, view), Open)
        return self._gateway.code.tool(FOUND_BY) if is_open else None

    def _names(self, view: View) -> "tuple[Names, bool]":
        """What functions are called, and whether a person must confirm any call."""
        from pegboard.prompts.stubs import names_of

        resolution = self._gateway.board.resolution(view)
        known = self._known.get(view)
        if known is None or known[0] is not resolution:
            asks = any(isinstance(each, Open) and each.confirm for each in resolution.verdicts.values())
            known = self._known[view] = resolution, names_of(resolution), asks
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(view)
        return known[1], known[2]

    def _own(self, tool: Tool, arguments: Arguments, view: View) -> Own:
        if not str(arguments["query"]).strip():
            return self.refused(BadArguments(tool.id, (f"query: {BLANK}",)), tool.id)
        return self.answering(tool, partial(self._found, arguments, view))

    async def _found(self, arguments: Arguments, view: View) -> Returned:
        await self.settled()
        query, limit = str(arguments["query"]), arguments.get("limit", FEW)
        assert isinstance(limit, int | float)
        asked = Retrieval(query, int(limit), include_disabled=_says(arguments, "include_disabled"))
        answer = await self._gateway.finder.retrieve(asked, view)
        told = Told(str(arguments.get("detail", Told.LINE)))
        text = await to_thread.run_sync(self._text, asked, answer, told, view, abandon_on_cancel=True)
        return Returned(json.dumps({"content": [{"type": "text", "text": sound_text(text)}]}).encode())

    def _text(self, asked: Retrieval, answer: JsonObject, told: Told, view: View) -> str:
        from pegboard.prompts.stubs.finding import found_text, named_in

        board = self._gateway.board
        resolution, policy, names = board.resolution(view), board.policy, self._names(view)[0]
        return found_text(answer, named_in(asked.query, names), asked.limit, told, resolution, policy, names)

    def _unlisted(self, name: str, view: View) -> Own:
        """The name of a tool that is a function here: told to the model, which found it under another roof."""
        found = looked_up(name, self._gateway.board.resolution(view))
        unknown = UnknownTool(name, *near_tools(name, (*TOOLS, PYTHON)))
        refusal = found if isinstance(found, ToolIsLocked) else unknown

        async def answer() -> UnknownTool | ToolIsLocked:
            return refusal

        def result(ended: Answered) -> JsonObject:
            if isinstance(found, ToolIsLocked):
                return error_result(refusal_text(found))
            named = self._names(view)[0].named(found.tool.id) if isinstance(found, Open) else None
            if named is not None:
                how = f"Here it is a function: run a program with {PYTHON} that says await {named}(...)."
                return error_result(f"{name!r} is not in this list of tools. {how}")
            raise ProtocolError(INVALID_PARAMS, sound_text(refusal_text(unknown, SEARCH)))

        return Own(found.tool if isinstance(found, ToolIsLocked) else None, answer, result, self.name)


def _says(arguments: Arguments, name: str) -> bool:
    return arguments.get(name) is True
