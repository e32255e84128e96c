"""One endpoint behind the SDK: its server, and the sessions of clients of the handshake era.

Loading this module loads the SDK, which takes most of a second: see `http.py` for when that is done.
"""

import json
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from pegboard.core.ids import LOCAL, PrincipalId
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .door import Door, Refused, is_modern, is_read_there
from .endpoint_state import EndpointState
from .exchange import CURRENT, CheckedRequest, Exchange
from .faults import speaking
from .plain import plain_answer
from .presentation import Presentation
from .protocol import INTERNAL_ERROR
from .raw.sessions import Sessions
from .refusals import refuse
from .server import McpServer
from .standing import standing_stream

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

SESSION: Final = b"mcp-session-id"

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


class SdkEndpoint:
    """Serve it inside `running()`."""

    def __init__(
        self, gateway: Gateway, door: Door, state: EndpointState, sessions: Sessions, presentation: Presentation | None
    ) -> None:
        self._door = door
        self._sessions = sessions
        self.server: Final = McpServer(gateway, presentation=presentation, state=state)
        self._manager = StreamableHTTPSessionManager(
            self.server.server,
            session_idle_timeout=door.idle,
            max_sessions=door.sessions,
            max_request_body_size=door.largest_body,
        )
        sessions.kept = self._manager._server_instances

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    async def serve(self, scope: "Scope", receive: "Receive", send: "Send", request: CheckedRequest) -> None:
        """`receive` brings the body again, if there is one, and then word of the client's end."""
        method: str = scope["method"]
        view, session, version = request.view, request.session, request.version
        send = speaking(send, version)
        if session is None:
            send = _naming_no_session(send)
            if method == "POST" and not is_modern(version):
                if self._has_its_share(view):
                    return await refuse(send, _TOO_MANY)
                if self._sessions.are_full:
                    return await refuse(send, _FULL)
        exchange = Exchange(view, request.gone, session, request.own, request.leaving)
        # The SDK keeps the last request of a session for as long as that lasts, so it gets no credentials.
        read_there = [pair for pair in request.headers if is_read_there(pair[0])]
        scope = {**scope, "headers": read_there, "user": _user_of(view.principal), "extensions": {}}
        token = CURRENT.set(exchange)
        try:
            handle = self._manager.handle_request
            if method == "GET":
                followers = self.server.library.followers
                follower = followers.of(session or "")
                try:
                    with self.server.watching(exchange) as watch:
                        endings = self.server.state.ending, request.leaving
                        await standing_stream(handle, scope, receive, send, watch, follower, *endings)
                finally:
                    followers.silent(session or "")
            else:
                answering = send if is_modern(version) else plain_answer(send)
                if session is None and not is_modern(version):
                    answering = self._noting(request.body, view, answering)
                await handle(scope, receive, answering)
        finally:
            CURRENT.reset(token)
            # A session that this request opened keeps its context for as long as it lasts.
            request.own.clear()
            if method == "DELETE" and session is not None:
                self.server.forget(session)
                self._sessions.closed(session)

    def _has_its_share(self, view: View) -> bool:
        return view.principal != LOCAL and self._sessions.count(view.principal) >= self._door.sessions_of_one

    def _noting(self, body: bytes, view: View, send: "Send") -> "Send":
        """Takes note of the session that a handshake opens: the answer's headers name it."""

        async def sending(message: "Message") -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                opened = dict(message["headers"]).get(SESSION)
                params = json.loads(body).get("params")
                if opened is not None and isinstance(params, dict):
                    self._sessions.opened(opened.decode("latin-1"), view.principal, params)
            await send(message)

        return sending


def _user_of(principal: PrincipalId) -> AuthenticatedUser | None:
    """By this the SDK ties a session to the one who opened it: to anybody else it does not exist."""
    if principal == LOCAL:
        return None
    return AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[], subject=principal))


def _naming_no_session(send: "Send") -> "Send":
    """The SDK names a session even in the answer that refuses to open it, and nobody could use that one."""

    async def sending(message: "Message") -> None:
        if message["type"] == "http.response.start" and message["status"] >= HTTPStatus.BAD_REQUEST:
            headers = [pair for pair in message["headers"] if pair[0].lower() != SESSION]
            message = {**message, "headers": headers}
        await send(message)

    return sending
