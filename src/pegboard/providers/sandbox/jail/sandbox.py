"""The sandbox `full` as the gateway has it: a fresh process for each program, and the next one ready beforehand."""

import asyncio
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread

from pegboard.ports.sandbox import (
    DEFAULT_LIMITS,
    CallAnswer,
    InvalidRunStateError,
    Program,
    ProgramHost,
    ProgramProblem,
    RunResult,
    SandboxLimits,
    SandboxUnavailable,
)
from pegboard.processes.cleanup import create_locked, lock_abandoned
from pegboard.processes.worker import WorkerProcess
from pegboard.providers.sandbox.checks.arguments import find_literal_mismatches
from pegboard.providers.sandbox.checks.program import parse_program
from pegboard.providers.sandbox.jail.inside.seccomp import SYSCALL_TABLES
from pegboard.providers.sandbox.jail.inside.worker import TRIAL_FLAG, TRIAL_PASSED_CODE
from pegboard.providers.sandbox.jail.launch import SOURCE, JailLauncher, boot_code, build_library_image
from pegboard.providers.sandbox.jail.probe import find_bubblewrap, probe
from pegboard.providers.sandbox.jail.run import JailedRun
from pegboard.providers.sandbox.prelude import program_problem

# What is told of a program before the full Python runs it: by reading it alone, for that Python has no type check.

_MAX_COMPLAINTS: Final = 10


def check_source(program: Program) -> tuple[ProgramProblem, ...]:
    return tuple(sorted(dict.fromkeys(_find_complaints(program)), key=lambda each: each.line)[:_MAX_COMPLAINTS])


def _find_complaints(program: Program) -> Iterator[ProgramProblem]:
    modules = sorted({each.module for each in program.functions if each.module})
    # They stand there as if imported; one line more than the program has.
    text = f"import {', '.join(modules or ['asyncio'])}\n{program.code.removeprefix(chr(0xFEFF))}"
    read = parse_program(text, program.functions)
    for misfit in find_literal_mismatches(read, program.functions, kinds=True):
        yield ProgramProblem(max(misfit.line - 1, 1), misfit.message)


log: Final = logging.getLogger(__name__)

_IDLE_TIMEOUT_S: Final = 60.0
"""Seconds that a process waits for a program."""
_PYTHON_VERSION: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
DIALECT: Final = (
    f"Python {_PYTHON_VERSION} with its whole language and standard library, in a process that reaches nothing: no "
    "files, no "
    "network, no environment, no threads, no other processes, no packages. `open`, `socket` and the like raise "
    "PermissionError. `await` may stand at the top level. The value of the last line is the result, if that is an "
    "expression. A call that waits for a person raises PermissionError."
)


class FullSandbox:
    """Nothing is started, mapped or tried before the first program."""

    def __init__(self, bwrap: str | None = None) -> None:
        """`bwrap` is the program to use; the system's own by default."""
        self._bubblewrap = bwrap
        self._launcher: JailLauncher | None = None
        self._image: int | None = None
        self._open_lock = anyio.Lock()
        self._off_loop_limiter = anyio.CapacityLimiter(1)
        self._spare: asyncio.Task[WorkerProcess] | None = None
        self._spare_end: asyncio.Task[None] | None = None
        self.protections: tuple[str, ...] = ()
        """What holds programs here, once it was tried."""

    @property
    def name(self) -> str:
        return "full"

    @property
    def dialect(self) -> str:
        return DIALECT

    async def check(self, program: Program, limits: SandboxLimits = DEFAULT_LIMITS) -> tuple[ProgramProblem, ...]:
        if program_problem(program, limits) is not None:
            return ()
        return await to_thread.run_sync(check_source, program, abandon_on_cancel=True)

    async def run(self, program: Program, host: ProgramHost, limits: SandboxLimits = DEFAULT_LIMITS) -> RunResult:
        if (why := program_problem(program, limits)) is not None:
            return RunResult(error=why)
        launcher = await self._ensure_launcher()
        jailed = await self._take_process(launcher)
        try:
            return await JailedRun(jailed, program, host, limits, self._off_loop_limiter)()
        finally:
            await jailed.end()

    async def resume(
        self, state: bytes, answers: Mapping[int, CallAnswer], host: ProgramHost, limits: SandboxLimits = DEFAULT_LIMITS
    ) -> RunResult:
        raise InvalidRunStateError(
            "No run was ever suspended by the sandbox 'full': it cannot keep a program. Run it again."
        )

    async def aclose(self) -> None:
        following, self._spare = self._spare, None
        if following is not None:
            following.cancel()
            await _end_when_started(following)
        if self._spare_end is not None:
            await self._spare_end
        if self._image is not None:
            os.close(self._image)
            self._image, self._launcher = None, None

    async def _ensure_launcher(self) -> JailLauncher:
        """The walls were tried, once. Raises `SandboxUnavailable`."""
        async with self._open_lock:
            if self._launcher is not None:
                return self._launcher
            if sys.platform != "linux":
                raise SandboxUnavailable(
                    f"full: its walls are those of Linux, and this is {sys.platform}. Use the sandbox monty."
                )
            if self._image is None:
                self._image = await anyio.to_thread.run_sync(build_library_image)
            self._launcher = await self._choose_launcher(self._image)
            return self._launcher

    async def _choose_launcher(self, library: int) -> JailLauncher:
        bare = JailLauncher(library)
        await probe(bare)
        self.protections = ("landlock", "seccomp", "rlimits")
        if (program := self._bubblewrap or find_bubblewrap()) is None:
            return bare
        wrapped = JailLauncher(library, program)
        try:
            await probe(wrapped)
        except SandboxUnavailable as away:
            # The walls that programs are promised stand without it.
            log.info("bubblewrap is not used: %s", away)
            return bare
        self.protections = (*self.protections, "bubblewrap")
        return wrapped

    async def _take_process(self, launcher: JailLauncher) -> WorkerProcess:
        """The process that was started beforehand, or else one now; and the next one is begun."""
        following, self._spare = self._spare, None
        jailed: WorkerProcess | None = None
        if following is not None:
            with suppress(SandboxUnavailable):
                jailed = await following
        if jailed is not None and not jailed.is_alive:
            await jailed.end()
            jailed = None
        if jailed is None:
            jailed = await launcher.start()
        if self._spare is None:
            self._spare = asyncio.create_task(launcher.start())
            asyncio.get_running_loop().call_later(_IDLE_TIMEOUT_S, self._discard_spare, self._spare)
        return jailed

    def _discard_spare(self, unused: "asyncio.Task[WorkerProcess]") -> None:
        """Nobody has run a program for a while: nothing is kept for the next one."""
        if self._spare is unused:
            self._spare = None
            self._spare_end = asyncio.create_task(_end_when_started(unused))


