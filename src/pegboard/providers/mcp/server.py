"""An MCP server as a source of tools: kept alive, and called."""

import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, assert_never

import anyio
from mcp.shared.exceptions import MCPError

from pegboard.children.demand import Demand
from pegboard.children.erasing import Eraser
from pegboard.children.lines import LastLines, one_line
from pegboard.core.call import Admitted, Outcome, ProviderFailed
from pegboard.core.catalogue import Asleep, Down, Flaw, Health, Listing, NeedsSignIn, Off, Starting, Up
from pegboard.core.ids import ProviderKey
from pegboard.core.server import Always, Http, OnDemand, Protocol, Server, Stdio
from pegboard.core.status import Unavailable, sentence
from pegboard.core.tool import Tool
from pegboard.ports import Clock, Expand, Library, Peer, Progress, Ring, Unresolved

from . import backoff
from .answers import Unsendable, failure, resumes
from .demand import Waking
from .expansion import expanded
from .http_client import only_signing_in_helps
from .library import ServerLibrary
from .life import Life
from .listing import Listed
from .oauth import Desk, SignInWanted
from .trouble import LONGEST_WHY, closed, seconds

_LAST_LINES: Final = 10
_GRACE: Final = 5.0
"""Seconds that a call waits for a server to wake, beyond what stopping and starting it may take."""


