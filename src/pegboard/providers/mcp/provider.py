"""The provider of an MCP server: keeps it running and calls it."""

import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias, assert_never

import anyio
from mcp.shared.exceptions import MCPError

from pegboard.core.calls.call import AdmittedCall, Outcome, ProviderFailure
from pegboard.core.decision.status import ProviderUnavailable, explain_reason
from pegboard.core.model.catalogue import (
    Health,
    Listing,
    ListingProblem,
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import ProviderKey
from pegboard.core.model.server import Http, ProtocolMode, Server, StartOnDemand, StartWithGateway, Stdio
from pegboard.core.model.tool import Tool
from pegboard.core.resources.requests import ResourceAnswer, RoutedRequest
from pegboard.ports.providers import (
    ChangeCallback,
    ClientPeer,
    Clock,
    Expand,
    Progress,
    ResourceCallback,
    ResourceProvider,
    UnresolvedReference,
    ignore,
)
from pegboard.processes.cleanup import IdleTracker
from pegboard.processes.output import LogTail, SecretFilter, one_line
from pegboard.providers.mcp.credentials import expand_connection
from pegboard.providers.mcp.discovery import ToolListResult
from pegboard.providers.mcp.errors import MAX_REASON_LENGTH, format_seconds, is_connection_closed
from pegboard.providers.mcp.http_client import is_sign_in_message
from pegboard.providers.mcp.lifecycle import ConnectionLifecycle
from pegboard.providers.mcp.oauth.account import MissingSignIn
from pegboard.providers.mcp.oauth.sign_in import SignInService
from pegboard.providers.mcp.resources import ServerResources
from pegboard.providers.mcp.results import UnsendableArgumentsError, is_resumption, outcome_of_error

# What a server offers beside tools, while the server may sleep.


class LazyResourceProvider:
    """A library whose server may sleep: whoever asks it wakes the server, and keeps it awake until it has answered."""

    def __init__(self, library: ResourceProvider, demand: IdleTracker, settled: Callable[[], Awaitable[None]]) -> None:
        self._resources = library
        self._idle_tracker = demand
        self._wait_until_settled = settled

    async def request(
        self, directed: RoutedRequest, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> ResourceAnswer:
        with self._idle_tracker.in_use():
            await self._wait_until_settled()
            return await self._resources.request(directed, progress, peer)

    async def subscribe(self, uri: str, updated: ResourceCallback) -> ResourceAnswer:
        with self._idle_tracker.in_use():
            await self._wait_until_settled()
            return await self._resources.subscribe(uri, updated)

    async def unsubscribe(self, uri: str) -> None:
        await self._resources.unsubscribe(uri)


# How long to leave a server alone after it failed.

RandomFraction: TypeAlias = Callable[[], float]
"""A number from 0 to 1, evenly spread."""

MIN_PAUSE_S: Final = 1.0
MAX_PAUSE_S: Final = 60.0
RECOVERED_AFTER: Final = timedelta(seconds=60)
"""Up for as long as this, a server has recovered: its next failure counts as the first."""


def backoff_delay(failures: int, chance: RandomFraction) -> float:
    """Seconds until the next attempt: anywhere below a ceiling that doubles with each failure in a row.

    The whole range is drawn from, so that servers that fell together do not come back together.
    """
    # The exponent is capped because a float has no room for 2 ** 1024, and a server may fail for a year.
    ceiling = min(MAX_PAUSE_S, MIN_PAUSE_S * 2.0 ** min(failures - 1, 32))
    return chance() * ceiling


_MAX_SHOWN_LINES: Final = 10
_WAKE_GRACE_S: Final = 5.0
"""Seconds that a call waits for a server to wake, beyond what stopping and starting it may take."""


class McpServerProvider:
    """One server's provider. `run` owns the connection; everything else only looks at it."""

    def __init__(
        self,
        server: Server,
        expand: Expand,
        clock: Clock,
        chance: RandomFraction = random.random,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        desk: SignInService | None = None,
        patient: bool = False,
    ) -> None:
        """`patient` lets a call wait for the start, as it does for a server that is started on demand."""
        self._server = server
        self._expand = expand
        self._clock = clock
        self._random = chance
        self._sleep = sleep
        self._sign_ins = desk
        self._account = None if desk is None else desk.account_for(server)
        self._notify: ChangeCallback = ignore
        self._log = LogTail()
        self._log_mark = 0
        self._erase_settings: Callable[[str], str] = SecretFilter()
        self._lifecycle: ConnectionLifecycle | None = None
        self._attempt_scope: anyio.CancelScope | None = None
        self._up_since: datetime | None = None
        self._probe = server.protocol is not ProtocolMode.HANDSHAKE
        self._listing = Listing(server.key, ProviderStart(1, clock()))
        self._tool_problems: tuple[ListingProblem, ...] = ()
        self._server_resources = ServerResources(
            server.key, server.timeouts, absence=self._absence_reason, showed=self._publish_resources, erase=self._erase
        )
        self._listing_changed = anyio.Event()
        """Set, and replaced, at each new word."""
        self._waits_for_start = patient or isinstance(server.starts, StartOnDemand)
        self._idle_tracker = IdleTracker()
        self.resources: ResourceProvider = (
            LazyResourceProvider(self._server_resources, self._idle_tracker, self.wait_until_settled)
            if self._waits_for_start
            else self._server_resources
        )

    @property
    def source(self) -> ProviderKey:
        return self._server.key

    def listing(self) -> Listing:
        return self._listing

    def log(self) -> Sequence[str]:
        return self._log.tail()

    def restart(self) -> None:
        if self._attempt_scope is None:
            return
        if self._lifecycle is not None:
            self._lifecycle.end("was restarted")
        self._set_health(ProviderStart(1, self._clock()))
        self._attempt_scope.cancel()

    def drain(self, why: str) -> None:
        if self._lifecycle is not None:
            self._lifecycle.end(why)

    async def run(self, ring: ChangeCallback) -> None:
        self._notify = ring
        attempt = failures = 0
        try:
            while True:
                attempt += 1
                with anyio.CancelScope() as self._attempt_scope:
                    if isinstance(self._listing.health, ProviderAsleep):
                        # It stays so until it is up, and whoever else calls meanwhile is let in and waits too.
                        await self._idle_tracker.wait_until_used()
                    else:
                        self._set_health(ProviderStart(attempt, self._clock()))
                    why = await self._run_connection()
                    if isinstance(why, MissingSignIn):
                        await self._await_sign_in(why)
                        why = None
                    if why is None:
                        attempt = failures = 0
                        continue
                    ended = self._clock()
                    if self._up_since is not None and ended - self._up_since >= RECOVERED_AFTER:
                        attempt = failures = 0
                    failures += 1
                    pause = backoff_delay(failures, self._random)
                    self._set_down(why, ended + timedelta(seconds=pause))
                    await self._sleep(pause)
                if self._attempt_scope.cancel_called:
                    attempt = failures = 0
        finally:
            self._attempt_scope = None
            self._set_health(ProviderOff())

    def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Coroutine[Any, Any, Outcome]:
        return (self._call_when_up if self._waits_for_start else self._call_now)(admitted, progress, peer)

    async def _call_when_up(
        self, admitted: AdmittedCall, progress: Progress | None, peer: ClientPeer | None
    ) -> Outcome:
        with self._idle_tracker.in_use():
            await self.wait_until_settled()
            if (unlike := self._change_since_approval(admitted.tool)) is not None:
                return ProviderFailure(unlike, may_have_run=False)
            return await self._call_now(admitted, progress, peer)

    async def wait_until_settled(self) -> None:
        """Until it is up or has failed to start, no longer than that may take; for all who wait it is started once."""
        timeouts = self._server.timeouts
        with anyio.move_on_after(timeouts.stop + timeouts.start + _WAKE_GRACE_S):
            while isinstance(self._listing.health, ProviderStart | ProviderAsleep):
                await self._listing_changed.wait()

    def _change_since_approval(self, tool: Tool) -> str | None:
        """Why what it lists now is not what was let in: it may have changed while nobody was connected to it."""
        if not isinstance(self._listing.health, ProviderUp):
            return None
        now = self._listing.by_id.get(tool.id)
        if now is None:
            return f"{self.source} does not list {tool.id.name!r} now. List the tools again"
        if now.spec.fingerprint != tool.spec.fingerprint:
            return f"{tool.id} has changed, and what was approved is not what would run. List the tools again"
        return None

    async def _call_now(self, admitted: AdmittedCall, progress: Progress | None, peer: ClientPeer | None) -> Outcome:
        life = self._lifecycle
        if life is None or (calls := life.calls) is None:
            return ProviderFailure(self._absence_reason(), may_have_run=False)
        try:
            return await calls.call(admitted, progress, peer)
        except UnsendableArgumentsError as problem:
            return ProviderFailure(f"{self.source} was not asked: {problem}", may_have_run=False)
        except MCPError as error:
            if is_connection_closed(error):
                life.check_liveness()
            resumed = is_resumption(admitted.call)
            return outcome_of_error(error, str(self.source), life.end_reason, self._erase, resumed=resumed)
        except TimeoutError:
            within = format_seconds(self._server.timeouts.call)
            return ProviderFailure(f"{self.source} did not answer within {within}", may_have_run=True)

    async def _run_connection(self) -> str | MissingSignIn | None:
        """One connection, from its opening to its end; why it ended. `None` when nobody needed it any more."""
        self._up_since, self._log_mark = None, self._log.line_count
        ready = expand_connection(self._server.connection, self._expand)
        if isinstance(ready, UnresolvedReference):
            return ready.why
        self._erase_settings = ready.erase
        if self._account is not None and isinstance(ready.connection, Http):
            await self._account.open(ready.connection)
        life = ConnectionLifecycle(
            self.source,
            self._server.timeouts,
            hear=self._on_stderr,
            hang=self._publish_tools,
            lost=self._on_loss,
            erase=self._erase,
            library=self._server_resources,
            authorization=self._account,
        )
        self._lifecycle = life
        try:
            why = await self._run_lifecycle(life, ready.connection)
            if self._account is None or why is None or not is_sign_in_message(why):
                return why
            return await self._account.missing_sign_in() or why
        finally:
            self._lifecycle = None
            self._log.finish(self._erase)
            # An old server may fall over the first question of the new era: it is not asked that twice in a row.
            self._probe = self._server.protocol is not ProtocolMode.HANDSHAKE and (
                life.was_opened or not self._probe or not isinstance(ready.connection, Stdio)
            )

    async def _await_sign_in(self, wanted: MissingSignIn) -> None:
        assert self._sign_ins is not None
        assert self._account is not None
        account, since = self._account, self._clock()

        def show() -> None:
            former = self._listing.health
            why = one_line(self._erase(account.problem or wanted.why), MAX_REASON_LENGTH)
            if former != (needed := ProviderNeedsSignIn(since, why)):
                self._set_health(needed)

        await account.wait_for_sign_in(show)

    def _erase(self, text: str) -> str:
        """Secrets of the settings, and of a sign-in, which change while a connection lasts."""
        erased = self._erase_settings(text)
        return erased if self._account is None else self._account.erase(erased)

    async def _run_lifecycle(self, life: ConnectionLifecycle, reached: Stdio | Http) -> str | None:
        match self._server.starts:
            case StartOnDemand(idle):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._stop_when_idle, life, idle, name=f"rest of {self.source}")
                    why = await life.run(reached, probe=self._probe)
                    tasks.cancel_scope.cancel()
                return None if isinstance(self._listing.health, ProviderAsleep) and self._up_since else why
            case StartWithGateway():
                return await life.run(reached, probe=self._probe)
            case _:
                assert_never(self._server.starts)

    async def _stop_when_idle(self, life: ConnectionLifecycle, idle: float) -> None:
        """To the board it sleeps before it has stopped: a call that comes now waits for the next start."""
        while self._up_since is None:
            await self._listing_changed.wait()
        await self._idle_tracker.wait_until_idle(idle)
        self._set_health(ProviderAsleep(self._clock()))
        life.end("fell asleep")

    def _on_stderr(self, chunk: bytes) -> None:
        self._log.feed(chunk, self._erase)

    def _publish_tools(self, found: ToolListResult) -> None:
        if self._lifecycle is not None and self._lifecycle.end_reason is not None:
            return  # the last list of a connection that is over
        if self._up_since is None:
            self._up_since = self._clock()
        self._tool_problems = found.problems
        self._listing = Listing(self.source, ProviderUp(self._up_since), found.tools)
        self._publish_resources()

    def _publish_resources(self) -> None:
        shown = self._server_resources.current
        self._publish(
            replace(self._listing, problems=(*self._tool_problems, *shown.problems), resources=shown.resources)
        )

    def _on_loss(self, why: str) -> None:
        if (
            self._attempt_scope is None
            or self._attempt_scope.cancel_called
            or isinstance(self._listing.health, ProviderAsleep)
        ):
            return
        self._set_down(why)

    def _set_down(self, why: str, retry_at: datetime | None = None) -> None:
        lines = self._log.lines_since(self._log_mark, _MAX_SHOWN_LINES)
        self._set_health(ProviderDown(self._clock(), one_line(self._erase(why), MAX_REASON_LENGTH), retry_at, lines))

    def _set_health(self, health: Health) -> None:
        """The last tools stay, so that they can be shown as locked instead of missing."""
        self._publish(replace(self._listing, health=health))

    def _publish(self, word: Listing) -> None:
        self._listing = word
        self._listing_changed.set()
        self._listing_changed = anyio.Event()
        self._notify()

    def _absence_reason(self) -> str:
        match self._listing.health:
            case ProviderUp():
                return f"{self.source} has just lost its connection"
            case ProviderAsleep():
                return f"{self.source} did not wake in time"
            case health:
                return explain_reason(ProviderUnavailable(self.source, health)).rstrip(".")
