"""An open connection to a server: what can be asked of it, as plain JSON in and out.

Requests go through the SDK's dispatcher and not through its models: those drop members they do not know, and one bad
tool would cost the whole list. Calls go by a shorter way where the transport has one.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
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

from pegboard.core.call import Admitted, Outcome
from pegboard.core.tool import JsonObject
from pegboard.ports import Peer, Progress

from .beside import LEVELS, META, log_level, meta_of
from .raw.tickets import Tickets
from .session_calls import SessionCalls
from .transport import Calls, HeaderMap, Wire
from .trouble import Loss

_SET_LEVEL: Final = 5.0
"""Seconds that a call waits for the server to take a level: then it goes on without."""

_LISTS: Final = ("tools", "prompts", "resources")


_LOG_LEVEL: Final = LOG_LEVEL_META_KEY.encode()


class Connection:
    def __init__(
        self, session: ClientSession, dispatcher: JSONRPCDispatcher, loss: Loss, wire: Wire, tickets: Tickets
    ) -> None:
        assert session.protocol_version is not None
        self._session = session
        self._dispatcher = dispatcher
        self.loss = loss
        self.in_flight = tickets.in_flight
        self._loudness: int | None = None
        self.protocol_version = session.protocol_version
        self.header_maps: Mapping[str, HeaderMap] = {}
        self._calls: Calls = (
            SessionCalls(self._ask, self.protocol_version, tickets)
            if wire.calls is None
            else wire.calls(self.protocol_version)
        )

    @property
    def modern(self) -> bool:
        """Of the era without handshake and sessions, from 2026-07-28 on."""
        return self.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def offers_tools(self) -> bool:
        capabilities = self._session.server_capabilities
        return capabilities is not None and capabilities.tools is not None

    def offers(self, what: Literal["tools", "prompts", "resources"]) -> bool:
        """Whether the server said that it has such things."""
        return getattr(self._session.server_capabilities, what, None) is not None

    @property
    def offers_subscriptions(self) -> bool:
        return self.modern and any(self._changes(what) for what in _LISTS)

    def _changes(self, what: str) -> bool:
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
        return await self._ask(method, dict(params), headers, progress)

    def listening(self, uris: Sequence[str]) -> AbstractAsyncContextManager[Subscription]:
        """A stream of changes of these resources, from 2026-07-28 on."""
        return listen(self._session, resource_subscriptions=uris)

    async def list_page(self, cursor: str | None) -> JsonObject:
        return await self._ask("tools/list", {} if cursor is None else {"cursor": cursor})

    def call(
        self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None
    ) -> Coroutine[Any, Any, Outcome]:
        """Raises `MCPError`, `TimeoutError` and `Unsendable`. Cancelled, it tells the server to stop."""
        wanted = self.header_maps.get(admitted.tool.id.name)
        if not self.modern and _LOG_LEVEL in (said := admitted.call.beside.get(META, b"")):
            return self._call_aloud(said, admitted, progress, peer, wanted)
        return self._calls.call(admitted, progress, peer, wanted)

    async def _call_aloud(
        self,
        said: bytes,
        admitted: Admitted,
        progress: Progress | None,
        peer: Peer | None,
        wanted: HeaderMap | None,
    ) -> Outcome:
        await self._speak_up(said)
        return await self._calls.call(admitted, progress, peer, wanted)

    def close(self) -> None:
        """Those who wait for an answer are told that there will be none."""
        self._calls.close()

    async def hear_changes(self, opened: Callable[[], None]) -> bool:
        """Keep a subscription open until it ends. False when the server has none to give."""
        try:
            tools, prompts, resources = (self._changes(what) for what in _LISTS)
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

    async def _speak_up(self, meta: bytes) -> None:
        """Ask a server of the handshake era for the log messages that a client wants to hear.

        It keeps one level for all of us, so it is the lowest that anyone wanted; who wants less is told less by us.
        """
        capabilities = self._session.server_capabilities
        if capabilities is None or capabilities.logging is None:
            return
        wanted = log_level(meta)
        if wanted is None or (self._loudness is not None and LEVELS.index(wanted) >= self._loudness):
            return
        self._loudness = LEVELS.index(wanted)
        with anyio.move_on_after(_SET_LEVEL), suppress(MCPError):
            await self._ask("logging/setLevel", {"level": wanted})

    async def _ask(
        self,
        method: str,
        params: dict[str, Any],
        headers: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> JsonObject:
        options: CallOptions = {"headers": {MCP_PROTOCOL_VERSION_HEADER: self.protocol_version, **(headers or {})}}
        if self.modern:
            options["headers"][MCP_METHOD_HEADER] = method
            params.setdefault(META, meta_of(None, self.protocol_version))
        if progress is not None:
            options["on_progress"] = _as_asked(progress)
        return await self._dispatcher.send_raw_request(method, params, options)


def _as_asked(told: Progress) -> ProgressFnT:
    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told(progress, total, message)

    return tell


class Bell:
    """Rung as often as one likes; whoever waits hears it once, and again only for what came after."""

    def __init__(self) -> None:
        self._rung = anyio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def heard(self) -> None:
        await self._rung.wait()
        self._rung = anyio.Event()
