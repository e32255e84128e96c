"""Opening a connection: a transport, a session on it, and the protocol era that both sides know."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, assert_never

import anyio
from mcp.client.session import ClientSession, IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION, ToolListChangedNotification
from pydantic import ValidationError

from pegboard.core.ids import ProviderKey
from pegboard.core.server import Http, Stdio, Timeouts, Transport

from .asking import FULL_SAMPLING, QuestionDispatcher, unused_callback
from .authorization import Authorization
from .beside import CLIENT_INFO
from .connection import CoalescingEvent, McpConnection
from .in_flight import CallsInFlight
from .raw.tickets import PendingRequests
from .sse import open_sse
from .stdio import open_stdio
from .streamable import open_streamable_http
from .transport import McpTransport
from .trouble import CONNECTION_BROKEN, HTTP_STATUS_BASE, NOT_SENT, ConnectionLoss, McpServerError, is_connection_closed

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
