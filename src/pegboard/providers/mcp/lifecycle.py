"""One connection from start to end: connect, list, list again when the tools change."""

import logging
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from traceback import format_exception
from typing import Final, assert_never

import anyio
from anyio.abc import TaskGroup
from mcp.client.session import ClientSession, IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, ToolListChangedNotification
from pydantic import ValidationError

from pegboard.core.model.ids import ProviderKey
from pegboard.core.model.server import Http, Stdio, Timeouts, Transport
from pegboard.providers.mcp.connection import CoalescingEvent, McpConnection
from pegboard.providers.mcp.credentials import Authorization
from pegboard.providers.mcp.discovery import ToolListResult, list_tools
from pegboard.providers.mcp.errors import (
    CONNECTION_BROKEN,
    HTTP_STATUS_BASE,
    NOT_SENT,
    ConnectionLoss,
    McpServerError,
    describe_error,
    format_seconds,
    is_connection_closed,
)
from pegboard.providers.mcp.http_client import sign_in_message
from pegboard.providers.mcp.in_flight import (
    FULL_SAMPLING,
    CallsInFlight,
    PendingRequests,
    QuestionDispatcher,
    unused_callback,
)
from pegboard.providers.mcp.resources import ServerResources
from pegboard.providers.mcp.results import CLIENT_INFO
from pegboard.providers.mcp.transport import McpTransport, ToolCallRoute
from pegboard.providers.mcp.transports.sse import open_sse
from pegboard.providers.mcp.transports.stdio import open_stdio
from pegboard.providers.mcp.transports.streamable_http import open_streamable_http

# Opening a connection: a transport, a session on it, and the protocol era that both sides know.

_PROBE_TIMEOUT_S: Final = 10.0
_FINAL_ERROR_CODES: Final = frozenset({NOT_SENT, CONNECTION_BROKEN, HTTP_STATUS_BASE - 401, HTTP_STATUS_BASE - 403})
"""Errors after which asking in the older way cannot help."""


