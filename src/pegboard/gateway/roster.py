"""The providers that are running: one for each server that should run, in a task of its own."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pegboard.core.catalogue import Asleep, Down, Health, Listing, Off, Starting, Up
from pegboard.core.ids import ProviderKey, ServerKey, Source, ToolsetKey
from pegboard.core.policy import Policy
from pegboard.core.running import reach, wanted
from pegboard.core.server import Server
from pegboard.core.whose import Whose
from pegboard.ports import Borrows, Clock, Leaves, Meets, Provider, ProviderFor, Ring
from pegboard.ports.tail import Tail

from .board import Board
from .cancellation import contained

log = logging.getLogger(__name__)

PAUSE: Final = 5.0
"""Seconds before a provider that ended against its contract is run again. Restarting a server is its own affair."""

PATIENCE: Final = 5.0
"""Seconds beyond a server's own stop deadline before it is said that it does not stop."""


CHANGED: Final = "was stopped because its settings were changed,"
REMOVED: Final = "was stopped because it was removed,"
SWITCHED_OFF: Final = "was stopped because it is not to run any more,"


@dataclass(eq=False)
class _Running:
    server: Server
    provider: Provider
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)
    again: anyio.Event = field(default_factory=anyio.Event)
    broken: Down | None = None
    """Why its task ended though it should go on: then its own word is not to be believed."""
    silent: Down | None = None
    """Why it cannot even say what it has."""


