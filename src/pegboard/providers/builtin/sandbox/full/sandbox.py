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
    BadState,
    Complaint,
    Host,
    Limits,
    Program,
    Ran,
    SandboxAway,
    Settled,
)
from pegboard.providers.builtin.sandbox.unfit import unfit

from .before import complaints
from .image import image
from .launch import Jailed, Launcher
from .probe import bubblewrap, probe
from .run import Run

log: Final = logging.getLogger(__name__)

_IDLE: Final = 60.0
"""Seconds that a process waits for a program."""
_VERSION: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
DIALECT: Final = (
    f"Python {_VERSION} with its whole language and standard library, in a process that reaches nothing: no files, no "
    "network, no environment, no threads, no other processes, no packages. `open`, `socket` and the like raise "
    "PermissionError. `await` may stand at the top level. The value of the last line is the result, if that is an "
    "expression. A call that waits for a person raises PermissionError."
)


class FullSandbox:
    """Nothing is started, mapped or tried before the first program."""

    def __init__(self, bwrap: str | None = None) -> None:
        """`bwrap` is the program to use; the system's own by default."""
        self._bubblewrap = bwrap
        self._launcher: Launcher | None = None
        self._image: int | None = None
        self._opening = anyio.Lock()
        self._beside = anyio.CapacityLimiter(1)
        self._next: asyncio.Task[Jailed] | None = None
        self._resting: asyncio.Task[None] | None = None
        self.walls: tuple[str, ...] = ()
        """What holds programs here, once it was tried."""

    @property
    def name(self) -> str:
        return "full"

    @property
    def dialect(self) -> str:
        return DIALECT

    async def check(self, program: Program, limits: Limits = DEFAULT_LIMITS) -> tuple[Complaint, ...]:
        if unfit(program, limits) is not None:
            return ()
        return await to_thread.run_sync(complaints, program, abandon_on_cancel=True)

    async def run(self, program: Program, host: Host, limits: Limits = DEFAULT_LIMITS) -> Ran:
        if (why := unfit(program, limits)) is not None:
            return Ran(error=why)
        launcher = await self._opened()
        jailed = await self._ready(launcher)
        try:
            return await Run(jailed, program, host, limits, self._beside)()
        finally:
            await jailed.end()

    async def resume(
        self, state: bytes, answers: Mapping[int, Settled], host: Host, limits: Limits = DEFAULT_LIMITS
    ) -> Ran:
        raise BadState("No run was ever suspended by the sandbox 'full': it cannot keep a program. Run it again.")

    async def aclose(self) -> None:
        following, self._next = self._next, None
        if following is not None:
            following.cancel()
            await _ended(following)
        if self._resting is not None:
            await self._resting
        if self._image is not None:
            os.close(self._image)
            self._image, self._launcher = None, None

    async def _opened(self) -> Launcher:
        """The walls were tried, once. Raises `SandboxAway`."""
        async with self._opening:
            if self._launcher is not None:
                return self._launcher
            if sys.platform != "linux":
                raise SandboxAway(
                    f"full: its walls are those of Linux, and this is {sys.platform}. Use the sandbox monty."
                )
            if self._image is None:
                self._image = await anyio.to_thread.run_sync(image)
            self._launcher = await self._tried(self._image)
            return self._launcher

    async def _tried(self, library: int) -> Launcher:
        bare = Launcher(library)
        await probe(bare)
        self.walls = ("landlock", "seccomp", "rlimits")
        if (program := self._bubblewrap or bubblewrap()) is None:
            return bare
        wrapped = Launcher(library, program)
        try:
            await probe(wrapped)
        except SandboxAway as away:
            # The walls that programs are promised stand without it.
            log.info("bubblewrap is not used: %s", away)
            return bare
        self.walls = (*self.walls, "bubblewrap")
        return wrapped

    async def _ready(self, launcher: Launcher) -> Jailed:
        """The process that was started beforehand, or else one now; and the next one is begun."""
        following, self._next = self._next, None
        jailed: Jailed | None = None
        if following is not None:
            with suppress(SandboxAway):
                jailed = await following
        if jailed is not None and not jailed.is_alive:
            await jailed.end()
            jailed = None
        if jailed is None:
            jailed = await launcher.start()
        if self._next is None:
            self._next = asyncio.create_task(launcher.start())
            asyncio.get_running_loop().call_later(_IDLE, self._rest, self._next)
        return jailed

    def _rest(self, unused: "asyncio.Task[Jailed]") -> None:
        """Nobody has run a program for a while: nothing is kept for the next one."""
        if self._next is unused:
            self._next = None
            self._resting = asyncio.create_task(_ended(unused))


async def _ended(starting: "asyncio.Task[Jailed]") -> None:
    await asyncio.wait([starting])
    if not starting.cancelled() and starting.exception() is None:
        await starting.result().end()