@asynccontextmanager
async def open_connection(
    key: ProviderKey,
    reached: Stdio | Http,
    timeouts: Timeouts,
    *,
    changed: CoalescingEvent,
    loss: ConnectionLoss,
    hear: Callable[[bytes], None],
    told: Callable[[IncomingMessage], None],
    probe: bool = True,
    authorization: Authorization | None = None,
) -> AsyncIterator[McpConnection]:
    """Open for as long as the block runs. Raises what `trouble.sentence` has words for.

    `changed` rings when the tools may differ, and when something failed that only a new list can clear up. `told` gets
    every notification.
    """

    async def hear_message(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed.notify()
        told(message)

    tickets = PendingRequests(CallsInFlight(str(key)), timeouts.call)
    async with _open_transport(reached, timeouts, changed, loss, hear, tickets, authorization) as wire:
        dispatcher = QuestionDispatcher(wire.incoming, wire.outgoing, tickets.in_flight)
        async with ClientSession(
            dispatcher=dispatcher,
            client_info=CLIENT_INFO,
            message_handler=hear_message,
            read_timeout_seconds=timeouts.start,
            sampling_callback=unused_callback,
            sampling_capabilities=FULL_SAMPLING,
            elicitation_callback=unused_callback,
            list_roots_callback=unused_callback,
        ) as session:
            await _negotiate(session, min(_PROBE_TIMEOUT_S, timeouts.start * 0.4) if probe else 0.0)
            connection = McpConnection(session, dispatcher, loss, wire, tickets)
            try:
                yield connection
            finally:
                connection.close()


def _open_transport(
    reached: Stdio | Http,
    timeouts: Timeouts,
    changed: CoalescingEvent,
    loss: ConnectionLoss,
    hear: Callable[[bytes], None],
    tickets: PendingRequests,
    authorization: Authorization | None,
) -> AbstractAsyncContextManager[McpTransport]:
    match reached:
        case Stdio():
            return open_stdio(reached, stop=timeouts.stop, hear=hear, loss=loss, tickets=tickets)
        case Http() if reached.transport is Transport.SSE:
            return open_sse(
                reached,
                within=timeouts.start * 0.8,
                doubt=changed.notify,
                loss=loss,
                in_flight=tickets.in_flight,
                authorization=authorization,
            )
        case Http():
            return open_streamable_http(
                reached, stop=timeouts.stop, doubt=changed.notify, tickets=tickets, authorization=authorization
            )
        case _:
            assert_never(reached)


async def _negotiate(session: ClientSession, probe: float) -> None:
    """Ask for the newest era, and shake hands in the older way with whoever does not know it."""
    if probe and await _try_discover(session, probe):
        return
    try:
        await session.initialize()
    except MCPError as error:
        # A server that was slow to answer the probe may have settled on the new era meanwhile.
        if error.code != UNSUPPORTED_PROTOCOL_VERSION or not await _try_discover(session, _PROBE_TIMEOUT_S):
            raise
    except (ValidationError, RuntimeError) as error:
        raise McpServerError(f"does not speak MCP as we know it: {str(error).splitlines()[0][:200]}") from error


async def _try_discover(session: ClientSession, within: float) -> bool:
    with anyio.move_on_after(within):
        try:
            await session.discover()
        except MCPError as error:
            if error.code in _FINAL_ERROR_CODES or is_connection_closed(error):
                raise
            return False
        except (ValidationError, RuntimeError):
            return False  # an answer of no era we share: it may still know the handshake
        return True
    return False


log: Final = logging.getLogger(__name__)

_SETTLE_S: Final = 0.1
"""A server that changes many tools tells of each: wait this long for the rest before listing again."""

_MIN_INTERVAL_S: Final = 1.0
"""At least so long from one list to the next, and from one subscription to the next, whatever the server does."""

_SUBSCRIBE_TIMEOUT_S: Final = 2.0
"""How long the first list waits for the subscription, so that no change falls between the two."""

_RESOURCES_TIMEOUT_S: Final = 5.0
"""How long the tools wait for the prompts and resources, so that whoever lists them first finds both."""

_LOST_CONNECTION: Final = "lost its connection"


class ConnectionLifecycle:
    """`hang` gets each list; `lost` is told as soon as the connection is over, before the server is stopped."""

    def __init__(
        self,
        source: ProviderKey,
        timeouts: Timeouts,
        *,
        hear: Callable[[bytes], None],
        hang: Callable[[ToolListResult], None],
        lost: Callable[[str], None],
        erase: Callable[[str], str],
        library: ServerResources,
        authorization: Authorization | None = None,
    ) -> None:
        self._source = source
        self._timeouts = timeouts
        self._on_stderr = hear
        self._on_tools = hang
        self._on_loss = lost
        self._erase = erase
        self._resources = library
        self._authorization = authorization
        self._change_event = CoalescingEvent()
        self._loss = ConnectionLoss(self._take_no_calls)
        self.calls: ToolCallRoute | None = None
        """Of a connection that is open and listed."""
        self.was_opened = False
        """Whether the server answered our opening at all."""

    @property
    def end_reason(self) -> str | None:
        return self._loss.why

    def check_liveness(self) -> None:
        """Something failed that may mean the server is gone: listing will tell."""
        self._change_event.notify()

    def _take_no_calls(self) -> None:
        self.calls = None

    def end(self, why: str) -> None:
        """Take no more calls. Whoever runs this life cancels it."""
        self._loss.report(why)

    async def run(self, reached: Stdio | Http, *, probe: bool) -> str:
        """Live until the connection is over, and say why it is."""
        start = self._timeouts.start
        try:
            # The deadline covers the opening alone: it is lifted once the tools are listed.
            with anyio.CancelScope(deadline=anyio.current_time() + start) as opening:
                async with open_connection(
                    self._source,
                    reached,
                    self._timeouts,
                    changed=self._change_event,
                    loss=self._loss,
                    hear=self._on_stderr,
                    told=self._resources.handle_notification,
                    probe=probe,
                    authorization=self._authorization,
                ) as connection:
                    self.was_opened = True
                    async with anyio.create_task_group() as tasks:
                        await self._subscribe(connection, tasks)
                        beside = anyio.Event()
                        tasks.start_soon(self._resources.keep_up_to_date, connection, beside)
                        found = await _list_tools(connection, self._source)
                        with anyio.move_on_after(_RESOURCES_TIMEOUT_S):
                            await beside.wait()
                        tasks.start_soon(self._resources.serve, connection)
                        self._publish_tools(connection, found)
                        opening.deadline = math.inf
                        if self._loss.why is None:
                            self.calls = connection.calls
                        tasks.start_soon(self._relist_on_change, connection)
                        if self._authorization is not None:
                            tasks.start_soon(self._stay_signed_in, connection, self._authorization)
                        try:
                            self._on_loss(await self._loss.wait())
                        finally:
                            # Stopped, or the transport fell over: who waits is told before either is known.
                            self._loss.report(_LOST_CONNECTION)
                        tasks.cancel_scope.cancel()
        except Exception as error:  # noqa: BLE001 - a life is supervised here: whatever ends it becomes its reason
            # What the transport saw comes first: a closed stream is what follows from a server that exited.
            seen = self._loss.why if self._loss.why != _LOST_CONNECTION else None
            return seen or describe_error(error) or self._describe_unforeseen(error)
        if opening.cancelled_caught:
            return self._loss.why or f"did not answer within {format_seconds(start)}"
        return self._loss.why or "closed the connection"

    def _describe_unforeseen(self, error: Exception) -> str:
        # As text, because a traceback may quote an address or a header that holds a key.
        log.error("%s failed in an unforeseen way:\n%s", self._source, self._erase("".join(format_exception(error))))
        return f"failed in an unforeseen way ({type(error).__name__}); the gateway's log has the details"

    def _publish_tools(self, connection: McpConnection, found: ToolListResult) -> None:
        connection.set_header_maps(found.header_maps)
        self._on_tools(found)

    async def _relist_on_change(self, connection: McpConnection) -> None:
        """List again whenever the tools may differ. A server that cannot list any more is lost."""
        while True:
            await self._change_event.wait()
            await anyio.sleep(_SETTLE_S)
            try:
                with anyio.fail_after(self._timeouts.start):
                    found = await _list_tools(connection, self._source)
            except (MCPError, McpServerError) as error:
                self._loss.report(describe_error(error) or str(error))
                return
            except TimeoutError:
                self._loss.report(f"did not list its tools within {format_seconds(self._timeouts.start)}")
                return
            self._publish_tools(connection, found)
            await anyio.sleep(_MIN_INTERVAL_S)

    async def _stay_signed_in(self, connection: McpConnection, authorization: Authorization) -> None:
        """A renewal that is refused is not found out by the next caller: the sign-in is wanted from then on."""
        holds = await authorization.keep_fresh()
        with anyio.move_on_after(holds):
            # Calls that are under way may well end before what we have does, and nothing else tells when they do.
            while connection.in_flight.is_busy:  # noqa: ASYNC110 - see above
                await anyio.sleep(_MIN_INTERVAL_S)
        authorization.mark_lapsed()
        self._loss.report(sign_in_message(authorization, HTTPStatus.UNAUTHORIZED, "") or _LOST_CONNECTION)

    async def _subscribe(self, connection: McpConnection, tasks: TaskGroup) -> None:
        """Open the stream of changes where there is one, before the list that it keeps fresh."""
        if not connection.supports_subscriptions:
            return
        settled = anyio.Event()
        tasks.start_soon(self._stay_subscribed, connection, settled)
        with anyio.move_on_after(_SUBSCRIBE_TIMEOUT_S):
            await settled.wait()

    async def _stay_subscribed(self, connection: McpConnection, settled: anyio.Event) -> None:
        first = True

        def on_opened() -> None:
            # What changed while nobody listened is in the next list. The first one is still to come, or just came.
            if not first or settled.is_set():
                self._change_event.notify()
                self._resources.request_refresh()
            settled.set()

        while await connection.watch_lists(on_opened):
            first = False
            settled.set()
            # A stream that broke may mean that the server is gone, and listing will tell.
            self._change_event.notify()
            await anyio.sleep(_MIN_INTERVAL_S)
        settled.set()


async def _list_tools(connection: McpConnection, source: ProviderKey) -> ToolListResult:
    try:
        return await list_tools(connection, source)
    except MCPError as error:
        if error.code == METHOD_NOT_FOUND and not connection.supports_tools:
            return ToolListResult()
        raise
