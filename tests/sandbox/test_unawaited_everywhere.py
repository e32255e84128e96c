"""All programs of a few statements: what is told to lack `await` is awaited nowhere when Python itself runs them."""

import ast
import inspect
from collections.abc import Generator, Iterator
from contextlib import suppress
from itertools import product
from types import SimpleNamespace

import pytest

from pegboard.providers.sandbox.checks.missing_await import find_missing_awaits
from pegboard.providers.sandbox.checks.program import parse_program
from pegboard.providers.sandbox.prelude import prepare_program

from .hosts import program

FILE = "small"
HEAD = "a, b = None, []\n"
STATEMENTS = (
    "a = srv.echo(x=1)",
    "a = None",
    "print(a)",
    "if a: await a",
    "b = [a]",
    "b.append(a)",
    "b.append(srv.echo(x=2))",
    "for each in b:\n    if each: await each",
    "if i: break",
    "a = asyncio.gather(srv.echo(x=3))",
)
ENDS = ("", "if a: await a")


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.split("\n"))


def programs() -> Iterator[str]:
    for first, second, third in product(STATEMENTS, repeat=3):
        for end in ENDS:
            three = indented(first) + indented(second) + indented(third)
            yield f"{HEAD}for i in range(2):\n{three}{end}"
            if "break" not in three:
                yield f"{HEAD}try:\n{indented(first)}{indented('1 / 0')}except ZeroDivisionError:\n{three}{end}"
                yield f"{HEAD}{first}\n{second}\n{third}\n{end}"


class Said:
    """A call, as a program has it in its hands."""

    def __init__(self, awaited: set[int], inner: tuple[object, ...] = ()) -> None:
        self._awaited = awaited
        self._inner = inner
        self._lines: set[int] = set()
        frame = inspect.currentframe()
        while frame is not None:
            if frame.f_code.co_filename == FILE:
                self._lines.add(frame.f_lineno)
            frame = frame.f_back

    def __await__(self) -> Generator[None, None, list[int]]:
        for each in self._inner:
            if isinstance(each, Said):
                yield from each.__await__()
        self._awaited |= self._lines
        return [1]


def awaited_lines(code: str) -> set[int]:
    """Those with a call that was awaited, whatever becomes of the program."""
    found: set[int] = set()
    names = {
        "srv": SimpleNamespace(echo=lambda **_: Said(found)),
        "asyncio": SimpleNamespace(gather=lambda *inner: Said(found, inner)),
        "print": lambda *_: None,
    }
    compiled = compile(code, FILE, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with suppress(Exception):
        run = eval(compiled, names)
        if inspect.iscoroutine(run):
            run.send(None)
    return found


@pytest.mark.behaviour("code.await")
def test_what_is_told_to_be_forgotten_is_awaited_nowhere() -> None:
    wrong: list[str] = []
    count = 0
    for code in programs():
        frame = prepare_program(program(f"import asyncio\n{code}"))
        told = {
            (frame.own_line(each.line) or 0) - 1
            for each in find_missing_awaits(parse_program(frame.text, frame.functions))
        }
        count += bool(told)
        if told and told & awaited_lines(code):
            wrong.append(code)
    assert wrong == []
    assert count > 1_000


def test_what_is_awaited_is_seen_by_the_one_who_looks() -> None:
    code = "a = srv.echo(x=1)\nb = srv.echo(x=2)\nawait b\nc = asyncio.gather(a)\nawait c"
    assert awaited_lines(code) == {1, 2, 4}
