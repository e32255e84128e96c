"""The HTTP endpoint: looks at each request first, then hands it to the SDK with its own view.

The SDK takes most of a second to load. It is loaded by `load_sdk`, which a program calls in a thread once it listens,
or else by the first request that needs it; calls and lists of the 2026-07-28 era never do.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus

from pegboard.core.decision.resolve import Resolution
from pegboard.core.model.foreign_names import PATHS
from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PresentationMode
from pegboard.gateway.access.attempts import FailedAttempts
from pegboard.gateway.access.tokens import UsageTracker
from pegboard.surfaces.mcp.authentication import AUTHORIZATION, BearerAuthentication, RevocationWatcher
from pegboard.surfaces.mcp.endpoint_state import EndpointState
from pegboard.surfaces.mcp.fast.endpoint import META_TOO_LARGE, FastPath, FastPathOutcome
from pegboard.surfaces.mcp.fast.messages import is_too_large
from pegboard.surfaces.mcp.fast.request_context import McpSessions
from pegboard.surfaces.mcp.gateway_parts import McpParts
from pegboard.surfaces.mcp.presentations.base import Presentation
from pegboard.surfaces.mcp.presentations.registry import presentation_of
from pegboard.surfaces.mcp.protocol import INVALID_PARAMS
from pegboard.surfaces.mcp.request_checks import (
    STATUS_TOO_LARGE,
    HttpRejection,
    RequestChecks,
    body_timeout,
    duplicate_header_rejection,
    is_modern,
    read_body,
    reject_after_body,
    send_rejection,
)
from pegboard.surfaces.mcp.session_state import CheckedRequest
from pegboard.surfaces.mcp.view import (
    BadOption,
    accepts_base_url_in_query,
    copy_base_url_to_headers,
    duplicate_credential_header,
    explain_bad_credentials,
    explain_unknown_names,
    explain_unknown_toolset,
    narrow_to_toolset,
    view_of,
    wants_meta_tools,
)

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from pegboard.surfaces.mcp.sdk_endpoint import SdkEndpoint


SESSION_HEADER: Final = b"mcp-session-id"
VERSION_HEADER: Final = b"mcp-protocol-version"
RESUME_HEADER: Final = b"last-event-id"
"""Streams are not kept for replay, and the SDK answers a request to resume one with nothing at all."""


class SlowReaderError(Exception):
    """A client did not read its answer in time. Its connection is closed, so that it holds nothing here."""


class McpHttpEndpoint:
    """An ASGI application for one path. Serve it inside `running()`."""

    def __init__(
        self,
        parts: McpParts,
        door: RequestChecks | None = None,
        *,
        short: bool = True,
        entrance: BearerAuthentication | None = None,
        presentation: Presentation | None = None,
    ) -> None:
        """Without the short road everything goes through the SDK, with the same answers.

        Only the direct presentation has a short road.
        """
        self._parts = parts
        self._has_fast_path = short and presentation is None
        self._checks = RequestChecks() if door is None else door
        self._authentication = BearerAuthentication(parts.board, parts.calls.clock) if entrance is None else entrance
        self._revocations = RevocationWatcher(parts.board, self._authentication.token_index)
        self._presentation = presentation
        self._state = EndpointState(parts.board, parts.calls.call, presentation)
        self._sessions = McpSessions(self._checks.session_idle_s, self._checks.max_sessions)
        self._fast_path = FastPath(
            parts,
            self._state,
            self._sessions,
            self._checks,
            partial(self._view_or_rejection, "POST"),
            self._authentication,
        )
        self._sdk: SdkEndpoint | None = None
        self._sdk_lock = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self._shutdown = anyio.Event()

    @property
    def fast_path(self) -> FastPath | None:
        """For a server that can do without ASGI where most calls are concerned."""
        return self._fast_path if self._has_fast_path else None

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        async with self._state.open(), anyio.create_task_group() as kept, anyio.create_task_group() as tasks:
            self._tasks = kept
            tasks.start_soon(self._revocations.watch, self._close_sessions, name="principals")
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                self._fast_path.close()
                self.end_streams()
                self._shutdown.set()
                self._tasks = None

    async def _sdk_endpoint(self) -> "SdkEndpoint":
        if self._sdk is None:
            async with self._sdk_lock:
                if self._sdk is None:
                    # In a thread, so that everybody else is served meanwhile.
                    make = await to_thread.run_sync(load_sdk)
                    if self._tasks is None:
                        raise RuntimeError("This endpoint serves only inside running().")
                    sdk = make(self._parts, self._checks, self._state, self._sessions, self._presentation)
                    await self._tasks.start(self._run_sdk, sdk, name="SDK")
                    self._sdk = sdk
        return self._sdk

    async def _run_sdk(self, sdk: "SdkEndpoint", *, task_status: TaskStatus[None]) -> None:
        async with sdk.lifespan():
            task_status.started()
            await self._shutdown.wait()

    async def _close_sessions(self, principal: PrincipalId) -> None:
        for session in await self._sessions.end_all_of(principal):
            if self._sdk is not None:
                self._sdk.server.forget(session)

    def end_streams(self) -> None:
        """Ends what clients keep open to hear of changes. A web server that is to stop would wait for them."""
        self._state.shutdown.set()

    def has_session(self, session: bytes) -> bool:
        """Whether a client of the handshake era opened this session here."""
        return self._sessions.find(session) is not None

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send", toolset: str | None = None) -> None:
        """Of one toolset alone, where the address names it."""
        if scope["type"] != "http":
            raise RuntimeError(f"This endpoint serves HTTP requests only, and this is {scope['type']!r}.")
        short = self._has_fast_path and scope["method"] == "POST"
        if short and scope["query_string"] and accepts_base_url_in_query(self._parts.board.policy):
            short = False
        way = await self._fast_path.handle_asgi(scope, receive, send, toolset) if short else FastPathOutcome.NOT_TAKEN
        if way is FastPathOutcome.SERVED:
            return
        gone = anyio.Event()
        patient = self._with_write_timeout(send, gone)
        try:
            match way:
                case HttpRejection():
                    await self._send_rejection(receive, patient, dict(scope["headers"]), way)
                case FastPathOutcome.TIMED_OUT:
                    await send_rejection(patient, body_timeout(self._checks))
                case FastPathOutcome.NOT_TAKEN:
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
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"] if name != RESUME_HEADER]
        known = dict(headers)
        client = scope.get("client")
        address = "" if client is None else str(client[0])
        view = self._view_or_rejection(method, address, scope["query_string"], headers, known)
        if isinstance(view, HttpRejection):
            return await self._send_rejection(receive, send, known, view)
        if (
            len(known) != len(headers)
            and (name := duplicate_credential_header(self._parts.board.policy, headers)) is not None
        ):
            return await send_rejection(send, duplicate_header_rejection(name))
        version = known[VERSION_HEADER].decode("latin-1") if VERSION_HEADER in known else None
        body = await read_body(_replay_body(read, receive, gone), self._checks) if method == "POST" else b""
        if body is None:
            return None
        if isinstance(body, HttpRejection):
            # To the handshake era, an error of a request that was read is an answer like any other.
            as_it_is = body.id is None or body.status == STATUS_TOO_LARGE or is_modern(version)
            told = body if as_it_is else replace(body, status=200)
            return await send_rejection(send, told)
        if is_too_large(body):
            return await send_rejection(send, META_TOO_LARGE)
        own = self._authentication.forwardable_headers(headers)
        copy_base_url_to_headers(self._parts.board.policy, scope["query_string"], own)
        if method == "POST" and self._parts.providers.announce_caller(own):
            await self._parts.board.wait_until_started(self._checks.startup_wait_s)
        if toolset is not None:
            if (
                why := await self._unknown_names_message(
                    narrow_to_toolset(View(view.principal), toolset), explain_unknown_toolset
                )
            ) is not None:
                return await send_rejection(send, HttpRejection(404, why))
            view = narrow_to_toolset(view, toolset)
        if (why := await self._unknown_names_message(view)) is not None:
            return await send_rejection(send, HttpRejection(400, why, INVALID_PARAMS))
        session = known[SESSION_HEADER].decode("latin-1") if SESSION_HEADER in known else None
        leaving = self._revocations.event_for(view.principal)
        checked = CheckedRequest(view, headers, body, session, version, own, gone, leaving)
        sdk = await self._sdk_endpoint()
        await sdk.serve(scope, _replay_body(body, receive, gone), send, checked)

    async def _send_rejection(
        self, receive: "Receive", send: "Send", known: Mapping[bytes, bytes], refused: HttpRejection
    ) -> None:
        if refused.status == STATUS_TOO_LARGE:
            refused = await reject_after_body(receive, self._checks, known, refused)
        await send_rejection(send, refused)

    def _view_or_rejection(
        self,
        method: str,
        address: str,
        query: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        known: Mapping[bytes, bytes],
    ) -> View | HttpRejection:
        """Who asks, and how narrowly; or the first reason not to serve this request."""
        refused = self._checks.check_address(headers)
        if refused is not None:
            return refused
        principal = self._authentication.principal_of(
            known.get(AUTHORIZATION), self._checks.proxies.client_address(address, headers)
        )
        if isinstance(principal, HttpRejection):
            return principal
        if (refused := self._checks.check_request(method, headers)) is not None:
            return refused
        view = view_of(headers, query, principal)
        if isinstance(view, BadOption):
            return HttpRejection(400, view.why, INVALID_PARAMS)
        why = explain_bad_credentials(self._parts.board.policy, known, query)
        return view if why is None else HttpRejection(400, why, INVALID_PARAMS)

    async def _unknown_names_message(
        self, view: View, told: Callable[[Resolution], str | None] = explain_unknown_names
    ) -> str | None:
        """What the request names in vain. While servers are starting, a name may yet become known."""
        board = self._parts.board
        if told(board.resolution(view)) is None:
            return None
        await self._parts.board.wait_until_started(self._checks.startup_wait_s)
        return told(board.resolution(view))

    def _with_write_timeout(self, send: "Send", gone: anyio.Event) -> "Send":
        async def send_with_timeout(message: "Message") -> None:
            with anyio.move_on_after(self._checks.client_timeout_s) as waiting:
                await send(message)
            if waiting.cancelled_caught:
                gone.set()
                raise SlowReaderError

        return send_with_timeout


def load_sdk() -> "type[SdkEndpoint]":
    """What makes an endpoint behind the SDK. The first call takes most of a second."""
    from pegboard.surfaces.mcp.sdk_endpoint import SdkEndpoint

    return SdkEndpoint


def _replay_body(body: bytes | None, receive: "Receive", gone: anyio.Event) -> "Receive":
    """What a request still has to say: the body, if it was read already, then whether its client goes."""
    pending: list[Message] = [] if body is None else [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_replayed() -> "Message":
        if pending:
            return pending.pop()
        message = await receive()
        if message["type"] == "http.disconnect":
            gone.set()
        return message

    return receive_replayed


# The paths of the HTTP endpoint: one for each presentation of the tools and for each toolset, and a clear word for
# every other.

DEFAULT_PATH: Final = "/mcp"
"""Where a client is shown tools as the operator chose, or as its own request says."""

TOOLSET_PREFIX: Final = "/mcp/t/"
PRESENTATION_MISMATCH: Final = (
    "This session was opened with another presentation of the tools than X-Mcp-Dynamic (dynamic) asks for now. "
    "Leave that out, or send initialize again."
)
PRESENTATION_PATHS: Final[Mapping[str, PresentationMode]] = {
    f"/mcp/{presented.value}": presented for presented in PresentationMode if presented is not PresentationMode.AUTO
}


class McpPaths:
    """An ASGI application for `/mcp` and everything below. Serve it inside `running()`."""

    def __init__(
        self,
        parts: McpParts,
        door: RequestChecks | None = None,
        *,
        key: Callable[[], bytes] | None = None,
        attempts: FailedAttempts | None = None,
        uses: UsageTracker | None = None,
    ) -> None:
        """What clients keep for themselves is signed with the `key`."""
        door = RequestChecks() if door is None else door
        # One entrance, so that whoever guesses tokens has as many guesses at all paths together as at one.
        self.authentication: Final = BearerAuthentication(parts.board, parts.calls.clock, attempts, uses)
        self._checks = door
        # Once, at the start: the short road is laid to one of them.
        self._default_presentation = parts.board.policy.declared.presentation.presentation
        self._endpoints: Mapping[PresentationMode, McpHttpEndpoint] = {
            presented: McpHttpEndpoint(
                parts, door, entrance=self.authentication, presentation=presentation_of(presented, parts, key=key)
            )
            for presented in {**dict.fromkeys(PRESENTATION_PATHS.values()), self._default_presentation: None}
        }

    @property
    def paths(self) -> tuple[str, ...]:
        """Those that do not depend on what is on the board."""
        return (DEFAULT_PATH, *PRESENTATION_PATHS)

    @property
    def fast_path(self) -> FastPath | None:
        return self._endpoints[self._default_presentation].fast_path

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for served in self._endpoints.values():
                await stack.enter_async_context(served.lifespan())
            yield

    def end_streams(self) -> None:
        for served in self._endpoints.values():
            served.end_streams()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        path: str = scope.get("path", "").rstrip("/")
        if path == DEFAULT_PATH:
            if isinstance(served := self._select_endpoint(scope, self._default_presentation), HttpRejection):
                await send_rejection(send, served)
            else:
                await served(scope, receive, send)
        elif (fixed := PRESENTATION_PATHS.get(path)) is not None:
            if (refused := self._check_dynamic_option(scope, path, fixed)) is not None:
                await send_rejection(send, refused)
            else:
                await self._endpoints[fixed](scope, receive, send)
        elif path.startswith(TOOLSET_PREFIX) and "/" not in (toolset := path.removeprefix(TOOLSET_PREFIX)):
            if isinstance(served := self._select_endpoint(scope, PresentationMode.DIRECT), HttpRejection):
                await send_rejection(send, served)
            else:
                await served(scope, receive, send, toolset)
        else:
            refused = self._checks.check_address(scope["headers"])
            known = f"{', '.join(self.paths)} and {TOOLSET_PREFIX}{{toolset}}"
            meant = f" Did you mean {PATHS[path]!r}?" if path in PATHS else ""
            told = f"Nothing is at {path[:200]!r}.{meant} MCP clients connect to {known}."
            await send_rejection(send, refused or HttpRejection(404, told))

    def _select_endpoint(self, scope: "Scope", otherwise: PresentationMode) -> McpHttpEndpoint | HttpRejection:
        """As the request says; else where its session was opened; else as everybody gets it."""
        wanted = wants_meta_tools(scope["headers"], scope["query_string"])
        session = next((value for name, value in scope["headers"] if name == SESSION_HEADER), None)
        if wanted is not None:
            asked = self._endpoints[PresentationMode.META if wanted else PresentationMode.DIRECT]
            if (
                session is None
                or asked.has_session(session)
                or not any(each.has_session(session) for each in self._endpoints.values())
            ):
                return asked
            # With this status, a client opens another session by itself.
            return self._checks.check_address(scope["headers"]) or HttpRejection(404, PRESENTATION_MISMATCH)
        usual = self._endpoints[otherwise]
        if session is None or usual.has_session(session):
            return usual
        # Some clients say what they want in the handshake only.
        asked_once = (self._endpoints[presented] for presented in (PresentationMode.META, PresentationMode.DIRECT))
        return next((served for served in asked_once if served.has_session(session)), usual)

    def _check_dynamic_option(self, scope: "Scope", path: str, fixed: PresentationMode) -> HttpRejection | None:
        asks = wants_meta_tools(scope["headers"], scope["query_string"])
        if (
            asks is None
            or asks is (fixed is PresentationMode.META)
            or (not asks and fixed is not PresentationMode.META)
        ):
            return None
        told = "asks for meta tools" if asks else "asks for the tools themselves"
        why = f"{path} has one presentation of the tools only, and the request {told} by X-Mcp-Dynamic (dynamic). "
        return self._checks.check_address(scope["headers"]) or HttpRejection(
            400, f"{why}Leave that out, or connect to {DEFAULT_PATH}.", INVALID_PARAMS
        )
