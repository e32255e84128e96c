"""What the type check says of a program, put into words that a model can act on.

The checker is strict with programs that annotate nothing, and a program that works must not be refused for its sake. So
only what is wrong for certain is passed on: calls of the host's functions that do not fit, answers that nobody awaits,
keys and names that do not exist.
"""

import ast
import builtins
import re
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Final, get_args

import msgspec
from pydantic_monty import (
    ExcType,
    FunctionSnapshot,
    MontyCrashedError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    MontyTypingError,
)

from pegboard.core.python_text import parse_module
from pegboard.core.reference import closest
from pegboard.ports.sandbox import Complaint, Function

from .dialect import UNKNOWN_TO_THE_CHECK
from .faults import is_lacking, told
from .hints import NO_FILES
from .lacking import lacking
from .missing_keys import Hosted, MissingKeys
from .prelude import Framed
from .readable import UNREADABLE, Readable, readable
from .unawaited import unawaited
from .unfitting import is_unfit
from .written import misfits

_MOST: Final = 10
"""Complaints at a time. Whoever mends the first has mended others with it."""
_COROUTINE: Final = re.compile(r"CoroutineType\[Any, Any, (.+)\]")
_NOT_FOR_COROUTINES: Final = frozenset(
    {"call-non-callable", "not-iterable", "not-subscriptable", "unresolved-attribute", "unsupported-operator"}
    | {"invalid-context-manager", "unused-awaitable", "invalid-await"}
)
"""Rules that are broken for certain by what was not awaited. That it is true, say, is no mistake."""
_GOES_THROUGH: Final = re.compile(r"Argument to function `(?:len|sum|sorted|enumerate|loads)` is incorrect")
_QUOTED: Final = re.compile(r"`([^`]*)`")
_KEY: Final = re.compile(r'Unknown key "(.*?)" for TypedDict `(\w+)`(?: - did you mean "(.*)"\?)?')
_EXPECTED: Final = re.compile(r"Expected `(.+)`, found `(.+)`")
_TYPED_DICT: Final = re.compile(r"^class (\w+)\(TypedDict\)|^(\w+) = TypedDict\(", re.MULTILINE)
_OF_A_TEXT: Final = re.compile(
    r"^Method `__getitem__` .* with key of type `(?:str|Literal\[\".*\"\])` on object of type `str`$"
)
_ASYNCHRONOUS: Final = "outside of an asynchronous function"
"""Said of what stands at the top level, where `await` may: no mistake of Python's own, but this one lacks it."""
_SAID: Final = frozenset({"invalid-syntax", "parameter-already-assigned", "missing-typed-dict-key"})
"""Rules whose words need no help."""
_THERE: Final = UNKNOWN_TO_THE_CHECK.union(get_args(ExcType))
"""Names that a worker has, of which the checker knows fewer: `map` and `PermissionError` are none to it."""
_GATHER: Final = " Calls are made at the same time by `await asyncio.gather(*calls)`."
_INSTEAD: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("asyncio.create_task", "asyncio.ensure_future", "asyncio.as_completed", "asyncio.wait", "asyncio.TaskGroup"),
        _GATHER,
    ),
    **dict.fromkeys(
        ("asyncio.wait_for", "asyncio.timeout"), " Each call has a deadline of its own already: write `await` alone."
    ),
}
"""What to write for what there is no other word for."""
_TOP_LEVEL_RETURN: Final = "`return` statement outside of a function"
_LOOSER: Final = frozenset({"JSONDecodeError.__init__", "error.__init__"})
"""Exceptions that a worker makes of one text, as all others."""


class _Location(msgspec.Struct):
    row: int
    column: int


class _Diagnostic(msgspec.Struct):
    name: str
    message: str
    filename: str
    location: _Location
    end_location: _Location


def complaints(session: MontySession, program: Framed) -> tuple[Complaint, ...]:
    """The worker stops before the program's first line, whatever the check has found."""
    said = ""
    try:
        step = session.feed_start(program.text)
        # It asks for the stubs of what is imported; its next question is for the import itself, which runs.
        while isinstance(step, FunctionSnapshot) and step.function_name == "import_stubs":
            step = step.resume_auto()
    except MontyTypingError as error:
        said = str(error)
    except (MontyRuntimeError, MontySyntaxError) as error:
        # What it cannot even read.
        type_, message = type(error.exception()).__name__, error.display("msg")
        line = next((program.own(frame.line) for frame in reversed(error.traceback())), None)
        return (Complaint(line or 1, told(message), is_lacking(type_, message)),)
    except MontyCrashedError:
        # The check took more than there is. It finds mistakes; that there are none is not its to decide.
        pass
    return _worded(said, program)


