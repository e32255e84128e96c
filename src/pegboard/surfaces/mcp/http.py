"""The HTTP endpoint: looks at each request first, then hands it to the SDK with its own view.

The SDK takes most of a second to load. It is loaded by `load_sdk`, which a program calls in a thread once it listens,
or else by the first request that needs it; calls and lists of the 2026-07-28 era never do.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus

from pegboard.core.ids import PrincipalId
from pegboard.core.resolve import Resolution
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .body import body_of, heard_out, too_late
from .door import TOO_LARGE, Door, Refused, given_twice, is_modern
from .endpoint_state import EndpointState
from .entrance import AUTHORIZATION, Entrance
from .exchange import CheckedRequest
from .leaving import Leaving
from .lending import carry_base_url, lent_badly, reads_query
from .lent import lent_twice
from .presentation import Presentation
from .protocol import INVALID_PARAMS
from .raw.metas import is_too_large
from .raw.road import META_TOO_LARGE, Road, Way
from .raw.sessions import Sessions
from .refusals import refuse
from .view import BadOption, no_toolset, of_toolset, refusal, view_of

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from .sdk_endpoint import SdkEndpoint

SESSION: Final = b"mcp-session-id"
VERSION: Final = b"mcp-protocol-version"
RESUME: Final = b"last-event-id"
"""Streams are not kept for replay, and the SDK answers a request to resume one with nothing at all."""


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
        self._presentation = presentation
        self._state = EndpointState(gateway, presentation)
        self._open = Sessions(self._door.idle, self._door.sessions)
        self._road = Road(gateway, self._state, self._open, self._door, partial(self._view, "POST"), self._entrance)
        self._sdk: SdkEndpoint | None = None
        self._starting_sdk = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self._over = anyio.Event()

    @property
    def express(self) -> Road | None:
        """For a server that can do without ASGI where most calls are concerned."""
        return self._road if self._short else None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._state.opened(), anyio.create_task_group() as kept, anyio.create_task_group() as tasks:
            self._tasks = kept
            tasks.start_soon(self._leaving.watch, self._close_sessions, name="principals")
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                self._road.close()
                self.end_streams()
                self._over.set()
                self._tasks = None

    async def _sdk_endpoint(self) -> "SdkEndpoint":
        if self._sdk is None:
            async with self._starting_sdk:
                if self._sdk is None:
                    # In a thread, so that everybody else is served meanwhile.
                    make = await to_thread.run_sync(load_sdk)
                    if self._tasks is None:
                        raise RuntimeError("This endpoint serves only inside running().")
                    sdk = make(self._gateway, self._door, self._state, self._open, self._presentation)
                    await self._tasks.start(self._run, sdk, name="SDK")
                    self._sdk = sdk
        return self._sdk

    async def _run(self, sdk: "SdkEndpoint", *, task_status: TaskStatus[None]) -> None:
        async with sdk.running():
            task_status.started()
            await self._over.wait()

    async def _close_sessions(self, principal: PrincipalId) -> None:
        for session in await self._open.end_of(principal):
            if self._sdk is not None:
                self._sdk.server.forget(session)

    def end_streams(self) -> None:
        """Ends what clients keep open to hear of changes. A web server that is to stop would wait for them."""
        self._state.ending.set()

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
        session = known[SESSION].decode("latin-1") if SESSION in known else None
        leaving = self._leaving.of(view.principal)
        checked = CheckedRequest(view, headers, body, session, version, own, gone, leaving)
        sdk = await self._sdk_endpoint()
        await sdk.serve(scope, _replay(body, receive, gone), send, checked)

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

    def _patient(self, send: "Send", gone: anyio.Event) -> "Send":
        async def sending(message: "Message") -> None:
            with anyio.move_on_after(self._door.patience) as waiting:
                await send(message)
            if waiting.cancelled_caught:
                gone.set()
                raise SlowReaderError

        return sending


def load_sdk() -> "type[SdkEndpoint]":
    """What makes an endpoint behind the SDK. The first call takes most of a second."""
    from .sdk_endpoint import SdkEndpoint

    return SdkEndpoint


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
