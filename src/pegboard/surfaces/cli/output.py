"""Output and exit codes of commands: text or one JSON document; progress and errors on standard error."""

import asyncio
import json
import shlex
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import Any, Final, NoReturn
from unicodedata import combining, east_asian_width

import click

from pegboard.core.model.characters import escape_json, escape_outer_spaces, escape_prose, escape_strictly

# Text for a terminal: what others wrote may not move the cursor, change colours or hide what stands there.


def clean(text: str) -> str:
    """As it is, with every character that does not show written out as `\\x1b`. Lines and tabs stay, and so do emoji
    and scripts that are written with joiners."""
    return escape_prose(text.replace("\r\n", "\n"))


def clean_json(text: str) -> str:
    """The same for JSON text, where such characters stand only inside strings and have an escape of their own."""
    return escape_json(text)


def one_line(text: str) -> str:
    """For names and cells of a table: nothing that does not show is left, and no space but the usual one."""
    line = escape_strictly(text.replace("\r\n", "\n")).replace("\n", " ").replace("\t", " ")
    return escape_outer_spaces(line)


def shell_quote(text: str) -> str:
    """To be copied into a shell. What does not show is written as bash and zsh have it."""
    return shlex.quote(text) if escape_strictly(text) == text else f"$'{''.join(map(_shell_escape, text))}'"


def _shell_escape(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char in "\n\t" or escape_strictly(char) != char:
        return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
    return char


def indent_continuation(text: str) -> str:
    """What follows a mark of one character: its further lines stand under its first."""
    return text.replace("\n", "\n  ")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns as wide as they need to be; the last one runs on."""
    lines = [tuple(head), *(tuple(one_line(cell) for cell in row) for row in rows)]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def is_unicode(text: str) -> bool:
    """False for what was given as bytes that are no UTF-8, or holds half a character."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _width(text: str) -> int:
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


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


# What a tool returned, in words: text as text, everything else as what it is and how much of it.


def result_text(result: dict[str, Any]) -> str:
    content = result.get("content")
    parts = [_block_text(block) for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    if not parts and "structuredContent" in result:
        parts = [json.dumps(result["structuredContent"], indent=2, ensure_ascii=False)]
    return "\n".join(parts)


def _block_text(block: dict[str, Any]) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource", "resource": {"uri": str(uri)} as resource}:
            return f"[{resource.get('mimeType', 'bytes')} at {uri}; with --json you get it]"
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[{block.get('title') or block.get('name') or 'resource'}: {uri}]"
        case {"type": str(kind), "data": str(base64)}:
            size = len(base64) * 3 // 4
            return f"[{block.get('mimeType', kind)}, about {size:,} bytes; with --json you get it]"
        case _:
            return f"[{block.get('type', 'unknown')} content; with --json you get it]"


# A person who waits is told for what, once it takes longer than a moment.

SLOW_S: Final = 2.0
"""Seconds after which a person wants to know that something still happens."""


@contextmanager
def print_when_slow(what: str, after: float | None = None) -> Iterator[None]:
    later = asyncio.get_running_loop().call_later(
        SLOW_S if after is None else after, print_progress, f"  … waiting for {what}"
    )
    try:
        yield
    finally:
        later.cancel()
