"""The provider registry: one task for each server that should run."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pegboard.core.commands.first_sight import connection_settings, servers_to_run
from pegboard.core.model.catalogue import (
    Health,
    Listing,
    ProviderAsleep,
    ProviderDown,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import ProviderKey, ServerKey, SourceKey, ToolsetKey
from pegboard.core.model.server import Server
from pegboard.core.policy.policy import CredentialIdentity, Policy
from pegboard.gateway.board import BoardState
from pegboard.gateway.signals import contain_cancellation
from pegboard.ports.providers import (
    CallerAware,
    ChangeCallback,
    Clock,
    Drainable,
    LogLines,
    Provider,
    ProviderFor,
    UsesCallerCredentials,
)

log = logging.getLogger(__name__)

RESTART_PAUSE_S: Final = 5.0
"""Seconds before a provider that ended against its contract is run again. Restarting a server is its own affair."""

STOP_GRACE_S: Final = 5.0
"""Seconds beyond a server's own stop deadline before it is said that it does not stop."""


CHANGED: Final = "was stopped because its settings were changed,"
REMOVED: Final = "was stopped because it was removed,"
SWITCHED_OFF: Final = "was stopped because it is not to run any more,"


@dataclass(eq=False)
class _RunningProvider:
    server: Server
    provider: Provider
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    end_event: anyio.Event = field(default_factory=anyio.Event)
    restart_event: anyio.Event = field(default_factory=anyio.Event)
    failure: ProviderDown | None = None
    """Why its task ended though it should go on: then its own word is not to be believed."""
    listing_failure: ProviderDown | None = None
    """Why it cannot even say what it has."""


