"""What a command prints and how it ends: a table or one JSON document; progress and errors go to standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, NoReturn

import click


class Exit(IntEnum):
    """The same for every command; docs/reference/cli.md tells them to people."""

    OK = 0
    FAILED = 1
    USAGE = 2
    CONFIG = 3
    NOT_FOUND = 4
    REFUSED = 5
    UNREACHABLE = 6


class Ended(click.ClickException):
    """Ends a command with a sentence on standard error, or as JSON where JSON was asked for."""

    def __init__(self, code: Exit, message: str, more: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.more = more or {}

    @property
    def exit_code(self) -> int:  # type: ignore[override]  # click reads it from the instance
        return int(self.code)

    def show(self, file: Any = None) -> None:
        if wants_json():
            click.echo(json.dumps({"error": self.message, "exit": self.exit_code, **self.more}, ensure_ascii=False))
        else:
            click.echo(f"pegboard: {self.message}", err=True)


def wants_json() -> bool:
    context = click.get_current_context(silent=True)
    while context is not None:
        if context.params.get("as_json"):
            return True
        context = context.parent
    return "--json" in sys.argv[1:] and context is None


def say(text: str = "") -> None:
    click.echo(text)


def tell(text: str) -> None:
    """Progress and warnings: never on standard output."""
    click.echo(text, err=True)


def document(body: object) -> None:
    click.echo(json.dumps(body, ensure_ascii=False, indent=2))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns as wide as they need to be; the last one runs on."""
    lines = [tuple(head), *(tuple(_clean(cell) for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _clean(cell: str) -> str:
    """A server's own words must not move the cursor of the terminal they are shown on."""
    return "".join(char if char.isprintable() else " " for char in cell)


def clean_lines(text: str) -> str:
    return "\n".join(_clean(line) for line in text.split("\n"))


def fail(code: Exit, message: str, more: dict[str, Any] | None = None) -> NoReturn:
    raise Ended(code, message, more)


def unwrapped(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Whatever a task group wrapped, the command's own ending is what is meant."""
    inner: BaseException = group.subgroup(Ended) or group
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    return inner
