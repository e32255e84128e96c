"""A toolset's Python functions as a source of tools: asleep until somebody calls, and followed while files change."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from pegboard.children.demand import Demand
from pegboard.children.erasing import Eraser
from pegboard.children.lines import LastLines, one_line
from pegboard.core.call import Admitted, Outcome, ProviderFailed, Returned, ToolFailed
from pegboard.core.catalogue import Asleep, Down, Health, Listing, Off, Starting, Up
from pegboard.core.ids import Source, ToolId
from pegboard.core.own import Own
from pegboard.core.server import Always, OnDemand, Server
from pegboard.core.status import Unavailable, remedy, sentence
from pegboard.core.tool import Tool, ToolSpec
from pegboard.ports import Clock, Peer, Progress, Ring, Unresolved
from pegboard.ports.describing import CannotDescribe, Entry, Wished

from .arguments import Unsendable, encoded
from .edits import broken, unheeded
from .environments import CannotBuild, Environments
from .frames import Kind
from .pool import Pool
from .process import CannotStart, Run, Served, Setup, WorkerProcess
from .watching import Stamps, changed, seen

Values: TypeAlias = Callable[[], Awaitable[Mapping[str, str] | Unresolved]]
"""The secrets that the toolset declares, by name; or which of them is not set, and the command that sets it."""
Entries: TypeAlias = Callable[[Path], Wished | None]
"""The functions that the manifest in a folder names now; `None` where those of the import stand. Raises
`CannotDescribe` when it is being edited, and cannot be used as it is."""

_LAST_LINES: Final = 10
_LONGEST_WHY: Final = 600
_PAUSE: Final = 5.0
_LONGEST_PAUSE: Final = 300.0
_GRACE: Final = 5.0
"""Seconds that a call waits for the toolset to wake, beyond what starting it may take."""


class PythonTools:
    library = None

    def __init__(
        self,
        server: Server,
        folder: Path,
        environments: Environments,
        workspace: Path | None,
        secrets: Values,
        clock: Clock,
        entries: Entries | None = None,
        room: Path | None = None,
    ) -> None:
        """`room` is where a workspace is made once a tool wants one that has not been given any."""
        assert isinstance(server.connection, Own)
        self._server = server
        self._own = server.connection
        self._folder = folder
        self._environments = environments
        self._workspace = workspace
        self._room = room
        self._secrets = secrets
        self._clock = clock
        self._entries = entries
        self._ring: Ring = _unheard
        self._lines = LastLines()
        self._mark = 0
        self._erase: Callable[[str], str] = Eraser()
        self._demand = Demand()
        self._turn = anyio.Event()
        """Set, and replaced, at each new word."""
        self._round: anyio.CancelScope | None = None
        self._is_eager = isinstance(server.starts, Always)
        """Whether to start although nobody has called yet."""
        self._failed, self._failure = anyio.Event(), ""
        self._ending = "is not running"
        self._pool: Pool | None = None
        self._pools: set[Pool] = set()
        self._served: Mapping[str, tuple[int, Served]] = {}
        self._specs: Sequence[ToolSpec] = [tool.spec for tool in self._own.python]
        self._unheeded: Sequence[str] = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listing = Listing(self.source, Starting(1, clock()), self._tools())

    @property
    def source(self) -> Source:
        return self._server.key

    def listing(self) -> Listing:
        return self._listing

    def log(self) -> Sequence[str]:
        return self._lines.all()

    def restart(self) -> None:
        if self._round is not None:
            self.leave("was restarted")
            self._is_eager = True
            self._become(Starting(1, self._clock()))
            self._round.cancel()

    def leave(self, why: str) -> None:
        self._ending = why
        self._pool = None

    async def run(self, ring: Ring) -> None:
        self._ring, self._loop = ring, asyncio.get_running_loop()
        failures = 0
        try:
            while True:
                with anyio.CancelScope() as self._round:
                    why = await self._lived(failures + 1)
                    if why is None:
                        failures = 0
                        continue
                    failures += 1
                    await self._wait_out(why, min(_PAUSE * 2 ** (failures - 1), _LONGEST_PAUSE))
                if self._round.cancel_called:
                    failures = 0
        finally:
            self._round = None
            self._become(Off())

    async def _lived(self, attempt: int) -> str | None:
        """From its sleep to its end; why it ended. `None` when nobody needed it any more."""
        values = await self._secrets()
        if isinstance(values, Unresolved):
            return values.why
        if attempt == 1 and not self._is_eager:
            # Looked at before it is said that it sleeps, so that no change falls between the two.
            since = {} if self._own.linked is None else await self._looked()
            if not isinstance(self._listing.health, Asleep):
                self._become(Asleep(self._clock()))
            await self._wanted(since)
            values = await self._secrets()
            if isinstance(values, Unresolved):
                return values.why
        else:
            self._is_eager = isinstance(self._server.starts, Always)
            self._become(Starting(attempt, self._clock()))
        self._mark, self._ending = self._lines.written, "ended"
        self._erase = Eraser(values.values())
        try:
            return await self._awake(values)
        finally:
            self._pool, self._served = None, {}
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as tasks:
                    for pool in [*self._pools]:
                        tasks.start_soon(pool.stop, f"{self._ending} before it answered")
            self._pools.clear()
            self._lines.end(self._erase)

    async def _looked(self) -> Stamps:
        """The files as they are before their author goes on, the manifest among them."""
        since = await seen(self._folder)
        with suppress(CannotStart):
            await anyio.to_thread.run_sync(self._wished, abandon_on_cancel=True)
        return since

    async def _wanted(self, since: Stamps) -> None:
        """Until somebody calls. The files of its author are followed while it sleeps, too: what they say is shown."""
        if self._own.linked is None:
            await self._demand.wanted()
            return
        async with anyio.create_task_group() as tasks:

            async def followed() -> None:
                await changed(self._folder, since)
                tasks.cancel_scope.cancel()

            tasks.start_soon(followed)
            await self._demand.wanted()
            tasks.cancel_scope.cancel()

    async def _awake(self, values: Mapping[str, str]) -> str | None:
        self._failed, self._failure = anyio.Event(), ""
        try:
            python = await self._environments.python(self._own.requirements, self._folder, self._say)
            since = await seen(self._folder)
            pool, worker = await self._opened(python, values)
        except (CannotBuild, CannotStart) as problem:
            return "; ".join(problem.problems) if isinstance(problem, CannotStart) else str(problem)
        self._use(pool, worker)
        why: str | None = None
        async with anyio.create_task_group() as tasks:

            async def until_idle(seconds: float) -> None:
                await self._demand.idle(seconds)
                # To the board it sleeps before it has stopped: a call that comes now waits for the next start.
                self._pool = None
                self._become(Asleep(self._clock()))
                tasks.cancel_scope.cancel()

            async def until_failed() -> None:
                nonlocal why
                await self._failed.wait()
                why = self._failure
                tasks.cancel_scope.cancel()

            match self._server.starts:
                case OnDemand(idle):
                    tasks.start_soon(until_idle, idle)
                case Always():
                    pass
            tasks.start_soon(until_failed)
            await self._follow(python, values, since)
        return why

    async def _opened(self, python: Path, values: Mapping[str, str]) -> tuple[Pool, WorkerProcess]:
        """Processes for the files as they are now, the first of them started. Raises `CannotStart`."""
        timeouts, bounds = self._server.timeouts, self._own.bounds
        wished = await anyio.to_thread.run_sync(self._wished, abandon_on_cancel=True)
        places = self._workspace, self._room
        setup = Setup(str(self.source), self._folder, wished.entries, bounds.memory, python, *places, dict(values))

        async def start() -> WorkerProcess:
            worker = WorkerProcess(self._hear, self._note)
            await worker.start(setup, timeouts.start)
            return worker

        worker = await start()
        self._unheeded = wished.unheeded
        pool = Pool(
            start,
            self._fail,
            most=bounds.processes,
            seconds=min(bounds.seconds, timeouts.call),
            wait=timeouts.call,
        )
        self._pools.add(pool)
        return pool, worker

    def _wished(self) -> Wished:
        try:
            read = None if self._entries is None else self._entries(self._folder)
        except CannotDescribe as unfit:
            raise CannotStart(*unfit.problems) from None
        if read is not None:
            return read
        # Without a manifest, what was told at the import stands, be it the manifest's or the function's own.
        return Wished(
            [
                Entry(tool.spec.name, tool.entrypoint, tool.spec.title, tool.spec.description or None)
                for tool in self._own.python
            ]
        )

    def _use(self, pool: Pool, worker: WorkerProcess) -> None:
        before, former = self._specs, self._pool
        self._served = {one.described.spec.name: (place, one) for place, one in enumerate(worker.tools)}
        self._specs = [one.described.spec for one in worker.tools]
        self._pool = pool
        pool.adopt(worker)
        for run in () if former is None else former.taken_over():
            was = before[run.tool]
            run.tool, one = self._served.get(was.name, (0, None))
            if one is None or one.described.spec.fingerprint != was.fingerprint:
                run.settle(f"was edited, and {was.name!r} is not what was approved. List the tools again")
            else:
                run.is_async = one.is_async
                pool.submit(run)
        self._word(Listing(self.source, Up(self._clock()), self._tools(), unheeded(self._unheeded, self._folder)))

    async def _follow(self, python: Path, values: Mapping[str, str], since: Stamps) -> None:
        """A good edit replaces the processes once their calls have ended. A broken one changes nothing, and is told."""
        async with anyio.create_task_group() as tasks:
            while True:
                since = await changed(self._folder, since)
                former = self._pool
                try:
                    pool, worker = await self._opened(python, values)
                except CannotStart as problem:
                    told = one_line(self._erase("; ".join(problem.problems)), _LONGEST_WHY)
                    self._say(f"the files changed and cannot be used: {told}")
                    self._word(replace(self._listing, flaws=broken(told)))
                    continue
                self._say("the files changed: they are used from now on")
                self._use(pool, worker)
                if former is not None:
                    tasks.start_soon(self._retire, former)

    async def _retire(self, pool: Pool) -> None:
        await pool.retire()
        self._pools.discard(pool)

    async def call(self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None) -> Outcome:
        with self._demand.used():
            if self._pool is None:
                await self._settled()
            pool, served = self._pool, self._served.get(admitted.tool.id.name)
            if pool is None:
                return ProviderFailed(self._absence(), may_have_run=False)
            if served is None:
                return ProviderFailed(
                    f"{self.source} does not have {admitted.tool.id.name!r} now. List the tools again", False
                )
            place, one = served
            spec = one.described.spec
            if spec is not admitted.tool.spec and spec.fingerprint != admitted.tool.spec.fingerprint:
                why = f"{admitted.tool.id} has changed, and what was approved is not what would run"
                return ProviderFailed(f"{why}. List the tools again", may_have_run=False)
            raw = admitted.call.raw
            if raw is None:
                try:
                    raw = encoded(admitted.call.arguments)
                except Unsendable as problem:
                    return ProviderFailed(f"{self.source} was not asked: {problem}", may_have_run=False)
            assert self._loop is not None
            run = Run(place, raw, one.is_async, self._loop.create_future(), progress, peer)
            pool.submit(run)
            try:
                answer = await run.answered
            except asyncio.CancelledError:
                pool.give_up(run)
                raise
            return self._outcome(run, answer)

    def _outcome(self, run: Run, answer: tuple[Kind, bytes] | str) -> Outcome:
        if isinstance(answer, str):
            return ProviderFailed(
                one_line(self._erase(f"{self.source} {answer}"), _LONGEST_WHY), may_have_run=run.worker is not None
            )
        kind, body = answer
        return Returned(body) if kind is Kind.RESULT else ToolFailed(body)

    async def _settled(self) -> None:
        """Until it is up or has failed to start, no longer than that may take; for all who wait it is started once."""
        timeouts = self._server.timeouts
        with anyio.move_on_after(timeouts.stop + timeouts.start + _GRACE):
            while isinstance(self._listing.health, Starting | Asleep):
                await self._turn.wait()

    async def _wait_out(self, why: str, pause: float) -> None:
        """Until it is worth another try: after a while, or when its files are others."""
        now = self._clock()
        self._go_down(why, now + timedelta(seconds=pause))
        since = await seen(self._folder)
        with anyio.move_on_after(pause):
            await changed(self._folder, since)

    def _go_down(self, why: str, retry_at: datetime) -> None:
        lines = self._lines.since(self._mark, _LAST_LINES)
        self._become(Down(self._clock(), one_line(self._erase(why), _LONGEST_WHY), retry_at, lines))

    def _fail(self, why: str) -> None:
        self._failure = why
        self._failed.set()

    def _hear(self, chunk: bytes) -> None:
        self._lines.feed(chunk, self._erase)

    def _say(self, text: str) -> None:
        self._lines.feed(f"{text}\n".encode(), self._erase)

    def _note(self, run: Run, level: str, message: str) -> None:
        self._say(f"{level}: {one_line(message, _LONGEST_WHY)}")
        if run.peer is not None:
            told = {"level": level, "logger": str(self.source), "data": self._erase(message)}
            run.peer.note("notifications/message", told)

    def _become(self, health: Health) -> None:
        """The last tools stay, so that they can be shown as locked instead of missing."""
        self._word(replace(self._listing, health=health))

    def _word(self, word: Listing) -> None:
        self._listing = word
        self._turn.set()
        self._turn = anyio.Event()
        self._ring()

    def _tools(self) -> tuple[Tool, ...]:
        return tuple(Tool(ToolId(self.source, spec.name), spec) for spec in self._specs)

    def _absence(self) -> str:
        match self._listing.health:
            case Up():
                return f"{self.source} has just ended"
            case Asleep():
                return f"{self.source} did not wake in time"
            case health:
                told = sentence(reason := Unavailable(self._server.key, health))
                return f"{told} {remedy(reason)}" if isinstance(health, Down) else told.rstrip(".")


def _unheard() -> None:
    """Nobody listens before `run`."""
