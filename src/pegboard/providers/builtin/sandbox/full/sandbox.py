"""The sandbox `full` as the gateway has it: a fresh process for each program, and the next one ready beforehand."""

import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
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
from pegboard.providers.builtin.sandbox.unfit import program_problem

from .before import check_source
from .image import build_library_image
from .launch import JailedProcess, JailLauncher
from .probe import find_bubblewrap, probe
from .run import JailedRun

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
        self._spare: asyncio.Task[JailedProcess] | None = None
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
        """The walls were tried, once. Raises `SandboxAway`."""
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

    async def _take_process(self, launcher: JailLauncher) -> JailedProcess:
        """The process that was started beforehand, or else one now; and the next one is begun."""
        following, self._spare = self._spare, None
        jailed: JailedProcess | None = None
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

    def _discard_spare(self, unused: "asyncio.Task[JailedProcess]") -> None:
        """Nobody has run a program for a while: nothing is kept for the next one."""
        if self._spare is unused:
            self._spare = None
            self._spare_end = asyncio.create_task(_end_when_started(unused))


async def _end_when_started(starting: "asyncio.Task[JailedProcess]") -> None:
    await asyncio.wait([starting])
    if not starting.cancelled() and starting.exception() is None:
        await starting.result().end()
