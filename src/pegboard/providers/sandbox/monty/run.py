"""One run in a worker: it stops at each call, each sleep and each name it does not know, and is told how to go on.

What is said to the worker is said in a thread; calls are made and waited for on the event loop, between two turns.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final, get_args

import anyio
import msgspec
from anyio.abc import TaskGroup
from pydantic_monty import (
    ExcType,
    ExternalSettledResult,
    FunctionSnapshot,
    FutureSnapshot,
    MontyComplete,
    MontyError,
    MontyRuntimeError,
    MontySession,
    NameLookupSnapshot,
    SyncSnapshot,
)

from pegboard.core.json.values import Json
from pegboard.memory import pause_garbage_collection
from pegboard.ports.sandbox import (
    CallAnswer,
    CallFailure,
    InvalidRunStateError,
    PendingCall,
    PendingDecision,
    ProgramFailure,
    ProgramHost,
    RunResult,
    RunSuspension,
    SandboxFunction,
    SandboxLimits,
    UnawaitedCall,
    is_small,
)
from pegboard.providers.sandbox.arguments import InvalidCallError, collect_arguments, too_many_calls_message
from pegboard.providers.sandbox.errors import explain_error
from pegboard.providers.sandbox.monty.worker import ConversionLock, MontyState, OpenCall, WorkerThread, pack_state
from pegboard.providers.sandbox.plain_values import BYTES_PER_VALUE, JsonBudget, NotJsonError, to_json
from pegboard.providers.sandbox.prelude import (
    RESULT_AS_JSON_CODE,
    RESULT_NAME,
    OutputCollector,
    WorkerProgram,
    make_placeholder,
)
from pegboard.providers.sandbox.values import StandIns, replace_lone_surrogates, stand_in_type, stand_ins_after

# The calls of one run: said by the program, made when it awaits them, and answered in whatever order they end.
#
# A program says calls in the thread of its run. Whatever else is here happens on the event loop, between two turns.


@dataclass(slots=True)
class SandboxCall:
    id: int
    """The worker's own number for it."""
    ordinal: int
    function: SandboxFunction
    arguments: Mapping[str, Json]
    offset: int = 0
    """Where it stands in the program."""
    ticket: str | None = None
    size: int = 0
    is_under_way: bool = False