class Roster:
    """Starts and stops providers as the policy says. One that breaks never touches another."""

    def __init__(self, board: Board, provider_for: ProviderFor, tasks: TaskGroup, heard: Ring, clock: Clock) -> None:
        self._board = board
        self._provider_for = provider_for
        self._tasks = tasks
        self._heard = heard
        self._clock = clock
        self._running: dict[Source, _Running] = {}
        self._meeting: dict[Source, Meets] = {}
        self._stopping: dict[ProviderKey, Health] = {}
        """What to say of a server that should run, while its former process is not gone yet."""
        self._logs: dict[Source, Sequence[str]] = {}
        self._toolsets: set[ToolsetKey] = set()
        """Those that the policy named last: what else brings tools of its own is not ours to take down."""

    @property
    def sources(self) -> Sequence[Source]:
        """Whatever runs."""
        return tuple(self._running)

    def provider(self, source: Source) -> Provider | None:
        running = self._running.get(source)
        return None if running is None else running.provider

    def whose(self, source: Source, headers: Mapping[bytes, bytes]) -> Whose | None:
        """In whose name it runs what is called with these headers, where they may say so."""
        provider = self.provider(source)
        return provider.whose(headers) if isinstance(provider, Borrows) else None

    def word(self, source: Source) -> Listing | None:
        """The latest word of a running provider; until it has answered, its former tools stay."""
        running = self._running.get(source)
        return None if running is None else self._keeping_tools(self._said(running))

    def log(self, source: Source) -> Sequence[str]:
        """What the server last wrote; of a stopped one, what it wrote before."""
        running = self._running.get(source)
        return self._logs.get(source, ()) if running is None else running.provider.log()

    def restart(self, source: Source) -> bool:
        running = self._running.get(source)
        if running is None:
            return False
        running.again.set()
        running.provider.restart()
        # On the board at once, so that whoever waits for it does not take its former state for the new one.
        if isinstance((word := self._said(running)).health, Starting):
            self._board.hang(self._keeping_tools(word))
        return True

    def meet(self, headers: Mapping[bytes, bytes]) -> bool:
        """A caller is here: what knows its tools only by a caller's own rights may go and list them now.

        Whether anything does. It is on the board at once that it starts, so that a caller can wait for it.
        """
        going = [source for source, provider in self._meeting.items() if provider.meet(headers)]
        for source in going:
            if (word := self.word(source)) is not None:
                self._board.hang(word)
        return bool(going)

    def follow(self, policy: Policy) -> None:
        """Bring what runs in line with what should run."""
        should = wanted(policy)
        for source, running in tuple(self._running.items()):
            server = should.get(running.server.key)
            if server is None:
                self._stop(source, running, SWITCHED_OFF if source in policy.servers else REMOVED)
            elif reach(server) != reach(running.server):
                self._stop(source, running, CHANGED)
        for key, server in should.items():
            if key not in self._running and key not in self._stopping:
                self._start(server)
        self._rest(policy, should)

    def _rest(self, policy: Policy, should: Mapping[ProviderKey, Server]) -> None:
        """What does not run keeps its last tools on the board; what no policy names leaves it."""
        unread = policy.decided.lost.providers - policy.servers.keys()
        for source in tuple(self._board.catalogue.listings):
            if source in policy.servers or source in unread:
                continue
            if isinstance(source, ServerKey) or source in self._toolsets:
                self._board.take_down(source)
        for key in sorted(unread, key=str):
            # What was approved of it shows as locked: how it is reached cannot be read.
            self._board.hang(self._keeping_tools(Listing(key, Off())))
        self._toolsets = {key for key in (*policy.servers, *unread) if isinstance(key, ToolsetKey)}
        for key in policy.servers:
            if key not in should:
                self._board.hang(self._keeping_tools(Listing(key, Off())))
            elif key in self._stopping:
                self._board.hang(self._keeping_tools(Listing(key, self._stopping[key])))
        self._logs = {source: lines for source, lines in self._logs.items() if source in policy.servers}

    def _start(self, server: Server) -> None:
        key = server.key
        starting = Starting(1, self._clock())
        try:
            provider = self._provider_for(server)
        except Exception as error:  # making a provider belongs to running it: one that cannot be made stands alone
            log.exception("No provider could be made for %s", key)
            down = Down(starting.since, _broke(error))
            self._board.hang(self._keeping_tools(Listing(key, down)))
            return
        running = self._running[key] = _Running(server, provider)
        if isinstance(provider, Meets):
            self._meeting[key] = provider
        word = self._said(running)
        # Its tools wait until first sight is recorded, even those of a provider that is up at once.
        early = Listing(key, starting) if isinstance(word.health, Up | Asleep) else word
        self._board.hang(self._keeping_tools(early))
        self._tasks.start_soon(self._run, running, name=f"provider {key}")
        self._heard()

    async def _run(self, running: _Running) -> None:
        try:
            with running.scope:
                while True:
                    why = await self._ran(running)
                    running.again = anyio.Event()
                    now = self._clock()
                    running.broken = Down(now, why, now + timedelta(seconds=PAUSE))
                    self._heard()
                    with anyio.move_on_after(PAUSE):
                        await running.again.wait()
                    running.broken = None
                    self._heard()
        finally:
            running.ended.set()

    async def _ran(self, running: _Running) -> str:
        """Runs a provider for as long as it keeps its contract, and tells how it broke it."""
        key = running.server.key
        try:
            with contained():
                await running.provider.run(self._heard)
        except Exception as error:  # a provider's own task is supervised here: its end must not take the gateway along
            log.exception("The provider of %s ended unexpectedly", key)
            return _broke(error)
        log.error("The provider of %s ended by itself", key)
        return "its provider ended by itself"

    def _stop(self, source: Source, running: _Running, why: str) -> None:
        del self._running[source]
        if isinstance(running.provider, Leaves):
            running.provider.leave(why)
        self._meeting.pop(source, None)
        self._logs[source] = _kept(running.provider.log())
        running.scope.cancel()
        self._stopping[running.server.key] = Starting(1, self._clock())
        self._tasks.start_soon(self._stopped, running, name=f"stopping {source}")

    async def _stopped(self, running: _Running) -> None:
        """A changed server starts anew only when its former process is gone."""
        key, patience = running.server.key, running.server.timeouts.stop + PATIENCE
        with anyio.move_on_after(patience):
            await running.ended.wait()
        if not running.ended.is_set():
            log.error("%s has not stopped after %g seconds; it is not started again before it has", key, patience)
            self._stopping[key] = Down(self._clock(), "its former process does not stop")
            self.follow(self._board.policy)
            await running.ended.wait()
        del self._stopping[key]
        self.follow(self._board.policy)

    def _said(self, running: _Running) -> Listing:
        key = running.server.key
        if running.broken is not None:
            return Listing(key, running.broken)
        try:
            word = running.provider.listing()
        except Exception as error:  # part of its supervision: what it cannot say is its own trouble alone
            if running.silent is None:
                log.exception("The provider of %s does not say what it has", key)
                running.silent = Down(self._clock(), _broke(error))
            return Listing(key, running.silent)
        running.silent = None
        return word

    def _keeping_tools(self, word: Listing) -> Listing:
        former = self._board.catalogue.listings.get(word.source)
        if former is None or former.remembered or word.tools or isinstance(word.health, Up | Asleep):
            return word
        return Listing(word.source, word.health, former.tools, former.flaws, former.offers)


def _kept(lines: Sequence[str]) -> Sequence[str]:
    return lines if isinstance(lines, Tail) else tuple(lines)


def _broke(error: Exception) -> str:
    """Agents read why a server is down; what the error says is for the log alone."""
    return f"its provider broke ({type(error).__name__}); the gateway's log says more"
