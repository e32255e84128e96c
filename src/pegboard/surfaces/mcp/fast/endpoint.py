"""The fast path: takes requests that it knows, and leaves all others to the SDK."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from pegboard.core.calls.call import NeedsInput
from pegboard.core.json.values import MAX_JSON_DEPTH, is_deeper_than
from pegboard.ports.fast_path import RequestHead, ResponseSink
from pegboard.surfaces.mcp.authentication import AUTHORIZATION, BearerAuthentication
from pegboard.surfaces.mcp.endpoint_state import INTERNAL_ERROR_MESSAGE, SERVER_INFO, EndpointState
from pegboard.surfaces.mcp.fast.calls import (
    FastPathCalls,
    ParsedRequest,
    PreparedCall,
    decode_large_arguments,
    tool_named_in_headers,
)
from pegboard.surfaces.mcp.fast.messages import (
    ABSENT,
    MAX_META_BYTES,
    OFF_LOOP_BYTES,
    UNREADABLE,
    JsonRpcMessage,
    MetaCache,
    MetaTooLargeError,
    ResultEncoder,
    call_params,
    encode,
    encode_error,
    encode_request_id,
    is_large,
    read_list,
    read_members,
    read_message,
    read_request,
    read_text,
)
from pegboard.surfaces.mcp.fast.request_context import (
    McpSession,
    McpSessions,
    ReadView,
    RequestContext,
    RequestContextCache,
)
from pegboard.surfaces.mcp.fast.response import (
    NO_EXTRA_HEADERS,
    InboundRequest,
    Phase,
    RequestSupervisor,
    ResponseWriter,
)
from pegboard.surfaces.mcp.gateway_parts import McpParts
from pegboard.surfaces.mcp.presentations.direct import PAGE_SIZE, ToolList
from pegboard.surfaces.mcp.protocol import INTERNAL_ERROR, INVALID_PARAMS
from pegboard.surfaces.mcp.request_checks import HttpRejection, RequestChecks
from pegboard.surfaces.mcp.results import REQUEST_CANCELLED, BadCursor, cancelled_message

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


# Pages of `tools/list` as text: each tool encoded once, joined once for each list, and kept for the next who asks.

MAX_CACHE_BYTES: Final = 16 * 1024 * 1024

PageKey = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class EncodedToolPage:
    """The answer up to its last tool, and what follows up to the id of the request, which comes last.

    All who ask share the first, in either era: it is as long as the tools themselves.
    """

    text: bytes
    rest: bytes


class ToolListEncoder:
    def __init__(self, tail: bytes) -> None:
        self._tail = tail
        self._pages: OrderedDict[PageKey, EncodedToolPage] = OrderedDict()
        self._size = 0

    def page(self, shown: ToolList, cursor: str | None, *, modern: bool) -> EncodedToolPage | None:
        """`None` for a cursor that cannot be used."""
        start = shown.page_start(cursor)
        if isinstance(start, BadCursor):
            return None
        page = self._page(shown, start)
        return EncodedToolPage(page.text, b"%b%b%b" % (page.rest, self._tail if modern else b"", b'},"id":'))

    def _page(self, shown: ToolList, start: int) -> EncodedToolPage:
        key = shown.fingerprint, start
        known = self._pages.get(key)
        if known is not None:
            self._pages.move_to_end(key)
            return known
        fresh = self._pages[key] = _encode_page(shown, start)
        self._size += len(fresh.text)
        while self._size > MAX_CACHE_BYTES and len(self._pages) > 1:
            _, forgotten = self._pages.popitem(last=False)
            self._size -= len(forgotten.text)
        return fresh


def _encode_page(shown: ToolList, start: int) -> EncodedToolPage:
    fragments, following = shown.fragments[start : start + PAGE_SIZE], shown.next_cursor(start)
    more = b"" if following is None else b',"nextCursor":%b' % encode(following)
    return EncodedToolPage(b'{"jsonrpc":"2.0","result":{"tools":[' + b",".join(fragments), b"]" + more)


log: Final = logging.getLogger(__name__)

SESSION_HEADER: Final = b"mcp-session-id"
METHOD_HEADER: Final = b"mcp-method"
LENGTH_HEADER: Final = b"content-length"
CALL_METHOD: Final = b"tools/call"
LIST_METHOD: Final = b"tools/list"
ENDPOINT_PATH: Final = b"/mcp"
WHOLE_EXTENSION: Final = "pegboard.whole"
"""See the listening: what sends a whole answer in one go."""
META_TOO_LARGE: Final = HttpRejection(
    400,
    f"The _meta of the request is larger than {MAX_META_BYTES} bytes. Send less there: what is large belongs into "
    "arguments.",
    INVALID_PARAMS,
)


_MAX_DEPTH: Final = MAX_JSON_DEPTH + 1
"""Levels of a request that the long road takes, and so does this one."""
_MIN_DEEP_BYTES: Final = 2 * _MAX_DEPTH
"""Bytes of the longest request that cannot be nested deeper."""


_MAX_JOINED_BYTES: Final = 65_536
"""Bytes of a page that is put together to be sent in one piece."""


class FastPathOutcome(Enum):
    """How far a request came. A body that was read for nothing is handed back instead."""

    SERVED = auto()
    NOT_TAKEN = auto()
    TIMED_OUT = auto()


@dataclass(frozen=True, slots=True)
class _PreparedHead:
    """What a head means on this board, until the next token ends."""

    board_revision: object
    expires_at: datetime | None
    request: ParsedRequest
    method: bytes | None
    """The only one that a request with this head may ask for; `None` where the head names none."""


class FastPath:
    def __init__(
        self,
        parts: McpParts,
        state: EndpointState,
        sessions: McpSessions,
        door: RequestChecks,
        read_view: ReadView,
        entrance: BearerAuthentication,
    ) -> None:
        self._parts = parts
        self._board = parts.board
        self._state = state
        self._sessions = sessions
        self._max_body_bytes = door.max_body_bytes
        self._max_values = door.max_values
        self._check_value_count = door.check_value_count
        self._startup_wait_s = door.startup_wait_s
        self._contexts = RequestContextCache(entrance.token_index, read_view)
        self._authentication = entrance
        self._encoder = ResultEncoder(SERVER_INFO)
        self._meta_cache = MetaCache()
        self._calls = FastPathCalls(parts.calls, state, self._meta_cache)
        self._list_encoder = ToolListEncoder(self._encoder.list_tail)
        self._supervisor = RequestSupervisor(door.client_timeout_s)

    def close(self) -> None:
        self._supervisor.close()

    @property
    def path(self) -> bytes:
        return ENDPOINT_PATH

    @property
    def principals(self) -> object:
        return self._authentication.token_index.hashes

    def forget_callers(self) -> None:
        self._contexts.forget()
        self._authentication.forget_callers()

    def try_handle(self, outlet: ResponseSink, head: RequestHead, body: bytes) -> InboundRequest | None:
        """A call or a list that came whole and is plainly one: served without ASGI, which costs as much as the rest."""
        prepared = head.prepared_request
        if (
            not isinstance(prepared, _PreparedHead)
            or prepared.board_revision is not self._board.revision
            or (prepared.expires_at is not None and self._parts.calls.clock() >= prepared.expires_at)
        ):
            prepared = head.prepared_request = self._prepare_head(head)
            if prepared is None:
                return None
        asked = prepared.request
        session = asked.session
        if not (session is None or self._sessions.is_open(session)):
            return None
        if len(body) > _MIN_DEEP_BYTES and is_deeper_than(_MAX_DEPTH, body):
            return None
        if prepared.method == LIST_METHOD:
            return self._try_list(asked, body, outlet)
        try:
            request = read_request(body)
            id = encode_request_id(bytes(request.id))
        except UNREADABLE:
            return self._try_list(asked, body, outlet) if prepared.method is None else None
        if request.method != "tools/call" or request.jsonrpc != "2.0" or not id:
            return None
        ready = self._calls.prepare(asked, request.params)
        if ready is None:
            return None
        ticket = _inbound_request(session, outlet)
        self._supervisor.begin(ticket, self._execute_call(ready, id, asked, ticket))
        return ticket

    def _try_list(self, asked: ParsedRequest, body: bytes, outlet: ResponseSink) -> InboundRequest | None:
        """A page of the tools as it was encoded before: nothing is waited for, unless the client reads slowly."""
        if self._parts.providers.has_caller_aware:
            return None  # the tools may be listed for this caller first, and that takes time
        try:
            message = read_message(body)
            id = encode_request_id(bytes(message.id))
        except UNREADABLE:
            return None
        if message.method != "tools/list" or message.jsonrpc != "2.0" or not id:
            return None
        page = self._encoded_page(message, asked)
        if page is None:
            return None
        ticket = _inbound_request(asked.session, outlet)
        end = b"%b%b}" % (page.rest, id)
        if len(page.text) > _MAX_JOINED_BYTES or not ticket.writer.try_send_whole(page.text + end):
            self._supervisor.begin(ticket, self._send_page(page.text, end, ticket))
        return ticket

    async def _send_page(self, text: bytes, end: bytes, ticket: InboundRequest) -> None:
        ticket.enter(Phase.WRITING)
        try:
            await ticket.writer.finish_in_parts(text, end)
        except asyncio.CancelledError:
            ticket.writer.abandon()
            if not ticket.absorb_cancellation():
                raise
        finally:
            self._supervisor.end(ticket)

    def _prepare_head(self, head: RequestHead) -> "_PreparedHead | None":
        """`None` for whom the long road must look at first, or for what is neither call nor list."""
        if len(head.headers) != len(head.raw_headers):
            return None
        profile = self._contexts.find_cached(head.query, head.raw_headers, head.headers)
        if profile is None or not profile.is_valid_on(self._board):
            return None
        method = head.headers.get(METHOD_HEADER, b"") if profile.modern else None
        if method not in (None, CALL_METHOD, LIST_METHOD):
            return None
        session: McpSession | None = None
        if not profile.modern and (session := self._session(profile, head.headers)) is None:
            return None
        asked = ParsedRequest(
            profile, session, self._without_own_token(head.headers), tool_named_in_headers(head.headers)
        )
        return _PreparedHead(self._board.revision, self._authentication.token_index.next_expiry, asked, method)

    def _session(self, profile: RequestContext, headers: Mapping[bytes, bytes]) -> McpSession | None:
        session = self._sessions.find(headers.get(SESSION_HEADER, b"").strip(b" \t"))
        return None if session is None or session.principal != profile.view.principal else session

    def _without_own_token(self, headers: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
        """The token for this gateway itself is for no server to have."""
        if not self._authentication.token_index.hashes or AUTHORIZATION not in headers:
            return headers
        return {name: value for name, value in headers.items() if name != AUTHORIZATION}

    async def handle_asgi(
        self, scope: "Scope", receive: "Receive", send: "Send", toolset: str | None = None
    ) -> "FastPathOutcome | HttpRejection | bytes":
        given = scope["headers"]
        headers: dict[bytes, bytes] = dict(given)
        length = headers.get(LENGTH_HEADER)
        # Two of one name are read differently by different readers, and a body of unknown size is read with more care.
        if len(headers) != len(given) or length is None or not length.isdigit() or int(length) > self._max_body_bytes:
            return FastPathOutcome.NOT_TAKEN
        client = scope.get("client")
        address = "" if client is None else str(client[0])
        profile = self._contexts.resolve(address, scope["query_string"], given, headers, toolset)
        if isinstance(profile, HttpRejection):
            return profile
        if profile is None or not profile.is_valid_on(self._board):
            return FastPathOutcome.NOT_TAKEN
        session: McpSession | None = None
        if not profile.modern and (session := self._session(profile, headers)) is None:
            return FastPathOutcome.NOT_TAKEN
        extensions = scope.get("extensions")
        whole = None if extensions is None else extensions.get(WHOLE_EXTENSION)
        ticket = InboundRequest(
            receive, ResponseWriter(send, NO_EXTRA_HEADERS if session is None else session.extra_headers, whole)
        )
        self._supervisor.begin(ticket)
        try:
            body = await _read_body(receive)
            if body is None:
                return FastPathOutcome.SERVED
            if len(body) > self._max_values and await to_thread.run_sync(self._check_value_count, body) is not None:
                return body  # the long road refuses it
            if len(body) > _MIN_DEEP_BYTES and await _is_too_deep(body):
                return body  # as it does this
            return await self._handle_body(
                body,
                ParsedRequest(profile, session, self._without_own_token(headers), tool_named_in_headers(headers)),
                ticket,
            )
        except MetaTooLargeError:
            return META_TOO_LARGE
        except asyncio.CancelledError:
            ticket.writer.abandon()
            if not ticket.absorb_cancellation():
                raise
            return FastPathOutcome.TIMED_OUT if ticket.phase is Phase.READING else FastPathOutcome.SERVED
        finally:
            self._supervisor.end(ticket)

    async def _handle_body(
        self, body: bytes, asked: ParsedRequest, ticket: InboundRequest
    ) -> "FastPathOutcome | bytes":
        try:
            message = read_message(body)
            id = b"" if message.id is ABSENT else encode_request_id(bytes(message.id))
        except UNREADABLE:
            return body
        if message.jsonrpc != "2.0" or id is None:
            return body
        if not message.method or not id:
            return await self._handle_client_message(message, id, asked, ticket, body)
        if asked.context.modern and asked.headers.get(METHOD_HEADER, b"").strip(b" \t") != message.method.encode():
            return body
        if message.method == "tools/call":
            try:
                told, beside = call_params(message.params)
            except UNREADABLE:
                return body
            decoded = None
            if len(told.arguments) > OFF_LOOP_BYTES:
                try:
                    decoded = await to_thread.run_sync(
                        decode_large_arguments, bytes(told.arguments), abandon_on_cancel=True
                    )
                except UNREADABLE:
                    return body
            ready = self._calls.prepare(asked, told, beside, decoded)
            if ready is not None:
                await self._execute_call(ready, id, asked, ticket)
                return FastPathOutcome.SERVED
        elif message.method == "tools/list":
            if self._parts.providers.announce_caller(asked.headers):
                await self._parts.board.wait_until_started(self._startup_wait_s)
            page = self._encoded_page(message, asked)
            if page is not None:
                await self._write_page(page, id, ticket)
                return FastPathOutcome.SERVED
        return body

    async def _handle_client_message(
        self, message: JsonRpcMessage, id: bytes, asked: ParsedRequest, ticket: InboundRequest, body: bytes
    ) -> "FastPathOutcome | bytes":
        """A client's answer to a question of ours, or word that it gives a request up."""
        session = asked.session
        if session is None:
            return body
        if id and not message.method:
            found = session.questions.accept_answer(read_text(id) if id[:1] == b'"' else "", message)
        elif message.method == "notifications/cancelled":
            found = self._supervisor.cancel((asked.headers[SESSION_HEADER], _cancelled_request_id(message)))
        else:
            found = False
        if not found:
            return body
        ticket.enter(Phase.WRITING)
        await ticket.writer.acknowledge()
        return FastPathOutcome.SERVED

    async def _execute_call(self, ready: PreparedCall, id: bytes, asked: ParsedRequest, ticket: InboundRequest) -> None:
        """To the end of its ticket: one coroutine, because each that waits for another is resumed at every call."""
        reply, modern = ticket.writer, asked.context.modern
        if not modern:
            ticket.key = asked.headers[SESSION_HEADER], id
        if ticket.phase is not Phase.CALLING:
            ticket.enter(Phase.CALLING)
        try:
            try:
                ended = await self._calls.execute(ready, asked, reply)
                if isinstance(ended, NeedsInput) and not modern:
                    ended = await self._calls.resume_with_answers(ended, ready, asked, reply)
            except asyncio.CancelledError:
                if ticket.client_gone or not ticket.was_cancelled or not ticket.absorb_cancellation():
                    raise
                status, text = 200, encode_error(id, REQUEST_CANCELLED, cancelled_message(ready.call.name))
            except Exception:  # supervised here: what fails must not cost the client its answer
                log.exception("Serving tools/call failed")
                status, text = 200, encode_error(id, INTERNAL_ERROR, INTERNAL_ERROR_MESSAGE)
            else:
                if is_large(ended):
                    write = partial(self._encoder.encode_response, id, ready.call.name, ended, modern=modern)
                    status, text = await to_thread.run_sync(write)
                else:
                    status, text = self._encoder.encode_response(id, ready.call.name, ended, modern=modern)
            if not reply.try_send_whole(text, status):
                ticket.enter(Phase.WRITING)
                await reply.finish(text, status)
        except asyncio.CancelledError:
            reply.abandon()
            if not ticket.absorb_cancellation():
                raise
        finally:
            self._supervisor.end(ticket)

    def _encoded_page(self, message: JsonRpcMessage, asked: ParsedRequest) -> EncodedToolPage | None:
        try:
            params = read_list(message.params)
        except UNREADABLE:
            return None
        profile = asked.context
        if profile.modern:
            known = self._meta_cache.parse(params.meta)
            if known is None or known.meta.version != profile.version or known.meta.capabilities is None:
                return None
        shown = self._state.direct.tool_list(profile.view)
        page = self._list_encoder.page(shown, params.cursor, modern=profile.modern)
        if page is not None and asked.session is not None:
            self._state.record_listed(asked.session.id, profile.view, shown.fingerprint)
        return page

    async def _write_page(self, page: EncodedToolPage, id: bytes, ticket: InboundRequest) -> None:
        ticket.enter(Phase.WRITING)
        await ticket.writer.finish_in_parts(page.text, b"%b%b}" % (page.rest, id))


def _inbound_request(session: McpSession | None, outlet: ResponseSink) -> InboundRequest:
    headers = NO_EXTRA_HEADERS if session is None else session.extra_headers
    return InboundRequest(None, ResponseWriter(outlet.send, headers, outlet.send_whole))


async def _is_too_deep(body: bytes) -> bool:
    if len(body) > OFF_LOOP_BYTES:
        return await to_thread.run_sync(is_deeper_than, _MAX_DEPTH, body, abandon_on_cancel=True)
    return is_deeper_than(_MAX_DEPTH, body)


async def _read_body(receive: "Receive") -> bytes | None:
    message = await receive()
    if message["type"] != "http.request":
        return None
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        return body
    parts = [body]
    while message.get("more_body", False):
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
    return b"".join(parts)


def _cancelled_request_id(message: JsonRpcMessage) -> bytes:
    try:
        return encode_request_id(bytes(read_members(message.params).get("requestId", ABSENT))) or b""
    except UNREADABLE:
        return b""
