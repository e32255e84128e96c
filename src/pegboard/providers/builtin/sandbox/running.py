"""One run in a worker: it stops at each call, each sleep and each name it does not know, and is told how to go on.

What is said to the worker is said in a thread; calls are made and waited for on the event loop, between two turns.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Final, get_args

import anyio
import msgspec
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

from pegboard.core.tool import Json
from pegboard.memory import pause_garbage_collection
from pegboard.ports.sandbox import (
    CallAnswer,
    CallFailure,
    InvalidRunStateError,
    ProgramFailure,
    ProgramHost,
    RunResult,
    RunSuspension,
    SandboxFunction,
    SandboxLimits,
    UnawaitedCall,
    is_small,
)

from .arguments import InvalidCallError
from .calls import SandboxCall, SandboxCalls
from .faults import explain_error
from .hosted import make_placeholder
from .last_line import RESULT_AS_JSON_CODE, RESULT_NAME
from .plain import JsonBudget, NotJsonError, to_json
from .prelude import WorkerProgram
from .printing import OutputCollector
from .standins import StandIns, stand_in_type, stand_ins_after
from .state import MontyState, OpenCall, pack_state
from .threads import ConversionLock, WorkerThread
from .whole import replace_lone_surrogates

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
        """Raises `NotPlain` for the place where no text stands, as far as the worker can be asked about places."""
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
    """Raises `Unfit`: a key that is an object of the program's own has no form outside of it."""
    try:
        return step.args, step.kwargs
    except TypeError as error:
        raise InvalidCallError(f"{step.function_name}(): an argument has a key that is no text ({error})") from None


def _complete_output(step: MontyComplete) -> object:
    """Raises `NotPlain`, as of arguments."""
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
