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
    CallAnswer,
    Program,
    ProgramFailure,
    ProgramHost,
    ProgramProblem,
    RunResult,
    RunSuspension,
    SandboxFunction,
    SandboxLimits,
    SandboxUnavailable,
    names_in_code,
)
from pegboard.providers.sandbox.monty.worker import ConversionLock, unpack_state
from pegboard.providers.sandbox.prelude import (
    MONTY_DIALECT,
    WorkerProgram,
    functions_by_module,
    imported_modules,
    module_stub,
    prepare_program,
    program_problem,
)

if TYPE_CHECKING:
    from pydantic_monty import Monty, MontySession

    from pegboard.providers.sandbox.jail.sandbox import ConfinedBinary
    from pegboard.providers.sandbox.monty.run import MontyRun
    from pegboard.providers.sandbox.monty.worker import WorkerThread


log: Final = logging.getLogger(__name__)

INSTALL_COMMAND: Final = "pip install 'pegboard[code]'"
_MAX_RUNS_PER_WORKER: Final = 50
"""After so many sessions a worker is replaced, with whatever it may have kept of them."""
_CHECK_TIMEOUT_S: Final = 20.0
"""Seconds for a type check. A program that takes longer is run without."""


def check_installed() -> None:
    """Raises `SandboxUnavailable` where its package is missing, without loading it."""
    if find_spec("pydantic_monty") is None:
        raise SandboxUnavailable(f"The package 'pydantic_monty' is not installed. Install code mode: {INSTALL_COMMAND}")


