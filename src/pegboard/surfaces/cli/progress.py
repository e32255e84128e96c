"""Telling of servers as they answer: what a person sees while a gateway starts."""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from pegboard.core.catalogue import Asleep, Down, Health, NeedsSignIn, Off, Starting, Up
from pegboard.core.ids import BuiltinKey, Source
from pegboard.gateway.gateway import Gateway

from .link import Tell

SLACK: Final = 5.0
"""Seconds beyond the longest deadline of a server: by then it has been told to be down."""
SLOW: Final = 3.0


async def tell_as_they_settle(gateway: Gateway, told: Tell, *, later: str) -> None:
    """Until every server has answered or failed once. `later` is told of those that have not done so in time."""
    starts = [server.timeouts.start for server in gateway.board.policy.servers.values()]
    heard: set[Source] = set()
    with anyio.move_on_after(max(starts, default=0.0) + SLACK), gateway.board.changed.listen() as bell:
        while waiting := _told(gateway, heard, told):
            with anyio.move_on_after(SLOW) as slow:
                await bell.wait()
            if slow.cancelled_caught:
                told(f"  … waiting for {', '.join(waiting)}")
                await bell.wait()
        return
    told(f"  … {later}")


async def tell_while(gateway: Gateway, told: Tell, ended: Callable[[], Awaitable[None]]) -> None:
    """From then on until the end: a line for each server that comes, falls, or is up again."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_tell_on, gateway, told, name="lines about servers")
        await ended()
        tasks.cancel_scope.cancel()


async def _tell_on(gateway: Gateway, told: Tell) -> None:
    known = {source: _state(listing.health) for source, listing in gateway.board.catalogue.listings.items()}
    with gateway.board.changed.listen() as bell:
        while True:
            await bell.wait()
            listings = gateway.board.catalogue.listings
            for source in [source for source in known if source not in listings]:
                del known[source]
            for source, listing in listings.items():
                state = _state(listing.health)
                if state is None or known.get(source) == state or isinstance(source, BuiltinKey):
                    continue
                known[source] = state
                if line := _line(str(source), listing.health, len(listing.tools)):
                    told(f"  {line}")


def _state(health: Health) -> str | None:
    """Of what a line is worth; `None` on the way to one. That a server sleeps until it is needed is no news."""
    match health:
        case Up() | Asleep():
            return "up"
        case Down():
            return "down"
        case NeedsSignIn():
            return "signed out"
        case Off():
            return "off"
        case Starting():
            return None


def _told(gateway: Gateway, heard: set[Source], told: Tell) -> list[str]:
    """Tells what is new; those that are still starting are what is left to wait for."""
    waiting: list[str] = []
    for source, listing in gateway.board.catalogue.listings.items():
        if source in heard or isinstance(source, BuiltinKey):
            continue
        if isinstance(listing.health, Starting) and listing.health.attempt <= 1:
            waiting.append(str(source))
            continue
        heard.add(source)
        if line := _line(str(source), listing.health, len(listing.tools)):
            told(f"  {line}")
    return waiting


def _line(source: str, health: Health, tools: int) -> str:
    match health:
        case Up():
            return f"● {source}: {tools} tool{'' if tools == 1 else 's'}"
        case Down(_, why):
            return f"○ {source} is down: {why}"
        case Starting(attempt):
            return f"○ {source} failed, and is started for the {attempt}. time"
        case NeedsSignIn():
            return f"○ {source} needs sign-in: pegboard servers sign-in {source}"
        case Asleep(_, why):
            return f"● {source}: {tools} tool{'' if tools == 1 else 's'}, asleep; {why}"
        case Off():
            return ""
