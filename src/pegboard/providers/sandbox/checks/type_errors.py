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

from pegboard.core.model.python_text import parse_module
from pegboard.core.model.references import closest_names
from pegboard.ports.sandbox import ProgramProblem, SandboxFunction
from pegboard.providers.sandbox.checks.arguments import find_literal_mismatches, is_incompatible
from pegboard.providers.sandbox.checks.missing_keys import HostCallIndex, MissingKeys
from pegboard.providers.sandbox.checks.program import UNREADABLE_ERRORS, ParsedProgram, parse_program
from pegboard.providers.sandbox.checks.unsupported_features import find_unsupported_features
from pegboard.providers.sandbox.errors import NO_FILES_HINT, clean_message, is_unsupported
from pegboard.providers.sandbox.prelude import BUILTINS_UNKNOWN_TO_CHECKER, WorkerProgram

_MAX_COMPLAINTS: Final = 10
"""Complaints at a time. Whoever mends the first has mended others with it."""
_COROUTINE: Final = re.compile(r"CoroutineType\[Any, Any, (.+)\]")
_RULES_BROKEN_BY_COROUTINES: Final = frozenset(
    {"call-non-callable", "not-iterable", "not-subscriptable", "unresolved-attribute", "unsupported-operator"}
    | {"invalid-context-manager", "unused-awaitable", "invalid-await"}
)
"""Rules that are broken for certain by what was not awaited. That it is true, say, is no mistake."""
_ITERATING_FUNCTION: Final = re.compile(r"Argument to function `(?:len|sum|sorted|enumerate|loads)` is incorrect")
_QUOTED_NAME: Final = re.compile(r"`([^`]*)`")
_UNKNOWN_KEY: Final = re.compile(r'Unknown key "(.*?)" for TypedDict `(\w+)`(?: - did you mean "(.*)"\?)?')
_EXPECTED_TYPE: Final = re.compile(r"Expected `(.+)`, found `(.+)`")
_TYPED_DICT: Final = re.compile(r"^class (\w+)\(TypedDict\)|^(\w+) = TypedDict\(", re.MULTILINE)
_STR_SUBSCRIPT: Final = re.compile(
    r"^Method `__getitem__` .* with key of type `(?:str|Literal\[\".*\"\])` on object of type `str`$"
)
_OUTSIDE_ASYNC_FUNCTION: Final = "outside of an asynchronous function"
"""Said of what stands at the top level, where `await` may: no mistake of Python's own, but this one lacks it."""
_SELF_EXPLANATORY_RULES: Final = frozenset({"invalid-syntax", "parameter-already-assigned", "missing-typed-dict-key"})
"""Rules whose words need no help."""
_KNOWN_NAMES: Final = BUILTINS_UNKNOWN_TO_CHECKER.union(get_args(ExcType))
"""Names that a worker has, of which the checker knows fewer: `map` and `PermissionError` are none to it."""
_GATHER_HINT: Final = " Calls are made at the same time by `await asyncio.gather(*calls)`."
_ALTERNATIVES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("asyncio.create_task", "asyncio.ensure_future", "asyncio.as_completed", "asyncio.wait", "asyncio.TaskGroup"),
        _GATHER_HINT,
    ),
    **dict.fromkeys(
        ("asyncio.wait_for", "asyncio.timeout"), " Each call has a deadline of its own already: write `await` alone."
    ),
}
"""What to write for what there is no other word for."""
_TOP_LEVEL_RETURN: Final = "`return` statement outside of a function"
_LENIENT_CONSTRUCTORS: Final = frozenset({"JSONDecodeError.__init__", "error.__init__"})
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


def check_types(session: MontySession, program: WorkerProgram) -> tuple[ProgramProblem, ...]:
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
        line = next((program.own_line(frame.line) for frame in reversed(error.traceback())), None)
        return (ProgramProblem(line or 1, clean_message(message), is_unsupported(type_, message)),)
    except MontyCrashedError:
        # The check took more than there is. It finds mistakes; that there are none is not its to decide.
        pass
    return _collect_complaints(said, program)


def _collect_complaints(text: str, program: WorkerProgram) -> tuple[ProgramProblem, ...]:
    found: dict[ProgramProblem, None] = {}
    read = parse_program(program.text, program.functions)
    written = find_literal_mismatches(read, program.functions, kinds=False)
    for misfit in written:
        found.setdefault(ProgramProblem(program.own_line(misfit.line) or 1, clean_message(misfit.message)))
    for lack in find_unsupported_features(read, program.functions):
        if (own := program.own_line(lack.line)) is not None:
            found.setdefault(ProgramProblem(own, lack.message, is_unsupported=True))
    words = _DiagnosticFormatter(program, frozenset(each.argument for each in written), *_analyze(read))
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        diagnostic = msgspec.json.decode(line, type=_Diagnostic)
        own = program.own_line(diagnostic.location.row)
        if own is None or not diagnostic.filename.endswith("main.py"):
            continue
        for message, is_python in words.format_diagnostic(diagnostic):
            found.setdefault(ProgramProblem(own, clean_message(message), is_python))
    return tuple(sorted(found, key=lambda each: each.line))[:_MAX_COMPLAINTS]


