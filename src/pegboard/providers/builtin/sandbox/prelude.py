"""What stands around a program in a worker: the modules that it finds its functions in, and what the check is told."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from pegboard.ports.sandbox import Program, SandboxFunction, names_in_code

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
