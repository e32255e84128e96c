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
from pegboard.memory import undisturbed
from pegboard.ports.sandbox import (
    BadState,
    Fault,
    Function,
    Host,
    Limits,
    Raised,
    Ran,
    Settled,
    Suspended,
    Unmade,
    is_small,
)

from .arguments import Unfit
from .calls import Call, Calls
from .faults import fault
from .hosted import named
from .last_line import ASKED, LAST
from .plain import NotPlain, Room, plain
from .prelude import Framed
from .printing import Printing
from .standins import StandIns, behind, may_stand_for
from .state import Open, State, packed
from .threads import Speaker, Walking
from .whole import whole

_EXCEPTIONS: Final[Mapping[str, ExcType]] = {name: name for name in get_args(ExcType)}
_NOT_RAISED: Final = frozenset({"BaseException", "SystemExit", "KeyboardInterrupt"})
"""A program that catches errors does not catch these."""
_MOST_PLACES: Final = 20
"""Of a result about which a worker is asked one by one."""
_UNWRITTEN: Final = (
    "A person must confirm {} first, and the program cannot wait for that: to write down what it holds takes more than "
    "the {:,} MB of memory that it has. It was ended there, and what it did before is done. Hold less in variables by "
    "the time of that call, or call that tool by itself, outside of a program."
)
_HALF: Final = re.compile("[\ud800-\udfff]")


