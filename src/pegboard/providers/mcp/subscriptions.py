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

from pegboard.core.ask import Answer, Declined, Told
from pegboard.core.server import Timeouts
from pegboard.ports import Updated

from .connection import Bell, Connection

log: Final = logging.getLogger(__name__)

_SETTLE: Final = 0.05
"""Who follows many resources names them one by one: wait this long for the rest before opening a stream."""
_BREATH: Final = 1.0
"""At least so long from one stream that broke to the next."""


@dataclass(eq=False)
class _Followed:
    updated: Updated
    settled: anyio.Event = field(default_factory=anyio.Event)
    refused: Declined | None = None


class Subscriptions:
    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._followed: dict[str, _Followed] = {}
        self._differ = Bell()

    def tell(self, uri: str) -> None:
        """A server may name a part of what is followed: whoever follows the whole is told of the part."""
        for followed, each in tuple(self._followed.items()):
            if uri == followed or _is_part(uri, followed):
                each.updated(uri)

    async def add(self, connection: Connection, uri: str, updated: Updated) -> Answer:
        """Raises `MCPError` for an error of the server."""
        followed = self._followed[uri] = _Followed(updated)
        try:
            if not connection.modern:
                answer = Told(await connection.request("resources/subscribe", {"uri": uri}))
                followed.settled.set()
                return answer
            self._differ.ring()
            await followed.settled.wait()
        except BaseException:
            self._drop(uri, followed)
            raise
        if followed.refused is None:
            return Told({})
        self._drop(uri, followed)
        return followed.refused

    async def remove(self, connection: Connection | None, uri: str) -> None:
        if self._followed.pop(uri, None) is None or connection is None or connection.loss.why is not None:
            return
        if connection.modern:
            self._differ.ring()
            return
        with anyio.move_on_after(self._timeouts.stop):
            try:
                await connection.request("resources/unsubscribe", {"uri": uri})
            except MCPError as error:
                log.debug("Unsubscribing from %s failed: %s", uri, error.message)

    async def attend(self, connection: Connection) -> None:
        again = [uri for uri, each in self._followed.items() if each.settled.is_set()]
        if connection.modern:
            await self._keep_stream(connection, again)
        for uri in again:
            try:
                with anyio.move_on_after(self._timeouts.call):
                    await connection.request("resources/subscribe", {"uri": uri})
            except MCPError as error:
                log.warning("%s can no longer be followed: %s", uri, error.message)
            # What changed while there was no connection was never told.
            self.tell(uri)
        await anyio.sleep_forever()

    async def _keep_stream(self, connection: Connection, again: list[str]) -> None:
        former: anyio.CancelScope | None = None
        if again:
            self._differ.ring()
        async with anyio.create_task_group() as tasks:
            while True:
                await self._differ.heard()
                await anyio.sleep(_SETTLE)
                uris, opened, scope = tuple(self._followed), anyio.Event(), anyio.CancelScope()
                if uris:
                    tasks.start_soon(self._listen, connection, uris, opened, scope, again)
                    await opened.wait()
                again = []
                if former is not None:
                    former.cancel()
                former = scope

    async def _listen(
        self,
        connection: Connection,
        uris: tuple[str, ...],
        opened: anyio.Event,
        scope: anyio.CancelScope,
        missed: list[str],
    ) -> None:
        with scope:
            while True:
                try:
                    async with connection.listening(uris) as subscription:
                        self._settle(uris, frozenset(subscription.honored.resource_subscriptions or ()))
                        opened.set()
                        for uri in missed:
                            self.tell(uri)
                        # Each update is told to the session as well: here it only matters when the stream ends.
                        async for _ in subscription:
                            pass
                except MCPError as error:
                    self._refuse(uris, Declined(error.code, error.message, error.data))
                    opened.set()
                    if error.code in (METHOD_NOT_FOUND, INVALID_PARAMS):
                        return
                except (SubscriptionLost, TimeoutError):
                    self._refuse(uris, Declined(METHOD_NOT_FOUND, "The server does not open a stream of updates."))
                    opened.set()
                await anyio.sleep(_BREATH)
                missed = list(uris)

    def _settle(self, uris: tuple[str, ...], honoured: frozenset[str]) -> None:
        self._refuse(
            tuple(uri for uri in uris if uri not in honoured),
            Declined(INVALID_PARAMS, "The server does not follow this resource."),
        )
        for uri in honoured & self._followed.keys():
            self._followed[uri].settled.set()

    def _refuse(self, uris: tuple[str, ...], why: Declined) -> None:
        """Only those who still wait: what was followed once is tried again for as long as somebody wants it."""
        for uri in uris:
            each = self._followed.get(uri)
            if each is not None and not each.settled.is_set():
                each.refused = why
                each.settled.set()

    def _drop(self, uri: str, followed: _Followed) -> None:
        if self._followed.get(uri) is followed:
            del self._followed[uri]


def _is_part(uri: str, whole: str) -> bool:
    return uri.startswith(whole) and (whole.endswith("/") or uri[len(whole)] in "/?#")
