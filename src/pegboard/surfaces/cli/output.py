"""What a command prints and how it ends: words or one JSON document; progress and errors go to standard error."""

import json
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from enum import IntEnum
from typing import NoReturn

import click

from .text import clean, clean_json


class Exit(IntEnum):
    """The same for every command; docs/reference/cli.md tells them to people."""

    OK = 0
    FAILED = 1
    USAGE = 2
    CONFIG = 3
    NOT_FOUND = 4
    REFUSED = 5
    UNREACHABLE = 6
    INTERRUPTED = 128 + signal.SIGINT
    READER_LEFT = 141
    """As a shell tells it of a program that the system ended because nobody read its output any more."""


class CommandExit(Exception):  # noqa: N818  a command ends so; whether that is an error is told by its code
    """Ends a command from wherever it is."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class CommandError(CommandExit):
    """With a sentence on standard error, or as JSON where JSON was asked for."""

    def __init__(self, code: Exit, message: str, more: Mapping[str, object] | None = None) -> None:
        super().__init__(code, message)
        self.details = more or {}


def fail(code: Exit, message: str, more: Mapping[str, object] | None = None) -> NoReturn:
    raise CommandError(code, message, more)


def print_text(text: str = "") -> None:
    _write_line(clean(text))


def print_json(body: object, *, indent: int | None = 2, compact: bool = False) -> None:
    """Characters that the output's encoding lacks are escaped, so that it is JSON on every terminal. `compact` is how
    answers are written to clients."""
    narrow = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    separators, indent = ((",", ":"), None) if compact else (None, indent)
    _write_line(clean_json(json.dumps(body, ensure_ascii=narrow, indent=indent, separators=separators)))


def print_progress(text: str) -> None:
    """Progress and warnings: never on standard output. That nobody reads them is no reason to end."""
    with suppress(OSError):
        click.echo(clean(text), err=True)


def _write_line(text: str) -> None:
    try:
        click.echo(text)
    except BrokenPipeError:
        raise CommandExit(Exit.READER_LEFT) from None


def unwrap_group(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Whatever task groups wrapped, the ending that was meant is what comes out."""
    inner: BaseException = group.subgroup(CommandExit) or group
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    return inner
