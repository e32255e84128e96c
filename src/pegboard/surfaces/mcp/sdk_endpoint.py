"""The SDK path of an endpoint: its server and the sessions of 2025 clients. Importing this module loads the SDK, which
takes most of a second.

Loading this module loads the SDK, which takes most of a second: see `http.py` for when that is done.
"""

import json
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.core.model.selection import View
from pegboard.surfaces.mcp.endpoint_state import EndpointState
from pegboard.surfaces.mcp.errors import explain_sdk_rejections, json_instead_of_sse
from pegboard.surfaces.mcp.fast.request_context import McpSessions
from pegboard.surfaces.mcp.gateway_parts import McpParts
from pegboard.surfaces.mcp.notifications import serve_get_stream
from pegboard.surfaces.mcp.presentations.base import Presentation
from pegboard.surfaces.mcp.protocol import INTERNAL_ERROR
from pegboard.surfaces.mcp.request_checks import HttpRejection, RequestChecks, is_modern, is_sdk_header, send_rejection
from pegboard.surfaces.mcp.server import GatewayMcpServer
from pegboard.surfaces.mcp.session_state import CURRENT_REQUEST, CheckedRequest, RequestScope

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send


SESSION_HEADER: Final = b"mcp-session-id"

_TOO_MANY_SESSIONS: Final = HttpRejection(
    429,
    "You have too many sessions open. End those that you do not use with DELETE, or wait until they have been idle.",
)


_NO_FREE_SESSIONS: Final = HttpRejection(
    503,
    "All sessions of this gateway are in use. Try again later, or use protocol version 2026-07-28, which needs none.",
    INTERNAL_ERROR,
    ((b"retry-after", b"60"),),
)


class SdkEndpoint:
    """Serve it inside `running()`."""

    def __init__(
        self,
        parts: McpParts,
        door: RequestChecks,
        state: EndpointState,
        sessions: McpSessions,
        presentation: Presentation | None,
    ) -> None:
        self._checks = door
        self._sessions = sessions
        self.server: Final = GatewayMcpServer(parts, presentation=presentation, state=state)
        self._manager = StreamableHTTPSessionManager(
            self.server.server,
            session_idle_timeout=door.session_idle_s,
            max_sessions=door.max_sessions,
            max_request_body_size=door.max_body_bytes,
        )
        sessions.sdk_sessions = self._manager._server_instances

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    async def serve(self, scope: "Scope", receive: "Receive", send: "Send", request: CheckedRequest) -> None:
        """`receive` brings the body again, if there is one, and then word of the client's end."""
        method: str = scope["method"]
        view, session, version = request.view, request.session, request.version
        send = explain_sdk_rejections(send, version)
        if session is None:
            send = _hide_session_on_error(send)
            if method == "POST" and not is_modern(version):
                if self._has_max_sessions(view):
                    return await send_rejection(send, _TOO_MANY_SESSIONS)
                if self._sessions.is_full:
                    return await send_rejection(send, _NO_FREE_SESSIONS)
        exchange = RequestScope(view, request.client_gone, session, request.forwarded_headers, request.access_revoked)
        # The SDK keeps the last request of a session for as long as that lasts, so it gets no credentials.
        read_there = [pair for pair in request.headers if is_sdk_header(pair[0])]
        scope = {**scope, "headers": read_there, "user": _sdk_user(view.principal), "extensions": {}}
        token = CURRENT_REQUEST.set(exchange)
        try:
            handle = self._manager.handle_request
            if method == "GET":
                followers = self.server.resources.followers
                follower = followers.follower_of(session or "")
                try:
                    with self.server.watch_lists(exchange) as watch:
                        endings = self.server.state.shutdown, request.access_revoked
                        await serve_get_stream(handle, scope, receive, send, watch, follower, *endings)
                finally:
                    followers.disconnect(session or "")
            else:
                answering = send if is_modern(version) else json_instead_of_sse(send)
                if session is None and not is_modern(version):
                    answering = self._record_new_session(request.body, view, answering)
                await handle(scope, receive, answering)
        finally:
            CURRENT_REQUEST.reset(token)
            # A session that this request opened keeps its context for as long as it lasts.
            request.forwarded_headers.clear()
            if method == "DELETE" and session is not None:
                self.server.forget(session)
                self._sessions.remove(session)

    def _has_max_sessions(self, view: View) -> bool:
        return (
            view.principal != LOCAL_PRINCIPAL
            and self._sessions.count_of(view.principal) >= self._checks.max_sessions_per_principal
        )

    def _record_new_session(self, body: bytes, view: View, send: "Send") -> "Send":
        """Takes note of the session that a handshake opens: the answer's headers name it."""

        async def record_and_send(message: "Message") -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                opened = dict(message["headers"]).get(SESSION_HEADER)
                params = json.loads(body).get("params")
                if opened is not None and isinstance(params, dict):
                    self._sessions.add(opened.decode("latin-1"), view.principal, params)
            await send(message)

        return record_and_send


def _sdk_user(principal: PrincipalId) -> AuthenticatedUser | None:
    """By this the SDK ties a session to the one who opened it: to anybody else it does not exist."""
    if principal == LOCAL_PRINCIPAL:
        return None
    return AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[], subject=principal))


def _hide_session_on_error(send: "Send") -> "Send":
    """The SDK names a session even in the answer that refuses to open it, and nobody could use that one."""

    async def send_without_session(message: "Message") -> None:
        if message["type"] == "http.response.start" and message["status"] >= HTTPStatus.BAD_REQUEST:
            headers = [pair for pair in message["headers"] if pair[0].lower() != SESSION_HEADER]
            message = {**message, "headers": headers}
        await send(message)

    return send_without_session