class SandboxCalls:
    def __init__(self, host: ProgramHost, limits: SandboxLimits, tasks: TaskGroup) -> None:
        self._host: Final = host
        self._limits: Final = limits
        self._tasks: Final = tasks
        self._slots: Final = anyio.Semaphore(limits.concurrency, fast_acquire=True)
        self._budget: Final = JsonBudget(limits.arguments, BYTES_PER_VALUE)
        self._change_event: anyio.Event | None = None
        self._answers: dict[int, CallAnswer] = {}
        self._new_sleeps: Final[dict[int, float]] = {}
        self._running_sleeps: Final[set[int]] = set()
        self._host_error: Exception | None = None
        self.open_calls: Final[dict[int, SandboxCall]] = {}
        self.call_count = 0

    def register(
        self,
        id: int,
        function: SandboxFunction,
        positional: tuple[object, ...],
        named: Mapping[str, object],
        offset: int,
        stands_for: Callable[[str], str | None] | None = None,
    ) -> None:
        """The program has come to the call, and does not wait for it yet. `stands_for` is as of a `JsonBudget`.

        Raises `InvalidCallError`, and `OverflowError` for one too many.
        """
        if self.call_count >= self._limits.calls:
            unmade = sum(self._is_not_started(call) for call in self.open_calls.values())
            raise OverflowError(too_many_calls_message(self._limits.calls, self.call_count - unmade))
        before = self._budget.remaining
        self._budget.stand_in_type = stands_for
        try:
            arguments = collect_arguments(function, positional, named, self._budget)
        except InvalidCallError:
            self._budget.remaining = before
            raise
        finally:
            # It knows where the program stopped, and that knows us, by a road that no collector sees.
            self._budget.stand_in_type = None
        self.call_count += 1
        self.open_calls[id] = SandboxCall(
            id, self.call_count, function, arguments, offset, size=before - self._budget.remaining
        )

    def stop(self) -> None:
        """The program is over, whoever still walks through its arguments: there is no more room for them."""
        self._budget.close()

    def register_sleep(self, id: int, seconds: float) -> None:
        """Awaited like a call."""
        self._new_sleeps[id] = seconds

    def restore(self, call: SandboxCall) -> None:
        self.open_calls[call.id] = call

    def apply_decisions(self, answers: Mapping[int, CallAnswer]) -> None:
        """What people decided, by ordinal."""
        for call in self.open_calls.values():
            if call.ticket is not None and call.ordinal in answers:
                call.ticket = None
                self._answers[call.id] = answers[call.ordinal]

    async def wait_for_answers(self, awaited: Collection[int]) -> Mapping[int, CallAnswer]:
        """Answers to some of these, as soon as there is one; none when all that are left wait for a person."""
        fresh = [call for id in awaited if (call := self.open_calls.get(id)) and self._is_not_started(call)]
        for call in fresh:
            call.is_under_way = True
        if len(fresh) == len(awaited) == 1 and not self._new_sleeps and not self._running_sleeps:
            # Nobody else is waited for: a task of its own would only cost.
            self._host.set_idle(True)
            await self._run_call(fresh[0])
        else:
            for call in fresh:
                self._tasks.start_soon(self._run_call, call)
        for id in [*self._new_sleeps]:
            self._running_sleeps.add(id)
            self._tasks.start_soon(self._run_sleep, id, self._new_sleeps.pop(id))
        while True:
            if self._host_error is not None:
                raise self._host_error
            if ready := {id: self._answers.pop(id) for id in awaited if id in self._answers}:
                for id in ready:
                    if call := self.open_calls.pop(id, None):
                        self._budget.remaining += call.size
                return ready
            if not self._running_sleeps and not any(call.is_under_way for call in self.open_calls.values()):
                return {}
            self._host.set_idle(not self._running_sleeps)
            self._change_event = anyio.Event()
            await self._change_event.wait()

    def _is_not_started(self, call: SandboxCall) -> bool:
        return not call.is_under_way and call.ticket is None and call.id not in self._answers

    @property
    def first_under_way(self) -> SandboxCall | None:
        """The first that is not answered yet. One of before a suspension does not know where it stands."""
        return next((call for call in self.open_calls.values() if call.is_under_way and call.offset), None)

    def unawaited_calls(self) -> Iterator[SandboxCall]:
        """Those that the program has never waited for, so that they were not made."""
        return (call for call in self.open_calls.values() if not call.is_under_way and call.ticket is None)

    @property
    def pending_calls(self) -> tuple[PendingCall, ...]:
        return tuple(
            PendingCall(call.ordinal, call.ticket) for call in self.open_calls.values() if call.ticket is not None
        )

    async def _run_call(self, call: SandboxCall) -> None:
        try:
            async with self._slots:
                reply = await self._host.call(call.ordinal, call.function, call.arguments)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the run, where it is raised
            self._host_error = error
        else:
            if isinstance(reply, PendingDecision):
                call.ticket = reply.ticket
            else:
                self._answers[call.id] = reply
        call.is_under_way = False
        self._notify()

    async def _run_sleep(self, id: int, seconds: float) -> None:
        await anyio.sleep(seconds)
        self._running_sleeps.discard(id)
        self._answers[id] = None
        self._notify()

    def _notify(self) -> None:
        if self._change_event is not None:
            self._change_event.set()
            self._change_event = None


