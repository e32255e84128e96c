"""JSON, read into a tree. Comments and trailing commas are allowed, because editors allow them in their settings."""

import json
import re
from typing import Final

from .problem import FileProblem
from .tree import (
    MAX_DEPTH,
    ListNode,
    MapEntry,
    MapNode,
    Node,
    ParsedFile,
    ScalarKind,
    ScalarNode,
    UnreadableFileError,
    join_key,
)

_WHITESPACE: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*")
_STRING: Final = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_LITERALS: Final = {"true": ScalarKind.BOOLEAN, "false": ScalarKind.BOOLEAN, "null": ScalarKind.NULL}
_MAX_NUMBER_LENGTH: Final = 64


def parse_json(text: str, file: str) -> ParsedFile:
    """Duplicate keys are told and the reading goes on; a mistake of form ends it. An empty text has no root."""
    reader = _JsonParser(text, file)
    try:
        reader.skip_whitespace()
        root = None if reader.at_end() else reader.parse_value("", 1)
        reader.skip_whitespace()
        if not reader.at_end():
            raise reader.syntax_error("", "there is more after the end of the document. Remove it.")
    except UnreadableFileError as stop:
        return ParsedFile(None, (*reader.problems, stop.problem))
    return ParsedFile(root, tuple(reader.problems))


class _JsonParser:
    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.position = 0
        self.line = 1
        self.problems: list[FileProblem] = []

    def at_end(self) -> bool:
        return self.position >= len(self.text)

    def parse_value(self, at: str, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self.syntax_error(at, f"more than {MAX_DEPTH} levels deep. Flatten it.")
        line = self.line
        if self.accept("{"):
            return self.parse_table(at, depth, line)
        if self.accept("["):
            return self.parse_list(at, depth, line)
        if self.text.startswith('"', self.position):
            return ScalarNode(ScalarKind.TEXT, self.parse_string(at), line)
        for word, kind in _LITERALS.items():
            if self.accept(word):
                return ScalarNode(kind, word, line)
        if (number := _NUMBER.match(self.text, self.position)) is not None:
            written = number.group()
            self.advance_to(number.end())
            if len(written) > _MAX_NUMBER_LENGTH:
                raise self.syntax_error(at, "a number of more than 64 digits. Put it in quotes if it is a text.")
            whole = number.group(1) is None and number.group(2) is None
            return ScalarNode(ScalarKind.INTEGER if whole else ScalarKind.NUMBER, written, line)
        raise self.syntax_error(
            at, f"{self.describe_next()} where a value should be. Texts and keys stand in double quotes."
        )

    def parse_table(self, at: str, depth: int, line: int) -> MapNode:
        own: dict[str, MapEntry] = {}
        self.skip_whitespace()
        while not self.accept("}"):
            key_line = self.line
            if not self.text.startswith('"', self.position):
                raise self.syntax_error(at, f"{self.describe_next()} where a key in double quotes, or '}}', should be.")
            key = self.parse_string(at)
            here = join_key(at, key)
            self.skip_whitespace()
            if not self.accept(":"):
                raise self.syntax_error(here, f"{self.describe_next()} where ':' should be.")
            self.skip_whitespace()
            value = self.parse_value(here, depth + 1)
            if (first := own.get(key)) is not None:
                what = f"written twice: here and on line {first.line}. Keep one of them."
                self.problems.append(FileProblem(self.file, key_line, here, what))
            else:
                own[key] = MapEntry(key, key_line, value)
            self.skip_separator("}", here)
        return MapNode(tuple(own.values()), line)

    def parse_list(self, at: str, depth: int, line: int) -> ListNode:
        nodes: list[Node] = []
        self.skip_whitespace()
        while not self.accept("]"):
            here = f"{at}[{len(nodes)}]"
            nodes.append(self.parse_value(here, depth + 1))
            self.skip_separator("]", here)
        return ListNode(tuple(nodes), line)

    def skip_separator(self, closing: str, at: str) -> None:
        self.skip_whitespace()
        if self.accept(","):
            self.skip_whitespace()
        elif not self.text.startswith(closing, self.position):
            raise self.syntax_error(at, f"{self.describe_next()} where ',' or {closing!r} should be.")

    def parse_string(self, at: str) -> str:
        match = _STRING.match(self.text, self.position)
        if match is None:
            raise self.syntax_error(
                at, "a text is not closed on its line. Close it with a double quote; write \\n for a break."
            )
        try:
            value = json.loads(match.group())
        except json.JSONDecodeError:
            raise self.syntax_error(at, "a backslash begins no known escape. Write \\\\ for a backslash.") from None
        self.advance_to(match.end())
        return str(value)

    def accept(self, token: str) -> bool:
        if not self.text.startswith(token, self.position):
            return False
        self.advance_to(self.position + len(token))
        return True

    def skip_whitespace(self) -> None:
        match = _WHITESPACE.match(self.text, self.position)
        if match is not None:
            self.advance_to(match.end())

    def advance_to(self, to: int) -> None:
        self.line += self.text.count("\n", self.position, to)
        self.position = to

    def describe_next(self) -> str:
        return "the file ends" if self.at_end() else f"{self.text[self.position]!r} stands"

    def syntax_error(self, at: str, what: str) -> UnreadableFileError:
        return UnreadableFileError(FileProblem(self.file, self.line, at, what))