def _worded(text: str, program: Framed) -> tuple[Complaint, ...]:
    found: dict[Complaint, None] = {}
    read = readable(program.text, program.functions)
    forgotten = unawaited(read)
    for each in forgotten:
        found.setdefault(Complaint(program.own(each.line) or 1, each.message))
    written = misfits(read, program.functions, kinds=False)
    for misfit in written:
        found.setdefault(Complaint(program.own(misfit.line) or 1, told(misfit.message)))
    for lack in lacking(read, program.functions):
        if (own := program.own(lack.line)) is not None:
            found.setdefault(Complaint(own, lack.message, is_lacking=True))
    words = _Words(program, frozenset(each.argument for each in written), *_known(read))
    told_already = frozenset(line for each in forgotten for line in each.uses)
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        diagnostic = msgspec.json.decode(line, type=_Diagnostic)
        own = program.own(diagnostic.location.row)
        if own is None or not diagnostic.filename.endswith("main.py"):
            continue
        if diagnostic.location.row in told_already and _COROUTINE.search(diagnostic.message):
            continue
        for message, is_python in words.of(diagnostic):
            found.setdefault(Complaint(own, told(message), is_python))
    return tuple(sorted(found, key=lambda each: each.line))[:_MOST]


def _known(read: Readable | None) -> tuple[MissingKeys | None, Hosted | None]:
    try:
        return (None, None) if read is None else (MissingKeys(read), Hosted(read))
    except UNREADABLE:
        return None, None