class ProviderRegistry:
    """Starts and stops providers as the policy says. One that breaks never touches another."""

    def __init__(
        self, board: BoardState, provider_for: ProviderFor, tasks: TaskGroup, heard: ChangeCallback, clock: Clock
    ) -> None:
        self._board = board
        self._provider_for = provider_for
        self._tasks = tasks
        self._on_change = heard
        self._clock = clock
        self._running: dict[SourceKey, _RunningProvider] = {}
        self._caller_aware: dict[SourceKey, CallerAware] = {}
        self._stopping: dict[ProviderKey, Health] = {}
        """What to say of a server that should run, while its former process is not gone yet."""
        self._logs: dict[SourceKey, Sequence[str]] = {}
        self._toolsets: set[ToolsetKey] = set()
        """Those that the policy named last: what else brings tools of its own is not ours to take down."""

    @property
    def sources(self) -> Sequence[SourceKey]:
        """Whatever runs."""
        return tuple(self._running)

    def provider(self, source: SourceKey) -> Provider | None:
        running = self._running.get(source)
        return None if running is None else running.provider

    def credential_identity(self, source: SourceKey, headers: Mapping[bytes, bytes]) -> CredentialIdentity | None:
        """In whose name it runs what is called with these headers, where they may say so."""
        provider = self.provider(source)
        return provider.credential_identity(headers) if isinstance(provider, UsesCallerCredentials) else None

    def listing_of(self, source: SourceKey) -> Listing | None:
        """The latest word of a running provider; until it has answered, its former tools stay."""
        running = self._running.get(source)
        return None if running is None else self._with_former_tools(self._current_listing(running))

    def log(self, source: SourceKey) -> Sequence[str]:
        """What the server last wrote; of a stopped one, what it wrote before."""
        running = self._running.get(source)
        return self._logs.get(source, ()) if running is None else running.provider.log()

    def restart(self, source: SourceKey) -> bool:
        running = self._running.get(source)
        if running is None:
            return False
        running.restart_event.set()
        running.provider.restart()
        # On the board at once, so that whoever waits for it does not take its former state for the new one.
        if isinstance((word := self._current_listing(running)).health, ProviderStart):
            self._board.publish(self._with_former_tools(word))
        return True

    @property
    def has_caller_aware(self) -> bool:
        """Whether some tools are known only by a caller's own rights."""
        return bool(self._caller_aware)

    def announce_caller(self, headers: Mapping[bytes, bytes]) -> bool:
        """A caller is here: what knows its tools only by a caller's own rights may go and list them now.

        Whether anything does. It is on the board at once that it starts, so that a caller can wait for it.
        """
        going = [source for source, provider in self._caller_aware.items() if provider.announce_caller(headers)]
        for source in going:
            if (word := self.listing_of(source)) is not None:
                self._board.publish(word)
        return bool(going)

    def reconcile(self, policy: Policy) -> None:
        """Bring what runs in line with what should run."""
        should = servers_to_run(policy)
        for source, running in tuple(self._running.items()):
            server = should.get(running.server.key)
            if server is None:
                self._stop(source, running, SWITCHED_OFF if source in policy.servers else REMOVED)
            elif connection_settings(server) != connection_settings(running.server):
                self._stop(source, running, CHANGED)
        for key, server in should.items():
            if key not in self._running and key not in self._stopping:
                self._start(server)
        self._publish_stopped(policy, should)

    def _publish_stopped(self, policy: Policy, should: Mapping[ProviderKey, Server]) -> None:
        """What does not run keeps its last tools on the board; what no policy names leaves it."""
        unread = policy.decisions.unreadable_index.providers - policy.servers.keys()
        for source in tuple(self._board.catalogue.listings):
            if source in policy.servers or source in unread:
                continue
            if isinstance(source, ServerKey) or source in self._toolsets:
                self._board.remove(source)
        for key in sorted(unread, key=str):
            # What was approved of it shows as locked: how it is reached cannot be read.
            self._board.publish(self._with_former_tools(Listing(key, ProviderOff())))
        self._toolsets = {key for key in (*policy.servers, *unread) if isinstance(key, ToolsetKey)}
        for key in policy.servers:
            if key not in should:
                self._board.publish(self._with_former_tools(Listing(key, ProviderOff())))
            elif key in self._stopping:
                self._board.publish(self._with_former_tools(Listing(key, self._stopping[key])))
        self._logs = {source: lines for source, lines in self._logs.items() if source in policy.servers}

    def _start(self, server: Server) -> None:
        key = server.key
        starting = ProviderStart(1, self._clock())
        try:
            provider = self._provider_for(server)
        except Exception as error:  # making a provider belongs to running it: one that cannot be made stands alone
            log.exception("No provider could be made for %s", key)
            down = ProviderDown(starting.since, _failure_text(error))
            self._board.publish(self._with_former_tools(Listing(key, down)))
            return
        running = self._running[key] = _RunningProvider(server, provider)
        if isinstance(provider, CallerAware):
            self._caller_aware[key] = provider
        word = self._current_listing(running)
        # Its tools wait until first sight is recorded, even those of a provider that is up at once.
        early = Listing(key, starting) if isinstance(word.health, ProviderUp | ProviderAsleep) else word
        self._board.publish(self._with_former_tools(early))
        self._tasks.start_soon(self._run, running, name=f"provider {key}")
        self._on_change()

    async def _run(self, running: _RunningProvider) -> None:
        try:
            with running.scope:
                while True:
                    why = await self._run_until_failure(running)
                    running.restart_event = anyio.Event()
                    now = self._clock()
                    running.failure = ProviderDown(now, why, now + timedelta(seconds=RESTART_PAUSE_S))
                    self._on_change()
                    with anyio.move_on_after(RESTART_PAUSE_S):
                        await running.restart_event.wait()
                    running.failure = None
                    self._on_change()
        finally:
            running.end_event.set()

    async def _run_until_failure(self, running: _RunningProvider) -> str:
        """Runs a provider for as long as it keeps its contract, and tells how it broke it."""
        key = running.server.key
        try:
            with contain_cancellation():
                await running.provider.run(self._on_change)
        except Exception as error:  # a provider's own task is supervised here: its end must not take the gateway along
            log.exception("The provider of %s ended unexpectedly", key)
            return _failure_text(error)
        log.error("The provider of %s ended by itself", key)
        return "its provider ended by itself"

    def _stop(self, source: SourceKey, running: _RunningProvider, why: str) -> None:
        del self._running[source]
        if isinstance(running.provider, Drainable):
            running.provider.drain(why)
        self._caller_aware.pop(source, None)
        self._logs[source] = _log_snapshot(running.provider.log())
        running.scope.cancel()
        self._stopping[running.server.key] = ProviderStart(1, self._clock())
        self._tasks.start_soon(self._wait_until_stopped, running, name=f"stopping {source}")

    async def _wait_until_stopped(self, running: _RunningProvider) -> None:
        """A changed server starts anew only when its former process is gone."""
        key, patience = running.server.key, running.server.timeouts.stop + STOP_GRACE_S
        with anyio.move_on_after(patience):
            await running.end_event.wait()
        if not running.end_event.is_set():
            log.error("%s has not stopped after %g seconds; it is not started again before it has", key, patience)
            self._stopping[key] = ProviderDown(self._clock(), "its former process does not stop")
            self.reconcile(self._board.policy)
            await running.end_event.wait()
        del self._stopping[key]
        self.reconcile(self._board.policy)

    def _current_listing(self, running: _RunningProvider) -> Listing:
        key = running.server.key
        if running.failure is not None:
            return Listing(key, running.failure)
        try:
            word = running.provider.listing()
        except Exception as error:  # part of its supervision: what it cannot say is its own trouble alone
            if running.listing_failure is None:
                log.exception("The provider of %s does not say what it has", key)
                running.listing_failure = ProviderDown(self._clock(), _failure_text(error))
            return Listing(key, running.listing_failure)
        running.listing_failure = None
        return word

    def _with_former_tools(self, word: Listing) -> Listing:
        former = self._board.catalogue.listings.get(word.source)
        if former is None or former.is_remembered or word.tools or isinstance(word.health, ProviderUp | ProviderAsleep):
            return word
        return Listing(word.source, word.health, former.tools, former.problems, former.resources)


def _log_snapshot(lines: Sequence[str]) -> Sequence[str]:
    return lines if isinstance(lines, LogLines) else tuple(lines)


def _failure_text(error: Exception) -> str:
    """Agents read why a server is down; what the error says is for the log alone."""
    return f"its provider broke ({type(error).__name__}); the gateway's log says more"