class Run:
    def __init__(
        self,
        sandbox: str,
        program: Framed,
        host: Host,
        limits: Limits,
        walking: Walking,
        before: State | None = None,
    ) -> None:
        self._sandbox: Final = sandbox
        self._walking: Final = walking
        self._loop: Final = asyncio.get_running_loop()
        self.program: Final = program
        self._host: Final = host
        self._limits: Final = limits
        self.before: Final = before
        self._functions: Final = {_spoken(each): each for each in program.functions}
        self._began: Final = anyio.current_time()
        self._turn: Final = anyio.CancelScope()
        kept = ("", False) if before is None else (before.stdout, before.truncated)
        stop = partial(self._loop.call_soon_threadsafe, self._turn.cancel)
        self._printing: Final = Printing(limits.stdout, host.printed, stop, *kept)
        self._slept = 0.0 if before is None else before.slept
        self._standins: Final = StandIns()
        self._raised: Final[set[str]] = set()
        """Words of calls that failed: what is told of the program's own mistakes does not fit them."""
        self._session: MontySession | None = None
        self._calls: Calls | None = None
        self.is_over = False
        """Whether the program has come to its own end, so that the worker is as good as new."""

    async def begin(self, session: MontySession, speaker: Speaker) -> Ran | Suspended:
        self._session = session
        first = partial(session.feed_start, self.program.text, print_callback=self._print)
        return await self._through(speaker, first, {})

    async def go_on(self, session: MontySession, speaker: Speaker, answers: Mapping[int, Settled]) -> Ran | Suspended:
        assert self.before is not None
        self._session = session
        return await self._through(speaker, partial(self._loaded, session, self.before.dump), answers)

    @property
    def waits_at(self) -> int | None:
        """The line of a call that it waits for, the first of them."""
        call = None if self._calls is None else self._calls.under_way
        return None if call is None else self.program.line(call.offset)

    def stopped(self, why: Fault) -> Ran:
        """Ended by us: what it has printed is not lost."""
        self._printing.flush()
        return Ran(None, self._printing.text, self._printing.truncated, why)

    @property
    def spent(self) -> float:
        before = 0.0 if self.before is None else self.before.spent
        return before + anyio.current_time() - self._began

    def _loaded(self, session: MontySession, dump: bytes) -> SyncSnapshot:
        try:
            return session.load_snapshot(dump, print_callback=self._print)
        except MontyError:
            raise BadState("The sandbox cannot go on from this state. Run the program again.") from None

    async def _through(
        self, speaker: Speaker, first: Callable[[], SyncSnapshot], answers: Mapping[int, Settled]
    ) -> Ran | Suspended:
        outcome: Ran | Suspended | Exception
        async with anyio.create_task_group() as tasks:
            calls = self._calls = Calls(self._host, self._limits, tasks)
            speaker.stop = calls.stop
            try:
                self._restore(calls, answers)
                outcome = await self._unflooded(speaker, first, calls)
            except MontyError as error:
                outcome = self._failed(error)
            except _Ended as ended:
                outcome = self.stopped(ended.fault)
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

    async def _unflooded(self, speaker: Speaker, first: Callable[[], SyncSnapshot], calls: Calls) -> Ran | Suspended:
        with self._turn:
            return await self._driven(speaker, first, calls)
        return self.stopped(Fault("RuntimeError", self._printing.flood or ""))

    def _restore(self, calls: Calls, answers: Mapping[int, Settled]) -> None:
        if self.before is None:
            return
        calls.said = self.before.ordinal
        functions = list(self._functions.values())
        for each in self.before.open:
            calls.restore(Call(each.id, each.ordinal, functions[each.function], each.arguments, 0, each.ticket))
        calls.answer(answers)

    async def _driven(self, speaker: Speaker, advance: Callable[[], SyncSnapshot], calls: Calls) -> Ran | Suspended:
        while True:
            step = await speaker.do(partial(self._turned, advance, calls))
            self._printing.flush()
            match step:
                case Ran():
                    return step
                case FutureSnapshot():
                    ready = await calls.settled(step.pending_call_ids)
                    if not ready:
                        return self._suspended(await self._dumped(speaker, step, calls), calls)
                    advance = partial(self._resumed, step, ready)
                case FunctionSnapshot():
                    await anyio.sleep(self._nap(step.args[0], step))
                    advance = partial(step.resume, {"return_value": None})

    def _turned(self, advance: Callable[[], SyncSnapshot], calls: Calls) -> Ran | FutureSnapshot | FunctionSnapshot:
        """As far as the program comes without anybody's waiting: to its end, to calls, or to a sleep."""
        step = advance()
        while True:
            match step:
                case MontyComplete():
                    return self._completed(step, calls)
                case FunctionSnapshot() if step.is_os_function and step.function_name == "system.sleep":
                    return step
                case FunctionSnapshot() if step.is_os_function:
                    step = self._system(step, calls)
                case FunctionSnapshot():
                    step = self._function(step, calls)
                case NameLookupSnapshot():
                    step = self._lookup(step)
                case FutureSnapshot():
                    return step

    def _function(self, step: FunctionSnapshot, calls: Calls) -> SyncSnapshot:
        function = self._functions.get(step.function_name)
        if function is None:
            return step.resume(_raised("NameError", f"name {step.function_name!r} is not defined"))
        try:
            self._say(step, function, calls)
        except Unfit as unfit:
            return step.resume(_raised("TypeError", str(unfit)))
        except OverflowError as error:
            return step.resume(_raised("RuntimeError", str(error)))
        return step.resume({"future": ...})

    def _say(self, step: FunctionSnapshot, function: Function, calls: Calls) -> None:
        """By itself, so that nothing holds what the program gave while it goes on."""
        with self._walking.alone(self._loop):
            given = _given(step)
            with nullcontext() if is_small(given) else undisturbed():
                calls.say(step.call_id, function, *given, step.position.start, self._standins.at(step.dump))

    def _resumed(self, step: FutureSnapshot, ready: Mapping[int, Settled]) -> SyncSnapshot:
        self._raised.update(_words(each.message) for each in ready.values() if isinstance(each, Raised))
        if all(is_small(answer) for answer in ready.values()):
            return step.resume({id: _told(answer) for id, answer in ready.items()})
        with self._walking.alone(self._loop) as let_go:
            told = {id: _told(answer) for id, answer in ready.items()}
            let_go()
            return step.resume(told)

    def _system(self, step: FunctionSnapshot, calls: Calls) -> SyncSnapshot:
        match step.function_name, step.args:
            case (("import" | "import_stubs"), _):
                return step.resume_auto()
            case "system.async_sleep", (float() | int() as seconds,):
                calls.sleep(step.call_id, self._nap(seconds, step))
                return step.resume({"future": ...})
            case _:
                # No files, no network, no environment: in a worker's own words for what is not there.
                return step.resume_not_handled()

    def _nap(self, seconds: float, step: FunctionSnapshot) -> float:
        self._slept += max(seconds, 0.0)
        if self._slept > self._limits.sleep:
            line = self.program.line(step.position.start)
            raise _Ended(Fault("TimeoutError", f"A program may sleep {self._limits.sleep:g} seconds in all.", line))
        return seconds

    def _lookup(self, step: NameLookupSnapshot) -> SyncSnapshot:
        if step.variable_name in self._functions and step.object_id is None:
            return step.resume(value=named(step.variable_name))
        return step.resume()

    def _completed(self, step: MontyComplete, calls: Calls) -> Ran:
        self.is_over = True
        said = self._printing.text, self._printing.truncated
        try:
            with self._walking.alone(self._loop):
                output = _output(step)
                with nullcontext() if is_small(output) else undisturbed():
                    result = self._plain(output)
            # Exactly this time: what has to be escaped is longer than it looks.
            Room(self._limits.result).take(len(msgspec.json.encode(result)))
        except NotPlain as unfit:
            why = f"The result cannot be given back: result{unfit.path} {unfit.sentence}"
            return Ran(None, *said, Fault("TypeError", why))
        unmade = (Unmade(_spoken(each.function), self.program.line(each.offset)) for each in calls.forgotten())
        return Ran(result, *said, unmade=tuple(unmade))

    def _plain(self, output: object) -> Json:
        doubted = False

        def doubt(text: str) -> None:
            nonlocal doubted
            doubted = doubted or may_stand_for(text) is not None

        result = plain(output, Room(self._limits.result, stands_for=doubt))
        if doubted and not self._is_all_text():
            return self._refused(output)
        return result

    def _refused(self, output: object) -> Json:
        """Raises `NotPlain` for the place where no text stands, as far as the worker can be asked about places."""
        for texts in range(_MOST_PLACES):
            try:
                return plain(output, Room(self._limits.result, stands_for=behind(texts)))
            except NotPlain as unfit:
                if not self._is_text(unfit.path):
                    raise
        return plain(output, Room(self._limits.result, stands_for=may_stand_for))

    def _is_text(self, path: str) -> bool:
        assert self._session is not None, "it was asked before"
        try:
            asked = self._session.feed_start(f"isinstance({LAST}{path}, str)")
        except MontyError:
            return False
        self.is_over = isinstance(asked, MontyComplete)
        return isinstance(asked, MontyComplete) and asked.output is True

    def _is_all_text(self) -> bool:
        """Whether what looks like a text in the result is one. Where that cannot be known, it is taken for one."""
        if self._session is None or not self.program.text.endswith(f"\n{LAST}"):
            return True
        try:
            asked = self._session.feed_start(ASKED)
        except MontyRuntimeError:
            return False
        # It stopped where nothing stops: let nobody else have this worker.
        self.is_over = isinstance(asked, MontyComplete)
        return True

    async def _dumped(self, speaker: Speaker, step: FutureSnapshot, calls: Calls) -> bytes:
        """To write down what the program holds takes more memory than to hold it."""
        try:
            return await speaker.do(step.dump)
        except MontyRuntimeError as error:
            if not isinstance(error.exception(), MemoryError):
                raise
            waiting = [each for each in calls.open.values() if each.ticket is not None]
            names = ", ".join(dict.fromkeys(_spoken(each.function) for each in waiting))
            line = next((self.program.line(each.offset) for each in waiting if each.offset), None)
            raise _Ended(Fault("RuntimeError", _UNWRITTEN.format(names, self._limits.memory >> 20), line)) from None

    def _suspended(self, dump: bytes, calls: Calls) -> Suspended:
        places = {name: at for at, name in enumerate(self._functions)}
        state = State(
            sandbox=self._sandbox,
            dump=dump,
            functions=[(each.module, each.name, list(each.parameters)) for each in self.program.functions],
            text=self.program.text,
            shift=self.program.shift,
            ordinal=calls.said,
            open=[
                Open(each.id, each.ordinal, places[_spoken(each.function)], dict(each.arguments), each.ticket)
                for each in calls.open.values()
                if each.ticket is not None
            ],
            stdout=self._printing.text,
            truncated=self._printing.truncated,
            spent=self.spent,
            slept=self._slept,
        )
        return Suspended(packed(state), calls.waiting)

    def _failed(self, error: MontyError) -> Ran:
        self.is_over = True
        return self.stopped(fault(error, self.program, self._limits, self._raised))

    def _print(self, _: str, text: str) -> None:
        self._printing.take(text)


class _Ended(Exception):  # noqa: N818 - not an error of ours
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def _given(step: FunctionSnapshot) -> tuple[tuple[object, ...], Mapping[str, object]]:
    """Raises `Unfit`: a key that is an object of the program's own has no form outside of it."""
    try:
        return step.args, step.kwargs
    except TypeError as error:
        raise Unfit(f"{step.function_name}(): an argument has a key that is no text ({error})") from None


def _output(step: MontyComplete) -> object:
    """Raises `NotPlain`, as of arguments."""
    try:
        return step.output
    except TypeError as error:
        raise NotPlain(f"has a key that is no text ({error})") from None


def _spoken(function: Function) -> str:
    return f"{function.module}.{function.name}" if function.module else function.name


def _told(answer: Settled) -> ExternalSettledResult:
    if isinstance(answer, Raised):
        return _raised(answer.type, answer.message)
    return {"return_value": whole(answer)}


def _raised(type_: str, message: str) -> ExternalSettledResult:
    known = "RuntimeError" if type_ in _NOT_RAISED else type_
    return {"exc_type": _EXCEPTIONS.get(known, "RuntimeError"), "message": _words(message)}


def _words(message: str) -> str:
    return _HALF.sub("\ufffd", message)