class _Words:
    def __init__(
        self,
        program: Framed,
        told_already: Container[tuple[int, str]],
        keys: MissingKeys | None,
        hosted: Hosted | None,
    ) -> None:
        """Of some arguments, by line and name, it is told already what is wrong."""
        self._told_already = told_already
        self._keys = keys
        self._hosted = hosted
        self._text = program.text
        self._lines = program.text.split("\n")
        self._dictionaries = {
            name for each in program.functions for names in _TYPED_DICT.findall(each.stub) for name in names if name
        }
        self._functions: dict[str, Function] = {each.name: each for each in program.functions}
        self._members: dict[str, list[str]] = {module: [] for module in program.modules}
        for each in program.functions:
            self._members.setdefault(each.module, []).append(each.name)

    def of(self, diagnostic: _Diagnostic) -> Iterator[tuple[str, bool]]:
        """At most one sentence or two, and whether Python itself would not complain."""
        name, message, row = diagnostic.name, diagnostic.message, diagnostic.location.row
        if awaited := _COROUTINE.search(message):
            if " | " not in message and _is_misused(diagnostic):
                yield self._unawaited(awaited[1]), False
            return
        quoted = _QUOTED.findall(message)
        match name, quoted:
            case "unknown-argument", [argument, function, *_]:
                takes = self._takes(function, row)
                hint = _meant(argument, takes) or (f" It takes {', '.join(takes)}." if takes else "")
                yield f"`{function}` has no argument `{argument}`.{hint}", False
            case "missing-argument", [argument]:
                yield f"The argument `{argument}` is missing.", False
            case "missing-argument", [*arguments, function] if function not in _LOOSER:
                yield f"`{function}` needs the argument {' and '.join(f'`{each}`' for each in arguments)}.", False
            case "too-many-positional-arguments", [function, *_]:
                takes = self._takes(function, row)
                example = f"{function}({takes[0]}=…)" if takes else f"{function}(name=…)"
                yield f"`{function}` takes named arguments: write `{example}`.", False
            case "invalid-argument-type", [function, *_] if self._is_hosted(function, row):
                said = self._segment(diagnostic)
                # What stands in a dictionary that is unpacked is guessed from all its values together.
                if said.startswith("*") or (row, said.split("=")[0].strip()) in self._told_already:
                    return
                expected = _EXPECTED.search(message)
                if expected and is_unfit(expected[1], expected[2], self._dictionaries):
                    yield f"`{function}({said})`: expected `{expected[1]}`, found `{expected[2]}`.", False
            case "invalid-key", _ if (found := _KEY.search(message)) and self._is_no_key(found[1], row):
                hint = f' Did you mean "{found[3]}"?' if found[3] else ""
                yield f'There is no key "{found[1]}" in `{found[2]}`.{hint}', False
            case "unresolved-attribute", [module, member] if message.startswith("Module"):
                yield from self._member(module, member)
            case "unresolved-attribute", [kind, member] if kind in self._dictionaries and not hasattr(dict, member):
                whose = self._segment(diagnostic).removesuffix(f".{member}")
                spoken = whose if whose.isidentifier() else "…"
                yield f"`{kind}` is a dictionary: write `{spoken}['{member}']`.", False
            case "invalid-argument-type", _ if _OF_A_TEXT.search(message):
                yield "This is a text, which has no keys. If it holds JSON, read it first: `json.loads(…)`.", False
            case "unresolved-import", [what, *rest]:
                yield from self._imported(what, rest)
            case "unresolved-reference", ["open", *_]:
                yield f"There is no `open`. {NO_FILES}", False
            case "unresolved-reference", [what, *_] if what not in _THERE:
                known = [*filter(None, self._members), *self._members.get("", ())]
                hint = _meant(what, known) or _instead(what)
                yield f"The name `{what}` is not defined.{hint}", hasattr(builtins, what)
            case "invalid-syntax", _ if message.startswith(_TOP_LEVEL_RETURN):
                yield "`return` stands outside of a function: write the value alone as the last line.", False
            case "invalid-syntax", _ if _ASYNCHRONOUS in message:
                yield (
                    "`async for`, `async with` and asynchronous comprehensions are not in this Python. Write `await`.",
                    True,
                )
            case _ if name in _SAID:
                yield message + ("" if message.endswith(".") else "."), False

    def _unawaited(self, answer: str) -> str:
        # The brackets of other types may follow those of the coroutine.
        kind = _balanced(answer)
        of = "" if kind in ("Any", "Unknown") else f" (`{kind}`)"
        return f"`await` is missing: this is a call that was not awaited, not its answer{of}."

    def _member(self, module: str, member: str) -> Iterator[tuple[str, bool]]:
        known = self._members.get(module, ())
        if module not in self._members:
            instead = _INSTEAD.get(f"{module}.{member}", "")
            yield f"`{module}.{member}` does not exist in this Python.{instead}", module in sys.stdlib_module_names
        elif member not in known and not self._is_something_else(module):
            # One whose stub cannot be read is there all the same.
            yield f"`{module}` has no function `{member}`.{_meant(member, known)}", False

    def _is_something_else(self, module: str) -> bool:
        """Whether the program gives the name another meaning, which the checker does not take."""
        stored = rf"^[ \t]*(?:\w+[ \t]*,[ \t]*){{0,9}}{module}[ \t]*(?:,[^\n=]{{0,99}})?=(?!=)"
        named = rf"\bas[ \t]+{module}\b|\bfor\b[^\n]{{0,99}}\b{module}\b"
        return re.search(f"{stored}|{named}", self._text, re.MULTILINE) is not None

    def _imported(self, what: str, rest: Sequence[str]) -> Iterator[tuple[str, bool]]:
        if rest:
            yield from self._member(what, rest[0])
            return
        root = what.split(".")[0]
        lacking = root in sys.stdlib_module_names
        hint = "" if lacking else _meant(root, filter(None, self._members))
        yield f"There is no module `{what}` in this Python.{hint}", lacking

    def _takes(self, function: str, row: int) -> tuple[str, ...]:
        return parameters(self._functions[function]) if self._is_hosted(function, row) else ()

    def _is_hosted(self, function: str, row: int) -> bool:
        """Whether it is no function of the program's own, or of another module, that has the same name."""
        return function in self._functions and self._hosted is not None and self._hosted.is_called(function, row)

    def _is_no_key(self, key: str, row: int) -> bool:
        return self._keys is not None and self._keys.is_surely_wrong(key, row)

    def _segment(self, diagnostic: _Diagnostic) -> str:
        start, end = diagnostic.location, diagnostic.end_location
        line = self._lines[start.row - 1] if start.row <= len(self._lines) else ""
        return line[start.column - 1 : end.column - 1] if start.row == end.row else "…"


def _is_misused(diagnostic: _Diagnostic) -> bool:
    if diagnostic.name == "invalid-argument-type":
        return _GOES_THROUGH.search(diagnostic.message) is not None
    return diagnostic.name in _NOT_FOR_COROUTINES


def parameters(function: Function) -> tuple[str, ...]:
    """The names of its arguments, as its stub has them."""
    try:
        parsed = parse_module(function.stub)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return function.parameters
    for node in parsed.body:
        if isinstance(node, ast.AsyncFunctionDef) and node.name == function.name:
            return tuple(each.arg for each in (*node.args.args, *node.args.kwonlyargs))
    return function.parameters


def _meant(name: str, known: "Mapping[str, object] | Sequence[str] | Iterator[str]") -> str:
    near = closest(name, known)
    return f" Did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else ""


def _instead(name: str) -> str:
    """Of an exception that only Python itself has: the one that stands for it here."""
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return ""
    near = next(each.__name__ for each in kind.__mro__ if each.__name__ in _THERE)
    return f" This Python has fewer exceptions: write `{near}`."


def _balanced(text: str) -> str:
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if depth < 0:
            return text[:at]
    return text
