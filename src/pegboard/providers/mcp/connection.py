"""An open connection to a server: what can be asked of it, as plain JSON in and out.

Requests go through the SDK's dispatcher and not through its models: those drop members they do not know, and one bad
tool would cost the whole list. Calls go by a shorter way where the transport has one.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final, Literal

import anyio
from mcp.client.session import ClientSession
from mcp.client.subscriptions import Subscription, SubscriptionLost, listen
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import LOG_LEVEL_META_KEY, METHOD_NOT_FOUND
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard.core.calls.call import AdmittedCall, Outcome
from pegboard.core.json.values import JsonObject
from pegboard.ports.providers import ClientPeer, Progress
from pegboard.providers.mcp.errors import ConnectionLoss
from pegboard.providers.mcp.in_flight import PendingRequests
from pegboard.providers.mcp.results import LOG_LEVELS, META_MEMBER, request_meta, requested_log_level
from pegboard.providers.mcp.transport import HeaderMap, HeaderMaps, McpTransport, ToolCallRoute
from pegboard.providers.mcp.transports.session_calls import SessionToolCalls

_SET_LEVEL_TIMEOUT_S: Final = 5.0
"""Seconds that a call waits for the server to take a level: then it goes on without."""

_LIST_KINDS: Final = ("tools", "prompts", "resources")


_LOG_LEVEL_KEY: Final = LOG_LEVEL_META_KEY.encode()


class LogLevelCalls:
    """Calls to a server of the handshake era that sends log messages: it takes the level first that a caller wants."""

    def __init__(self, route: ToolCallRoute, raise_level: Callable[[bytes], Awaitable[None]]) -> None:
        self._route = route
        self._raise_level = raise_level

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        if _LOG_LEVEL_KEY in (said := admitted.call.beside.get(META_MEMBER, b"")):
            await self._raise_level(said)
        return await self._route.call(admitted, progress, peer)

    def close(self) -> None:
        self._route.close()


class McpConnection:
    def __init__(
        self,
        session: ClientSession,
        dispatcher: JSONRPCDispatcher,
        loss: ConnectionLoss,
        wire: McpTransport,
        tickets: PendingRequests,
    ) -> None:
        assert session.protocol_version is not None
        self._session = session
        self._dispatcher = dispatcher
        self.loss = loss
        self.in_flight = tickets.in_flight
        self._log_level_index: int | None = None
        self.protocol_version = session.protocol_version
        self._header_maps: dict[str, HeaderMap] = {}
        route = (
            SessionToolCalls(self._send_request, self.protocol_version, tickets, self._header_maps)
            if wire.open_calls is None
            else wire.open_calls(self.protocol_version, self._header_maps)
        )
        self.calls: ToolCallRoute = LogLevelCalls(route, self._raise_log_level) if self._takes_log_level else route

    def set_header_maps(self, header_maps: HeaderMaps) -> None:
        """Of the tools that were listed last."""
        self._header_maps.clear()
        self._header_maps.update(header_maps)

    @property
    def _takes_log_level(self) -> bool:
        capabilities = self._session.server_capabilities
        return not self.is_modern and capabilities is not None and capabilities.logging is not None

    @property
    def is_modern(self) -> bool:
        """Of the era without handshake and sessions, from 2026-07-28 on."""
        return self.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def supports_tools(self) -> bool:
        capabilities = self._session.server_capabilities
        return capabilities is not None and capabilities.tools is not None

    def supports(self, what: Literal["tools", "prompts", "resources"]) -> bool:
        """Whether the server said that it has such things."""
        return getattr(self._session.server_capabilities, what, None) is not None

    @property
    def supports_subscriptions(self) -> bool:
        return self.is_modern and any(self._announces_changes(what) for what in _LIST_KINDS)

    def _announces_changes(self, what: str) -> bool:
        """Whether the server tells when this list of its changes."""
        told = getattr(self._session.server_capabilities, what, None)
        return told is not None and bool(told.list_changed)

    async def request(
        self,
        method: str,
        params: JsonObject,
        headers: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> JsonObject:
        """Any other request. Raises `MCPError` for an error answer. Cancelled, it tells the server to stop."""
        return await self._send_request(method, dict(params), headers, progress)

    def subscribe_resources(self, uris: Sequence[str]) -> AbstractAsyncContextManager[Subscription]:
        """A stream of changes of these resources, from 2026-07-28 on."""
        return listen(self._session, resource_subscriptions=uris)

    async def list_page(self, cursor: str | None) -> JsonObject:
        return await self._send_request("tools/list", {} if cursor is None else {"cursor": cursor})

    def close(self) -> None:
        """Those who wait for an answer are told that there will be none."""
        self.calls.close()

    async def watch_lists(self, opened: Callable[[], None]) -> bool:
        """Keep a subscription open until it ends. False when the server has none to give."""
        try:
            tools, prompts, resources = (self._announces_changes(what) for what in _LIST_KINDS)
            async with listen(
                self._session,
                tools_list_changed=tools,
                prompts_list_changed=prompts,
                resources_list_changed=resources,
            ) as subscription:
                honoured = subscription.honored
                if not (
                    honoured.tools_list_changed or honoured.prompts_list_changed or honoured.resources_list_changed
                ):
                    return False
                opened()
                # Each change is told to the session's own bell as well: here it only matters when the stream ends.
                async for _ in subscription:
                    pass
        except MCPError as error:
            return error.code != METHOD_NOT_FOUND
        except TimeoutError:
            return False
        except SubscriptionLost:
            pass
        return True

    async def _raise_log_level(self, meta: bytes) -> None:
        """Ask a server of the handshake era for the log messages that a client wants to hear.

        It keeps one level for all of us, so it is the lowest that anyone wanted; who wants less is told less by us.
        """
        wanted = requested_log_level(meta)
        if wanted is None or (self._log_level_index is not None and LOG_LEVELS.index(wanted) >= self._log_level_index):
            return
        self._log_level_index = LOG_LEVELS.index(wanted)
        with anyio.move_on_after(_SET_LEVEL_TIMEOUT_S), suppress(MCPError):
            await self._send_request("logging/setLevel", {"level": wanted})

    async def _send_request(
        self,
        method: str,
        params: dict[str, Any],
        headers: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> JsonObject:
        options: CallOptions = {"headers": {MCP_PROTOCOL_VERSION_HEADER: self.protocol_version, **(headers or {})}}
        if self.is_modern:
            options["headers"][MCP_METHOD_HEADER] = method
            params.setdefault(META_MEMBER, request_meta(None, self.protocol_version))
        if progress is not None:
            options["on_progress"] = _progress_callback(progress)
        return await self._dispatcher.send_raw_request(method, params, options)


def _progress_callback(told: Progress) -> ProgressFnT:
    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told(progress, total, message)

    return tell


class CoalescingEvent:
    """Rung as often as one likes; whoever waits hears it once, and again only for what came after."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def notify(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()
        self._event = anyio.Event()
