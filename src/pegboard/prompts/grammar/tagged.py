"""Grammars of formats that write each argument between tags of its own: texts as they are, all else as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pegboard.core.tool import Json
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats import Format
from pegboard.prompts.shapes import ToolShape

from .excluding import text_without
from .rules import GrammarRules, described_properties, grammar_literal, required_keys

_TEXT: Final = "pegboard-value"
_NUMBER: Final = 424242424242
_KINDS: Final = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})


@dataclass(frozen=True)
class _ValueFrame:
    """What stands before a value and behind it."""

    before: str
    after: str

    @property
    def closing_tag(self) -> str:
        """The tag at which the value ends."""
        tag = self.after.strip()
        return tag[: tag.index(">") + 1] if ">" in tag else tag


@dataclass(frozen=True)
class _TagFrame:
    first: str
    last: str
    arguments: Mapping[tuple[str, bool], _ValueFrame]
    """By the key, and by whether the value is a text."""


def tagged_gbnf(format: Format, tools: Sequence[ToolShape], *, several: bool) -> str | None:
    """`None` where the format does not write its arguments one behind the other."""
    frames = {tool.name: framed for tool in tools if (framed := _build_frame(format, tool)) is not None}
    if len(frames) < len(tools) or len({each.last for each in frames.values()}) != 1:
        return None
    last = next(iter(frames.values())).last
    further = {tool.name: _text_between_calls(format, tools[0], tool, frames, last) for tool in tools}
    rules = GrammarRules()
    taken: dict[str, str] = {}
    for tool in tools:
        if further[tool.name] is None:
            return None
        taken[tool.name] = rules.add(f"{tool.name}-arguments", _arguments(tool, frames[tool.name], rules, last))
    first = " | ".join(f"{grammar_literal(frames[name].first)} {rule}" for name, rule in taken.items())
    more = " | ".join(f"{grammar_literal(further[name] or '')} {rule}" for name, rule in taken.items())
    root = rules.add("first-call", first)
    if several:
        root = f"{root} {rules.add('next-call', more)}*"
    return rules.grammar_text(f"{root} {grammar_literal(last)}")


def _build_frame(format: Format, tool: ToolShape) -> _TagFrame | None:
    keys = [*described_properties(tool.parameters)]
    empty = format.calls_text([ParsedCall(tool.name, {})])
    written = {
        (key, is_text): format.calls_text([ParsedCall(tool.name, {key: _TEXT if is_text else _NUMBER})])
        for key in keys or ["key"]
        for is_text in (True, False)
    }
    at = _cut_position(empty, [*written.values()])
    if at is None:
        return None
    arguments: dict[tuple[str, bool], _ValueFrame] = {}
    pieces: dict[tuple[str, bool], str] = {}
    for (key, is_text), text in written.items():
        piece = text[at : len(text) - len(empty) + at]
        before, found, after = piece.partition(_TEXT if is_text else str(_NUMBER))
        if not found or text != empty[:at] + piece + empty[at:]:
            return None
        pieces[key, is_text] = piece
        arguments[key, is_text] = _ValueFrame(before, after)
    for key in keys or ["key"]:
        # A format that names the kind of each value would be made to name a wrong one.
        listed = format.calls_text([ParsedCall(tool.name, {key: [_NUMBER]})])
        if listed != empty[:at] + pieces[key, False].replace(str(_NUMBER), f"[{_NUMBER}]") + empty[at:]:
            return None
    for one, other in pairwise(keys):
        both = format.calls_text([ParsedCall(tool.name, {one: _TEXT, other: _TEXT})])
        if both != empty[:at] + pieces[one, True] + pieces[other, True] + empty[at:]:
            return None
    return _TagFrame(empty[:at], empty[at:], arguments)


def _text_between_calls(
    format: Format, one: ToolShape, other: ToolShape, frames: Mapping[str, _TagFrame], last: str
) -> str | None:
    both, begun = format.calls_text([ParsedCall(one.name, {}), ParsedCall(other.name, {})]), frames[one.name].first
    return both[len(begun) : len(both) - len(last)] if both.startswith(begun) and both.endswith(last) else None


def _arguments(tool: ToolShape, frame: _TagFrame, rules: GrammarRules, last: str) -> str:
    schemas, must = described_properties(tool.parameters), required_keys(tool.parameters)
    rules.set_root(tool.parameters)
    # A reader may end a value where a call begins or ends as well, for models that forget to close it.
    others = {tag for text in (last, frame.first) for tag in _tags(text)}
    parts: list[str] = []
    for key, schema in schemas.items():
        if key not in must and _has_unknown_type(schema):
            continue
        is_text, rule = _value(f"{tool.name}-{key}", schema, rules, others, frame.arguments[key, True])
        around = frame.arguments[key, is_text]
        whole = f"{grammar_literal(around.before)} {rule} {grammar_literal(around.after)}"
        parts.append(whole if key in must else f"({whole})?")
    return " ".join(parts) or '""'


def _value(name: str, schema: Json, rules: GrammarRules, others: set[str], around: _ValueFrame) -> tuple[bool, str]:
    if isinstance(schema, Mapping) and isinstance(choices := schema.get("enum"), list):
        texts = [choice for choice in choices if isinstance(choice, str)]
        if texts:
            return True, rules.add(name, " | ".join(map(grammar_literal, texts)))
    if "string" in _kinds(schema):
        tags = {*others, around.closing_tag, *_tags(around.before), *_tags(around.after)}
        return True, text_without(rules, sorted(tags))
    return False, rules.value_rule(name, schema)


def _kinds(schema: Json) -> frozenset[str]:
    """What a value may be; everything, where that is not said plainly."""
    if not isinstance(schema, Mapping):
        return _KINDS
    match schema.get("type"):
        case str(kind):
            return frozenset({kind})
        case [*kinds]:
            return frozenset(map(str, kinds))
    options = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(options, list):
        return frozenset().union(*map(_kinds, options))
    is_json = "$ref" in schema or ("const" in schema and not isinstance(schema["const"], str))
    return frozenset({"object"}) if is_json else _KINDS


def _has_unknown_type(schema: Json) -> bool:
    """One value whose kind is not said: some formats read it as text, and others do not."""
    return isinstance(schema, Mapping) and "const" in schema and "type" not in schema


def _tags(text: str) -> Iterator[str]:
    """The beginnings of tags, as far as they are the format's own."""
    for part in text.split("<")[1:]:
        tag = "<" + part
        for end in (">", "=", " "):
            tag = tag.partition(end)[0]
        if len(tag) > 2:
            yield tag


def _cut_positions(one: str, other: str) -> list[int]:
    """Where the shorter can be cut so that the longer is it with something put in there."""
    return [at for at in range(len(one) + 1) if other.startswith(one[:at]) and other.endswith(one[at:])]


def _cut_position(empty: str, written: Sequence[str]) -> int | None:
    """One place for all of them, at the beginning of a tag if that can be."""
    places = set(_cut_positions(empty, written[0])).intersection(*(_cut_positions(empty, text) for text in written[1:]))
    return max(places, key=lambda at: (empty[at : at + 1] == "<", at), default=None)
