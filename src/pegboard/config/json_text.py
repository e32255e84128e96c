"""JSON, read into a tree. Comments and trailing commas are allowed, because editors allow them in their settings."""

import json
import re
from typing import Final

from .problem import Problem
from .tree import MAX_DEPTH, Entry, Items, Kind, Node, Parsed, Scalar, Table, Unreadable, under

_BETWEEN: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*")
_STRING: Final = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS: Final = {"true": Kind.TRUTH, "false": Kind.TRUTH, "null": Kind.NOTHING}
_LONGEST_NUMBER: Final = 64


def parse_json(text: str, file: str) -> Parsed:
    """Duplicate keys are told and the reading goes on; a mistake of form ends it. An empty text has no root."""
    reader = _Reader(text, file)
    try:
        reader.skip()
        root = None if reader.done() else reader.value("", 1)
        reader.skip()
        if not reader.done():
            raise reader.stop("", "there is more after the end of the document. Remove it.")
    except Unreadable as stop:
        return Parsed(None, (*reader.problems, stop.problem))
    return Parsed(root, tuple(reader.problems))


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.place = 0
        self.line = 1
        self.problems: list[Problem] = []

    def done(self) -> bool:
        return self.place >= len(self.text)

    def value(self, at: str, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self.stop(at, f"more than {MAX_DEPTH} levels deep. Flatten it.")
        line = self.line
        if self.took("{"):
            return self.table(at, depth, line)
        if self.took("["):
            return self.items(at, depth, line)
        if self.text.startswith('"', self.place):
            return Scalar(Kind.TEXT, self.string(at), line)
        for word, kind in _WORDS.items():
            if self.took(word):
                return Scalar(kind, word, line)
        if (number := _NUMBER.match(self.text, self.place)) is not None:
            written = number.group()
            self.move(number.end())
            if len(written) > _LONGEST_NUMBER:
                raise self.stop(at, "a number of more than 64 digits. Put it in quotes if it is a text.")
            whole = number.group(1) is None and number.group(2) is None
            return Scalar(Kind.INTEGER if whole else Kind.NUMBER, written, line)
        raise self.stop(at, f"{self.here()} where a value should be. Texts and keys stand in double quotes.")

    def table(self, at: str, depth: int, line: int) -> Table:
        own: dict[str, Entry] = {}
        self.skip()
        while not self.took("}"):
            key_line = self.line
            if not self.text.startswith('"', self.place):
                raise self.stop(at, f"{self.here()} where a key in double quotes, or '}}', should be.")
            key = self.string(at)
            here = under(at, key)
            self.skip()
            if not self.took(":"):
                raise self.stop(here, f"{self.here()} where ':' should be.")
            self.skip()
            value = self.value(here, depth + 1)
            if (first := own.get(key)) is not None:
                what = f"written twice: here and on line {first.line}. Keep one of them."
                self.problems.append(Problem(self.file, key_line, here, what))
            else:
                own[key] = Entry(key, key_line, value)
            self.separator("}", here)
        return Table(tuple(own.values()), line)

    def items(self, at: str, depth: int, line: int) -> Items:
        nodes: list[Node] = []
        self.skip()
        while not self.took("]"):
            here = f"{at}[{len(nodes)}]"
            nodes.append(self.value(here, depth + 1))
            self.separator("]", here)
        return Items(tuple(nodes), line)

    def separator(self, closing: str, at: str) -> None:
        self.skip()
        if self.took(","):
            self.skip()
        elif not self.text.startswith(closing, self.place):
            raise self.stop(at, f"{self.here()} where ',' or {closing!r} should be.")

    def string(self, at: str) -> str:
        match = _STRING.match(self.text, self.place)
        if match is None:
            raise self.stop(
                at, "a text is not closed on its line. Close it with a double quote; write \\n for a break."
            )
        try:
            value = json.loads(match.group())
        except json.JSONDecodeError:
            raise self.stop(at, "a backslash begins no known escape. Write \\\\ for a backslash.") from None
        self.move(match.end())
        return str(value)

    def took(self, token: str) -> bool:
        if not self.text.startswith(token, self.place):
            return False
        self.move(self.place + len(token))
        return True

    def skip(self) -> None:
        match = _BETWEEN.match(self.text, self.place)
        if match is not None:
            self.move(match.end())

    def move(self, to: int) -> None:
        self.line += self.text.count("\n", self.place, to)
        self.place = to

    def here(self) -> str:
        return "the file ends" if self.done() else f"{self.text[self.place]!r} stands"

    def stop(self, at: str, what: str) -> Unreadable:
        return Unreadable(Problem(self.file, self.line, at, what))
