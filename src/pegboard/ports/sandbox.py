"""Sandboxes: where a program that a model wrote runs, and all that such a program can reach.

A sandbox knows nothing of tools, views or policies. It gets a program and the names of the functions that the program
may call; every call of one is the host's to answer. Plain JSON crosses, in both directions, and nothing else.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Final, Protocol, TypeAlias

from pegboard.core.json.values import Json


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What one run may use. Seconds and bytes; each but `sleep` is enforced from outside of the program."""

    cpu: float = 30.0
    """Of computing. Waiting for the host is not counted."""
    wall: float = 120.0
    """From start to end, waiting for the host included, waiting for a person after a suspension not."""
    memory: int = 128 << 20
    calls: int = 50
    """Made in one run. One more raises `RuntimeError` in the program, which may catch it and come to an end."""
    concurrency: int = 8
    """Calls that the host answers at the same time. Further ones wait for their turn."""
    arguments: int = 8 << 20
    """Of calls that are not answered yet, all together, as JSON text and 40 bytes for each value in a list or object:
    the host holds it all."""
    result: int = 64 << 10
    """As JSON text in UTF-8. A larger result is an error, because half of a JSON value is none."""
    stdout: int = 256 << 10
    """In UTF-8. What comes after that is dropped, and the answer says so."""
    code: int = 64 << 10
    sleep: float = 10.0
    """All sleeping of one run together, as far as the sandbox sees it. Whatever it does not see ends with `wall`."""


DEFAULT_LIMITS: Final = SandboxLimits()


@dataclass(frozen=True, slots=True)
class SandboxFunction:
    """What a program calls as `await module.name(...)`, or as `await name(...)` when it has no module."""

    module: str
    """`""` for a function that stands alone. Never that of a module of Python's own: programs import those."""
    name: str
    stub: str = ""
    """What the type check is told of it, in one piece: `async def name(*, …) -> …: ...`, and before that the types that
    only this function needs. Never run. A function without a stub can be called, and the check knows nothing of it."""
    parameters: tuple[str, ...] = ()
    """The names of arguments that are given without one, in their order. None: they must be named."""
    input_schema: Mapping[str, Json] | None = field(default=None, compare=False)
    """The JSON Schema of its arguments, by the names that the program has for them. What the program writes out is held
    against it before the run; what it works out is the host's to refuse."""

    def __post_init__(self) -> None:
        # Both become words of a program, so nothing else may hide in them.
        if (self.module and not is_name(self.module)) or not is_name(self.name):
            raise ValueError(f"{self.module!r}, {self.name!r}: not names that a Python program can say")


@dataclass(frozen=True, slots=True)
class Program:
    code: str
    functions: tuple[SandboxFunction, ...] = ()
    stubs: str = ""
    """What the stubs of each module begin with: imports from `typing`, say."""
    modules: tuple[str, ...] = ()
    """Further ones that it may import. They have functions, and it names none of them."""


@dataclass(frozen=True, slots=True)
class ProgramProblem:
    """What the type check found, in words that a model can act on. Nothing of the program has run."""

    line: int
    """Of the program's own code, from 1."""
    message: str
    is_unsupported: bool = False
    """Python has it, and this one does not: another sandbox may run the program as it is."""


@dataclass(frozen=True, slots=True)
class ProgramFailure:
    """Why a program came to no good end."""

    type: str
    """The name of a Python exception. `TimeoutError` and `MemoryError` also for what the limits ended, `RuntimeError`
    also for a worker that is gone."""
    message: str
    line: int | None = None
    """Of the program's own code, from 1, where one is known."""
    is_unsupported: bool = False
    """As of a `ProgramProblem`. Calls may have been made before that."""


