"""Calls through the SDK's session, where there is no shorter way: over SSE, and through an HTTP proxy."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, encode_header_value, mcp_param_headers
from mcp_types import CONNECTION_CLOSED
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard.core.call import Admitted, Outcome
from pegboard.core.tool import JsonObject
from pegboard.ports import Peer, Progress

from .answers import encoded, outcome
from .beside import beside
from .in_flight import Deadline
from .raw.reply import read
from .raw.tickets import Steps, Tickets
from .shared_stream import WHOLE, Answer
from .transport import HeaderMap

Ask = Callable[[str, dict[str, Any], Mapping[str, str], Progress | None], Awaitable[JsonObject]]


class SessionCalls:
    def __init__(self, ask: Ask, protocol_version: str, tickets: Tickets) -> None:
        self._ask = ask
        self._version = protocol_version
        self._tickets = tickets

    async def call(
        self, admitted: Admitted, progress: Progress | None, peer: Peer | None, wanted: HeaderMap | None = None
    ) -> Outcome:
        name, arguments = admitted.tool.id.name, dict(admitted.call.arguments)
        encoded(arguments)  # what cannot be sent would cost the SDK the connection
        headers: dict[str, str] = {}
        if self._version in MODERN_PROTOCOL_VERSIONS:
            headers = {MCP_NAME_HEADER: encode_header_value(name)}
            headers |= mcp_param_headers(wanted, arguments) if wanted else {}
        said = beside(admitted.call.beside, self._version, None if peer is None else peer.can)
        deadline = Deadline(self._tickets.within)
        steps = None if progress is None else Steps(progress)
        flight = self._tickets.in_flight.begin(peer, deadline, admitted.call.principal)
        answered = False
        try:
            with deadline.scope:
                params = {"name": name, "arguments": arguments, **said}
                result = await self._ask("tools/call", params, headers, None if steps is None else steps.take)
                answered = True
                whole: object = result.get(WHOLE)
                if isinstance(whole, Answer):
                    return await read(whole.body, whole.id, str(admitted.tool.id.source))
                return outcome(result, str(admitted.tool.id.source))
        except MCPError:
            answered = True
            raise
        finally:
            if not answered:
                # Nothing tells when the server is through with it: its own answer would go to the session.
                self._tickets.in_flight.give_up(flight, flight)
            if steps is not None:
                steps.catch_up()
            for question in self._tickets.in_flight.end(flight):
                await question.closed.wait()
        raise TimeoutError

    def close(self) -> None:
        self._tickets.break_off(lambda: MCPError(CONNECTION_CLOSED, "Connection closed"))
