"""Output of child processes: safe lines for a terminal, the log tail, and the filter for secrets."""

import json
import re
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from urllib.parse import quote

from pegboard.core.model.characters import prose_pattern
from pegboard.ports.providers import LogLines

MAX_LINES: Final = 200
MAX_LINE_WIDTH: Final = 2_000
_MAX_LINE_BYTES: Final = 4 * MAX_LINE_WIDTH
"""The longest that `WIDTH` characters can be in UTF-8: more of an unfinished line is never needed."""

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS: Final = re.compile(rf"{prose_pattern()}|\n")


class LogTail:
    """A ring of lines. It is fed bytes as they come, and takes the same room whatever comes."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        self._partial_line = b""
        self._line_count = 0
        self._log_id = secrets.token_hex(4)

    @property
    def line_count(self) -> int:
        """How many lines came so far: a mark for `since`."""
        return self._line_count

    def feed(self, chunk: bytes, redact: Callable[[str], str]) -> None:
        first, *rest = chunk.split(b"\n")
        self._partial_line = (self._partial_line + first)[:_MAX_LINE_BYTES]
        if not rest:
            return
        *whole, last = (self._partial_line, *rest)
        self._line_count += len(whole)
        # Of a flood only the lines that stay are worth decoding.
        self._lines.extend(clean_line(line, redact) for line in whole[-MAX_LINES:])
        self._partial_line = last[:_MAX_LINE_BYTES]

    def finish(self, redact: Callable[[str], str]) -> None:
        """The stream is over, so what came last is a line, finished or not."""
        if self._partial_line:
            self.feed(b"\n", redact)

    def tail(self) -> LogLines:
        return LogLines(self._lines, self._line_count, self._log_id)

    def lines_since(self, mark: int, most: int) -> tuple[str, ...]:
        """The last lines written after the mark, at most so many."""
        fresh = min(self._line_count - mark, most, len(self._lines))
        return tuple(self.tail()[-fresh:]) if fresh else ()


def one_line(text: str, most: int) -> str:
    """A server's own words within a sentence of ours: nothing in them may look like a line of its own."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", " ".join(_ESCAPES.sub("", text).split()))[:most]


def clean_line(line: bytes, redact: Callable[[str], str]) -> str:
    """One line as a person would have seen it: what a carriage return overwrote is gone."""
    text = line[:_MAX_LINE_BYTES].decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
    text = redact(_ESCAPES.sub("", text))
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)[:MAX_LINE_WIDTH]


# The eraser that keeps secrets out of every message.

SECRET_PLACEHOLDER: Final = "•••"  # noqa: S105
_MIN_SECRET_LENGTH: Final = 4
"""Shorter values are no secrets, and erasing them would riddle every message with holes."""

_MIN_LINE_LENGTH: Final = 8
"""A key of many lines is printed line by line, but its shortest ones (`}`, `EOF`) are in every text."""
_REFERENCE: Final = re.compile(r"\$\{[^}]*\}")
_SECRET_NAME: Final = re.compile(r"key|token|secret|passw|auth|credential|cookie|bearer", re.IGNORECASE)


class SecretFilter:
    """Takes secrets out of texts that people or models will read."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= _MIN_SECRET_LENGTH}
        known |= {
            part for secret in known for line in secret.splitlines() if len(part := line.strip()) >= _MIN_LINE_LENGTH
        }
        known |= {form for secret in known for form in _encoded_forms(secret)}
        # Longest first, or a secret that begins with another would leave its rest behind.
        ordered = sorted(known, key=lambda secret: (-len(secret), secret))
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None
        self._secrets = tuple(ordered)

    def __call__(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(SECRET_PLACEHOLDER, text)

    def partial_match_at(self, text: str) -> int:
        """Where the beginning of a secret stands at the end of the text, or its length: what comes next may be the
        rest."""
        longest = len(self._secrets[0]) if self._secrets else 1
        firsts = {secret[0] for secret in self._secrets}
        for at in range(max(0, len(text) - longest + 1), len(text)):
            if text[at] in firsts and any(secret.startswith(text[at:]) for secret in self._secrets):
                return at
        return len(text)


def substituted_values(text: str, value: str) -> Iterable[str]:
    """The parts of the value that the references of the text stood for."""
    if text == value:
        return ()
    literals = _REFERENCE.split(text)
    between = re.fullmatch("(.*)".join(map(re.escape, literals)), value, re.DOTALL)
    return between.groups() if between is not None else (value,)


def is_secret_name(variable: str) -> bool:
    return _SECRET_NAME.search(variable) is not None


def _encoded_forms(secret: str) -> Iterator[str]:
    """As an address gives it, and as JSON does, with and without letters beyond ASCII."""
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
