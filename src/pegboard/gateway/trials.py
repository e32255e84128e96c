"""Servers that are looked at before anybody adds them: each started apart, under a name that nothing else has, and
ended again. Nothing is saved; what was seen is remembered for a while, so that a person can say that they saw it."""

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import anyio
import anyio.to_thread

from pegboard.core.catalogue import has_listed
from pegboard.core.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.running import sound
from pegboard.core.server import Connection, Server
from pegboard.core.tool import Tool, ToolSpec, canonical
from pegboard.ports import Clock, ProviderFor

from .trial import Trial, tried

AT_ONCE: Final = 2
WAITING: Final = 6
"""Beside those that run. Whoever comes after them is told to come back."""
LONGEST: Final = 60.0
"""Seconds that a server may take to start while somebody looks on."""
REMEMBERED: Final = 16
KEPT: Final = timedelta(minutes=30)
_FORGETTING: Final = 5.0


class TooMany(Exception):  # noqa: N818  an answer, not a fault
    """Others are being looked at. Says what to do."""


@dataclass(frozen=True)
class Seen:
    """What a person was shown of a server that is not on the board."""

    id: str
    """Names exactly this: another connection, or another list of tools, has another."""
    connection: Connection
    specs: tuple[ToolSpec, ...]
    at: datetime

    async def baseline(self, key: ServerKey, others: tuple[Tool, ...]) -> Mapping[ToolId, ToolSpec]:
        """What of it counts as seen when the server is added under this key: all that does not look poisoned."""
        specs = {ToolId(key, spec.name): spec for spec in self.specs}
        kept = await anyio.to_thread.run_sync(sound, key, specs, others)
        return {id: specs[id] for id in kept}


class Trials:
    """`forget` is told of each name afterwards, so that nothing of a sign-in that began is left."""

    def __init__(
        self, provider_for: ProviderFor, clock: Clock, forget: Callable[[ServerKey], Awaitable[object]]
    ) -> None:
        self._provider_for = provider_for
        self._clock = clock
        self._forget = forget
        self._turns = anyio.Semaphore(AT_ONCE)
        self._slots = [*range(AT_ONCE)]
        self._here = 0
        self._seen: OrderedDict[str, Seen] = OrderedDict()

    async def tried(self, server: Server) -> tuple[Trial, Seen | None]:
        """Raises `TooMany`. Without an answer of the server nothing was seen."""
        if self._here >= AT_ONCE + WAITING:
            raise TooMany(f"{self._here} servers are being tried already. Try again when one of them is done.")
        self._here += 1
        try:
            async with self._turns:
                trial = await self._apart(server)
        finally:
            self._here -= 1
        if not has_listed(trial.listing):
            return trial, None
        specs = tuple(tool.spec for tool in trial.listing.tools)
        seen = Seen(_named(server.connection, specs), server.connection, specs, self._clock())
        self._seen[seen.id] = seen
        self._seen.move_to_end(seen.id)
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return trial, seen

    async def _apart(self, server: Server) -> Trial:
        slot = self._slots.pop()
        # No toolset can have this id, so that nothing that is known of another server is used, or replaced.
        key = ServerKey(ToolsetId(f"(trial {slot})"), ServerId(server.id))
        waits = replace(server.timeouts, start=min(server.timeouts.start, LONGEST))
        try:
            return await tried(replace(server, key=key, timeouts=waits), self._provider_for, self._clock)
        finally:
            self._slots.append(slot)
            with anyio.move_on_after(_FORGETTING, shield=True):
                await self._forget(key)

    def recalled(self, id: str, server: Server) -> Seen | None:
        """What was seen by this name, if it was of this very server and not too long ago."""
        seen = self._seen.get(id)
        if seen is None or seen.connection != server.connection or self._clock() - seen.at > KEPT:
            return None
        return seen


def _named(connection: Connection, specs: tuple[ToolSpec, ...]) -> str:
    read = canonical([[spec.name, spec.fingerprint] for spec in specs])
    reached = repr(connection).encode("utf-8", "surrogatepass")
    return hashlib.sha256(read + b"\n" + reached).hexdigest()
