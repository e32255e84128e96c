"""The provider of a toolset's Python functions: starts workers on demand and reloads changed files."""

import asyncio
import json
import os
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from pegboard.core.calls.call import AdmittedCall, Outcome, ProviderFailure, ToolFailure, ToolSuccess
from pegboard.core.decision.status import ProviderUnavailable, explain_reason, remedy
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import (
    Health,
    Listing,
    ListingProblem,
    ProviderAsleep,
    ProviderDown,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import SourceKey, ToolId
from pegboard.core.model.server import Server, StartOnDemand, StartWithGateway
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import OwnTools, Tool, ToolSpec
from pegboard.ports.providers import (
    ChangeCallback,
    ClientPeer,
    Clock,
    FunctionEntry,
    ManifestEntries,
    Progress,
    ToolDescriptionError,
    UnresolvedReference,
    ignore,
)
from pegboard.processes.cleanup import IdleTracker
from pegboard.processes.output import LogTail, SecretFilter, one_line
from pegboard.providers.python.environments import EnvironmentBuildError, Environments
from pegboard.providers.python.pool import PythonWorkerPool
from pegboard.providers.python.process import (
    PythonWorkerProcess,
    PythonWorkerSetup,
    ServedTool,
    WorkerCall,
    WorkerStartError,
)
from pegboard.providers.python.protocol import WorkerFrameKind

# What is said of a list of tools that is not what the files say, because their author is at work on them.

_SUBJECT: Final = "the list"


def broken_edit_notice(why: str) -> tuple[ListingProblem, ...]:
    told = f"is from before the last edit, because the files as they are now cannot be used: {why}"
    return (ListingProblem(_SUBJECT, told, "Mend the file; it is read again by itself."),)


def ignored_keys_notice(keys: Sequence[str], folder: Path) -> tuple[ListingProblem, ...]:
    """`keys` are those of the manifest that say something else than when it was imported; none, and all is well."""
    if not keys:
        return ()
    told = f"is without what the manifest says now under {', '.join(keys)}, which counts when it is imported again"
    return (ListingProblem(_SUBJECT, told, f"pegboard toolset import {shlex.quote(str(folder))} --link"),)


# A bell for the files of a toolset: rings when a module or the manifest changed, and has stayed so for a moment.

POLL_INTERVAL_S: Final = 0.5
"""Seconds between two looks."""
_MAX_FILES: Final = 5_000
_MANIFEST_NAMES: Final = frozenset({"toolset.yaml", "toolset.yml"})

FileStamps: TypeAlias = Mapping[str, tuple[int, int, int]]


async def read_stamps(folder: Path) -> FileStamps:
    return await anyio.to_thread.run_sync(_collect_stamps, folder, abandon_on_cancel=True)


async def wait_for_change(folder: Path, since: FileStamps, interval: float = POLL_INTERVAL_S) -> FileStamps:
    """Waits until the files are others than these, and are the same at two looks running: editors write in steps."""
    former = since
    while True:
        await anyio.sleep(interval)
        now = await read_stamps(folder)
        if now == former != since:
            return now
        former = now


def _collect_stamps(folder: Path) -> FileStamps:
    """Of modules and the manifest only: what a tool writes beside them must not restart it."""
    found: dict[str, tuple[int, int, int]] = {}
    waiting = [str(folder)]
    while waiting and len(found) < _MAX_FILES:
        try:
            entries = [*os.scandir(waiting.pop())]
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith((".", "__pycache__")):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.name.endswith(".py") or entry.name in _MANIFEST_NAMES:
                    status = entry.stat()
                    found[entry.path] = (status.st_ino, status.st_size, status.st_mtime_ns)
            except OSError:
                continue
    return found


# Arguments as the JSON that a worker reads.


class UnencodableArgumentsError(Exception):
    """Arguments that no JSON text can carry."""


def encode_arguments(arguments: Mapping[str, Json]) -> bytes:
    """Raises `UnencodableArgumentsError`."""
    try:
        # Not msgspec, which would send a number that is none as null.
        return json.dumps(dict(arguments), allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise UnencodableArgumentsError("the arguments hold half a character, which no JSON text can carry") from None
    except (ValueError, RecursionError):
        raise UnencodableArgumentsError(
            "the arguments hold a number that is not finite, or are nested too deep"
        ) from None


SecretValues: TypeAlias = Callable[[], Awaitable[Mapping[str, str] | UnresolvedReference]]
"""The secrets that the toolset declares, by name; or which of them is not set, and the command that sets it."""
ReadEntries: TypeAlias = Callable[[Path], ManifestEntries | None]
"""The functions that the manifest in a folder names now; `None` where those of the import stand. Raises
`ToolDescriptionError` when it is being edited, and cannot be used as it is."""

_MAX_LOG_LINES: Final = 10
_MAX_REASON_CHARS: Final = 600
_RETRY_PAUSE_S: Final = 5.0
_MAX_RETRY_PAUSE_S: Final = 300.0
_START_GRACE_S: Final = 5.0
"""Seconds that a call waits for the toolset to wake, beyond what starting it may take."""


class PythonTools:
    resources = None

    def __init__(
        self,
        server: Server,
        folder: Path,
        environments: Environments,
        workspace: Path | None,
        secrets: SecretValues,
        clock: Clock,
        entries: ReadEntries | None = None,
        room: Path | None = None,
    ) -> None:
        """`room` is where a workspace is made once a tool wants one that has not been given any."""
        assert isinstance(server.connection, OwnTools)
        self._server = server
        self._toolset = server.connection
        self._folder = folder
        self._environments = environments
        self._workspace = workspace
        self._default_workspace = room
        self._secrets = secrets
        self._clock = clock
        self._read_entries = entries
        self._notify: ChangeCallback = ignore
        self._lines = LogTail()
        self._log_mark = 0
        self._erase: Callable[[str], str] = SecretFilter()
        self._demand = IdleTracker()
        self._change_event = anyio.Event()
        """Set, and replaced, at each new word."""
        self._run_scope: anyio.CancelScope | None = None
        self._is_eager = isinstance(server.starts, StartWithGateway)
        """Whether to start although nobody has called yet."""
        self._failed, self._failure = anyio.Event(), ""
        self._end_reason = "is not running"
        self._pool: PythonWorkerPool | None = None
        self._pools: set[PythonWorkerPool] = set()
        self._tools_by_name: Mapping[str, tuple[int, ServedTool]] = {}
        self._specs: Sequence[ToolSpec] = [tool.spec for tool in self._toolset.python]
        self._ignored_keys: Sequence[str] = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listing = Listing(self.source, ProviderStart(1, clock()), self._tools())

    @property
    def source(self) -> SourceKey:
        return self._server.key

    def listing(self) -> Listing:
        return self._listing

    def log(self) -> Sequence[str]:
        return self._lines.tail()

    def restart(self) -> None:
        if self._run_scope is not None:
            self.drain("was restarted")
            self._is_eager = True
            self._set_health(ProviderStart(1, self._clock()))
            self._run_scope.cancel()

    def drain(self, why: str) -> None:
        self._end_reason = why
        self._pool = None

    async def run(self, ring: ChangeCallback) -> None:
        self._notify, self._loop = ring, asyncio.get_running_loop()
        failures = 0
        try:
            while True:
                with anyio.CancelScope() as self._run_scope:
                    why = await self._run_once(failures + 1)
                    if why is None:
                        failures = 0
                        continue
                    failures += 1
                    await self._wait_for_retry(why, min(_RETRY_PAUSE_S * 2 ** (failures - 1), _MAX_RETRY_PAUSE_S))
                if self._run_scope.cancel_called:
                    failures = 0
        finally:
            self._run_scope = None
            self._set_health(ProviderOff())

    async def _run_once(self, attempt: int) -> str | None:
        """From its sleep to its end; why it ended. `None` when nobody needed it any more."""
        values = await self._secrets()
        if isinstance(values, UnresolvedReference):
            return values.why
        if attempt == 1 and not self._is_eager:
            # Looked at before it is said that it sleeps, so that no change falls between the two.
            since = {} if self._toolset.linked is None else await self._snapshot_files()
            if not isinstance(self._listing.health, ProviderAsleep):
                self._set_health(ProviderAsleep(self._clock()))
            await self._wait_for_demand(since)
            values = await self._secrets()
            if isinstance(values, UnresolvedReference):
                return values.why
        else:
            self._is_eager = isinstance(self._server.starts, StartWithGateway)
            self._set_health(ProviderStart(attempt, self._clock()))
        self._log_mark, self._end_reason = self._lines.line_count, "ended"
        self._erase = SecretFilter(values.values())
        try:
            return await self._serve(values)
        finally:
            self._pool, self._tools_by_name = None, {}
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as tasks:
                    for pool in [*self._pools]:
                        tasks.start_soon(pool.stop, f"{self._end_reason} before it answered")
            self._pools.clear()
            self._lines.finish(self._erase)

    async def _snapshot_files(self) -> FileStamps:
        """The files as they are before their author goes on, the manifest among them."""
        since = await read_stamps(self._folder)
        with suppress(WorkerStartError):
            await anyio.to_thread.run_sync(self._current_entries, abandon_on_cancel=True)
        return since

    async def _wait_for_demand(self, since: FileStamps) -> None:
        """Until somebody calls. The files of its author are followed while it sleeps, too: what they say is shown."""
        if self._toolset.linked is None:
            await self._demand.wait_until_used()
            return
        async with anyio.create_task_group() as tasks:

            async def cancel_on_edit() -> None:
                await wait_for_change(self._folder, since)
                tasks.cancel_scope.cancel()

            tasks.start_soon(cancel_on_edit)
            await self._demand.wait_until_used()
            tasks.cancel_scope.cancel()

    async def _serve(self, values: Mapping[str, str]) -> str | None:
        self._failed, self._failure = anyio.Event(), ""
        try:
            python = await self._environments.interpreter(self._toolset.requirements, self._folder, self._write_log)
            since = await read_stamps(self._folder)
            pool, worker = await self._open_pool(python, values)
        except (EnvironmentBuildError, WorkerStartError) as problem:
            return "; ".join(problem.problems) if isinstance(problem, WorkerStartError) else str(problem)
        self._use_pool(pool, worker)
        why: str | None = None
        async with anyio.create_task_group() as tasks:

            async def until_idle(seconds: float) -> None:
                await self._demand.wait_until_idle(seconds)
                # To the board it sleeps before it has stopped: a call that comes now waits for the next start.
                self._pool = None
                self._set_health(ProviderAsleep(self._clock()))
                tasks.cancel_scope.cancel()

            async def until_failed() -> None:
                nonlocal why
                await self._failed.wait()
                why = self._failure
                tasks.cancel_scope.cancel()

            match self._server.starts:
                case StartOnDemand(idle):
                    tasks.start_soon(until_idle, idle)
                case StartWithGateway():
                    pass
            tasks.start_soon(until_failed)
            await self._follow_edits(python, values, since)
        return why

    async def _open_pool(self, python: Path, values: Mapping[str, str]) -> tuple[PythonWorkerPool, PythonWorkerProcess]:
        """Processes for the files as they are now, the first of them started. Raises `WorkerStartError`."""
        timeouts, bounds = self._server.timeouts, self._toolset.bounds
        wished = await anyio.to_thread.run_sync(self._current_entries, abandon_on_cancel=True)
        places = self._workspace, self._default_workspace
        setup = PythonWorkerSetup(
            str(self.source), self._folder, wished.entries, bounds.memory, python, *places, dict(values)
        )

        async def start() -> PythonWorkerProcess:
            worker = PythonWorkerProcess(self._on_output, self._on_log)
            await worker.start(setup, timeouts.start)
            return worker

        worker = await start()
        self._ignored_keys = wished.ignored_keys
        pool = PythonWorkerPool(
            start,
            self._fail,
            most=bounds.processes,
            seconds=min(bounds.seconds, timeouts.call),
            wait=timeouts.call,
        )
        self._pools.add(pool)
        return pool, worker

    def _current_entries(self) -> ManifestEntries:
        try:
            read = None if self._read_entries is None else self._read_entries(self._folder)
        except ToolDescriptionError as unfit:
            raise WorkerStartError(*unfit.problems) from None
        if read is not None:
            return read
        # Without a manifest, what was told at the import stands, be it the manifest's or the function's own.
        return ManifestEntries(
            [
                FunctionEntry(tool.spec.name, tool.entrypoint, tool.spec.title, tool.spec.description or None)
                for tool in self._toolset.python
            ]
        )

    def _use_pool(self, pool: PythonWorkerPool, worker: PythonWorkerProcess) -> None:
        before, former = self._specs, self._pool
        self._tools_by_name = {one.details.spec.name: (place, one) for place, one in enumerate(worker.tools)}
        self._specs = [one.details.spec for one in worker.tools]
        self._pool = pool
        pool.adopt(worker)
        for run in () if former is None else former.take_queued():
            was = before[run.tool]
            run.tool, one = self._tools_by_name.get(was.name, (0, None))
            if one is None or one.details.spec.fingerprint != was.fingerprint:
                run.settle(f"was edited, and {was.name!r} is not what was approved. List the tools again")
            else:
                run.is_async = one.is_async
                pool.submit(run)
        self._set_listing(
            Listing(
                self.source,
                ProviderUp(self._clock()),
                self._tools(),
                ignored_keys_notice(self._ignored_keys, self._folder),
            )
        )

    async def _follow_edits(self, python: Path, values: Mapping[str, str], since: FileStamps) -> None:
        """A good edit replaces the processes once their calls have ended. A broken one changes nothing, and is told."""
        async with anyio.create_task_group() as tasks:
            while True:
                since = await wait_for_change(self._folder, since)
                former = self._pool
                try:
                    pool, worker = await self._open_pool(python, values)
                except WorkerStartError as problem:
                    told = one_line(self._erase("; ".join(problem.problems)), _MAX_REASON_CHARS)
                    self._write_log(f"the files changed and cannot be used: {told}")
                    self._set_listing(replace(self._listing, problems=broken_edit_notice(told)))
                    continue
                self._write_log("the files changed: they are used from now on")
                self._use_pool(pool, worker)
                if former is not None:
                    tasks.start_soon(self._retire, former)

    async def _retire(self, pool: PythonWorkerPool) -> None:
        await pool.retire()
        self._pools.discard(pool)

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        with self._demand.in_use():
            if self._pool is None:
                await self._wait_for_start()
            pool, served = self._pool, self._tools_by_name.get(admitted.tool.id.name)
            if pool is None:
                return ProviderFailure(self._unavailable_reason(admitted.call.audience), may_have_run=False)
            if served is None:
                return ProviderFailure(
                    f"{self.source} does not have {admitted.tool.id.name!r} now. List the tools again", False
                )
            place, one = served
            spec = one.details.spec
            if spec is not admitted.tool.spec and spec.fingerprint != admitted.tool.spec.fingerprint:
                why = f"{admitted.tool.id} has changed, and what was approved is not what would run"
                return ProviderFailure(f"{why}. List the tools again", may_have_run=False)
            raw = admitted.call.raw
            if raw is None:
                try:
                    raw = encode_arguments(admitted.call.arguments)
                except UnencodableArgumentsError as problem:
                    return ProviderFailure(f"{self.source} was not asked: {problem}", may_have_run=False)
            assert self._loop is not None
            run = WorkerCall(place, raw, one.is_async, self._loop.create_future(), progress, peer)
            pool.submit(run)
            try:
                answer = await run.answer
            except asyncio.CancelledError:
                pool.cancel(run)
                raise
            return self._outcome(run, answer)

    def _outcome(self, run: WorkerCall, answer: tuple[WorkerFrameKind, bytes] | str) -> Outcome:
        if isinstance(answer, str):
            return ProviderFailure(
                one_line(self._erase(f"{self.source} {answer}"), _MAX_REASON_CHARS), may_have_run=run.worker is not None
            )
        kind, body = answer
        return ToolSuccess(body) if kind is WorkerFrameKind.RESULT else ToolFailure(body)

    async def _wait_for_start(self) -> None:
        """Until it is up or has failed to start, no longer than that may take; for all who wait it is started once."""
        timeouts = self._server.timeouts
        with anyio.move_on_after(timeouts.stop + timeouts.start + _START_GRACE_S):
            while isinstance(self._listing.health, ProviderStart | ProviderAsleep):
                await self._change_event.wait()

    async def _wait_for_retry(self, why: str, pause: float) -> None:
        """Until it is worth another try: after a while, or when its files are others."""
        now = self._clock()
        self._go_down(why, now + timedelta(seconds=pause))
        since = await read_stamps(self._folder)
        with anyio.move_on_after(pause):
            await wait_for_change(self._folder, since)

    def _go_down(self, why: str, retry_at: datetime) -> None:
        lines = self._lines.lines_since(self._log_mark, _MAX_LOG_LINES)
        self._set_health(ProviderDown(self._clock(), one_line(self._erase(why), _MAX_REASON_CHARS), retry_at, lines))

    def _fail(self, why: str) -> None:
        self._failure = why
        self._failed.set()

    def _on_output(self, chunk: bytes) -> None:
        self._lines.feed(chunk, self._erase)

    def _write_log(self, text: str) -> None:
        self._lines.feed(f"{text}\n".encode(), self._erase)

    def _on_log(self, run: WorkerCall, level: str, message: str) -> None:
        self._write_log(f"{level}: {one_line(message, _MAX_REASON_CHARS)}")
        if run.peer is not None:
            told = {"level": level, "logger": str(self.source), "data": self._erase(message)}
            run.peer.notify("notifications/message", told)

    def _set_health(self, health: Health) -> None:
        """The last tools stay, so that they can be shown as locked instead of missing."""
        self._set_listing(replace(self._listing, health=health))

    def _set_listing(self, word: Listing) -> None:
        self._listing = word
        self._change_event.set()
        self._change_event = anyio.Event()
        self._notify()

    def _tools(self) -> tuple[Tool, ...]:
        return tuple(Tool(ToolId(self.source, spec.name), spec) for spec in self._specs)

    def _unavailable_reason(self, audience: Audience) -> str:
        match self._listing.health:
            case ProviderUp():
                return f"{self.source} has just ended"
            case ProviderAsleep():
                return f"{self.source} did not wake in time"
            case health:
                told = explain_reason(reason := ProviderUnavailable(self._server.key, health))
                return f"{told} {remedy(reason, audience)}" if isinstance(health, ProviderDown) else told.rstrip(".")
