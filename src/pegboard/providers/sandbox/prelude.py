"""What stands around a program in a worker: the modules that it finds its functions in, and what the check is told."""

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Final, NoReturn, get_args

from pegboard.core.model.python_text import parse_module
from pegboard.ports.sandbox import Program, ProgramFailure, SandboxFunction, SandboxLimits, names_in_code

if TYPE_CHECKING:
    from pydantic_monty import ExternalModule

START_MODULE: Final = "pegboard_start"
"""A module that is imported before the program's first line: there a worker stops, after the check, before the run."""

SHADOWED_BUILTINS: Final = names_in_code(
    "abs all any bin bool bytes chr complex dict divmod enumerate eval exec filter float format frozenset getattr "
    "hasattr hash hex id int isinstance iter len list locals map max min next object oct open ord pow print property "
    "range repr reversed round set setattr slice sorted str sum tuple type zip"
)
"""Names that a worker takes for its own functions where a comprehension outside of functions gives them a meaning:
`[id for id in ids]`. It does not once the program has them as names of its own, whatever they mean there."""
_FOR: Final = re.compile(r"\bfor\b")
_IN: Final = re.compile(r"\bin\b")
_WORD: Final = re.compile(r"\w+")
_MAX_TARGET_CHARS: Final = 200
"""Characters between `for` and `in` that are looked at."""

_IMPORT_ANY: Final = "from typing import Any as _Any"
_FUTURE_IMPORT: Final = re.compile(r"\A((?:[ \t]*(?:#[^\n]*)?\n)*)from __future__ import [\w, \t]+")


@dataclass(frozen=True, slots=True)
class WorkerProgram:
    """A program as a worker gets it."""

    text: str
    functions: tuple[SandboxFunction, ...]
    """Those that it can get at."""
    line_offset: int = 1
    """Lines that stand before its own."""
    modules: tuple[str, ...] = ()
    """All that it can import of its host's."""

    def line_at(self, offset: int) -> int | None:
        """Of the program's own code, for what begins so many bytes into the text."""
        return self.own_line(self.text.encode()[:offset].count(b"\n") + 1)

    def own_line(self, line: int) -> int | None:
        return line - self.line_offset if line > self.line_offset else None


def prepare_program(program: Program) -> WorkerProgram:
    said = names_in_code(program.code)
    functions = tuple(each for each in program.functions if (each.module or each.name) in said)
    known = tuple(sorted({each.module for each in functions if each.module}.union(said.intersection(program.modules))))
    names = ", ".join([START_MODULE, *known])
    # Nothing may stand before such an import, and it changes nothing for a program that runs once.
    code = _FUTURE_IMPORT.sub(r"\1", program.code.removeprefix("\ufeff"))
    own = "".join(f"; {name} = {name}" for name in _shadowed_names(code, said))
    return WorkerProgram(f"import {names}{own}\n{code}", functions, modules=known)


def imported_modules(text: str) -> tuple[str, ...]:
    """The modules of a text that was framed before."""
    first = text.split("\n", 1)[0].split(";", 1)[0].removeprefix("import ")
    return tuple(name for name in first.split(", ") if name != START_MODULE)


def _shadowed_names(code: str, said: frozenset[str]) -> list[str]:
    """The names of a worker's functions that loops and comprehensions of the program use for something else."""
    # The exceptions of a worker too, which only whoever runs programs has loaded.
    from pydantic_monty import ExcType

    shadowed = SHADOWED_BUILTINS.union(get_args(ExcType))
    if not said & shadowed:
        return []
    targets: set[str] = set()
    for found in _FOR.finditer(code):
        targets.update(_WORD.findall(_IN.split(code[found.end() : found.end() + _MAX_TARGET_CHARS], maxsplit=1)[0]))
    # What is annotated has its one type, which is not that of the function.
    return sorted(name for name in targets & shadowed if not re.search(rf"^{name}[ \t]*:", code, re.MULTILINE))


def functions_by_module(functions: Sequence[SandboxFunction]) -> Mapping[str, tuple[SandboxFunction, ...]]:
    found: defaultdict[str, list[SandboxFunction]] = defaultdict(list)
    for function in functions:
        found[function.module].append(function)
    return {module: tuple(each) for module, each in found.items()}


def module_stub(functions: Sequence[SandboxFunction], head: str, said: frozenset[str]) -> str:
    """Of one module. What has no stub is told as far as the program names it, and may then be called in any way."""
    told = [each.stub or _untyped_stub(each) for each in functions if each.stub or each.name in said]
    return "\n".join([_IMPORT_ANY, head, *told, ""])


def _untyped_stub(function: SandboxFunction) -> str:
    return f"async def {function.name}(*_0: _Any, **_1: _Any) -> _Any: ..."


# The modules that a worker may import beside its own: the host's functions, under the names of their modules.


def build_external_modules(
    functions: Sequence[SandboxFunction], known: Sequence[str], stubs: Mapping[str, str] | None = None
) -> dict[str, "ExternalModule"]:
    """`known` are the modules, with functions or without."""
    from pydantic_monty import ExternalModule

    told, members = stubs or {}, functions_by_module(functions)
    found = {
        module: ExternalModule(
            {each.name: make_placeholder(each.name) for each in members.get(module, ())}, stubs=told.get(module, "")
        )
        for module in known
    }
    return {START_MODULE: ExternalModule({}, stubs=""), **found}


