"""Grammars of formats that write each argument between tags of its own: texts as they are, all else as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pegboard.core.tool import Json
from pegboard.prompts.events import Called
from pegboard.prompts.formats import Format
from pegboard.prompts.shapes import ToolShape

from .excluding import text_without
from .rules import Rules, described, literal, needed

_TEXT: Final = "pegboard-value"
_NUMBER: Final = 424242424242
_KINDS: Final = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})


@dataclass(frozen=True)
class _Around:
    """What stands before a value and behind it."""

    before: str
    after: str

    @property
    def closes(self) -> str:
        """The tag at which the value ends."""
        tag = self.after.strip()
        return tag[: tag.index(">") + 1] if ">" in tag else tag


@dataclass(frozen=True)
class _Frame:
    first: str
    last: str
    arguments: Mapping[tuple[str, bool], _Around]
    """By the key, and by whether the value is a text."""


def tagged_gbnf(format: Format, tools: Sequence[ToolShape], *, several: bool) -> str | None:
    """`None` where the format does not write its arguments one behind the other."""
    frames = {tool.name: framed for tool in tools if (framed := _framed(format, tool)) is not None}
    if len(frames) < len(tools) or len({each.last for each in frames.values()}) != 1:
        return None
    last = next(iter(frames.values())).last
    further = {tool.name: _further(format, tools[0], tool, frames, last) for tool in tools}
    rules = Rules()
    taken: dict[str, str] = {}
    for tool in tools:
        if further[tool.name] is None:
            return None
        taken[tool.name] = rules.add(f"{tool.name}-arguments", _arguments(tool, frames[tool.name], rules, last))
    first = " | ".join(f"{literal(frames[name].first)} {rule}" for name, rule in taken.items())
    more = " | ".join(f"{literal(further[name] or '')} {rule}" for name, rule in taken.items())
    root = rules.add("first-call", first)
    if several:
        root = f"{root} {rules.add('next-call', more)}*"
    return rules.text(f"{root} {literal(last)}")


def _framed(format: Format, tool: ToolShape) -> _Frame | None:
    keys = [*described(tool.parameters)]
    empty = format.calls_text([Called(tool.name, {})])
    written = {
        (key, is_text): format.calls_text([Called(tool.name, {key: _TEXT if is_text else _NUMBER})])
        for key in keys or ["key"]
        for is_text in (True, False)
    }
    at = _cut(empty, [*written.values()])
    if at is None:
        return None
    arguments: dict[tuple[str, bool], _Around] = {}
    pieces: dict[tuple[str, bool], str] = {}
    for (key, is_text), text in written.items():
        piece = text[at : len(text) - len(empty) + at]
        before, found, after = piece.partition(_TEXT if is_text else str(_NUMBER))
        if not found or text != empty[:at] + piece + empty[at:]:
            return None
        pieces[key, is_text] = piece
        arguments[key, is_text] = _Around(before, after)
    for key in keys or ["key"]:
        # A format that names the kind of each value would be made to name a wrong one.
        listed = format.calls_text([Called(tool.name, {key: [_NUMBER]})])
        if listed != empty[:at] + pieces[key, False].replace(str(_NUMBER), f"[{_NUMBER}]") + empty[at:]:
            return None
    for one, other in pairwise(keys):
        both = format.calls_text([Called(tool.name, {one: _TEXT, other: _TEXT})])
        if both != empty[:at] + pieces[one, True] + pieces[other, True] + empty[at:]:
            return None
    return _Frame(empty[:at], empty[at:], arguments)


def _further(format: Format, one: ToolShape, other: ToolShape, frames: Mapping[str, _Frame], last: str) -> str | None:
    both, begun = format.calls_text([Called(one.name, {}), Called(other.name, {})]), frames[one.name].first
    return both[len(begun) : len(both) - len(last)] if both.startswith(begun) and both.endswith(last) else None


def _arguments(tool: ToolShape, frame: _Frame, rules: Rules, last: str) -> str:
    schemas, must = described(tool.parameters), needed(tool.parameters)
    rules.about(tool.parameters)
    # A reader may end a value where a call begins or ends as well, for models that forget to close it.
    others = {tag for text in (last, frame.first) for tag in _tags(text)}
    parts: list[str] = []
    for key, schema in schemas.items():
        if key not in must and _is_untold(schema):
            continue
        is_text, rule = _value(f"{tool.name}-{key}", schema, rules, others, frame.arguments[key, True])
        around = frame.arguments[key, is_text]
        whole = f"{literal(around.before)} {rule} {literal(around.after)}"
        parts.append(whole if key in must else f"({whole})?")
    return " ".join(parts) or '""'


def _value(name: str, schema: Json, rules: Rules, others: set[str], around: _Around) -> tuple[bool, str]:
    if isinstance(schema, Mapping) and isinstance(choices := schema.get("enum"), list):
        texts = [choice for choice in choices if isinstance(choice, str)]
        if texts:
            return True, rules.add(name, " | ".join(map(literal, texts)))
    if "string" in _kinds(schema):
        tags = {*others, around.closes, *_tags(around.before), *_tags(around.after)}
        return True, text_without(rules, sorted(tags))
    return False, rules.value(name, schema)


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


def _is_untold(schema: Json) -> bool:
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


def _places(one: str, other: str) -> list[int]:
    """Where the shorter can be cut so that the longer is it with something put in there."""
    return [at for at in range(len(one) + 1) if other.startswith(one[:at]) and other.endswith(one[at:])]


def _cut(empty: str, written: Sequence[str]) -> int | None:
    """One place for all of them, at the beginning of a tag if that can be."""
    places = set(_places(empty, written[0])).intersection(*(_places(empty, text) for text in written[1:]))
    return max(places, key=lambda at: (empty[at : at + 1] == "<", at), default=None)
