"""Attacks made: in a process that has a sandbox, and in one that has none."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream

from benchmarks.escapes.cases import Case
from benchmarks.escapes.control import COUNT
from benchmarks.escapes.effects import Seen, observed, used
from benchmarks.escapes.watching import Usage, left, watched
from benchmarks.escapes.world import World
from pegboard.ports.sandbox import SandboxLimits

ROOT = Path(__file__).parents[2]
LIMITS = SandboxLimits(cpu=3, wall=5, stdout=1 << 20)
GRACE = 4.0
"""Seconds after the limit of the wall clock until a run counts as hanging."""
_START = 60.0
_MOST_LINE = 64 << 20
_MOST_CONTROL = 1 << 20
_MOST_END = 65_536
_CONTROL_SECONDS = 7.0
_CONTROL_CALLS = 5_000


class AwayError(Exception):
    """Why there is no such sandbox here."""


class Hosted:
    """A process with a sandbox, started again when an attack ended it. Attacks may be made at the same time."""

    def __init__(self, world: World, mode: str, limits: SandboxLimits, grace: float, tasks: TaskGroup) -> None:
        self._world = world
        self._mode = mode
        self._limits = limits
        self._grace = grace
        self._tasks = tasks
        self._starting = anyio.Lock()
        self._process: Process | None = None
        self._answers: dict[int, _Answer] = {}
        self._numbers = count()
        self._usage = Usage()

    async def attack(self, case: Case, wall: float | None = None) -> Seen:
        """Raises `AwayError`. What a process uses is told of the one attack only when there is no other meanwhile."""
        async with self._starting:
            if self._process is None:
                await self._start()
        if not self._answers:
            self._world.clear()
            self._usage.reset()
        connections = self._world.connections
        began = time.monotonic()
        seconds = self._limits.wall if wall is None else wall
        with anyio.move_on_after(seconds + self._grace) as late:
            answer = await self._asked({"code": self._world.fitted(case.code), "wall": seconds})
        took = time.monotonic() - began
        if late.cancelled_caught:
            await self._kill()
            return Seen(
                (*observed(self._world, "", self._usage, 0, 0, connections), "hang"), error="no answer", seconds=took
            )
        if answer is None:
            found = (*observed(self._world, "", self._usage, 0, 0, connections), "host_crash")
            return Seen(found, error="the host was lost", seconds=took)
        return self._seen(answer, connections, took)

    def _seen(self, answer: Mapping[str, object], connections: int, seconds: float) -> Seen:
        error = answer["error"]
        assert error is None or isinstance(error, Mapping)
        calls = answer["calls"]
        assert isinstance(calls, int)
        sent = answer["arguments"]
        assert isinstance(sent, Sequence)
        said = "" if error is None else f"{error['type']}: {error['message']}"
        text = "\n".join((str(answer["stdout"]), str(answer["result"]), *map(str, sent), said))
        found = [*observed(self._world, text, self._usage, calls, self._limits.calls, connections)]
        if answer["is_changed"]:
            found.append("host_state")
        is_lacking = error is not None and bool(error["is_lacking"])
        return Seen(tuple(found), text, said or None, seconds, is_lacking)

    async def aclose(self) -> list[int]:
        """The processes that are left although it was asked to end."""
        if (process := self._process) is not None:
            assert process.stdin is not None
            await process.stdin.aclose()
            with anyio.move_on_after(_START):
                await process.wait()
        remaining = left(self._usage.seen)
        await self._kill()
        return remaining

    async def _start(self) -> None:
        environment = {**os.environ, "CANARY_ENV": self._world.variable}
        words = [sys.executable, "-m", "benchmarks.escapes.hosting", self._mode]
        process = await anyio.open_process(words, cwd=ROOT, env=environment, stderr=None, start_new_session=True)
        self._process = process
        self._tasks.start_soon(self._read, process)
        with anyio.fail_after(_START):
            answer = await self._asked({"value": self._world.value, "limits": asdict(self._limits)})
        if answer is None or "away" in answer:
            await self._kill()
            raise AwayError("its process did not start" if answer is None else str(answer["away"]))

    async def _asked(self, what: dict[str, object]) -> Mapping[str, object] | None:
        assert self._process is not None
        assert self._process.stdin is not None
        number, answer = next(self._numbers), _Answer()
        self._answers[number] = answer
        try:
            await self._process.stdin.send(json.dumps({"number": number, **what}).encode() + b"\n")
            await answer.came.wait()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return None
        finally:
            self._answers.pop(number, None)
        return answer.told

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        lines = BufferedByteReceiveStream(process.stdout)
        gone = anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.IncompleteRead, anyio.EndOfStream
        async with watched(process.pid, self._usage):
            with suppress(*gone):
                while True:
                    line = await lines.receive_until(b"\n", _MOST_LINE)
                    try:
                        told = json.loads(line)
                    except ValueError as error:
                        error.add_note(f"{len(line)} bytes, {line[:100]!r} to {line[-100:]!r}")
                        raise
                    if (answer := self._answers.get(told["number"])) is not None:
                        answer.told = told
                        answer.came.set()
        if self._process is process:
            await self._kill()

    async def _kill(self) -> None:
        process, self._process = self._process, None
        for answer in self._answers.values():
            answer.came.set()
        if process is None:
            return
        _end(process.pid, self._usage.seen)
        with anyio.CancelScope(shield=True):
            await process.wait()
            await process.aclose()


@dataclass
class _Answer:
    came: anyio.Event = field(default_factory=anyio.Event)
    told: Mapping[str, object] | None = None


@asynccontextmanager
async def hosted(
    world: World, mode: str, limits: SandboxLimits = LIMITS, grace: float = GRACE
) -> AsyncIterator[Hosted]:
    async with anyio.create_task_group() as tasks:
        host = Hosted(world, mode, limits, grace, tasks)
        try:
            yield host
        finally:
            with anyio.CancelScope(shield=True):
                await host.aclose()
            tasks.cancel_scope.cancel()


async def without(world: World, case: Case, seconds: float = _CONTROL_SECONDS, *, until_it_works: bool = False) -> Seen:
    """The same attack with nothing that holds it but a few bounds for the sake of this machine.

    `until_it_works` ends it as soon as its processes show what it is recorded for.
    """
    world.clear()
    connections = world.connections
    environment = {**os.environ, "CANARY_ENV": world.variable}
    began = time.monotonic()
    told, tells = os.pipe()
    words = [sys.executable, "-m", "benchmarks.escapes.control", str(tells)]
    try:
        process = await anyio.open_process(
            words, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL, start_new_session=True, pass_fds=(tells,)
        )
    finally:
        os.close(tells)
    assert process.stdin is not None
    await process.stdin.send(json.dumps({"value": world.value, "code": world.fitted(case.code)}).encode() + b"\n")
    said = bytearray()
    usage, enough = Usage(), anyio.CancelScope()
    end: dict[str, Any] | None = None

    def look() -> None:
        if until_it_works and not set(case.must_not).isdisjoint(used(usage)):
            enough.cancel()

    try:
        async with watched(process.pid, usage, look):
            with anyio.move_on_after(seconds) as late, enough:
                async with anyio.create_task_group() as reads:
                    reads.start_soon(_read, process, said)
                    await anyio.wait_readable(told)
                    if (end := _read_end(told)) is not None:
                        usage.memory = max(usage.memory, end["memory"])
                        usage.processes = max(usage.processes, end["processes"])
                        usage.threads = max(usage.threads, end["threads"])
                        look()
        _end(process.pid, usage.seen)
        await process.wait()
        await process.aclose()
    finally:
        os.close(told)
    text = said.decode(errors="replace")
    if end is None:
        calls = max(map(int, re.findall(f"{COUNT}(\\d{{1,9}})\n", text)), default=0)
        end = {"calls": calls, "is_changed": False, "error": None, "signal": signal.SIGKILL}
    found = [*observed(world, text, usage, end["calls"], _CONTROL_CALLS - 1, connections)]
    if late.cancelled_caught:
        found.append("hang")
    elif end["signal"]:
        found.append("host_crash")
    if end["is_changed"]:
        found.append("host_state")
    return Seen(tuple(found), text, end["error"], time.monotonic() - began)


def _read_end(told: int) -> dict[str, Any] | None:
    """What the control says at its end; nothing where the attack ended it."""
    try:
        end: dict[str, Any] = json.loads(os.read(told, _MOST_END))
    except ValueError:
        return None
    return end


async def _read(process: Process, said: bytearray) -> None:
    assert process.stdout is not None
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
        while True:
            piece = await process.stdout.receive()
            if len(said) < _MOST_CONTROL:
                said += piece


def _end(pid: int, family: set[tuple[int, float]]) -> None:
    """By force, with all that were seen to descend from it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for process in left(family):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
