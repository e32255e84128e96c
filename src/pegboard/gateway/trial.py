"""One look at a server that waits for its review: started aside because a person asked, listed, and stopped again.

Nothing is recorded as seen. The names of its tools may hang on the board after that, locked; no agent hears what they
say of themselves.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio

from pegboard.core.catalogue import Listing, ProviderDown, ProviderOff, ProviderStart
from pegboard.core.server import Server, StartWithGateway
from pegboard.ports import Clock, Provider, ProviderFor

from .bell import Subscription
from .cancellation import contain_cancellation

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
