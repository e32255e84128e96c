"""The deferred presentation over MCP."""

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

from pegboard.core.calls.call import Arguments, BadArguments
from pegboard.core.calls.tickets import TICKET, TICKET_TOOL
from pegboard.core.decision.resolve import OpenTool, Resolution
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PresentationMode
from pegboard.core.model.tool import Tool
from pegboard.core.presentations.deferred_tools import DEFAULT_RESULTS, INSTRUCTIONS, SEARCH, TOOLS
from pegboard.core.presentations.own_tools import (
    CALL_TOOL,
    BadHandle,
    MaterializedTools,
    always_shown_tools,
    conversation_tools,
    free_name,
)
from pegboard.core.presentations.retrieval import BLANK_QUERY_TEXT, AnswerDetail, ToolSearchQuery
from pegboard.gateway.signals import Subscription
from pegboard.gateway.tool_calls import PresentationAnswer
from pegboard.surfaces.mcp.gateway_parts import PresentationParts
from pegboard.surfaces.mcp.presentations.base import (
    HANDLE_META_KEY,
    BoardCall,
    Conversation,
    ConversationHandles,
    FoundToolsBySession,
    OwnCall,
    SessionConversation,
    StatelessConversation,
)
from pegboard.surfaces.mcp.presentations.direct import tool_document
from pegboard.surfaces.mcp.presentations.wrapper import WrappingPresentation, json_result
from pegboard.surfaces.mcp.protocol import INVALID_PARAMS, ProtocolError
from pegboard.surfaces.mcp.results import BadCursor, ToolPage

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams


MAX_CACHED_LISTS: Final = 256
LEAVE_OUT_HINT: Final = "Leave it out, and search for what you need with tool_search."
_TICKET_DOCUMENT: Final = tool_document(TICKET, TICKET_TOOL)


@dataclass(frozen=True)
class _DeferredToolList:
    resolution: Resolution
    tools: tuple[JsonObject, ...]
    fingerprint: bytes


