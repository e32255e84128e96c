"""Starts a server once before it is added, to show its tools. Nothing is saved; the result is kept for a short time."""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import anyio
import anyio.to_thread

from pegboard.core.commands.first_sight import clean_specs
from pegboard.core.model.catalogue import Listing, ProviderDown, ProviderOff, ProviderStart, has_listed
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.server import Connection, Server, StartWithGateway
from pegboard.core.model.tool import Tool, ToolSpec, canonical_json
from pegboard.gateway.signals import Subscription, contain_cancellation
from pegboard.ports.providers import Clock, Provider, ProviderFor

# One look at a server that waits for its review: started aside because a person asked, listed, and stopped again.
#
# Nothing is recorded as seen. The names of its tools may hang on the board after that, locked; no agent hears what
# they
# say of themselves.

log = logging.getLogger(__name__)

LISTING_GRACE_S: Final = 5.0
"""Seconds beyond the server's own deadline to start, for what it lists."""


@dataclass(frozen=True)
class ServerTrial:
    """What it said, and what it wrote to its error stream."""

    listing: Listing
    lines: Sequence[str]


async def try_server(server: Server, provider_for: ProviderFor, clock: Clock) -> ServerTrial:
    """Until it has answered or failed, or its time is over; and then until it has stopped."""
    provider = provider_for(replace(server, starts=StartWithGateway()))
    rung, broken = Subscription(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_run, provider, rung, broken, name=f"trial of {server.key}")
        with anyio.move_on_after(server.timeouts.start + LISTING_GRACE_S):
            while not broken.is_set() and isinstance(provider.listing().health, ProviderStart | ProviderOff):
                await rung.wait()
        listing, lines = provider.listing(), tuple(provider.log())
        tasks.cancel_scope.cancel()
    if isinstance(listing.health, ProviderStart | ProviderOff):
        why = "its provider broke; the gateway's log says more" if broken.is_set() else "it did not answer in time"
        listing = Listing(server.key, ProviderDown(clock(), why))
    return ServerTrial(listing, lines)


async def _run(provider: Provider, rung: Subscription, broken: anyio.Event) -> None:
    try:
        with contain_cancellation():
            await provider.run(rung.notify)
    except Exception:  # a provider's own task is supervised here, as on the roster
        log.exception("The provider of %s broke while it was looked at", provider.source)
    finally:
        broken.set()
        rung.notify()


MAX_CONCURRENT: Final = 2
MAX_WAITING: Final = 6
"""Beside those that run. Whoever comes after them is told to come back."""
MAX_START_S: Final = 60.0
"""Seconds that a server may take to start while somebody looks on."""
MAX_RESULTS: Final = 16
RESULT_LIFETIME: Final = timedelta(minutes=30)
_FORGET_TIMEOUT_S: Final = 5.0


class TooManyTrialsError(Exception):
    """Others are being looked at. Says what to do."""


@dataclass(frozen=True)
class TrialResult:
    """What a person was shown of a server that is not on the board."""

    id: str
    """Names exactly this: another connection, or another list of tools, has another."""
    connection: Connection
    specs: tuple[ToolSpec, ...]
    at: datetime

    async def baseline(self, key: ServerKey, others: tuple[Tool, ...]) -> Mapping[ToolId, ToolSpec]:
        """What of it counts as seen when the server is added under this key: all that does not look poisoned."""
        specs = {ToolId(key, spec.name): spec for spec in self.specs}
        kept = await anyio.to_thread.run_sync(clean_specs, key, specs, others)
        return {id: specs[id] for id in kept}


class ServerTrials:
    """`forget` is told of each name afterwards, so that nothing of a sign-in that began is left."""

    def __init__(
        self, provider_for: ProviderFor, clock: Clock, forget: Callable[[ServerKey], Awaitable[object]]
    ) -> None:
        self._provider_for = provider_for
        self._clock = clock
        self._forget = forget
        self._concurrency = anyio.Semaphore(MAX_CONCURRENT)
        self._slots = [*range(MAX_CONCURRENT)]
        self._active = 0
        self._results: OrderedDict[str, TrialResult] = OrderedDict()

    async def try_server(self, server: Server) -> tuple[ServerTrial, TrialResult | None]:
        """Raises `TooManyTrialsError`. Without an answer of the server nothing was seen."""
        if self._active >= MAX_CONCURRENT + MAX_WAITING:
            raise TooManyTrialsError(
                f"{self._active} servers are being tried already. Try again when one of them is done."
            )
        self._active += 1
        try:
            async with self._concurrency:
                trial = await self._run_isolated(server)
        finally:
            self._active -= 1
        if not has_listed(trial.listing):
            return trial, None
        specs = tuple(tool.spec for tool in trial.listing.tools)
        seen = TrialResult(_result_id(server.connection, specs), server.connection, specs, self._clock())
        self._results[seen.id] = seen
        self._results.move_to_end(seen.id)
        while len(self._results) > MAX_RESULTS:
            self._results.popitem(last=False)
        return trial, seen

    async def _run_isolated(self, server: Server) -> ServerTrial:
        slot = self._slots.pop()
        # No toolset can have this id, so that nothing that is known of another server is used, or replaced.
        key = ServerKey(ToolsetId(f"(trial {slot})"), ServerId(server.id))
        waits = replace(server.timeouts, start=min(server.timeouts.start, MAX_START_S))
        try:
            return await try_server(replace(server, key=key, timeouts=waits), self._provider_for, self._clock)
        finally:
            self._slots.append(slot)
            with anyio.move_on_after(_FORGET_TIMEOUT_S, shield=True):
                await self._forget(key)

    def find_result(self, id: str, server: Server) -> TrialResult | None:
        """What was seen by this name, if it was of this very server and not too long ago."""
        seen = self._results.get(id)
        if seen is None or seen.connection != server.connection or self._clock() - seen.at > RESULT_LIFETIME:
            return None
        return seen


def _result_id(connection: Connection, specs: tuple[ToolSpec, ...]) -> str:
    read = canonical_json([[spec.name, spec.fingerprint] for spec in specs])
    reached = repr(connection).encode("utf-8", "surrogatepass")
    return hashlib.sha256(read + b"\n" + reached).hexdigest()
