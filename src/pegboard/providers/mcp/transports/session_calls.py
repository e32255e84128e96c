"""Calls through the SDK's session, where there is no fast path: over SSE and through HTTP proxies."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, encode_header_value, mcp_param_headers
from mcp_types import CONNECTION_CLOSED
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard.core.calls.call import AdmittedCall, Outcome
from pegboard.core.json.values import JsonObject
from pegboard.ports.providers import ClientPeer, Progress
from pegboard.providers.mcp.fast.response import RAW_ANSWER_KEY, RawAnswer, read_outcome
from pegboard.providers.mcp.in_flight import CallDeadline, PendingRequests, ProgressThrottle
from pegboard.providers.mcp.results import encode_arguments, extra_params, outcome_of_result
from pegboard.providers.mcp.transport import HeaderMaps

SendSessionRequest = Callable[[str, dict[str, Any], Mapping[str, str], Progress | None], Awaitable[JsonObject]]


class SessionToolCalls:
    def __init__(
        self, ask: SendSessionRequest, protocol_version: str, tickets: PendingRequests, header_maps: HeaderMaps
    ) -> None:
        self._send_request = ask
        self._version = protocol_version
        self._pending = tickets
        self._header_maps = header_maps

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        name, arguments = admitted.tool.id.name, dict(admitted.call.arguments)
        encode_arguments(arguments)  # what cannot be sent would cost the SDK the connection
        headers: dict[str, str] = {}
        if self._version in MODERN_PROTOCOL_VERSIONS:
            headers = {MCP_NAME_HEADER: encode_header_value(name)}
            if (wanted := self._header_maps.get(name)) is not None:
                headers |= mcp_param_headers(wanted, arguments)
        said = extra_params(admitted.call.beside, self._version, None if peer is None else peer.capabilities)
        deadline = CallDeadline(self._pending.timeout_s)
        steps = None if progress is None else ProgressThrottle(progress)
        flight = self._pending.in_flight.begin(peer, deadline, admitted.call.principal)
        answered = False
        try:
            with deadline.scope:
                params = {"name": name, "arguments": arguments, **said}
                result = await self._send_request(
                    "tools/call", params, headers, None if steps is None else steps.report
                )
                answered = True
                whole: object = result.get(RAW_ANSWER_KEY)
                if isinstance(whole, RawAnswer):
                    return await read_outcome(whole.body, whole.id, str(admitted.tool.id.source))
                return outcome_of_result(result, str(admitted.tool.id.source))
        except MCPError:
            answered = True
            raise
        finally:
            if not answered:
                # Nothing tells when the server is through with it: its own answer would go to the session.
                self._pending.in_flight.abandon(flight, flight)
            if steps is not None:
                steps.flush()
            for question in self._pending.in_flight.end(flight):
                await question.closed.wait()
        raise TimeoutError

    def close(self) -> None:
        self._pending.fail_all(lambda: MCPError(CONNECTION_CLOSED, "Connection closed"))
