"""The HTTP endpoint: looks at each request first, then hands it to the SDK with its own view."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, assert_never

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from pegboard.core.ids import LOCAL, PrincipalId
from pegboard.core.resolve import Resolution
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .body import body_of, heard_out, too_late
from .door import TOO_LARGE, Door, Refused, given_twice, is_modern, is_read_there
from .entrance import AUTHORIZATION, Entrance, user_of
from .exchange import CURRENT, Exchange
from .faults import speaking
from .leaving import Leaving
from .lending import carry_base_url, lent_badly, reads_query
from .lent import lent_twice
from .plain import plain_answer
from .presentation import Presentation
from .raw.metas import is_too_large
from .raw.road import META_TOO_LARGE, Road, Way
from .raw.sessions import Sessions
from .server import McpServer
from .standing import standing_stream
from .view import BadOption, no_toolset, of_toolset, refusal, view_of
from .wire import sound_text

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

SESSION: Final = b"mcp-session-id"
VERSION: Final = b"mcp-protocol-version"
RESUME: Final = b"last-event-id"
"""Streams are not kept for replay, and the SDK answers a request to resume one with nothing at all."""


_TOO_MANY: Final = Refused(
    429,
    "You have too many sessions open. End those that you do not use with DELETE, or wait until they have been idle.",
)


_FULL: Final = Refused(
    503,
    "All sessions of this gateway are in use. Try again later, or use protocol version 2026-07-28, which needs none.",
    INTERNAL_ERROR,
    ((b"retry-after", b"60"),),
)


class SlowReaderError(Exception):
    """A client did not read its answer in time. Its connection is closed, so that it holds nothing here."""


class McpHttp:
    """An ASGI application for one path. Serve it inside `running()`."""

    def __init__(
        self,
        gateway: Gateway,
        door: Door | None = None,
        *,
        short: bool = True,
        entrance: Entrance | None = None,
        presentation: Presentation | None = None,
    ) -> None:
        """Without the short road everything goes through the SDK, with the same answers.

        Only the direct presentation has a short road.
        """
        self._gateway = gateway
        self._short = short and presentation is None
        self._door = Door() if door is None else door
        self._entrance = Entrance(gateway.board, gateway.clock) if entrance is None else entrance
        self._leaving = Leaving(gateway.board, self._entrance.callers)
        self._mcp = McpServer(gateway, presentation=presentation)
        self._sessions = StreamableHTTPSessionManager(
            self._mcp.server,
            session_idle_timeout=self._door.idle,
            max_sessions=self._door.sessions,
            max_request_body_size=self._door.largest_body,
        )
        self._open = Sessions(self._sessions, self._door.idle, self._door.sessions)
        self._road = Road(gateway, self._mcp, self._open, self._door, partial(self._view, "POST"), self._entrance)

    @property
    def express(self) -> Road | None:
        """For a server that can do without ASGI where most calls are concerned."""
        return self._road if self._short else None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._sessions.run(), anyio.create_task_group() as tasks:
            tasks.start_soon(self._leaving.watch, self._close_sessions, name="principals")
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                self._road.close()
                self.end_streams()

    async def _close_sessions(self, principal: PrincipalId) -> None:
        for session in await self._open.end_of(principal):
            self._mcp.forget(session)

    def end_streams(self) -> None:
        """Ends what clients keep open to hear of changes. A web server that is to stop would wait for them."""
        self._mcp.ending.set()

    def has(self, session: bytes) -> bool:
        """Whether a client of the handshake era opened this session here."""
        return self._open.open(session) is not None

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send", toolset: str | None = None) -> None:
        """Of one toolset alone, where the address names it."""
        if scope["type"] != "http":
            raise RuntimeError(f"This endpoint serves HTTP requests only, and this is {scope['type']!r}.")
        short = self._short and scope["method"] == "POST"
        if short and scope["query_string"] and reads_query(self._gateway.board.policy):
            short = False
        way = await self._road.serve(scope, receive, send, toolset) if short else Way.UNREAD
        if way is Way.SERVED:
            return
        gone = anyio.Event()
        patient = self._patient(send, gone)
        try:
            match way:
                case Refused():
                    await self._turn_away(receive, patient, dict(scope["headers"]), way)
                case Way.LATE:
                    await refuse(patient, too_late(self._door))
                case Way.UNREAD:
                    await self._serve(scope, receive, patient, gone, None, toolset)
                case bytes():
                    await self._serve(scope, receive, patient, gone, way, toolset)
                case _:
                    assert_never(way)
        except* SlowReaderError:
            pass

    async def _serve(
        self,
        scope: "Scope",
        receive: "Receive",
        send: "Send",
        gone: anyio.Event,
        read: bytes | None,
        toolset: str | None,
    ) -> None:
        method: str = scope["method"]
        # White space around a value is no part of it, and the SDK compares values to the letter.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"] if name != RESUME]
        known = dict(headers)
        client = scope.get("client")
        address = "" if client is None else str(client[0])
        view = self._view(method, address, scope["query_string"], headers, known)
        if isinstance(view, Refused):
            return await self._turn_away(receive, send, known, view)
        if len(known) != len(headers) and (name := lent_twice(self._gateway, headers)) is not None:
            return await refuse(send, given_twice(name))
        version = known[VERSION].decode("latin-1") if VERSION in known else None
        body = await body_of(_replay(read, receive, gone), self._door) if method == "POST" else b""
        if body is None:
            return None
        if isinstance(body, Refused):
            # To the handshake era, an error of a request that was read is an answer like any other.
            as_it_is = body.id is None or body.status == TOO_LARGE or is_modern(version)
            told = body if as_it_is else replace(body, status=200)
            return await refuse(send, told)
        if is_too_large(body):
            return await refuse(send, META_TOO_LARGE)
        own = self._entrance.own_headers(headers)
        carry_base_url(self._gateway.board.policy, scope["query_string"], own)
        if method == "POST" and self._gateway.roster.meet(own):
            await self._gateway.settled(self._door.settle)
        if toolset is not None:
            if (why := await self._unknown(of_toolset(View(view.principal), toolset), no_toolset)) is not None:
                return await refuse(send, Refused(404, why))
            view = of_toolset(view, toolset)
        if (why := await self._unknown(view)) is not None:
            return await refuse(send, Refused(400, why, INVALID_PARAMS))
        send = speaking(send, version)
        session = known[SESSION].decode("latin-1") if SESSION in known else None
        if session is None:
            send = _naming_no_session(send)
            if method == "POST" and not is_modern(version):
                if self._has_its_share(view):
                    return await refuse(send, _TOO_MANY)
                if self._open.are_full:
                    return await refuse(send, _FULL)
        leaving = self._leaving.of(view.principal)
        exchange = Exchange(view, gone, session, own, leaving)
        # The SDK keeps the last request of a session for as long as that lasts, so it gets no credentials.
        read_there = [pair for pair in headers if is_read_there(pair[0])]
        scope = {**scope, "headers": read_there, "user": user_of(view.principal), "extensions": {}}
        token = CURRENT.set(exchange)
        try:
            hearing = _replay(body, receive, gone)
            serve = self._sessions.handle_request
            if method == "GET":
                followers = self._mcp.library.followers
                follower = followers.of(session or "")
                try:
                    with self._mcp.watching(exchange) as watch:
                        await standing_stream(serve, scope, hearing, send, watch, follower, self._mcp.ending, leaving)
                finally:
                    followers.silent(session or "")
            else:
                answering = send if is_modern(version) else plain_answer(send)
                if session is None and not is_modern(version):
                    answering = self._noting(body, view, answering)
                await serve(scope, hearing, answering)
        finally:
            CURRENT.reset(token)
            # A session that this request opened keeps its context for as long as it lasts.
            own.clear()
            if method == "DELETE" and session is not None:
                self._mcp.forget(session)
                self._open.closed(session)

    async def _turn_away(
        self, receive: "Receive", send: "Send", known: Mapping[bytes, bytes], refused: Refused
    ) -> None:
        if refused.status == TOO_LARGE:
            refused = await heard_out(receive, self._door, known, refused)
        await refuse(send, refused)

    def _view(
        self,
        method: str,
        address: str,
        query: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        known: Mapping[bytes, bytes],
    ) -> View | Refused:
        """Who asks, and how narrowly; or the first reason not to serve this request."""
        refused = self._door.address_refusal(headers)
        if refused is not None:
            return refused
        principal = self._entrance.principal_of(known.get(AUTHORIZATION), self._door.proxies.client(address, headers))
        if isinstance(principal, Refused):
            return principal
        if (refused := self._door.refusal(method, headers)) is not None:
            return refused
        view = view_of(headers, query, principal)
        if isinstance(view, BadOption):
            return Refused(400, view.why, INVALID_PARAMS)
        why = lent_badly(self._gateway.board.policy, known, query)
        return view if why is None else Refused(400, why, INVALID_PARAMS)

    async def _unknown(self, view: View, told: Callable[[Resolution], str | None] = refusal) -> str | None:
        """What the request names in vain. While servers are starting, a name may yet become known."""
        board = self._gateway.board
        if told(board.resolution(view)) is None:
            return None
        await self._gateway.settled(self._door.settle)
        return told(board.resolution(view))

    def _has_its_share(self, view: View) -> bool:
        return view.principal != LOCAL and self._open.count(view.principal) >= self._door.sessions_of_one

    def _noting(self, body: bytes, view: View, send: "Send") -> "Send":
        """Takes note of the session that a handshake opens: the answer's headers name it."""

        async def sending(message: "Message") -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                opened = dict(message["headers"]).get(SESSION)
                params = json.loads(body).get("params")
                if opened is not None and isinstance(params, dict):
                    self._open.opened(opened.decode("latin-1"), view.principal, params)
            await send(message)

        return sending

    def _patient(self, send: "Send", gone: anyio.Event) -> "Send":
        async def sending(message: "Message") -> None:
            with anyio.move_on_after(self._door.patience) as waiting:
                await send(message)
            if waiting.cancelled_caught:
                gone.set()
                raise SlowReaderError

        return sending


def _naming_no_session(send: "Send") -> "Send":
    """The SDK names a session even in the answer that refuses to open it, and nobody could use that one."""

    async def sending(message: "Message") -> None:
        if message["type"] == "http.response.start" and message["status"] >= HTTPStatus.BAD_REQUEST:
            headers = [pair for pair in message["headers"] if pair[0].lower() != SESSION]
            message = {**message, "headers": headers}
        await send(message)

    return sending


def _replay(body: bytes | None, receive: "Receive", gone: anyio.Event) -> "Receive":
    """What a request still has to say: the body, if it was read already, then whether its client goes."""
    pending: list[Message] = [] if body is None else [{"type": "http.request", "body": body, "more_body": False}]

    async def hearing() -> "Message":
        if pending:
            return pending.pop()
        message = await receive()
        if message["type"] == "http.disconnect":
            gone.set()
        return message

    return hearing


async def refuse(send: "Send", refused: Refused) -> None:
    error = {"code": refused.code, "message": sound_text(refused.message)}
    body = json.dumps({"jsonrpc": "2.0", "id": refused.id, "error": error}, separators=(",", ":")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        *refused.headers,
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