def _analyze(read: ParsedProgram | None) -> tuple[MissingKeys | None, HostCallIndex | None]:
    try:
        return (None, None) if read is None else (MissingKeys(read), HostCallIndex(read))
    except UNREADABLE_ERRORS:
        return None, None


class _DiagnosticFormatter:
    def __init__(
        self,
        program: WorkerProgram,
        told_already: Container[tuple[int, str]],
        keys: MissingKeys | None,
        hosted: HostCallIndex | None,
    ) -> None:
        """Of some arguments, by line and name, it is told already what is wrong."""
        self._reported_arguments = told_already
        self._missing_keys = keys
        self._host_calls = hosted
        self._text = program.text
        self._lines = program.text.split("\n")
        self._typed_dicts = {
            name for each in program.functions for names in _TYPED_DICT.findall(each.stub) for name in names if name
        }
        self._functions: dict[str, SandboxFunction] = {each.name: each for each in program.functions}
        self._members: dict[str, list[str]] = {module: [] for module in program.modules}
        for each in program.functions:
            self._members.setdefault(each.module, []).append(each.name)

    def format_diagnostic(self, diagnostic: _Diagnostic) -> Iterator[tuple[str, bool]]:
        """At most one sentence or two, and whether Python itself would not complain."""
        name, message, row = diagnostic.name, diagnostic.message, diagnostic.location.row
        if awaited := _COROUTINE.search(message):
            if " | " not in message and _is_coroutine_misuse(diagnostic):
                yield self._missing_await_message(awaited[1]), False
            return
        quoted = _QUOTED_NAME.findall(message)
        match name, quoted:
            case "unknown-argument", [argument, function, *_]:
                takes = self._parameters(function, row)
                hint = _did_you_mean(argument, takes) or (f" It takes {', '.join(takes)}." if takes else "")
                yield f"`{function}` has no argument `{argument}`.{hint}", False
            case "missing-argument", [argument]:
                yield f"The argument `{argument}` is missing.", False
            case "missing-argument", [*arguments, function] if function not in _LENIENT_CONSTRUCTORS:
                yield f"`{function}` needs the argument {' and '.join(f'`{each}`' for each in arguments)}.", False
            case "too-many-positional-arguments", [function, *_]:
                takes = self._parameters(function, row)
                example = f"{function}({takes[0]}=…)" if takes else f"{function}(name=…)"
                yield f"`{function}` takes named arguments: write `{example}`.", False
            case "invalid-argument-type", [function, *_] if self._is_host_function(function, row):
                said = self._source_segment(diagnostic)
                # What stands in a dictionary that is unpacked is guessed from all its values together.
                if said.startswith("*") or (row, said.split("=")[0].strip()) in self._reported_arguments:
                    return
                expected = _EXPECTED_TYPE.search(message)
                if expected and is_incompatible(expected[1], expected[2], self._typed_dicts):
                    yield f"`{function}({said})`: expected `{expected[1]}`, found `{expected[2]}`.", False
            case "invalid-key", _ if (found := _UNKNOWN_KEY.search(message)) and self._is_unknown_key(found[1], row):
                hint = f' Did you mean "{found[3]}"?' if found[3] else ""
                yield f'There is no key "{found[1]}" in `{found[2]}`.{hint}', False
            case "unresolved-attribute", [module, member] if message.startswith("Module"):
                yield from self._member_messages(module, member)
            case "unresolved-attribute", [kind, member] if kind in self._typed_dicts and not hasattr(dict, member):
                whose = self._source_segment(diagnostic).removesuffix(f".{member}")
                spoken = whose if whose.isidentifier() else "…"
                yield f"`{kind}` is a dictionary: write `{spoken}['{member}']`.", False
            case "invalid-argument-type", _ if _STR_SUBSCRIPT.search(message):
                yield "This is a text, which has no keys. If it holds JSON, read it first: `json.loads(…)`.", False
            case "unresolved-import", [what, *rest]:
                yield from self._import_messages(what, rest)
            case "unresolved-reference", ["open", *_]:
                yield f"There is no `open`. {NO_FILES_HINT}", False
            case "unresolved-reference", [what, *_] if what not in _KNOWN_NAMES:
                known = [*filter(None, self._members), *self._members.get("", ())]
                hint = _did_you_mean(what, known) or _exception_hint(what)
                yield f"The name `{what}` is not defined.{hint}", hasattr(builtins, what)
            case "invalid-syntax", _ if message.startswith(_TOP_LEVEL_RETURN):
                yield "`return` stands outside of a function: write the value alone as the last line.", False
            case "invalid-syntax", _ if _OUTSIDE_ASYNC_FUNCTION in message:
                yield (
                    "`async for`, `async with` and asynchronous comprehensions are not in this Python. Write `await`.",
                    True,
                )
            case _ if name in _SELF_EXPLANATORY_RULES:
                yield message + ("" if message.endswith(".") else "."), False

    def _missing_await_message(self, answer: str) -> str:
        # The brackets of other types may follow those of the coroutine.
        kind = _cut_at_closing_bracket(answer)
        of = "" if kind in ("Any", "Unknown") else f" (`{kind}`)"
        return f"`await` is missing: this is a call that was not awaited, not its answer{of}."

    def _member_messages(self, module: str, member: str) -> Iterator[tuple[str, bool]]:
        known = self._members.get(module, ())
        if module not in self._members:
            instead = _ALTERNATIVES.get(f"{module}.{member}", "")
            yield f"`{module}.{member}` does not exist in this Python.{instead}", module in sys.stdlib_module_names
        elif member not in known and not self._is_rebound(module):
            # One whose stub cannot be read is there all the same.
            yield f"`{module}` has no function `{member}`.{_did_you_mean(member, known)}", False

    def _is_rebound(self, module: str) -> bool:
        """Whether the program gives the name another meaning, which the checker does not take."""
        stored = rf"^[ \t]*(?:\w+[ \t]*,[ \t]*){{0,9}}{module}[ \t]*(?:,[^\n=]{{0,99}})?=(?!=)"
        named = rf"\bas[ \t]+{module}\b|\bfor\b[^\n]{{0,99}}\b{module}\b"
        return re.search(f"{stored}|{named}", self._text, re.MULTILINE) is not None

    def _import_messages(self, what: str, rest: Sequence[str]) -> Iterator[tuple[str, bool]]:
        if rest:
            yield from self._member_messages(what, rest[0])
            return
        root = what.split(".")[0]
        lacking = root in sys.stdlib_module_names
        hint = "" if lacking else _did_you_mean(root, filter(None, self._members))
        yield f"There is no module `{what}` in this Python.{hint}", lacking

    def _parameters(self, function: str, row: int) -> tuple[str, ...]:
        return parameter_names(self._functions[function]) if self._is_host_function(function, row) else ()

    def _is_host_function(self, function: str, row: int) -> bool:
        """Whether it is no function of the program's own, or of another module, that has the same name."""
        return (
            function in self._functions and self._host_calls is not None and self._host_calls.is_called(function, row)
        )

    def _is_unknown_key(self, key: str, row: int) -> bool:
        return self._missing_keys is not None and self._missing_keys.is_surely_wrong(key, row)

    def _source_segment(self, diagnostic: _Diagnostic) -> str:
        start, end = diagnostic.location, diagnostic.end_location
        line = self._lines[start.row - 1] if start.row <= len(self._lines) else ""
        return line[start.column - 1 : end.column - 1] if start.row == end.row else "…"


def _is_coroutine_misuse(diagnostic: _Diagnostic) -> bool:
    if diagnostic.name == "invalid-argument-type":
        return _ITERATING_FUNCTION.search(diagnostic.message) is not None
    return diagnostic.name in _RULES_BROKEN_BY_COROUTINES


def parameter_names(function: SandboxFunction) -> tuple[str, ...]:
    """The names of its arguments, as its stub has them."""
    try:
        parsed = parse_module(function.stub)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return function.parameters
    for node in parsed.body:
        if isinstance(node, ast.AsyncFunctionDef) and node.name == function.name:
            return tuple(each.arg for each in (*node.args.args, *node.args.kwonlyargs))
    return function.parameters


def _did_you_mean(name: str, known: "Mapping[str, object] | Sequence[str] | Iterator[str]") -> str:
    near = closest_names(name, known)
    return f" Did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else ""


def _exception_hint(name: str) -> str:
    """Of an exception that only Python itself has: the one that stands for it here."""
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return ""
    near = next(each.__name__ for each in kind.__mro__ if each.__name__ in _KNOWN_NAMES)
    return f" This Python has fewer exceptions: write `{near}`."


def _cut_at_closing_bracket(text: str) -> str:
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if depth < 0:
            return text[:at]
    return text
