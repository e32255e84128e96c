"""What is told of a program before the full Python runs it: by reading it alone, for that Python has no type check."""

from collections.abc import Iterator
from typing import Final

from pegboard.ports.sandbox import Complaint, Program
from pegboard.providers.builtin.sandbox.readable import readable
from pegboard.providers.builtin.sandbox.unawaited import unawaited
from pegboard.providers.builtin.sandbox.written import misfits

_MOST: Final = 10
_BEGUN: Final = frozenset({"asyncio.gather", "asyncio.shield"})
"""What they are given runs at the next `await`, whatever that waits for."""


def complaints(program: Program) -> tuple[Complaint, ...]:
    return tuple(sorted(dict.fromkeys(_told(program)), key=lambda each: each.line)[:_MOST])


def _told(program: Program) -> Iterator[Complaint]:
    modules = sorted({each.module for each in program.functions if each.module})
    # They stand there as if imported; one line more than the program has.
    text = f"import {', '.join(modules or ['asyncio'])}\n{program.code.removeprefix(chr(0xFEFF))}"
    read = readable(text, program.functions, _BEGUN)
    for forgotten in unawaited(read):
        yield Complaint(max(forgotten.line - 1, 1), forgotten.message)
    for misfit in misfits(read, program.functions, kinds=True):
        yield Complaint(max(misfit.line - 1, 1), misfit.message)