def make_placeholder(name: str) -> Callable[..., NoReturn]:
    """What a worker is told of a function. It stops at the call, so this is never called."""

    def never(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a worker stops before it calls")

    never.__name__ = name
    return never


# The value of a program's last line, under a name by which a worker can be asked about it once the program is over.

RESULT_NAME: Final = "pegboard_last"
RESULT_AS_JSON_CODE: Final = f"import json\njson.dumps({RESULT_NAME})\nNone"
"""Fails in a worker for what only the worker has. What is JSON, and what was a text there, it writes down."""
_MAX_PROGRAM_CHARS: Final = 8_000
"""Characters of a program that is read here: nobody else gets on meanwhile."""


def name_last_line(program: WorkerProgram) -> WorkerProgram | None:
    """The same program, and on the same lines; `None` where its last line is no expression, where only a newer Python
    than ours can read it, and for a long one."""
    text = program.text
    # A parser keeps to the stack of a main thread whatever it reads, and overruns a smaller one. With a lone return it
    # is not so clear what a line is.
    if len(text) > _MAX_PROGRAM_CHARS or current_thread() is not main_thread() or "\r" in text.replace("\r\n", "\n"):
        return None
    try:
        body = parse_module(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not body or not isinstance(last := body[-1], ast.Expr):
        return None
    lines = text.encode().split(b"\n")
    line, at = lines[last.lineno - 1], last.col_offset
    lines[last.lineno - 1] = line[:at] + f"{RESULT_NAME} = ".encode() + line[at:]
    return replace(program, text=b"\n".join((*lines, RESULT_NAME.encode())).decode())


# Which Python a program gets, for the model that writes it. A test holds the words to the version installed.

MODULES: Final = (
    *("asyncio", "base64", "binascii", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal"),
    *("functools", "hashlib", "itertools", "json", "math", "random", "re", "sys", "time", "tomllib", "typing"),
    "unicodedata",
)
PARTIAL_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "asyncio": ("gather", "run", "sleep"),
    "collections": ("Counter", "defaultdict", "deque", "namedtuple"),
    "functools": ("cache", "lru_cache", "partial", "reduce"),
}
"""All there is of modules of which there is little."""

BUILTINS_UNKNOWN_TO_CHECKER: Final = frozenset({"filter", "format", "getattr", "hasattr", "map", "setattr"})
"""Functions that every program has, and that the type check has not heard of."""

_MODULE_LIST: Final = ", ".join(
    f"{module} ({', '.join(PARTIAL_MODULES[module])})" if module in PARTIAL_MODULES else module for module in MODULES
)
MONTY_DIALECT: Final = f"""\
The program runs in a small Python of its own, without files, network, environment or packages. `await` works at the \
top level, `await asyncio.gather(...)` makes calls at the same time. The value of the last line is the result, as JSON.
Modules: {_MODULE_LIST}. No others: no statistics, string, enum, io, heapq, operator, textwrap, uuid.
Not supported: class inheritance (so no exceptions of your own, no Enum, no TypedDict), yield, del, property, \
classmethod, staticmethod, async with, async for, except*, import *, gather(return_exceptions=...), create_task, \
wait_for, re.sub with a function, next() of a generator expression, json.dumps(default=...), asdict, OrderedDict, \
a method as a value (key=str.lower: write a lambda), int.from_bytes, bytes of a list, exceptions of anything but one \
text, dir, callable, vars, globals, hasattr and getattr of a method, __len__, __bool__, __lt__ and the like of a \
class, dataclass(order=...), fromtimestamp, isocalendar, timedelta of fractions, IOError (write OSError)."""


# What a program prints: kept up to a bound, counted beyond it, and no longer than that.

_FLOOD_FACTOR: Final = 64
"""A program that prints so many times as much as is kept does nothing else, and costs us as much as it does itself."""


class OutputCollector:
    def __init__(
        self,
        most: int,
        tell: Callable[[str], None],
        stop: Callable[[], object],
        kept: str = "",
        truncated: bool = False,
    ) -> None:
        """`stop` is called once, for a program that does nothing but print, in the thread that takes it in."""
        self._limit = most
        self._stop = stop
        self._remaining = 0 if truncated else most - len(kept.encode())
        self._dropped_bytes = 0
        self._on_output = tell
        self._pieces = [kept] if kept else []
        self._reported_pieces = len(self._pieces)
        self.truncated = truncated
        self.flood_message: str | None = None
        """Why the program is stopped."""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def add(self, text: str) -> None:
        """May be called from another thread."""
        encoded = text.encode(errors="replace")
        if len(encoded) <= self._remaining and not self.truncated:
            self._remaining -= len(encoded)
            self._pieces.append(text)
            return
        if not self.truncated:
            self.truncated = True
            # Not in the middle of a character.
            self._pieces.append(encoded[: max(self._remaining, 0)].decode(errors="ignore"))
        self._dropped_bytes += len(encoded)
        if self._dropped_bytes > _FLOOD_FACTOR * self._limit and self.flood_message is None:
            self.flood_message = (
                f"The program printed more than {_FLOOD_FACTOR} times the {self._limit:,} bytes that are kept."
            )
            self._stop()

    def flush(self) -> None:
        """Tells the host what has come since it was told last."""
        pieces = self._pieces[self._reported_pieces :]
        self._reported_pieces += len(pieces)
        if text := "".join(pieces):
            self._on_output(text)


# Programs that no sandbox takes, told before anything is started for them.


def program_problem(program: Program, limits: SandboxLimits) -> ProgramFailure | None:
    try:
        size = len(program.code.encode())
    except UnicodeEncodeError:
        return ProgramFailure("SyntaxError", "The program holds half of a character (a lone surrogate).")
    if size > limits.code:
        return ProgramFailure(
            "ValueError", f"The program has {size:,} bytes and may have {limits.code:,}. Send less code."
        )
    if program.code.lstrip("\ufeff \t\r\n").startswith("```"):
        why = "The program stands between ``` marks, which are no Python. Send the code alone, without these lines."
        return ProgramFailure("SyntaxError", why, 1)
    return None
