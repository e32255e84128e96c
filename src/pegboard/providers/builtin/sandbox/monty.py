"""The sandbox that is always at hand: Monty, an interpreter of its own in worker processes, one pool for all runs.

Nothing of it is loaded or started before the first run.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from pegboard.ports.sandbox import (
    DEFAULT_LIMITS,
    Complaint,
    Fault,
    Function,
    Host,
    Limits,
    Program,
    Ran,
    SandboxAway,
    Settled,
    Suspended,
    words,
)

from .dialect import MONTY
from .prelude import Framed, framed, imported, modules, stub
from .state import unpacked
from .threads import Walking
from .unfit import unfit

if TYPE_CHECKING:
    # Ten megabytes that only whoever runs a program needs.
    from pydantic_monty import Monty, MontySession

    from .full.around import Around
    from .running import Run
    from .threads import Speaker

log: Final = logging.getLogger(__name__)

INSTALL: Final = "pip install 'pegboard[code]'"
_RUNS_OF_A_WORKER: Final = 50
"""After so many sessions a worker is replaced, with whatever it may have kept of them."""
_CHECKING: Final = 20.0
"""Seconds for a type check. A program that takes longer is run without."""


def check_installed() -> None:
    """Raises `SandboxAway` where its package is missing, without loading it."""
    if find_spec("pydantic_monty") is None:
        raise SandboxAway(f"The package 'pydantic_monty' is not installed. Install code mode: {INSTALL}")


class MontySandbox:
    name: Final = "monty"
    dialect: Final = MONTY

    def __init__(self, *, binary: Path | None = None, workers: int = 8) -> None:
        """`binary` starts a worker in place of the one that is installed; so many `workers` run at the same time."""
        self._binary: Final = binary
        self._workers: Final = workers
        self._turns: Final = anyio.CapacityLimiter(workers)
        self._starting: Final = anyio.Lock()
        self._walking: Final = Walking()
        self._pool: Monty | None = None
        self._around: Around | None = None

    @property
    def is_walled(self) -> bool:
        """Whether its workers have walls around them besides their own: on Linux, once they were started."""
        return self._around is not None

    async def check(self, program: Program, limits: Limits = DEFAULT_LIMITS) -> tuple[Complaint, ...]:
        if (why := unfit(program, limits)) is not None:
            return (Complaint(1, why.message),)
        pool = await self._started()
        from .checking import complaints
        from .hosted import hosted

        frame = framed(program)
        said = words(program.code)
        stubs = {module: stub(each, program.stubs, said) for module, each in modules(frame.functions).items()}
        with anyio.move_on_after(_CHECKING):
            session = pool.checkout(
                type_check=True,
                type_check_format="jsonlines",
                type_check_stubs=stubs.get("", ""),
                external_modules=hosted(frame.functions, frame.modules, stubs),
                limits={"max_memory": limits.memory, "max_feed_duration_secs": limits.cpu},
            )
            async with self._entered(session) as worker:
                return await worker.speaker.do(partial(complaints, session, frame))
        return ()

    async def run(self, program: Program, host: Host, limits: Limits = DEFAULT_LIMITS) -> Ran | Suspended:
        if (why := unfit(program, limits)) is not None:
            return Ran(error=why)
        pool = await self._started()
        from .last_line import named
        from .running import Run

        frame = framed(program)
        run = Run(_version(), named(frame) or frame, host, limits, self._walking)
        return await self._within(pool, run, limits, {})

    async def resume(
        self, state: bytes, answers: Mapping[int, Settled], host: Host, limits: Limits = DEFAULT_LIMITS
    ) -> Ran | Suspended:
        pool = await self._started()
        from .running import Run

        before = unpacked(state, _version())
        functions = tuple(Function(module, name, "", tuple(rest)) for module, name, rest in before.functions)
        frame = Framed(before.text, functions, before.shift, imported(before.text))
        run = Run(_version(), frame, host, limits, self._walking, before)
        return await self._within(pool, run, limits, answers)

    async def aclose(self) -> None:
        async with self._starting:
            if self._pool is not None:
                pool, self._pool = self._pool, None
                await to_thread.run_sync(pool.__exit__, None, None, None)
            if self._around is not None:
                self._around.remove()
                self._around = None

    async def _within(
        self, pool: "Monty", run: "Run", limits: Limits, answers: Mapping[int, Settled]
    ) -> Ran | Suspended:
        from .hosted import hosted

        with anyio.move_on_after(limits.wall - run.spent):
            session = pool.checkout(
                external_modules=hosted(run.program.functions, run.program.modules),
                # Sleeps are ours to bound, in full: cut short, they would look as if they were fine.
                os_policy={"sleep_system_max": inf},
                # Sleeps and names count too. Each call is two stops: it is made, and it is awaited.
                limits={
                    "max_memory": limits.memory,
                    "max_feed_duration_secs": limits.cpu,
                    "max_suspensions": 3 * limits.calls + 1_000,
                },
            )
            async with self._entered(session) as worker:
                speaker = worker.speaker
                begun = run.before is None
                ended = await (run.begin(session, speaker) if begun else run.go_on(session, speaker, answers))
                worker.is_spent = not run.is_over
                return ended
        why = f"The program took longer than {limits.wall:g} seconds, waiting for its calls included."
        return run.stopped(Fault("TimeoutError", why, run.waits_at))

    async def _started(self) -> "Monty":
        # One pool for all, however many begin at once.
        async with self._starting:
            if self._pool is None:
                try:
                    from pydantic_monty import Monty, MontyError
                except ImportError as error:
                    raise SandboxAway(
                        f"Programs cannot be run here: {error}. Install what they need: {INSTALL}"
                    ) from None
                try:
                    pool = Monty(
                        binary_path=self._binary or await self._walled(),
                        min_processes=1,
                        max_processes=self._workers,
                        max_checkouts_per_worker=_RUNS_OF_A_WORKER,
                    )
                    await to_thread.run_sync(pool.__enter__)
                except (MontyError, OSError, RuntimeError) as error:
                    raise SandboxAway(f"The workers that run programs do not start: {error}. Try {INSTALL}") from None
                self._pool = pool
            return self._pool

    async def _walled(self) -> Path | None:
        """What starts a worker behind walls; `None` where there are none, and it is started as it is."""
        from pydantic_monty._binary import find_monty_binary

        from .full.around import Around, NotAround

        if self._around is not None:
            return self._around.program
        try:
            self._around = await to_thread.run_sync(lambda: Around(find_monty_binary()))
        except (NotAround, FileNotFoundError) as why:
            log.info("The workers that run programs have no walls but their own here: %s", why)
            return None
        return self._around.program

    @asynccontextmanager
    async def _entered(self, session: "MontySession") -> AsyncIterator["_Worker"]:
        """A worker for one session. It goes back to the others only when its program has ended by itself."""
        from pydantic_monty import MontyCrashedError

        from .threads import Speaker

        # Here those wait for their turn for whom there is no worker, where they can still be called off.
        async with self._turns:
            speaker = Speaker()
            worker = _Worker(speaker)
            try:
                await self._enter(session, speaker)
                speaker.worker = session.worker_pid
                try:
                    yield worker
                except BaseException:
                    worker.is_spent = True
                    raise
                finally:
                    if worker.is_spent:
                        speaker.kill()
                    with anyio.CancelScope(shield=True), suppress(MontyCrashedError):
                        await speaker.do(partial(session.__exit__, None, None, None))
            finally:
                speaker.close()

    async def _enter(self, session: "MontySession", speaker: "Speaker") -> None:
        """Raises `SandboxAway`. An idle worker that was killed is noticed only here, and another takes its place."""
        from pydantic_monty import MontyCrashedError, MontyError

        idle_workers = self._workers
        while True:
            try:
                # A session that is entered must be left, so this is waited for in any case.
                with anyio.CancelScope(shield=True):
                    await speaker.do(session.__enter__)
                return
            except (MontyError, OSError) as error:
                if not isinstance(error, MontyCrashedError) or not idle_workers:
                    raise SandboxAway(f"The workers that run programs do not start: {error}. Try {INSTALL}") from None
                idle_workers -= 1


class _Worker:
    def __init__(self, speaker: "Speaker") -> None:
        self.speaker: Final = speaker
        self.is_spent = False
        """Whether something of the program may be left in it."""


def _version() -> str:
    import pydantic_monty

    return f"monty {pydantic_monty.__version__}"