async def _end_when_started(starting: "asyncio.Task[WorkerProcess]") -> None:
    await asyncio.wait([starting])
    if not starting.cancelled() and starting.exception() is None:
        await starting.result().end()


# The same walls around the workers of Monty: a program that puts them up and then becomes a worker.
#
# They hold what the interpreter itself should hold already: whoever breaks out of it stands in a process without
# files,
# network, other processes or rights. Linux only, and only where they can be put up.

_TRIAL_TIMEOUT_S: Final = 30.0
_PROGRAM_NAME: Final = "monty"
_FOLDER_PREFIX: Final = "pegboard-workers-"


class ConfinementUnavailableError(Exception):
    """Why there are no walls here."""


class ConfinedBinary:
    """A program to start in place of `binary`; its folder goes with `remove`."""

    def __init__(self, binary: str) -> None:
        """Raises `ConfinementUnavailableError`. Takes a tenth of a second."""
        machine = platform.machine()
        if sys.platform != "linux" or machine not in SYSCALL_TABLES:
            raise ConfinementUnavailableError(
                f"its walls are those of Linux on {' or '.join(SYSCALL_TABLES)}, and this is {machine}"
            )
        remove_stale_folders()
        self._folder, self._held = create_locked(lambda: Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX)))
        try:
            self.program = self._folder / _PROGRAM_NAME
            self.program.write_text(_script([machine, str(Path(binary).resolve())]))
            self.program.chmod(0o700)
            _verify_confinement(self.program)
        except (OSError, subprocess.SubprocessError) as error:
            self.remove()
            raise ConfinementUnavailableError(str(error)) from error
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._held >= 0:
            os.close(self._held)
            self._held = -1


def remove_stale_folders() -> None:
    """Takes away the folders of processes that were killed, and touches nobody's who lives."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
        with lock_abandoned(folder) as descriptor:
            if descriptor is not None and folder.is_dir():
                shutil.rmtree(folder, ignore_errors=True)


def _script(arguments: Sequence[str]) -> str:
    python = str(getattr(sys, "_base_executable", None) or sys.executable)
    words = [python, "-I", "-S", "-X", "utf8", "-c", boot_code("worker"), str(SOURCE), *arguments]
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


def _verify_confinement(program: Path) -> None:
    """Raises `ConfinementUnavailableError` when a wall does not stand, or when what it forbids can be done."""
    done = subprocess.run(  # noqa: S603 - the program that was written above
        [str(program), TRIAL_FLAG],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_TRIAL_TIMEOUT_S,
        env={},
        check=False,
    )
    if done.returncode != TRIAL_PASSED_CODE:
        words = done.stdout.decode(errors="replace").strip()[:500]
        raise ConfinementUnavailableError(words or f"a process with these walls ended with {done.returncode}")
