"""Parses YAML into a tree with lines. Anchors, aliases and merges work; tags that construct objects do not."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import yaml

from pegboard.config.schema.document import (
    MAX_DEPTH,
    MAX_VALUES,
    FileProblem,
    ListNode,
    MapEntry,
    MapNode,
    Node,
    ParsedFile,
    ScalarKind,
    ScalarNode,
    UnreadableFileError,
    join_key,
    scalar_kind,
)

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONTROL: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CORE_TAG: Final = "tag:yaml.org,2002:"
_KINDS: Final = {
    f"{_CORE_TAG}str": ScalarKind.TEXT,
    f"{_CORE_TAG}int": ScalarKind.INTEGER,
    f"{_CORE_TAG}float": ScalarKind.NUMBER,
    f"{_CORE_TAG}bool": ScalarKind.BOOLEAN,
    f"{_CORE_TAG}null": ScalarKind.NULL,
}
_MERGE_KEY: Final = "<<"

_ADVICE: Final = {
    "mapping values are not allowed": "Indent it as the line above, or put a text that holds ': ' in quotes.",
    "could not find expected ':'": "A key has no ':' after it. Write key: value.",
    "did not find expected key": "This line is not a key of the map above it. Check its indentation and quotes.",
    "did not find expected '-'": "This line is not an item of the list above it. Begin it with '- '.",
    "expected <block end>": "This line does not fit what is above it. Check its indentation and quotes.",
    "found unexpected end of stream": "A quote or bracket that was opened is never closed.",
    "did not find expected ',' or": "A bracket that was opened is not closed, or a comma is missing.",
    "expected ',' or": "A bracket that was opened is not closed, or a comma is missing.",
    "found unknown escape character": "Within double quotes a backslash begins an escape. Use single quotes.",
    "found undefined tag handle": "Tags are not read here. Remove the '!', or put the text in quotes.",
    "alphabetic or numeric character": 'A text that begins with * or & must stand in quotes: "*:read_*".',
    "entries are not allowed": "Begin the list on a line of its own.",
    "cannot start any token": "A text cannot begin with this character. Put it in quotes.",
}


def parse_yaml(text: str, file: str) -> ParsedFile:
    """Everything that is wrong with the text, up to the first place after which nothing can be read."""
    if (control := _CONTROL.search(text)) is not None:
        line = text.count("\n", 0, control.start()) + 1
        what = f"the character U+{ord(control.group()):04X} cannot stand in YAML. Remove it, or write it as an escape."
        return ParsedFile(None, (FileProblem(file, line, "", what),))
    composer = _YamlComposer(file, iter(yaml.parse(text, Loader=_LOADER)))
    try:
        root = composer.read_document()
    except yaml.MarkedYAMLError as error:
        return ParsedFile(None, (*composer.problems, _syntax_problem(error, text, file)))
    except UnreadableFileError as stop:
        return ParsedFile(None, (*composer.problems, stop.problem))
    return ParsedFile(root, tuple(composer.problems))


@dataclass(frozen=True, slots=True)
class _AnchoredNode:
    node: Node
    values: int
    height: int


class _YamlComposer:
    """One reading of one document. Recursion is safe because the depth is bounded before it is entered."""

    def __init__(self, file: str, events: Iterator[yaml.Event]) -> None:
        self.file = file
        self.events = events
        self.problems: list[FileProblem] = []
        self.anchors: dict[str, _AnchoredNode | None] = {}
        self.values = 0
        self.height = 0

    def read_document(self) -> Node | None:
        root: Node | None = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise self.syntax_error(event, "", "a second document begins here. Keep one document in a file.")
                root = self.read_node(next(self.events), "", 1)
        return root

    def read_node(self, event: yaml.Event, at: str, depth: int) -> Node:
        line = _line(event)
        if isinstance(event, yaml.AliasEvent):
            return self.resolve_alias(event, at, depth)
        self.count_values(1, event, at)
        if depth > MAX_DEPTH:
            raise self.syntax_error(
                event, at, f"more than {MAX_DEPTH} levels deep. Nothing here needs to be; flatten it."
            )
        before, anchor = self.values, getattr(event, "anchor", None)
        if anchor is not None:
            self.anchors[anchor] = None
        outer, self.height = self.height, 0
        match event:
            case yaml.ScalarEvent():
                node: Node = self.read_scalar(event, at)
            case yaml.SequenceStartEvent():
                self.check_tag(event, "seq", at)
                node = ListNode(tuple(self.read_items(at, depth)), line)
            case yaml.MappingStartEvent():
                self.check_tag(event, "map", at)
                node = self.read_map(at, depth, line)
            case _:
                raise self.syntax_error(event, at, "this is not YAML.")
        height = self.height + 1
        self.height = max(outer, height)
        if anchor is not None:
            self.anchors[anchor] = _AnchoredNode(node, self.values - before + 1, height)
        return node

    def read_items(self, at: str, depth: int) -> Iterator[Node]:
        place = 0
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            yield self.read_node(event, f"{at}[{place}]", depth + 1)
            place += 1

    def read_map(self, at: str, depth: int, line: int) -> MapNode:
        own: dict[str, MapEntry] = {}
        merged: list[MapEntry] = []
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key_line = _line(event)
            key = self.read_key(event, at, depth)
            here = at if key is None else join_key(at, key)
            value = self.read_node(next(self.events), here, depth + 1)
            if key is None:
                continue
            if key == _MERGE_KEY:
                merged += self.merged_entries(value, at, key_line)
            elif (first := own.get(key)) is not None:
                what = f"written twice: here and on line {first.line}. Keep one of them."
                self.problems.append(FileProblem(self.file, key_line, here, what))
            else:
                own[key] = MapEntry(key, key_line, value)
        entries = dict(own)
        for entry in merged:
            entries.setdefault(entry.key, entry)
        return MapNode(tuple(entries.values()), line)

    def read_key(self, event: yaml.Event, at: str, depth: int) -> str | None:
        node = self.read_node(event, at, depth + 1)
        if isinstance(node, ScalarNode) and node.kind is not ScalarKind.NULL:
            return node.text
        self.problems.append(FileProblem(self.file, node.line, at, "a key must be a word. Write key: value."))
        return None

    def merged_entries(self, value: Node, at: str, line: int) -> list[MapEntry]:
        tables = value.items if isinstance(value, ListNode) else (value,)
        entries: list[MapEntry] = []
        for table in tables:
            if isinstance(table, MapNode):
                entries += table.entries
            else:
                what = "only a map, or a list of maps, can be merged. Write <<: *name of an anchor on a map."
                self.problems.append(FileProblem(self.file, line, join_key(at, _MERGE_KEY), what))
        return entries

    def resolve_alias(self, event: yaml.AliasEvent, at: str, depth: int) -> Node:
        name = str(event.anchor)
        if name not in self.anchors:
            raise self.syntax_error(
                event, at, f"there is no anchor &{name} above this line for the alias *{name}. Put a pattern in quotes."
            )
        meant = self.anchors[name]
        if meant is None:
            raise self.syntax_error(event, at, f"the alias *{name} stands inside what it stands for. Remove it.")
        self.count_values(meant.values, event, at)
        if depth + meant.height - 1 > MAX_DEPTH:
            raise self.syntax_error(event, at, f"more than {MAX_DEPTH} levels deep, by the alias *{name}. Flatten it.")
        self.height = max(self.height, meant.height)
        return meant.node

    def read_scalar(self, event: yaml.ScalarEvent, at: str) -> ScalarNode:
        line, text, tag = _line(event), event.value, event.tag
        if tag is None:
            return ScalarNode(scalar_kind(text) if event.implicit[0] else ScalarKind.TEXT, text, line)
        kind = _KINDS.get(tag)
        if kind is None:
            self.check_tag(event, "str", at)
            return ScalarNode(ScalarKind.TEXT, text, line)
        means = scalar_kind(text)
        if kind in (ScalarKind.TEXT, means) or (kind, means) == (ScalarKind.NUMBER, ScalarKind.INTEGER):
            return ScalarNode(kind, text, line)
        self.problems.append(
            FileProblem(self.file, line, at, f"this is not {kind.value}, as its tag says. Remove the tag.")
        )
        return ScalarNode(ScalarKind.TEXT, text, line)

    def check_tag(self, event: yaml.NodeEvent, core: str, at: str) -> None:
        tag: str | None = getattr(event, "tag", None)
        if tag is not None and tag not in ("!", f"{_CORE_TAG}{core}"):
            self.problems.append(FileProblem(self.file, _line(event), at, _tag_message(tag)))

    def count_values(self, values: int, event: yaml.Event, at: str) -> None:
        self.values += values
        if self.values > MAX_VALUES:
            what = f"more than {MAX_VALUES} values, counting each alias as what it stands for. Use fewer."
            raise self.syntax_error(event, at, what)

    def syntax_error(self, event: yaml.Event, at: str, what: str) -> UnreadableFileError:
        return UnreadableFileError(FileProblem(self.file, _line(event), at, what))


def _line(event: yaml.Event) -> int:
    return 0 if event.start_mark is None else event.start_mark.line + 1


def _tag_message(tag: str) -> str:
    written = f"!!{tag.removeprefix(_CORE_TAG)}" if tag.startswith(_CORE_TAG) else tag
    return f"the tag {written[:64]!r} is not read here. Remove it, or put the text in quotes."


def _syntax_problem(error: yaml.MarkedYAMLError, text: str, file: str) -> FileProblem:
    mark = error.problem_mark or error.context_mark
    said = error.problem or "it cannot be read"
    line = 0 if mark is None else mark.line + 1
    lines = text.splitlines()
    written = lines[line - 1] if 0 < line <= len(lines) else ""
    if "\t" in written[: len(written) - len(written.lstrip())]:
        return FileProblem(
            file, line, "", "a tab indents this line, and YAML allows only spaces. Replace it with spaces."
        )
    if "${" in written and "expected ','" in said:
        return FileProblem(
            file, line, "", "within [ ] and { } a text that holds ${ must stand in quotes. Put it in quotes."
        )
    advice = next(
        (advice for part, advice in _ADVICE.items() if part in said), "Check the indentation and quotes here."
    )
    start = error.context_mark
    if start is not None and start.line + 1 != line and ("opened" in advice):
        advice += f" It may be the one on line {start.line + 1}."
    return FileProblem(file, line, "", f"this is not YAML: {said}. {advice}")


# JSON, read into a tree. Comments and trailing commas are allowed, because editors allow them in their settings.

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
