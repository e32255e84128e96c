"""One program run: checked, executed and answered, or suspended until a person decides."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import anyio
import anyio.to_thread

from pegboard.core.calls.call import (
    BadArguments,
    ConfirmationRefusal,
    Outcome,
    Refusal,
    ToolCall,
    ToolFailure,
    ToolSuccess,
)
from pegboard.core.calls.programs import NESTED_PROGRAM_TEXT, StartedRun, SuspendedRun, is_program_call
from pegboard.core.calls.tickets import ELICITATION, Ticket, refuse_question
from pegboard.core.model.ids import CallId, ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON_ID, SUSPENDABLE, CodeLimits, CodeSettings, PythonSandbox
from pegboard.gateway.confirmation import STORE_TIMEOUT_S
from pegboard.gateway.programs.answer import (
    check_failure,
    program_answer,
    program_failure,
    waiting_answer,
    with_suggestions,
)
from pegboard.gateway.programs.calls import BoundProgram, CallOrigin, CallRoutes, NestedCalls, ProgramFunctions
from pegboard.gateway.programs.clock import ConcurrencySlots, RunClock, Slot
from pegboard.gateway.programs.code_mode import ProgramBackend
from pegboard.gateway.programs.state import SavedRun, code_digest, serialize_run
from pegboard.ports.providers import ClientPeer, Progress
from pegboard.ports.sandbox import RunResult, RunSuspension, Sandbox, SandboxLimits, SandboxUnavailable
from pegboard.ports.stores import RunsUnavailable, TicketsUnavailable

MAX_WAIT: Final = timedelta(days=1)
"""How long a program waits for people at most. Their tickets mostly end before, and it goes little later than they."""
GRACE_S: Final = 10.0
"""Seconds after which a program is ended whose sandbox should have ended it before."""
PERSON_WAIT_S: Final = 3_600.0
"""Seconds more for a sandbox, where people may be asked meanwhile: our own clock stands still for them."""
FALLBACK_NOTE: Final = "This ran in the full Python, because the other one lacks something that the program needs: {}"
NO_FALLBACK_NOTE: Final = "The full Python might run it, but it cannot be had now: {}"
NO_SLOT_MESSAGE: Final = (
    "So many programs run now that this one got no turn within {:g} seconds. Nothing of it has run. Try again."
)
SLOT_LOST_MESSAGE: Final = (
    " A person was asked, and when it could go on there was no turn for it, because so many programs run. "
    "What it did before is done: see tool_calls."
)

RunAnswer = ToolSuccess | ToolFailure | ConfirmationRefusal


@dataclass(frozen=True)
class RunArguments:
    code: str
    timeout_s: float


class ProgramRuns:
    def __init__(self, routes: CallRoutes, backend: ProgramBackend) -> None:
        self.routes: Final = routes
        self.backend: Final = backend
        self._functions = ProgramFunctions()
        self._running: set[CallId] = set()
        self._slots = ConcurrencySlots()

    @property
    def settings(self) -> CodeSettings:
        return self.routes.board.policy.declared.code

    async def execute(
        self, call: ToolCall, view: View, progress: Progress | None, peer: ClientPeer | None
    ) -> Outcome | Refusal:
        """The call of `python_execution`, wherever it came from. Whoever calls this records it."""
        settings = self.settings
        asked = _parse_arguments(call, settings.limits)
        if isinstance(asked, BadArguments):
            return asked
        if is_program_call(call) or (call.parent is not None and call.parent in self._running):
            return program_failure("PermissionError", NESTED_PROGRAM_TEXT)
        async with self.acquire_slot(call, asked.timeout_s) as turn:
            if turn is None:
                return program_failure("TimeoutError", NO_SLOT_MESSAGE.format(asked.timeout_s))
            given = await self._bind(asked.code, view)
            host = self.make_host(
                CallOrigin(call.id, call, view, progress, peer), given.tools, asked.timeout_s, settings.python, turn
            )
            host.digest = code_digest(asked.code)
            with self.track(host, call):
                ended = await self._check_and_run(given, host, settings)
            return await timeout_answer(host) if host.clock.is_over else ended

    async def _check_and_run(self, given: BoundProgram, host: NestedCalls, settings: CodeSettings) -> RunAnswer:
        python, note = settings.python, ""
        falls = settings.fallback and python is PythonSandbox.MONTY
        ended: RunResult | RunSuspension | None = None
        try:
            sandbox = self.backend.sandbox(python)
            complaints = await sandbox.check(given.program, host.limits) if settings.check else ()
            if complaints and not (falls and all(each.is_unsupported for each in complaints)):
                # What is wrong by the tools' own types is wrong in either Python.
                return check_failure(complaints, given.unknown_names, given.modules)
            if not complaints:
                ended = await sandbox.run(given.program, host, host.limits)
        except SandboxUnavailable as error:
            return program_failure("RuntimeError", str(error), host.call_summaries)
        lacks = next((each.message for each in complaints if each.is_unsupported), "") or _unsupported_feature(ended)
        if falls and lacks and not host.call_summaries:
            try:
                second = await self._run_fallback(given, host)
            except SandboxUnavailable as error:
                note = NO_FALLBACK_NOTE.format(error)
            else:
                return await self._finish(second, host, PythonSandbox.FULL, given, FALLBACK_NOTE.format(lacks))
        if ended is None:
            return check_failure(complaints, given.unknown_names, given.modules, note)
        return await self._finish(ended, host, python, given, note)

    async def _run_fallback(self, given: BoundProgram, host: NestedCalls) -> RunResult | RunSuspension:
        """From its beginning: nothing that it did before is known to anybody."""
        sandbox: Sandbox = self.backend.sandbox(PythonSandbox.FULL)
        host.stdout, host.can_wait = "", PythonSandbox.FULL in SUSPENDABLE
        return await sandbox.run(given.program, host, host.limits)

    async def _finish(
        self, ended: RunResult | RunSuspension, host: NestedCalls, python: PythonSandbox, given: BoundProgram, note: str
    ) -> RunAnswer:
        if isinstance(ended, RunResult):
            await host.withdraw_waiting_calls()
            return program_answer(
                with_suggestions(ended, given.unknown_names, given.modules), host.call_summaries, note
            )
        return await self.suspend(ended, host, python, note)

    async def suspend(self, stopped: RunSuspension, host: NestedCalls, python: PythonSandbox, note: str) -> RunAnswer:
        """The program as it stands, until somebody decides; the answer says who is waited for, and what to do."""
        store, call = self.backend.runs, host.origin.call
        assert store is not None, "without a place to keep it, no call of a program waits"
        waiting = tuple(host.waiting_calls[pending.ordinal] for pending in stopped.pending_calls)
        now = self.routes.clock()
        whole = SavedRun(
            host.origin.run,
            call.principal,
            call.client,
            python,
            stopped.state,
            host.functions,
            host.call_summaries,
            waiting,
            host.clock.seconds,
            host.clock.remaining_s,
            note,
            host.stdout,
            host.digest,
        )
        run = SuspendedRun(host.origin.run, tuple(wait.ticket for wait in waiting), b"", now + MAX_WAIT, call.principal)
        try:
            state = await anyio.to_thread.run_sync(serialize_run, whole, self.backend.key())
            with anyio.fail_after(STORE_TIMEOUT_S):
                await store.save(replace(run, state=state), now)
        except (RunsUnavailable, TimeoutError) as error:
            why = (str(error) or "the store does not answer").rstrip(".")
            names = ", ".join(wait.name for wait in waiting)
            text = (
                f"A person must confirm {names} first, and the program cannot wait for that: {why}. It was ended "
                "there, and what it did before is done. Call that tool by itself, outside of a program."
            )
            await host.withdraw_waiting_calls()
            return program_failure("RuntimeError", text, host.call_summaries, note, host.stdout)
        tickets = [await self.ticket(wait.ticket) for wait in waiting]
        because = self.routes.confirmation.ticket_reason(call.principal, waiting[0].tool, host.origin.peer)
        return waiting_answer(waiting, tickets, len(host.call_summaries), call, because)

    async def ticket(self, id: str) -> Ticket | None:
        try:
            with anyio.fail_after(STORE_TIMEOUT_S):
                return await self.routes.confirmation.tickets.find(id)
        except (TicketsUnavailable, TimeoutError):
            return None

    def make_host(
        self,
        origin: CallOrigin,
        tools: Mapping[str, ToolId],
        seconds: float,
        python: PythonSandbox,
        turn: Slot | None = None,
        *,
        left: float | None = None,
    ) -> NestedCalls:
        """`left`: it has run before, and a person may have been asked then; so much of the seconds remains."""
        peer, limits = origin.peer, self.settings.limits
        ours = left is not None or (peer is not None and refuse_question(peer.capabilities, ELICITATION, {}) is None)
        # A sandbox that ends a program itself can tell where it was, but its clock goes on while a person thinks.
        wall = RunClock(seconds, 0.0 if ours else GRACE_S, left)
        theirs = _sandbox_limits(limits, seconds + PERSON_WAIT_S if ours else seconds)
        can_wait = self.backend.runs is not None and python in SUSPENDABLE
        return NestedCalls(self.routes, origin, tools, theirs, wall, can_wait, slot=turn)

    @contextmanager
    def track(self, host: NestedCalls, call: ToolCall) -> Iterator[None]:
        """Goes on behind the block when its time is over, and leaves nothing running. `call` is what is recorded."""
        run, begun = host.origin.run, self.backend.active_runs
        self._running.add(run)
        if begun is not None:
            version = self.routes.board.policy.decisions.version
            begun.begin(
                StartedRun(call.id, call.at, call.principal, call.client, call.parent, call.presentation, version)
            )
        try:
            with host.clock.start():
                yield
        finally:
            self._running.discard(run)
            host.close()
            if begun is not None:
                begun.end(call.id)

    def acquire_slot(self, call: ToolCall, within: float) -> AbstractAsyncContextManager[Slot | None]:
        """No more programs run at once than the settings say."""
        return self._slots.acquire(call.principal, within, self.settings)

    async def _bind(self, code: str, view: View) -> BoundProgram:
        board = self.routes.board
        resolution = await board.resolve_off_loop(view)
        return await self._functions.bind(code, resolution, board.policy)


async def timeout_answer(host: NestedCalls) -> RunAnswer:
    await host.withdraw_waiting_calls()
    text = f"The program was ended after {host.clock.seconds:g} seconds."
    if host.slot is not None and host.slot.is_waiting:
        text += SLOT_LOST_MESSAGE
    return program_failure("TimeoutError", text, host.call_summaries, stdout=host.stdout)


def _parse_arguments(call: ToolCall, limits: CodeLimits) -> RunArguments | BadArguments:
    code, wall = call.arguments.get("code"), call.arguments.get("timeout_s", limits.wall)
    problems: list[str] = []
    if not isinstance(code, str):
        problems.append("code: must be the text of a Python program")
    elif len(code.encode("utf-8", "surrogatepass")) > limits.code:
        problems.append(f"code: is longer than {limits.code} bytes, which is the limit. Do it in several programs")
    if isinstance(wall, bool) or not isinstance(wall, int | float) or not 0 < wall <= limits.wall:
        problems.append(f"timeout_s: must be a number of seconds up to {limits.wall:g}")
    if problems or not isinstance(code, str) or not isinstance(wall, int | float):
        return BadArguments(PYTHON_ID, tuple(problems))
    return RunArguments(code, float(wall))


def _unsupported_feature(ended: RunResult | RunSuspension | None) -> str:
    if not isinstance(ended, RunResult) or ended.error is None or not ended.error.is_unsupported:
        return ""
    return ended.error.message


def _sandbox_limits(said: CodeLimits, wall: float) -> SandboxLimits:
    return SandboxLimits(
        cpu=said.cpu,
        wall=wall,
        memory=said.memory,
        calls=said.calls,
        concurrency=said.concurrency,
        result=said.result,
        stdout=said.stdout,
        code=said.code,
        sleep=said.sleep,
    )
