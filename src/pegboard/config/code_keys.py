"""The keys of `code`: which Python runs the programs of models, and how far each may go."""

from typing import Final

from pegboard.core.code import MAX_CALLS, CodeLimits, CodeSettings, PythonSandbox

from .section import ConfigKey, ConfigSection, ConfigValues
from .shape import BooleanField, ChoiceField, DurationField, IntegerField
from .telling import LocatedValue

_DEFAULTS: Final = CodeSettings()
_DEFAULT_LIMITS: Final = CodeLimits()
_KILO: Final = 1024
_MEGA: Final = 1024 * 1024

LISTED: Final = ConfigKey(
    "listed",
    BooleanField(),
    "Whether python_execution hangs on the board like any other tool, in the lists of direct, meta, search and "
    "deferred. /mcp/code, chats and pegboard run have it anyway.",
    _DEFAULTS.is_listed,
)
SANDBOX: Final = ConfigKey(
    "sandbox",
    ChoiceField({python.value: python for python in PythonSandbox}),
    "Which Python: monty (a small one that runs everywhere and starts at once) or full (CPython, on Linux only, behind "
    "Landlock and seccomp; where those cannot be had, no program runs).",
    _DEFAULTS.python.value,
)
FALLBACK: Final = ConfigKey(
    "fallback",
    BooleanField(),
    "With monty: whether a program that needs more than it has is run by full instead, as long as it has called "
    "nothing.",
    _DEFAULTS.fallback,
)
TYPE_CHECK: Final = ConfigKey(
    "type_check",
    BooleanField(),
    "Whether a program's types are checked before it runs: a missing await, a wrong argument or key is told at once.",
    _DEFAULTS.check,
)
RUNS: Final = ConfigKey(
    "runs", IntegerField(1, 256), "How many programs run at once; further ones wait for their turn.", _DEFAULTS.runs
)
CPU: Final = ConfigKey("cpu", DurationField(), "Of computing, without waiting for tools.", _DEFAULT_LIMITS.cpu)
WALL: Final = ConfigKey(
    "wall", DurationField(), "From start to end, without the time in which a person is asked.", _DEFAULT_LIMITS.wall
)
MEMORY: Final = ConfigKey("memory_mb", IntegerField(16, 16_384), "Of memory, in MiB.", _DEFAULT_LIMITS.memory // _MEGA)
CALLS: Final = ConfigKey("calls", IntegerField(1, MAX_CALLS), "Calls of tools.", _DEFAULT_LIMITS.calls)
CONCURRENCY: Final = ConfigKey(
    "concurrency", IntegerField(1, 64), "Calls of tools at the same time.", _DEFAULT_LIMITS.concurrency
)
RESULT: Final = ConfigKey(
    "result_kb", IntegerField(1, 16_384), "Of the result as JSON, in KiB.", _DEFAULT_LIMITS.result // _KILO
)
STDOUT: Final = ConfigKey(
    "stdout_kb", IntegerField(1, 16_384), "Of what it prints, in KiB.", _DEFAULT_LIMITS.stdout // _KILO
)
CODE: Final = ConfigKey(
    "code_kb", IntegerField(1, 1_024), "Of the program itself, in KiB.", _DEFAULT_LIMITS.code // _KILO
)
SLEEP: Final = ConfigKey("sleep", DurationField(), "Of sleeping, in all.", _DEFAULT_LIMITS.sleep)
LIMITS: Final = ConfigKey(
    "limits",
    ConfigSection("", (CPU, WALL, MEMORY, CALLS, CONCURRENCY, RESULT, STDOUT, CODE, SLEEP)),
    "What one program may use at most. Times are seconds, or a text such as 500ms, 30s or 2m.",
)
SECTION: Final = ConfigSection(
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


def code_settings(said: LocatedValue[ConfigValues] | None) -> CodeSettings:
    if said is None:
        return _DEFAULTS
    values = said.value
    return CodeSettings(
        is_listed=values.value(LISTED, _DEFAULTS.is_listed),
        python=values.value(SANDBOX, _DEFAULTS.python),
        fallback=values.value(FALLBACK, _DEFAULTS.fallback),
        check=values.value(TYPE_CHECK, _DEFAULTS.check),
        limits=_limits(values.get(LIMITS)),
        runs=values.value(RUNS, _DEFAULTS.runs),
    )


def _limits(said: LocatedValue[ConfigValues] | None) -> CodeLimits:
    if said is None:
        return _DEFAULT_LIMITS
    values = said.value
    return CodeLimits(
        cpu=values.value(CPU, _DEFAULT_LIMITS.cpu),
        wall=values.value(WALL, _DEFAULT_LIMITS.wall),
        memory=values.value(MEMORY, _DEFAULT_LIMITS.memory // _MEGA) * _MEGA,
        calls=values.value(CALLS, _DEFAULT_LIMITS.calls),
        concurrency=values.value(CONCURRENCY, _DEFAULT_LIMITS.concurrency),
        result=values.value(RESULT, _DEFAULT_LIMITS.result // _KILO) * _KILO,
        stdout=values.value(STDOUT, _DEFAULT_LIMITS.stdout // _KILO) * _KILO,
        code=values.value(CODE, _DEFAULT_LIMITS.code // _KILO) * _KILO,
        sleep=values.value(SLEEP, _DEFAULT_LIMITS.sleep),
    )