class MontySandbox:
    name: Final = "monty"
    dialect: Final = MONTY_DIALECT

    def __init__(self, *, binary: Path | None = None, workers: int = 8) -> None:
        """`binary` starts a worker in place of the one that is installed; so many `workers` run at the same time."""
        self._binary: Final = binary
        self._workers: Final = workers
        self._slots: Final = anyio.CapacityLimiter(workers)
        self._start_lock: Final = anyio.Lock()
        self._conversion_lock: Final = ConversionLock()
        self._pool: Monty | None = None
        self._confined_binary: ConfinedBinary | None = None

    @property
    def is_confined(self) -> bool:
        """Whether its workers have walls around them besides their own: on Linux, once they were started."""
        return self._confined_binary is not None

    async def check(self, program: Program, limits: SandboxLimits = DEFAULT_LIMITS) -> tuple[ProgramProblem, ...]:
        if (why := program_problem(program, limits)) is not None:
            return (ProgramProblem(1, why.message),)
        pool = await self._ensure_pool()
        from pegboard.providers.sandbox.checks.type_errors import check_types
        from pegboard.providers.sandbox.prelude import build_external_modules

        frame = prepare_program(program)
        said = names_in_code(program.code)
        stubs = {
            module: module_stub(each, program.stubs, said)
            for module, each in functions_by_module(frame.functions).items()
        }
        with anyio.move_on_after(_CHECK_TIMEOUT_S):
            session = pool.checkout(
                type_check=True,
                type_check_format="jsonlines",
                type_check_stubs=stubs.get("", ""),
                external_modules=build_external_modules(frame.functions, frame.modules, stubs),
                limits={"max_memory": limits.memory, "max_feed_duration_secs": limits.cpu},
            )
            async with self._open_worker(session) as worker:
                return await worker.thread.call(partial(check_types, session, frame))
        return ()

    async def run(
        self, program: Program, host: ProgramHost, limits: SandboxLimits = DEFAULT_LIMITS
    ) -> RunResult | RunSuspension:
        if (why := program_problem(program, limits)) is not None:
            return RunResult(error=why)
        pool = await self._ensure_pool()
        from pegboard.providers.sandbox.monty.run import MontyRun
        from pegboard.providers.sandbox.prelude import name_last_line

        frame = prepare_program(program)
        run = MontyRun(_sandbox_version(), name_last_line(frame) or frame, host, limits, self._conversion_lock)
        return await self._run_in_session(pool, run, limits, {})

    async def resume(
        self, state: bytes, answers: Mapping[int, CallAnswer], host: ProgramHost, limits: SandboxLimits = DEFAULT_LIMITS
    ) -> RunResult | RunSuspension:
        pool = await self._ensure_pool()
        from pegboard.providers.sandbox.monty.run import MontyRun

        before = unpack_state(state, _sandbox_version())
        functions = tuple(SandboxFunction(module, name, "", tuple(rest)) for module, name, rest in before.functions)
        frame = WorkerProgram(before.text, functions, before.line_offset, imported_modules(before.text))
        run = MontyRun(_sandbox_version(), frame, host, limits, self._conversion_lock, before)
        return await self._run_in_session(pool, run, limits, answers)

    async def aclose(self) -> None:
        async with self._start_lock:
            if self._pool is not None:
                pool, self._pool = self._pool, None
                await to_thread.run_sync(pool.__exit__, None, None, None)
            if self._confined_binary is not None:
                self._confined_binary.remove()
                self._confined_binary = None

    async def _run_in_session(
        self, pool: "Monty", run: "MontyRun", limits: SandboxLimits, answers: Mapping[int, CallAnswer]
    ) -> RunResult | RunSuspension:
        from pegboard.providers.sandbox.prelude import build_external_modules

        with anyio.move_on_after(limits.wall - run.elapsed_seconds):
            session = pool.checkout(
                external_modules=build_external_modules(run.program.functions, run.program.modules),
                # Sleeps are ours to bound, in full: cut short, they would look as if they were fine.
                os_policy={"sleep_system_max": inf},
                # Sleeps and names count too. Each call is two stops: it is made, and it is awaited.
                limits={
                    "max_memory": limits.memory,
                    "max_feed_duration_secs": limits.cpu,
                    "max_suspensions": 3 * limits.calls + 1_000,
                },
            )
            async with self._open_worker(session) as worker:
                speaker = worker.thread
                begun = run.suspended_state is None
                ended = await (run.start(session, speaker) if begun else run.resume(session, speaker, answers))
                worker.is_tainted = not run.is_over
                return ended
        why = f"The program took longer than {limits.wall:g} seconds, waiting for its calls included."
        return run.stopped_result(ProgramFailure("TimeoutError", why, run.waiting_line))

    async def _ensure_pool(self) -> "Monty":
        # One pool for all, however many begin at once.
        async with self._start_lock:
            if self._pool is None:
                try:
                    from pydantic_monty import Monty, MontyError
                except ImportError as error:
                    raise SandboxUnavailable(
                        f"Programs cannot be run here: {error}. Install what they need: {INSTALL_COMMAND}"
                    ) from None
                try:
                    pool = Monty(
                        binary_path=self._binary or await self._confined_program(),
                        min_processes=1,
                        max_processes=self._workers,
                        max_checkouts_per_worker=_MAX_RUNS_PER_WORKER,
                    )
                    await to_thread.run_sync(pool.__enter__)
                except (MontyError, OSError, RuntimeError) as error:
                    raise SandboxUnavailable(
                        f"The workers that run programs do not start: {error}. Try {INSTALL_COMMAND}"
                    ) from None
                self._pool = pool
            return self._pool

    async def _confined_program(self) -> Path | None:
        """What starts a worker behind walls; `None` where there are none, and it is started as it is."""
        from pydantic_monty._binary import find_monty_binary

        from pegboard.providers.sandbox.jail.sandbox import ConfinedBinary, ConfinementUnavailableError

        if self._confined_binary is not None:
            return self._confined_binary.program
        try:
            self._confined_binary = await to_thread.run_sync(lambda: ConfinedBinary(find_monty_binary()))
        except (ConfinementUnavailableError, FileNotFoundError) as why:
            log.info("The workers that run programs have no walls but their own here: %s", why)
            return None
        return self._confined_binary.program

    @asynccontextmanager
    async def _open_worker(self, session: "MontySession") -> AsyncIterator["_CheckedOutWorker"]:
        """A worker for one session. It goes back to the others only when its program has ended by itself."""
        from pydantic_monty import MontyCrashedError

        from pegboard.providers.sandbox.monty.worker import WorkerThread

        # Here those wait for their turn for whom there is no worker, where they can still be called off.
        async with self._slots:
            speaker = WorkerThread()
            worker = _CheckedOutWorker(speaker)
            try:
                await self._enter_session(session, speaker)
                speaker.worker_pid = session.worker_pid
                try:
                    yield worker
                except BaseException:
                    worker.is_tainted = True
                    raise
                finally:
                    if worker.is_tainted:
                        speaker.kill()
                    with anyio.CancelScope(shield=True), suppress(MontyCrashedError):
                        await speaker.call(partial(session.__exit__, None, None, None))
            finally:
                speaker.close()

    async def _enter_session(self, session: "MontySession", speaker: "WorkerThread") -> None:
        """Raises `SandboxUnavailable`. An idle worker that was killed is noticed only here, and another takes its
        place."""
        from pydantic_monty import MontyCrashedError, MontyError

        idle_workers = self._workers
        while True:
            try:
                # A session that is entered must be left, so this is waited for in any case.
                with anyio.CancelScope(shield=True):
                    await speaker.call(session.__enter__)
                return
            except (MontyError, OSError) as error:
                if not isinstance(error, MontyCrashedError) or not idle_workers:
                    raise SandboxUnavailable(
                        f"The workers that run programs do not start: {error}. Try {INSTALL_COMMAND}"
                    ) from None
                idle_workers -= 1


class _CheckedOutWorker:
    def __init__(self, thread: "WorkerThread") -> None:
        self.thread: Final = thread
        self.is_tainted = False
        """Whether something of the program may be left in it."""


def _sandbox_version() -> str:
    import pydantic_monty

    return f"monty {pydantic_monty.__version__}"