class DeferredPresentation(WrappingPresentation):
    """What was found is kept for each conversation; whether it is open is asked of the board each time."""

    schema_tool = SEARCH

    def __init__(
        self, parts: PresentationParts, ready: anyio.Event | None = None, key: Callable[[], bytes] | None = None
    ) -> None:
        """Handles are signed with the `key`; without one they are good for as long as this process runs."""
        super().__init__(parts, PresentationMode.DEFERRED.value, TOOLS, SEARCH, ready)
        self.sessions: Final = FoundToolsBySession()
        self.handles: Final = ConversationHandles(parts.board, parts.calls.clock, key)
        self._lists: Final[OrderedDict[tuple[View, MaterializedTools], _DeferredToolList]] = OrderedDict()
        self._always_listed_cache: Final[OrderedDict[View, tuple[Resolution, tuple[ToolId, ...]]]] = OrderedDict()
        self._conversation: Conversation = StatelessConversation()

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS

    def for_conversation(self, conversation: Conversation) -> "DeferredPresentation":
        bound = copy(self)
        bound._conversation = conversation
        return bound

    @contextmanager
    def subscribe(self, conversation: Conversation, listener: Subscription) -> Iterator[None]:
        """Of what a search found in a session. What a stateless client has found, it knows itself."""
        if isinstance(conversation, StatelessConversation):
            yield
        else:
            with self.sessions.subscribe(conversation.key, listener):
                yield

    def forget(self, session: str) -> None:
        self.sessions.forget(session)

    def page(self, view: View, cursor: str | None) -> ToolPage | BadCursor:
        if cursor is not None:
            return BadCursor("this list has one page only")
        return ToolPage(self._tool_list(view).tools, None)

    def fingerprint(self, view: View) -> bytes:
        return self._tool_list(view).fingerprint

    def input_schema(self, view: View, name: str) -> JsonObject | None:
        """Of open tools too, listed or not: the schema of a locked one is withheld."""
        if name in self._tools:
            return super().input_schema(view, name)
        resolution = self._parts.board.resolution(view)
        id = resolution.find_tool(name)
        verdict = None if id is None else resolution.verdicts[id]
        return dict(verdict.visible_tool.spec.input_schema) if isinstance(verdict, OpenTool) else None

    def resolve_call(self, asked: "CallToolRequestParams", view: View) -> BoardCall | OwnCall:
        """A tool of the board may be called by its own name whether it is listed or not: the gate is elsewhere."""
        self._found_tools(view)
        if asked.name not in self._tools:
            return BoardCall(asked, partial(self._board_result, asked.name, view), self.name)
        return super().resolve_call(asked, view)

    def _resolve_own_call(self, tool: Tool, arguments: Arguments, view: View) -> BoardCall | OwnCall:
        brought: MaterializedTools | BadHandle = MaterializedTools()
        if isinstance(handle := arguments.get("handle"), str):
            brought = self.handles.parse(handle, view.principal)
        if isinstance(brought, BadHandle):
            return self.refuse_arguments(BadArguments(tool.id, (f"handle: {brought.why}. {LEAVE_OUT_HINT}",)), tool.id)
        if tool.id.name == CALL_TOOL:
            given = arguments.get("arguments", {})
            assert isinstance(given, dict)
            return self.board_call(str(arguments["name"]), given, view)
        if not str(arguments["query"]).strip():
            return self.refuse_arguments(BadArguments(tool.id, (f"query: {BLANK_QUERY_TEXT}",)), tool.id)
        # Who lists again reads the schemas there; to whom nothing is listed, the answer must tell all.
        detail = AnswerDetail.COMPACT if isinstance(self._conversation, SessionConversation) else AnswerDetail.FULL
        asked = _retrieval(arguments, detail)
        return self.own_call(tool, partial(self._search, asked, view, self._found_tools(view), brought))

    async def _search(
        self, asked: ToolSearchQuery, view: View, known: MaterializedTools, brought: MaterializedTools
    ) -> PresentationAnswer:
        await self.wait_until_ready()
        answer = await self._parts.search.retrieve(asked, view)
        board = self._parts.board
        resolution, most = board.resolution(view), board.policy.declared.presentation.max_materialized
        stands = self._always_listed(resolution)
        # What is listed anyway takes no place.
        found = [id for id in _tools_in_answer(answer, resolution) if id not in stands]
        if isinstance(self._conversation, SessionConversation):
            # To what the session has found by now: another search of it may have ended first.
            self.sessions.merge(self._conversation.key, brought, most)
            self.sessions.add_found(self._conversation.key, found, most)
            return json_result(answer)
        handle = self.handles.mint(known.with_searches(brought, most).with_found(found, most), view.principal)
        return json_result({**answer, "handle": handle}, {HANDLE_META_KEY: handle})

    def _found_tools(self, view: View) -> MaterializedTools:
        """Raises the protocol's error for a handle beside the arguments: no model wrote that."""
        if isinstance(self._conversation, SessionConversation):
            return self.sessions.found_in(self._conversation.key)
        if self._conversation.handle is None:
            return MaterializedTools()
        found = self.handles.parse(self._conversation.handle, view.principal)
        if isinstance(found, BadHandle):
            told = f"The handle in _meta[{HANDLE_META_KEY!r}] cannot be used: {found.why}."
            raise ProtocolError(INVALID_PARAMS, f"{told} {LEAVE_OUT_HINT}")
        return found

    def _tool_list(self, view: View) -> _DeferredToolList:
        found, resolution = self._found_tools(view), self._parts.board.resolution(view)
        key = view, found
        known = self._lists.get(key)
        if known is None or known.resolution is not resolution:
            tools = tuple(self._documents(resolution, found))
            known = _DeferredToolList(resolution, tools, hashlib.sha256(json.dumps(tools).encode()).digest())
            self._lists[key] = known
            while len(self._lists) > MAX_CACHED_LISTS:
                self._lists.popitem(last=False)
        self._lists.move_to_end(key)
        return known

    def _documents(self, resolution: Resolution, found: MaterializedTools) -> Iterator[JsonObject]:
        told = conversation_tools(resolution, self._always_listed(resolution), found)
        if told.has_deferred:
            yield from self._own_documents(resolution.view)
        asks = False
        for id in told.tools:
            name = free_name(id, resolution, self._tools)
            verdict, look = resolution.verdicts[id], self._parts.board.policy.overrides.for_tool(id)
            if name is not None and isinstance(verdict, OpenTool):
                asks |= verdict.confirm
                yield tool_document(verdict.visible_tool, name, look.name_override, look.description_override)
        if asks:
            # Only who may be given a ticket is shown how to wait for one.
            yield _TICKET_DOCUMENT

    def _always_listed(self, resolution: Resolution) -> tuple[ToolId, ...]:
        """Worked out once for each resolution: every search of every conversation asks, and there may be many tools."""
        known = self._always_listed_cache.get(resolution.view)
        if known is None or known[0] is not resolution:
            always = {*self._pinned.for_view(resolution.view).names.values()}
            known = self._always_listed_cache[resolution.view] = resolution, always_shown_tools(resolution, always)
            while len(self._always_listed_cache) > MAX_CACHED_LISTS:
                self._always_listed_cache.popitem(last=False)
        return known[1]


def _retrieval(arguments: Arguments, detail: AnswerDetail) -> ToolSearchQuery:
    """An integer may have been written as 5.0."""
    query, limit = arguments["query"], arguments.get("limit", DEFAULT_RESULTS)
    assert isinstance(query, str)
    assert isinstance(limit, int | float)
    return ToolSearchQuery(query, int(limit), include_disabled=_is_true(arguments, "include_disabled"), detail=detail)


def _is_true(arguments: Arguments, name: str) -> bool:
    return arguments.get(name) is True


def _tools_in_answer(answer: JsonObject, resolution: Resolution) -> list[ToolId]:
    """The tools that the answer tells of, which from now on tells of them by the names in the list."""
    found: list[ToolId] = []
    entries = answer["tools"]
    assert isinstance(entries, list)
    for entry in entries:
        assert isinstance(entry, dict)
        if (id := resolution.find_tool(str(entry["name"]))) is not None:
            entry["name"] = free_name(id, resolution, TOOLS) or entry["name"]
            found.append(id)
    return found
