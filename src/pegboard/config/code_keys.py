"""The keys of `code`: which Python runs the programs of models, and how far each may go."""

from typing import Final

from pegboard.core.code import MOST_CALLS, CodeLimits, CodeSettings, Python

from .section import Key, Section, Values
from .shape import Choice, Seconds, Truth, Whole
from .telling import Placed

_USUAL: Final = CodeSettings()
_LIMITS: Final = CodeLimits()
_KILO: Final = 1024
_MEGA: Final = 1024 * 1024

LISTED: Final = Key(
    "listed",
    Truth(),
    "Whether python_execution hangs on the board like any other tool, in the lists of direct, meta, search and "
    "deferred. /mcp/code, chats and pegboard run have it anyway.",
    _USUAL.listed,
)
SANDBOX: Final = Key(
    "sandbox",
    Choice({python.value: python for python in Python}),
    "Which Python: monty (a small one that runs everywhere and starts at once) or full (CPython, on Linux only, behind "
    "Landlock and seccomp; where those cannot be had, no program runs).",
    _USUAL.python.value,
)
FALLBACK: Final = Key(
    "fallback",
    Truth(),
    "With monty: whether a program that needs more than it has is run by full instead, as long as it has called "
    "nothing.",
    _USUAL.fallback,
)
TYPE_CHECK: Final = Key(
    "type_check",
    Truth(),
    "Whether a program's types are checked before it runs: a missing await, a wrong argument or key is told at once.",
    _USUAL.check,
)
RUNS: Final = Key(
    "runs", Whole(1, 256), "How many programs run at once; further ones wait for their turn.", _USUAL.runs
)
CPU: Final = Key("cpu", Seconds(), "Of computing, without waiting for tools.", _LIMITS.cpu)
WALL: Final = Key("wall", Seconds(), "From start to end, without the time in which a person is asked.", _LIMITS.wall)
MEMORY: Final = Key("memory_mb", Whole(16, 16_384), "Of memory, in MiB.", _LIMITS.memory // _MEGA)
CALLS: Final = Key("calls", Whole(1, MOST_CALLS), "Calls of tools.", _LIMITS.calls)
CONCURRENCY: Final = Key("concurrency", Whole(1, 64), "Calls of tools at the same time.", _LIMITS.concurrency)
RESULT: Final = Key("result_kb", Whole(1, 16_384), "Of the result as JSON, in KiB.", _LIMITS.result // _KILO)
STDOUT: Final = Key("stdout_kb", Whole(1, 16_384), "Of what it prints, in KiB.", _LIMITS.stdout // _KILO)
CODE: Final = Key("code_kb", Whole(1, 1_024), "Of the program itself, in KiB.", _LIMITS.code // _KILO)
SLEEP: Final = Key("sleep", Seconds(), "Of sleeping, in all.", _LIMITS.sleep)
LIMITS: Final = Key(
    "limits",
    Section("", (CPU, WALL, MEMORY, CALLS, CONCURRENCY, RESULT, STDOUT, CODE, SLEEP)),
    "What one program may use at most. Times are seconds, or a text such as 500ms, 30s or 2m.",
)
SECTION: Final = Section(
    "",
    (LISTED, SANDBOX, FALLBACK, TYPE_CHECK, RUNS, LIMITS),
    advice={
        "enabled": "Programs run where a caller is shown a way to: write presentation: code, or listed: true.",
        "python": "Write sandbox.",
        "check": "Write type_check.",
        "timeout": "Write limits: {wall: 60s}.",
        "memory": "Write limits: {memory_mb: 256}.",
    },
)


def code_settings(said: Placed[Values] | None) -> CodeSettings:
    if said is None:
        return _USUAL
    values = said.value
    return CodeSettings(
        listed=values.value(LISTED, _USUAL.listed),
        python=values.value(SANDBOX, _USUAL.python),
        fallback=values.value(FALLBACK, _USUAL.fallback),
        check=values.value(TYPE_CHECK, _USUAL.check),
        limits=_limits(values.get(LIMITS)),
        runs=values.value(RUNS, _USUAL.runs),
    )


def _limits(said: Placed[Values] | None) -> CodeLimits:
    if said is None:
        return _LIMITS
    values = said.value
    return CodeLimits(
        cpu=values.value(CPU, _LIMITS.cpu),
        wall=values.value(WALL, _LIMITS.wall),
        memory=values.value(MEMORY, _LIMITS.memory // _MEGA) * _MEGA,
        calls=values.value(CALLS, _LIMITS.calls),
        concurrency=values.value(CONCURRENCY, _LIMITS.concurrency),
        result=values.value(RESULT, _LIMITS.result // _KILO) * _KILO,
        stdout=values.value(STDOUT, _LIMITS.stdout // _KILO) * _KILO,
        code=values.value(CODE, _LIMITS.code // _KILO) * _KILO,
        sleep=values.value(SLEEP, _LIMITS.sleep),
    )