class McpServer:
    """One server's provider. `run` owns the connection; everything else only looks at it."""

    def __init__(
        self,
        server: Server,
        expand: Expand,
        clock: Clock,
        chance: backoff.Chance = random.random,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        desk: Desk | None = None,
        patient: bool = False,
    ) -> None:
        """`patient` lets a call wait for the start, as it does for a server that is started on demand."""
        self._server = server
        self._expand = expand
        self._clock = clock
        self._chance = chance
        self._sleep = sleep
        self._desk = desk
        self._account = None if desk is None else desk.account(server)
        self._ring: Ring = _unheard
        self._lines = LastLines()
        self._mark = 0
        self._erase_settings: Callable[[str], str] = Eraser()
        self._life: Life | None = None
        self._round: anyio.CancelScope | None = None
        self._up_since: datetime | None = None
        self._probe = server.protocol is not Protocol.HANDSHAKE
        self._listing = Listing(server.key, Starting(1, clock()))
        self._flaws: tuple[Flaw, ...] = ()
        self._library = ServerLibrary(
            server.key, server.timeouts, absence=self._absence, showed=self._show_offers, erase=self._erase
        )
        self._turn = anyio.Event()
        """Set, and replaced, at each new word."""
        self._patient = patient or isinstance(server.starts, OnDemand)
        self._demand = Demand()
        self.library: Library = Waking(self._library, self._demand, self.settled) if self._patient else self._library

    @property
    def source(self) -> ProviderKey:
        return self._server.key

    def listing(self) -> Listing:
        return self._listing

    def log(self) -> Sequence[str]:
        return self._lines.all()

    def restart(self) -> None:
        if self._round is None:
            return
        if self._life is not None:
            self._life.end("was restarted")
        self._become(Starting(1, self._clock()))
        self._round.cancel()

    def leave(self, why: str) -> None:
        if self._life is not None:
            self._life.end(why)

    async def run(self, ring: Ring) -> None:
        self._ring = ring
        attempt = failures = 0
        try:
            while True:
                attempt += 1
                with anyio.CancelScope() as self._round:
                    if isinstance(self._listing.health, Asleep):
                        # It stays so until it is up, and whoever else calls meanwhile is let in and waits too.
                        await self._demand.wanted()
                    else:
                        self._become(Starting(attempt, self._clock()))
                    why = await self._live()
                    if isinstance(why, SignInWanted):
                        await self._await_sign_in(why)
                        why = None
                    if why is None:
                        attempt = failures = 0
                        continue
                    ended = self._clock()
                    if self._up_since is not None and ended - self._up_since >= backoff.STEADY:
                        attempt = failures = 0
                    failures += 1
                    pause = backoff.backoff_delay(failures, self._chance)
                    self._go_down(why, ended + timedelta(seconds=pause))
                    await self._sleep(pause)
                if self._round.cancel_called:
                    attempt = failures = 0
        finally:
            self._round = None
            self._become(Off())

    def call(
        self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None
    ) -> Coroutine[Any, Any, Outcome]:
        return (self._called_when_up if self._patient else self._called)(admitted, progress, peer)

    async def _called_when_up(self, admitted: Admitted, progress: Progress | None, peer: Peer | None) -> Outcome:
        with self._demand.used():
            await self.settled()
            if (unlike := self._unlike(admitted.tool)) is not None:
                return ProviderFailed(unlike, may_have_run=False)
            return await self._called(admitted, progress, peer)

    async def settled(self) -> None:
        """Until it is up or has failed to start, no longer than that may take; for all who wait it is started once."""
        timeouts = self._server.timeouts
        with anyio.move_on_after(timeouts.stop + timeouts.start + _GRACE):
            while isinstance(self._listing.health, Starting | Asleep):
                await self._turn.wait()

    def _unlike(self, tool: Tool) -> str | None:
        """Why what it lists now is not what was let in: it may have changed while nobody was connected to it."""
        if not isinstance(self._listing.health, Up):
            return None
        now = self._listing.by_id.get(tool.id)
        if now is None:
            return f"{self.source} does not list {tool.id.name!r} now. List the tools again"
        if now.spec.fingerprint != tool.spec.fingerprint:
            return f"{tool.id} has changed, and what was approved is not what would run. List the tools again"
        return None

    async def _called(self, admitted: Admitted, progress: Progress | None, peer: Peer | None) -> Outcome:
        life = self._life
        if life is None or (connection := life.connection) is None:
            return ProviderFailed(self._absence(), may_have_run=False)
        try:
            return await connection.call(admitted, progress, peer)
        except Unsendable as problem:
            return ProviderFailed(f"{self.source} was not asked: {problem}", may_have_run=False)
        except MCPError as error:
            if closed(error):
                life.doubt()
            resumed = resumes(admitted.call)
            return failure(error, str(self.source), life.ending, self._erase, resumed=resumed)
        except TimeoutError:
            within = seconds(self._server.timeouts.call)
            return ProviderFailed(f"{self.source} did not answer within {within}", may_have_run=True)

    async def _live(self) -> str | SignInWanted | None:
        """One connection, from its opening to its end; why it ended. `None` when nobody needed it any more."""
        self._up_since, self._mark = None, self._lines.written
        ready = expanded(self._server.connection, self._expand)
        if isinstance(ready, Unresolved):
            return ready.why
        self._erase_settings = ready.erase
        if self._account is not None and isinstance(ready.connection, Http):
            await self._account.open(ready.connection)
        life = Life(
            self.source,
            self._server.timeouts,
            hear=self._hear,
            hang=self._hang,
            lost=self._lose,
            erase=self._erase,
            library=self._library,
            authorization=self._account,
        )
        self._life = life
        try:
            why = await self._lived(life, ready.connection)
            if self._account is None or why is None or not only_signing_in_helps(why):
                return why
            return await self._account.wanted() or why
        finally:
            self._life = None
            self._lines.end(self._erase)
            # An old server may fall over the first question of the new era: it is not asked that twice in a row.
            self._probe = self._server.protocol is not Protocol.HANDSHAKE and (
                life.opened or not self._probe or not isinstance(ready.connection, Stdio)
            )

    async def _await_sign_in(self, wanted: SignInWanted) -> None:
        assert self._desk is not None
        assert self._account is not None
        account, since = self._account, self._clock()

        def show() -> None:
            former = self._listing.health
            why = one_line(self._erase(account.trouble or wanted.why), LONGEST_WHY)
            if former != (needed := NeedsSignIn(since, why)):
                self._become(needed)

        await account.signed_in(show)

    def _erase(self, text: str) -> str:
        """Secrets of the settings, and of a sign-in, which change while a connection lasts."""
        erased = self._erase_settings(text)
        return erased if self._account is None else self._account.erase(erased)

    async def _lived(self, life: Life, reached: Stdio | Http) -> str | None:
        match self._server.starts:
            case OnDemand(idle):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._rest, life, idle, name=f"rest of {self.source}")
                    why = await life.run(reached, probe=self._probe)
                    tasks.cancel_scope.cancel()
                return None if isinstance(self._listing.health, Asleep) and self._up_since else why
            case Always():
                return await life.run(reached, probe=self._probe)
            case _:
                assert_never(self._server.starts)

    async def _rest(self, life: Life, idle: float) -> None:
        """To the board it sleeps before it has stopped: a call that comes now waits for the next start."""
        while self._up_since is None:
            await self._turn.wait()
        await self._demand.idle(idle)
        self._become(Asleep(self._clock()))
        life.end("fell asleep")

    def _hear(self, chunk: bytes) -> None:
        self._lines.feed(chunk, self._erase)

    def _hang(self, found: Listed) -> None:
        if self._life is not None and self._life.ending is not None:
            return  # the last list of a connection that is over
        if self._up_since is None:
            self._up_since = self._clock()
        self._flaws = found.flaws
        self._listing = Listing(self.source, Up(self._up_since), found.tools)
        self._show_offers()

    def _show_offers(self) -> None:
        shown = self._library.shown
        self._say(replace(self._listing, flaws=(*self._flaws, *shown.flaws), offers=shown.offers))

    def _lose(self, why: str) -> None:
        if self._round is None or self._round.cancel_called or isinstance(self._listing.health, Asleep):
            return
        self._go_down(why)

    def _go_down(self, why: str, retry_at: datetime | None = None) -> None:
        lines = self._lines.since(self._mark, _LAST_LINES)
        self._become(Down(self._clock(), one_line(self._erase(why), LONGEST_WHY), retry_at, lines))

    def _become(self, health: Health) -> None:
        """The last tools stay, so that they can be shown as locked instead of missing."""
        self._say(replace(self._listing, health=health))

    def _say(self, word: Listing) -> None:
        self._listing = word
        self._turn.set()
        self._turn = anyio.Event()
        self._ring()

    def _absence(self) -> str:
        match self._listing.health:
            case Up():
                return f"{self.source} has just lost its connection"
            case Asleep():
                return f"{self.source} did not wake in time"
            case health:
                return sentence(Unavailable(self.source, health)).rstrip(".")


def _unheard() -> None:
    """Nobody listens before `run`."""