@dataclass(frozen=True, slots=True)
class UnawaitedCall:
    """A call that the program said and did not wait for until it ended, so that it was never made."""

    function: str
    """With its module, as the program calls it."""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """The program has come to an end."""

    result: Json = None
    """The value of its last line, if that is an expression."""
    stdout: str = ""
    truncated: bool = False
    """Whether it printed more than that."""
    error: ProgramFailure | None = None
    unawaited_calls: tuple[UnawaitedCall, ...] = ()
    """Of a program that came to its own end: whoever asked for it must know of them."""


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that waits for a person."""

    ordinal: int
    ticket: str


@dataclass(frozen=True, slots=True)
class RunSuspension:
    """The program goes no further without an answer to one of these calls. Every other call has been answered.

    `state` goes on in any process, with the same version of the sandbox. It is what a worker said: whoever keeps it
    signs it, and hands nothing to `resume` that was not signed.
    """

    state: bytes
    pending_calls: tuple[PendingCall, ...]


@dataclass(frozen=True, slots=True)
class CallFailure:
    """The call raises this in the program. The type is the name of a built-in exception, or else `RuntimeError`."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """Only a person can answer this call."""

    ticket: str


CallAnswer: TypeAlias = Json | CallFailure
HostReply: TypeAlias = Json | CallFailure | PendingDecision


class ProgramHost(Protocol):
    """Whoever answers the calls of one run."""

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        """Ordinals count the calls of a run from 1, in the order in which the program says them, suspended or not.

        Called when the program awaits the answer, for as many at once as it gathers. Cancelled when the run is. What it
        raises ends the run and is raised by `run`. The function may have lost its stub.
        """
        ...

    def on_output(self, text: str) -> None:
        """More of the standard output, as it is printed. Not of what is dropped."""
        ...

    def set_idle(self, is_so: bool) -> None:
        """Whether the program does nothing now but wait for the answers to its calls, as far as that is seen from
        outside. It does something from its start on, and whenever a call was answered, until the host is told.

        A host that does not care leaves this out.
        """
        return


class Sandbox(Protocol):
    """All three raise `SandboxUnavailable`. When their task is cancelled the program is over, and nothing of it is
    left."""

    @property
    def name(self) -> str:
        """As people choose it: `monty`, `full`."""
        ...

    @property
    def dialect(self) -> str:
        """Which Python it runs and what that lacks, for the model that writes the program."""
        ...

    async def check(self, program: Program, limits: SandboxLimits = DEFAULT_LIMITS) -> tuple[ProgramProblem, ...]:
        """What is wrong with it before anything runs, by line. Nothing from a sandbox that has no type check."""
        ...

    async def run(
        self, program: Program, host: ProgramHost, limits: SandboxLimits = DEFAULT_LIMITS
    ) -> RunResult | RunSuspension: ...

    async def resume(
        self, state: bytes, answers: Mapping[int, CallAnswer], host: ProgramHost, limits: SandboxLimits = DEFAULT_LIMITS
    ) -> RunResult | RunSuspension:
        """Goes on with answers by ordinal. Calls without one stay pending, and may suspend it again.

        Raises `InvalidRunStateError`. What was printed before is in the answer too, and is not told to the host again.
        """
        ...

    async def aclose(self) -> None: ...


class SandboxUnavailable(Exception):  # noqa: N818 - it is told to a person as a sentence
    """No program can be run now. The message says why, and what to do."""


class InvalidRunStateError(Exception):
    """This is not what the sandbox suspended: damaged, of another version, or of another sandbox."""


_WORD: Final = re.compile(r"\w+")


def names_in_code(code: str) -> frozenset[str]:
    """Every name that occurs in it: whatever is not among them needs no stub."""
    return frozenset(_WORD.findall(code))


def is_name(text: str) -> bool:
    """Whether a program can say it as the name of something that is not private."""
    # An identifier is compared in another form than it is written in, as soon as it leaves ASCII.
    return text.isascii() and text.isidentifier() and not iskeyword(text) and not text.startswith("_")


_MAX_SMALL_VALUES: Final = 2_000
_CHARS_PER_VALUE: Final = 64
"""Characters of a text that count as one value."""


def is_small(value: object) -> bool:
    """Whether to walk through it, or to write it as JSON, takes no time to speak of. Found out in as little."""
    left = _MAX_SMALL_VALUES
    ahead = [value]
    while ahead:
        each = ahead.pop()
        left -= 1
        if isinstance(each, str):
            left -= len(each) // _CHARS_PER_VALUE
        elif isinstance(each, Mapping):
            left -= len(each)
            if left > 0:
                ahead += (*each.keys(), *each.values())
        elif isinstance(each, list | tuple):
            if len(each) < left:
                ahead += each
            else:
                return False
        if left <= 0:
            return False
    return True
