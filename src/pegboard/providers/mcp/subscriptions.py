"""The resources of one server that are followed: subscribed once each, and again on every new connection.

In the handshake era each is a request of its own. From 2026-07-28 on one stream follows them all; it is opened anew
when one joins or leaves, and the former stays open until then.
"""

import logging
from dataclasses import dataclass, field
from typing import Final

import anyio
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND

from pegboard.core.ask import ResourceAnswer, ResourceRefusal, ResourceResult
from pegboard.core.server import Timeouts
from pegboard.ports import ResourceCallback

from .connection import CoalescingEvent, McpConnection

log: Final = logging.getLogger(__name__)

_SETTLE_S: Final = 0.05
"""Who follows many resources names them one by one: wait this long for the rest before opening a stream."""
_MIN_INTERVAL_S: Final = 1.0
"""At least so long from one stream that broke to the next."""


@dataclass(eq=False)
class _FollowedResource:
    on_update: ResourceCallback
    answered: anyio.Event = field(default_factory=anyio.Event)
    refusal: ResourceRefusal | None = None


class ResourceSubscriptions:
    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._resources: dict[str, _FollowedResource] = {}
        self._change_event = CoalescingEvent()

    def notify_update(self, uri: str) -> None:
        """A server may name a part of what is followed: whoever follows the whole is told of the part."""
        for followed, each in tuple(self._resources.items()):
            if uri == followed or _is_part(uri, followed):
                each.on_update(uri)

    async def add(self, connection: McpConnection, uri: str, updated: ResourceCallback) -> ResourceAnswer:
        """Raises `MCPError` for an error of the server."""
        followed = self._resources[uri] = _FollowedResource(updated)
        try:
            if not connection.is_modern:
                answer = ResourceResult(await connection.request("resources/subscribe", {"uri": uri}))
                followed.answered.set()
                return answer
            self._change_event.notify()
            await followed.answered.wait()
        except BaseException:
            self._drop(uri, followed)
            raise
        if followed.refusal is None:
            return ResourceResult({})
        self._drop(uri, followed)
        return followed.refusal

    async def remove(self, connection: McpConnection | None, uri: str) -> None:
        if self._resources.pop(uri, None) is None or connection is None or connection.loss.why is not None:
            return
        if connection.is_modern:
            self._change_event.notify()
            return
        with anyio.move_on_after(self._timeouts.stop):
            try:
                await connection.request("resources/unsubscribe", {"uri": uri})
            except MCPError as error:
                log.debug("Unsubscribing from %s failed: %s", uri, error.message)

    async def serve(self, connection: McpConnection) -> None:
        again = [uri for uri, each in self._resources.items() if each.answered.is_set()]
        if connection.is_modern:
            await self._keep_stream(connection, again)
        for uri in again:
            try:
                with anyio.move_on_after(self._timeouts.call):
                    await connection.request("resources/subscribe", {"uri": uri})
            except MCPError as error:
                log.warning("%s can no longer be followed: %s", uri, error.message)
            # What changed while there was no connection was never told.
            self.notify_update(uri)
        await anyio.sleep_forever()

    async def _keep_stream(self, connection: McpConnection, again: list[str]) -> None:
        former: anyio.CancelScope | None = None
        if again:
            self._change_event.notify()
        async with anyio.create_task_group() as tasks:
            while True:
                await self._change_event.wait()
                await anyio.sleep(_SETTLE_S)
                uris, opened, scope = tuple(self._resources), anyio.Event(), anyio.CancelScope()
                if uris:
                    tasks.start_soon(self._run_stream, connection, uris, opened, scope, again)
                    await opened.wait()
                again = []
                if former is not None:
                    former.cancel()
                former = scope

    async def _run_stream(
        self,
        connection: McpConnection,
        uris: tuple[str, ...],
        opened: anyio.Event,
        scope: anyio.CancelScope,
        missed: list[str],
    ) -> None:
        with scope:
            while True:
                try:
                    async with connection.subscribe_resources(uris) as subscription:
                        self._record_answers(uris, frozenset(subscription.honored.resource_subscriptions or ()))
                        opened.set()
                        for uri in missed:
                            self.notify_update(uri)
                        # Each update is told to the session as well: here it only matters when the stream ends.
                        async for _ in subscription:
                            pass
                except MCPError as error:
                    self._record_refusals(uris, ResourceRefusal(error.code, error.message, error.data))
                    opened.set()
                    if error.code in (METHOD_NOT_FOUND, INVALID_PARAMS):
                        return
                except (SubscriptionLost, TimeoutError):
                    self._record_refusals(
                        uris, ResourceRefusal(METHOD_NOT_FOUND, "The server does not open a stream of updates.")
                    )
                    opened.set()
                await anyio.sleep(_MIN_INTERVAL_S)
                missed = list(uris)

    def _record_answers(self, uris: tuple[str, ...], honoured: frozenset[str]) -> None:
        self._record_refusals(
            tuple(uri for uri in uris if uri not in honoured),
            ResourceRefusal(INVALID_PARAMS, "The server does not follow this resource."),
        )
        for uri in honoured & self._resources.keys():
            self._resources[uri].answered.set()

    def _record_refusals(self, uris: tuple[str, ...], why: ResourceRefusal) -> None:
        """Only those who still wait: what was followed once is tried again for as long as somebody wants it."""
        for uri in uris:
            each = self._resources.get(uri)
            if each is not None and not each.answered.is_set():
                each.refusal = why
                each.answered.set()

    def _drop(self, uri: str, followed: _FollowedResource) -> None:
        if self._resources.get(uri) is followed:
            del self._resources[uri]


def _is_part(uri: str, whole: str) -> bool:
    return uri.startswith(whole) and (whole.endswith("/") or uri[len(whole)] in "/?#")
