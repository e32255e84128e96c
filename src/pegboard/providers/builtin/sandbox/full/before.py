"""What is told of a program before the full Python runs it: by reading it alone, for that Python has no type check."""

from collections.abc import Iterator
from typing import Final

from pegboard.ports.sandbox import Program, ProgramProblem
from pegboard.providers.builtin.sandbox.readable import parse_program
from pegboard.providers.builtin.sandbox.unawaited import find_missing_awaits
from pegboard.providers.builtin.sandbox.written import find_literal_mismatches

_MAX_COMPLAINTS: Final = 10
_EAGER_FUNCTIONS: Final = frozenset({"asyncio.gather", "asyncio.shield"})
"""What they are given runs at the next `await`, whatever that waits for."""


def check_source(program: Program) -> tuple[ProgramProblem, ...]:
    return tuple(sorted(dict.fromkeys(_find_complaints(program)), key=lambda each: each.line)[:_MAX_COMPLAINTS])


def _find_complaints(program: Program) -> Iterator[ProgramProblem]:
    modules = sorted({each.module for each in program.functions if each.module})
    # They stand there as if imported; one line more than the program has.
    text = f"import {', '.join(modules or ['asyncio'])}\n{program.code.removeprefix(chr(0xFEFF))}"
    read = parse_program(text, program.functions, _EAGER_FUNCTIONS)
    for forgotten in find_missing_awaits(read):
        yield ProgramProblem(max(forgotten.line - 1, 1), forgotten.message)
    for misfit in find_literal_mismatches(read, program.functions, kinds=True):
        yield ProgramProblem(max(misfit.line - 1, 1), misfit.message)