_EXCEPTIONS: Final[Mapping[str, ExcType]] = {name: name for name in get_args(ExcType)}
_UNCATCHABLE: Final = frozenset({"BaseException", "SystemExit", "KeyboardInterrupt"})
"""A program that catches errors does not catch these."""
_MAX_PLACES: Final = 20
"""Of a result about which a worker is asked one by one."""
_CANNOT_SUSPEND: Final = (
    "A person must confirm {} first, and the program cannot wait for that: to write down what it holds takes more than "
    "the {:,} MB of memory that it has. It was ended there, and what it did before is done. Hold less in variables by "
    "the time of that call, or call that tool by itself, outside of a program."
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class MontyRun:
    def __init__(
        self,
        sandbox: str,
        program: WorkerProgram,
        host: ProgramHost,
        limits: SandboxLimits,
        walking: ConversionLock,
        suspended_state: MontyState | None = None,
    ) -> None:
        self._sandbox: Final = sandbox
        self._conversion_lock: Final = walking
        self._loop: Final = asyncio.get_running_loop()
        self.program: Final = program
        self._host: Final = host
        self._limits: Final = limits
        self.suspended_state: Final = suspended_state
        self._functions: Final = {_qualified_name(each): each for each in program.functions}
        self._start_time: Final = anyio.current_time()
        self._scope: Final = anyio.CancelScope()
        kept = ("", False) if suspended_state is None else (suspended_state.stdout, suspended_state.truncated)
        stop = partial(self._loop.call_soon_threadsafe, self._scope.cancel)
        self._output: Final = OutputCollector(limits.stdout, host.on_output, stop, *kept)
        self._slept_seconds = 0.0 if suspended_state is None else suspended_state.slept_seconds
        self._stand_ins: Final = StandIns()
        self._host_errors: Final[set[str]] = set()
        """Words of calls that failed: what is told of the program's own mistakes does not fit them."""
        self._session: MontySession | None = None
        self._calls: SandboxCalls | None = None
        self.is_over = False
        """Whether the program has come to its own end, so that the worker is as good as new."""

    async def start(self, session: MontySession, speaker: WorkerThread) -> RunResult | RunSuspension:
        self._session = session
        first = partial(session.feed_start, self.program.text, print_callback=self._on_print)
        return await self._run_to_outcome(speaker, first, {})

    async def resume(
        self, session: MontySession, speaker: WorkerThread, answers: Mapping[int, CallAnswer]
    ) -> RunResult | RunSuspension:
        assert self.suspended_state is not None
        self._session = session
        return await self._run_to_outcome(
            speaker, partial(self._load_snapshot, session, self.suspended_state.dump), answers
        )

    @property
    def waiting_line(self) -> int | None:
        """The line of a call that it waits for, the first of them."""
        call = None if self._calls is None else self._calls.first_under_way
        return None if call is None else self.program.line_at(call.offset)

    def stopped_result(self, why: ProgramFailure) -> RunResult:
        """Ended by us: what it has printed is not lost."""
        self._output.flush()
        return RunResult(None, self._output.text, self._output.truncated, why)

    @property
    def elapsed_seconds(self) -> float:
        before = 0.0 if self.suspended_state is None else self.suspended_state.elapsed_seconds
        return before + anyio.current_time() - self._start_time

    def _load_snapshot(self, session: MontySession, dump: bytes) -> SyncSnapshot:
        try:
            return session.load_snapshot(dump, print_callback=self._on_print)
        except MontyError:
            raise InvalidRunStateError("The sandbox cannot go on from this state. Run the program again.") from None

    async def _run_to_outcome(
        self, speaker: WorkerThread, first: Callable[[], SyncSnapshot], answers: Mapping[int, CallAnswer]
    ) -> RunResult | RunSuspension:
        outcome: RunResult | RunSuspension | Exception
        async with anyio.create_task_group() as tasks:
            calls = self._calls = SandboxCalls(self._host, self._limits, tasks)
            speaker.on_kill = calls.stop
            try:
                self._restore_calls(calls, answers)
                outcome = await self._drive_within_output_limit(speaker, first, calls)
            except MontyError as error:
                outcome = self._fail(error)
            except _RunStop as ended:
                outcome = self.stopped_result(ended.fault)
            except Exception as error:  # noqa: BLE001 - raised below, outside of the group that would wrap it
                outcome = error
            # A call that nobody waits for any more, and its upstream with it.
            tasks.cancel_scope.cancel()
        if isinstance(outcome, Exception):
            try:
                raise outcome
            finally:
                del outcome
        return outcome

    async def _drive_within_output_limit(
        self, speaker: WorkerThread, first: Callable[[], SyncSnapshot], calls: SandboxCalls
    ) -> RunResult | RunSuspension:
        with self._scope:
            return await self._drive(speaker, first, calls)
        return self.stopped_result(ProgramFailure("RuntimeError", self._output.flood_message or ""))

    def _restore_calls(self, calls: SandboxCalls, answers: Mapping[int, CallAnswer]) -> None:
        if self.suspended_state is None:
            return
        calls.call_count = self.suspended_state.ordinal
        functions = list(self._functions.values())
        for each in self.suspended_state.open_calls:
            calls.restore(SandboxCall(each.id, each.ordinal, functions[each.function], each.arguments, 0, each.ticket))
        calls.apply_decisions(answers)

    async def _drive(
        self, speaker: WorkerThread, advance: Callable[[], SyncSnapshot], calls: SandboxCalls
    ) -> RunResult | RunSuspension:
        while True:
            step = await speaker.call(partial(self._advance, advance, calls))
            self._output.flush()
            match step:
                case RunResult():
                    return step
                case FutureSnapshot():
                    ready = await calls.wait_for_answers(step.pending_call_ids)
                    if not ready:
                        return self._suspend(await self._dump(speaker, step, calls), calls)
                    advance = partial(self._deliver_answers, step, ready)
                case FunctionSnapshot():
                    await anyio.sleep(self._count_sleep(step.args[0], step))
                    advance = partial(step.resume, {"return_value": None})

    def _advance(
        self, advance: Callable[[], SyncSnapshot], calls: SandboxCalls
    ) -> RunResult | FutureSnapshot | FunctionSnapshot:
        """As far as the program comes without anybody's waiting: to its end, to calls, or to a sleep."""
        step = advance()
        while True:
            match step:
                case MontyComplete():
                    return self._finish(step, calls)
                case FunctionSnapshot() if step.is_os_function and step.function_name == "system.sleep":
                    return step
                case FunctionSnapshot() if step.is_os_function:
                    step = self._handle_system_call(step, calls)
                case FunctionSnapshot():
                    step = self._start_call(step, calls)
                case NameLookupSnapshot():
                    step = self._resolve_name(step)
                case FutureSnapshot():
                    return step

    def _start_call(self, step: FunctionSnapshot, calls: SandboxCalls) -> SyncSnapshot:
        function = self._functions.get(step.function_name)
        if function is None:
            return step.resume(_exception_result("NameError", f"name {step.function_name!r} is not defined"))
        try:
            self._register_call(step, function, calls)
        except InvalidCallError as unfit:
            return step.resume(_exception_result("TypeError", str(unfit)))
        except OverflowError as error:
            return step.resume(_exception_result("RuntimeError", str(error)))
        return step.resume({"future": ...})

    def _register_call(self, step: FunctionSnapshot, function: SandboxFunction, calls: SandboxCalls) -> None:
        """By itself, so that nothing holds what the program gave while it goes on."""
        with self._conversion_lock.exclusive(self._loop):
            given = _call_arguments(step)
            with nullcontext() if is_small(given) else pause_garbage_collection():
                calls.register(
                    step.call_id, function, *given, step.position.start, self._stand_ins.stand_ins_at(step.dump)
                )

    def _deliver_answers(self, step: FutureSnapshot, ready: Mapping[int, CallAnswer]) -> SyncSnapshot:
        self._host_errors.update(
            _replace_surrogates(each.message) for each in ready.values() if isinstance(each, CallFailure)
        )
        if all(is_small(answer) for answer in ready.values()):
            return step.resume({id: _settled_result(answer) for id, answer in ready.items()})
        with self._conversion_lock.exclusive(self._loop) as let_go:
            told = {id: _settled_result(answer) for id, answer in ready.items()}
            let_go()
            return step.resume(told)

    def _handle_system_call(self, step: FunctionSnapshot, calls: SandboxCalls) -> SyncSnapshot:
        match step.function_name, step.args:
            case (("import" | "import_stubs"), _):
                return step.resume_auto()
            case "system.async_sleep", (float() | int() as seconds,):
                calls.register_sleep(step.call_id, self._count_sleep(seconds, step))
                return step.resume({"future": ...})
            case _:
                # No files, no network, no environment: in a worker's own words for what is not there.
                return step.resume_not_handled()

    def _count_sleep(self, seconds: float, step: FunctionSnapshot) -> float:
        self._slept_seconds += max(seconds, 0.0)
        if self._slept_seconds > self._limits.sleep:
            line = self.program.line_at(step.position.start)
            raise _RunStop(
                ProgramFailure("TimeoutError", f"A program may sleep {self._limits.sleep:g} seconds in all.", line)
            )
        return seconds

    def _resolve_name(self, step: NameLookupSnapshot) -> SyncSnapshot:
        if step.variable_name in self._functions and step.object_id is None:
            return step.resume(value=make_placeholder(step.variable_name))
        return step.resume()

    def _finish(self, step: MontyComplete, calls: SandboxCalls) -> RunResult:
        self.is_over = True
        said = self._output.text, self._output.truncated
        try:
            with self._conversion_lock.exclusive(self._loop):
                output = _complete_output(step)
                with nullcontext() if is_small(output) else pause_garbage_collection():
                    result = self._result_to_json(output)
            # Exactly this time: what has to be escaped is longer than it looks.
            JsonBudget(self._limits.result).spend(len(msgspec.json.encode(result)))
        except NotJsonError as unfit:
            why = f"The result cannot be given back: result{unfit.path} {unfit.sentence}"
            return RunResult(None, *said, ProgramFailure("TypeError", why))
        unmade = (
            UnawaitedCall(_qualified_name(each.function), self.program.line_at(each.offset))
            for each in calls.unawaited_calls()
        )
        return RunResult(result, *said, unawaited_calls=tuple(unmade))

    def _result_to_json(self, output: object) -> Json:
        doubted = False

        def doubt(text: str) -> None:
            nonlocal doubted
            doubted = doubted or stand_in_type(text) is not None

        result = to_json(output, JsonBudget(self._limits.result, stand_in_type=doubt))
        if doubted and not self._has_no_stand_ins():
            return self._locate_stand_in(output)
        return result

    def _locate_stand_in(self, output: object) -> Json:
        """Raises `NotJsonError` for the place where no text stands, as far as the worker can be asked about places."""
        for texts in range(_MAX_PLACES):
            try:
                return to_json(output, JsonBudget(self._limits.result, stand_in_type=stand_ins_after(texts)))
            except NotJsonError as unfit:
                if not self._is_str_at(unfit.path):
                    raise
        return to_json(output, JsonBudget(self._limits.result, stand_in_type=stand_in_type))

    def _is_str_at(self, path: str) -> bool:
        assert self._session is not None, "it was asked before"
        try:
            asked = self._session.feed_start(f"isinstance({RESULT_NAME}{path}, str)")
        except MontyError:
            return False
        self.is_over = isinstance(asked, MontyComplete)
        return isinstance(asked, MontyComplete) and asked.output is True

    def _has_no_stand_ins(self) -> bool:
        """Whether what looks like a text in the result is one. Where that cannot be known, it is taken for one."""
        if self._session is None or not self.program.text.endswith(f"\n{RESULT_NAME}"):
            return True
        try:
            asked = self._session.feed_start(RESULT_AS_JSON_CODE)
        except MontyRuntimeError:
            return False
        # It stopped where nothing stops: let nobody else have this worker.
        self.is_over = isinstance(asked, MontyComplete)
        return True

    async def _dump(self, speaker: WorkerThread, step: FutureSnapshot, calls: SandboxCalls) -> bytes:
        """To write down what the program holds takes more memory than to hold it."""
        try:
            return await speaker.call(step.dump)
        except MontyRuntimeError as error:
            if not isinstance(error.exception(), MemoryError):
                raise
            waiting = [each for each in calls.open_calls.values() if each.ticket is not None]
            names = ", ".join(dict.fromkeys(_qualified_name(each.function) for each in waiting))
            line = next((self.program.line_at(each.offset) for each in waiting if each.offset), None)
            raise _RunStop(
                ProgramFailure("RuntimeError", _CANNOT_SUSPEND.format(names, self._limits.memory >> 20), line)
            ) from None

    def _suspend(self, dump: bytes, calls: SandboxCalls) -> RunSuspension:
        places = {name: at for at, name in enumerate(self._functions)}
        state = MontyState(
            sandbox=self._sandbox,
            dump=dump,
            functions=[(each.module, each.name, list(each.parameters)) for each in self.program.functions],
            text=self.program.text,
            line_offset=self.program.line_offset,
            ordinal=calls.call_count,
            open_calls=[
                OpenCall(
                    each.id, each.ordinal, places[_qualified_name(each.function)], dict(each.arguments), each.ticket
                )
                for each in calls.open_calls.values()
                if each.ticket is not None
            ],
            stdout=self._output.text,
            truncated=self._output.truncated,
            elapsed_seconds=self.elapsed_seconds,
            slept_seconds=self._slept_seconds,
        )
        return RunSuspension(pack_state(state), calls.pending_calls)

    def _fail(self, error: MontyError) -> RunResult:
        self.is_over = True
        return self.stopped_result(explain_error(error, self.program, self._limits, self._host_errors))

    def _on_print(self, _: str, text: str) -> None:
        self._output.add(text)


class _RunStop(Exception):  # noqa: N818 - not an error of ours
    def __init__(self, fault: ProgramFailure) -> None:
        super().__init__(fault.message)
        self.fault = fault


def _call_arguments(step: FunctionSnapshot) -> tuple[tuple[object, ...], Mapping[str, object]]:
    """Raises `InvalidCallError`: a key that is an object of the program's own has no form outside of it."""
    try:
        return step.args, step.kwargs
    except TypeError as error:
        raise InvalidCallError(f"{step.function_name}(): an argument has a key that is no text ({error})") from None


def _complete_output(step: MontyComplete) -> object:
    """Raises `NotJsonError`, as of arguments."""
    try:
        return step.output
    except TypeError as error:
        raise NotJsonError(f"has a key that is no text ({error})") from None


def _qualified_name(function: SandboxFunction) -> str:
    return f"{function.module}.{function.name}" if function.module else function.name


def _settled_result(answer: CallAnswer) -> ExternalSettledResult:
    if isinstance(answer, CallFailure):
        return _exception_result(answer.type, answer.message)
    return {"return_value": replace_lone_surrogates(answer)}


def _exception_result(type_: str, message: str) -> ExternalSettledResult:
    known = "RuntimeError" if type_ in _UNCATCHABLE else type_
    return {"exc_type": _EXCEPTIONS.get(known, "RuntimeError"), "message": _replace_surrogates(message)}


def _replace_surrogates(message: str) -> str:
    return _SURROGATE.sub("\ufffd", message)
