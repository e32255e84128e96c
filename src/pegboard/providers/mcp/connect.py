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

from .asking import SAMPLING_IN_FULL, AskingDispatcher, unused
from .authorization import Authorization
from .beside import OURSELVES
from .connection import Bell, Connection
from .in_flight import InFlight
from .raw.tickets import Tickets
from .sse import sse
from .stdio import stdio
from .streamable import streamable
from .transport import Wire
from .trouble import BROKEN_OFF, STATUS, UNSENT, Loss, Trouble, closed

_PROBE: Final = 10.0
_FINAL: Final = frozenset({UNSENT, BROKEN_OFF, STATUS - 401, STATUS - 403})
"""Errors after which asking in the older way cannot help."""


@asynccontextmanager
async def connected(
    key: ProviderKey,
    reached: Stdio | Http,
    timeouts: Timeouts,
    *,
    changed: Bell,
    loss: Loss,
    hear: Callable[[bytes], None],
    told: Callable[[IncomingMessage], None],
    probe: bool = True,
    authorization: Authorization | None = None,
) -> AsyncIterator[Connection]:
    """Open for as long as the block runs. Raises what `trouble.sentence` has words for.

    `changed` rings when the tools may differ, and when something failed that only a new list can clear up. `told` gets
    every notification.
    """

    async def hear_message(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed.ring()
        told(message)

    tickets = Tickets(InFlight(str(key)), timeouts.call)
    async with _transport(reached, timeouts, changed, loss, hear, tickets, authorization) as wire:
        dispatcher = AskingDispatcher(wire.read, wire.write, tickets.in_flight)
        async with ClientSession(
            dispatcher=dispatcher,
            client_info=OURSELVES,
            message_handler=hear_message,
            read_timeout_seconds=timeouts.start,
            sampling_callback=unused,
            sampling_capabilities=SAMPLING_IN_FULL,
            elicitation_callback=unused,
            list_roots_callback=unused,
        ) as session:
            await _negotiate(session, min(_PROBE, timeouts.start * 0.4) if probe else 0.0)
            connection = Connection(session, dispatcher, loss, wire, tickets)
            try:
                yield connection
            finally:
                connection.close()


def _transport(
    reached: Stdio | Http,
    timeouts: Timeouts,
    changed: Bell,
    loss: Loss,
    hear: Callable[[bytes], None],
    tickets: Tickets,
    authorization: Authorization | None,
) -> AbstractAsyncContextManager[Wire]:
    match reached:
        case Stdio():
            return stdio(reached, stop=timeouts.stop, hear=hear, loss=loss, tickets=tickets)
        case Http() if reached.transport is Transport.SSE:
            return sse(
                reached,
                within=timeouts.start * 0.8,
                doubt=changed.ring,
                loss=loss,
                in_flight=tickets.in_flight,
                authorization=authorization,
            )
        case Http():
            return streamable(
                reached, stop=timeouts.stop, doubt=changed.ring, tickets=tickets, authorization=authorization
            )
        case _:
            assert_never(reached)


async def _negotiate(session: ClientSession, probe: float) -> None:
    """Ask for the newest era, and shake hands in the older way with whoever does not know it."""
    if probe and await _discovered(session, probe):
        return
    try:
        await session.initialize()
    except MCPError as error:
        # A server that was slow to answer the probe may have settled on the new era meanwhile.
        if error.code != UNSUPPORTED_PROTOCOL_VERSION or not await _discovered(session, _PROBE):
            raise
    except (ValidationError, RuntimeError) as error:
        raise Trouble(f"does not speak MCP as we know it: {str(error).splitlines()[0][:200]}") from error


async def _discovered(session: ClientSession, within: float) -> bool:
    with anyio.move_on_after(within):
        try:
            await session.discover()
        except MCPError as error:
            if error.code in _FINAL or closed(error):
                raise
            return False
        except (ValidationError, RuntimeError):
            return False  # an answer of no era we share: it may still know the handshake
        return True
    return False
