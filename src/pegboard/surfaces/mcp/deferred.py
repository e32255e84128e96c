"""The deferred presentation over the protocol: tools are found by search, and from then on shown as themselves in that
conversation. None of its own tools approves, enables or widens anything."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from pegboard.core.call import Arguments, BadArguments
from pegboard.core.deferral import Materialised, shown, standing
from pegboard.core.handle import BadHandle
from pegboard.core.ids import ToolId
from pegboard.core.presentations import Presented
from pegboard.core.presentations.deferred import FEW, INSTRUCTIONS, SEARCH, TOOLS
from pegboard.core.presentations.kept import free_name
from pegboard.core.presentations.own import CALL
from pegboard.core.resolve import Open, Resolution
from pegboard.core.retrieval import BLANK, Detail, Retrieval
from pegboard.core.ticket import TICKET, TICKET_TOOL
from pegboard.core.tool import JsonObject, Tool
from pegboard.core.view import View
from pegboard.gateway.answering import Answered
from pegboard.gateway.bell import Listener
from pegboard.gateway.gateway import Gateway

from .conversation import HANDLE_META_KEY, Conversation, Handles, InSession, Sessions, Stateless
from .direct import tool_document
from .errors import ProtocolError
from .pages import BadCursor, Page
from .presentation import Own, Passed
from .protocol import INVALID_PARAMS
from .wrapping import Wrapping, returned

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams

REMEMBERED_LISTS: Final = 256
LEAVE_OUT: Final = "Leave it out, and search for what you need with tool_search."
_TICKET: Final = tool_document(TICKET, TICKET_TOOL)


@dataclass(frozen=True)
class _List:
    resolution: Resolution
    tools: tuple[JsonObject, ...]
    mark: bytes


class Deferred(Wrapping):
    """What was found is kept for each conversation; whether it is open is asked of the board each time."""

    schemas_by = SEARCH

    def __init__(
        self, gateway: Gateway, ready: anyio.Event | None = None, key: Callable[[], bytes] | None = None
    ) -> None:
        """Handles are signed with the `key`; without one they are good for as long as this process runs."""
        super().__init__(gateway, Presented.DEFERRED.value, TOOLS, SEARCH, ready)
        self.sessions: Final = Sessions()
        self.handles: Final = Handles(gateway, key)
        self._lists: Final[OrderedDict[tuple[View, Materialised], _List]] = OrderedDict()
        self._standing: Final[OrderedDict[View, tuple[Resolution, tuple[ToolId, ...]]]] = OrderedDict()
        self._conversation: Conversation = Stateless()

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def within(self, conversation: Conversation) -> "Deferred":
        bound = copy(self)
        bound._conversation = conversation
        return bound

    @contextmanager
    def telling(self, conversation: Conversation, listener: Listener) -> Iterator[None]:
        """Of what a search found in a session. What a stateless client has found, it knows itself."""
        if isinstance(conversation, Stateless):
            yield
        else:
            with self.sessions.telling(conversation.key, listener):
                yield

    def forget(self, session: str) -> None:
        self.sessions.forget(session)

    def page(self, view: View, cursor: str | None) -> Page | BadCursor:
        if cursor is not None:
            return BadCursor("this list has one page only")
        return Page(self._listed(view).tools, None)

    def mark(self, view: View) -> bytes:
        return self._listed(view).mark

    def input_schema(self, view: View, name: str) -> JsonObject | None:
        """Of open tools too, listed or not: the schema of a locked one is withheld."""
        if name in self._tools:
            return super().input_schema(view, name)
        resolution = self._gateway.board.resolution(view)
        id = resolution.called(name)
        verdict = None if id is None else resolution.verdicts[id]
        return dict(verdict.shown.spec.input_schema) if isinstance(verdict, Open) else None

    def meant(self, asked: "CallToolRequestParams", view: View) -> Passed | Own:
        """A tool of the board may be called by its own name whether it is listed or not: the gate is elsewhere."""
        self._found(view)
        if asked.name not in self._tools:
            return Passed(asked, partial(self._ended, asked.name, view), self.name)
        return super().meant(asked, view)

    def _own(self, tool: Tool, arguments: Arguments, view: View) -> Passed | Own:
        brought: Materialised | BadHandle = Materialised()
        if isinstance(handle := arguments.get("handle"), str):
            brought = self.handles.read(handle, view.principal)
        if isinstance(brought, BadHandle):
            return self.refused(BadArguments(tool.id, (f"handle: {brought.why}. {LEAVE_OUT}",)), tool.id)
        if tool.id.name == CALL:
            given = arguments.get("arguments", {})
            assert isinstance(given, dict)
            return self.passed(str(arguments["name"]), given, view)
        if not str(arguments["query"]).strip():
            return self.refused(BadArguments(tool.id, (f"query: {BLANK}",)), tool.id)
        # Who lists again reads the schemas there; to whom nothing is listed, the answer must tell all.
        detail = Detail.COMPACT if isinstance(self._conversation, InSession) else Detail.FULL
        asked = _retrieval(arguments, detail)
        return self.answering(tool, partial(self._search, asked, view, self._found(view), brought))

    async def _search(self, asked: Retrieval, view: View, known: Materialised, brought: Materialised) -> Answered:
        await self.settled()
        answer = await self._gateway.finder.retrieve(asked, view)
        board = self._gateway.board
        resolution, most = board.resolution(view), board.policy.declared.presenting.materialised
        stands = self._stands(resolution)
        # What is listed anyway takes no place.
        found = [id for id in _found_in(answer, resolution) if id not in stands]
        if isinstance(self._conversation, InSession):
            # To what the session has found by now: another search of it may have ended first.
            self.sessions.join(self._conversation.key, brought, most)
            self.sessions.add(self._conversation.key, found, most)
            return returned(answer)
        handle = self.handles.minted(known.with_searches(brought, most).with_found(found, most), view.principal)
        return returned({**answer, "handle": handle}, {HANDLE_META_KEY: handle})

    def _found(self, view: View) -> Materialised:
        """Raises the protocol's error for a handle beside the arguments: no model wrote that."""
        if isinstance(self._conversation, InSession):
            return self.sessions.of(self._conversation.key)
        if self._conversation.handle is None:
            return Materialised()
        found = self.handles.read(self._conversation.handle, view.principal)
        if isinstance(found, BadHandle):
            told = f"The handle in _meta[{HANDLE_META_KEY!r}] cannot be used: {found.why}."
            raise ProtocolError(INVALID_PARAMS, f"{told} {LEAVE_OUT}")
        return found

    def _listed(self, view: View) -> _List:
        found, resolution = self._found(view), self._gateway.board.resolution(view)
        key = view, found
        known = self._lists.get(key)
        if known is None or known.resolution is not resolution:
            tools = tuple(self._documents(resolution, found))
            known = _List(resolution, tools, hashlib.sha256(json.dumps(tools).encode()).digest())
            self._lists[key] = known
            while len(self._lists) > REMEMBERED_LISTS:
                self._lists.popitem(last=False)
        self._lists.move_to_end(key)
        return known

    def _documents(self, resolution: Resolution, found: Materialised) -> Iterator[JsonObject]:
        told = shown(resolution, self._stands(resolution), found)
        if told.deferred:
            yield from self._own_documents(resolution.view)
        asks = False
        for id in told.tools:
            name = free_name(id, resolution, self._tools)
            verdict, look = resolution.verdicts[id], self._gateway.board.policy.overrides.for_tool(id)
            if name is not None and isinstance(verdict, Open):
                asks |= verdict.confirm
                yield tool_document(verdict.shown, name, look.name_override, look.description_override)
        if asks:
            # Only who may be given a ticket is shown how to wait for one.
            yield _TICKET

    def _stands(self, resolution: Resolution) -> tuple[ToolId, ...]:
        """Worked out once for each resolution: every search of every conversation asks, and there may be many tools."""
        known = self._standing.get(resolution.view)
        if known is None or known[0] is not resolution:
            always = {*self._beside.of(resolution.view).names.values()}
            known = self._standing[resolution.view] = resolution, standing(resolution, always)
            while len(self._standing) > REMEMBERED_LISTS:
                self._standing.popitem(last=False)
        return known[1]


def _retrieval(arguments: Arguments, detail: Detail) -> Retrieval:
    """An integer may have been written as 5.0."""
    query, limit = arguments["query"], arguments.get("limit", FEW)
    assert isinstance(query, str)
    assert isinstance(limit, int | float)
    return Retrieval(query, int(limit), include_disabled=_says(arguments, "include_disabled"), detail=detail)


def _says(arguments: Arguments, name: str) -> bool:
    return arguments.get(name) is True


def _found_in(answer: JsonObject, resolution: Resolution) -> list[ToolId]:
    """The tools that the answer tells of, which from now on tells of them by the names in the list."""
    found: list[ToolId] = []
    entries = answer["tools"]
    assert isinstance(entries, list)
    for entry in entries:
        assert isinstance(entry, dict)
        if (id := resolution.called(str(entry["name"]))) is not None:
            entry["name"] = free_name(id, resolution, TOOLS) or entry["name"]
            found.append(id)
    return found
