"""The providers that are running: one for each server that should run, in a task of its own."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from pegboard.core.catalogue import Listing, Off, Up
from pegboard.core.ids import ServerKey, Source
from pegboard.core.policy import Policy
from pegboard.core.running import wanted
from pegboard.core.server import Server
from pegboard.ports import Provider, ProviderFor, Ring

from .board import Board

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Running:
    server: Server
    provider: Provider
    scope: anyio.CancelScope
    ended: anyio.Event


class Roster:
    """Starts and stops providers as the policy says. One that breaks never touches another."""

    def __init__(self, board: Board, provider_for: ProviderFor, tasks: TaskGroup, heard: Ring) -> None:
        self._board = board
        self._provider_for = provider_for
        self._tasks = tasks
        self._heard = heard
        self._running: dict[Source, _Running] = {}
        self._stopping: set[ServerKey] = set()
        self._logs: dict[Source, Sequence[str]] = {}

    def provider(self, source: Source) -> Provider | None:
        running = self._running.get(source)
        return None if running is None else running.provider

    def log(self, source: Source) -> Sequence[str]:
        """What the server last wrote; of a stopped one, what it wrote before."""
        running = self._running.get(source)
        return self._logs.get(source, ()) if running is None else running.provider.log()

    def restart(self, source: Source) -> bool:
        provider = self.provider(source)
        if provider is None:
            return False
        provider.restart()
        return True

    def follow(self, policy: Policy) -> None:
        """Bring what runs in line with what should run."""
        should = wanted(policy)
        for source, running in tuple(self._running.items()):
            if should.get(running.server.key) != running.server:
                self._stop(source, running)
        for key, server in should.items():
            if key not in self._running and key not in self._stopping:
                self._start(server)
        self._rest(policy, should)

    def _rest(self, policy: Policy, should: Mapping[ServerKey, Server]) -> None:
        """What does not run keeps its last tools on the board; what no policy names leaves it."""
        for source, listing in tuple(self._board.catalogue.listings.items()):
            if not isinstance(source, ServerKey):
                continue
            if source not in policy.servers:
                self._board.take_down(source)
            elif source not in should:
                self._board.hang(Listing(source, Off(), listing.tools, listing.flaws))
        for key in policy.servers:
            if key not in should and key not in self._board.catalogue.listings:
                self._board.hang(Listing(key, Off()))

    def _start(self, server: Server) -> None:
        provider = self._provider_for(server)
        scope, ended = anyio.CancelScope(), anyio.Event()
        self._running[server.key] = _Running(server, provider, scope, ended)
        self._board.hang(self._word(server.key, provider.listing()))
        self._tasks.start_soon(self._run, server.key, provider, scope, ended, name=f"provider {server.key}")

    async def _run(self, key: ServerKey, provider: Provider, scope: anyio.CancelScope, ended: anyio.Event) -> None:
        try:
            with scope:
                await provider.run(self._heard)
        except Exception:  # a provider's own task is supervised here: its end must not take the gateway along
            log.exception("The provider of %s ended unexpectedly", key)
        finally:
            ended.set()

    def _stop(self, source: Source, running: _Running) -> None:
        del self._running[source]
        self._logs[source] = tuple(running.provider.log())
        running.scope.cancel()
        self._stopping.add(running.server.key)
        self._tasks.start_soon(self._stopped, running, name=f"stopping {source}")

    async def _stopped(self, running: _Running) -> None:
        """A changed server starts anew only when its former process is gone."""
        await running.ended.wait()
        self._stopping.discard(running.server.key)
        self.follow(self._board.policy)
        self._heard()

    def listings(self) -> Sequence[Listing]:
        """The latest word of every running provider; until one has answered, its former tools stay."""
        return [self._word(source, running.provider.listing()) for source, running in self._running.items()]

    def _word(self, source: Source, word: Listing) -> Listing:
        former = self._board.catalogue.listings.get(source)
        if former is None or word.tools or isinstance(word.health, Up):
            return word
        return Listing(source, word.health, former.tools, former.flaws)
