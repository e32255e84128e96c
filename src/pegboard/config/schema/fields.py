"""Field types: each reads a node, reports what is wrong, and writes its JSON Schema."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, Protocol, TypeVar

from pegboard.config import references
from pegboard.config.schema.document import (
    Invalid,
    ListNode,
    LocatedValue,
    MapNode,
    Node,
    ProblemCollector,
    ScalarKind,
    ScalarNode,
    describe_node,
    join_key,
    parse_integer,
    parse_number,
    to_json,
)
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.characters import is_deceptive_name
from pegboard.core.model.foreign_names import near_words

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_DURATION: Final = r"(?=.*[1-9])([0-9]{1,9}(?:\.[0-9]{1,9})?)\s?(ms|s|m|h)?"
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
MAX_WAIT_S: Final = 365 * 24 * 60 * 60


def _numbers_up_to(most: int) -> str:
    """A regular expression for the numbers from 0 to this one, in the nine digits that a duration may have."""
    digits = str(most)
    below = [
        f"{digits[:at]}[0-{int(digit) - 1}][0-9]{{{len(digits) - at - 1}}}"
        for at, digit in enumerate(digits)
        if digit > "0"
    ]
    whole = "|".join((f"[0-9]{{1,{len(digits) - 1}}}", *below))
    return rf"0*(?:(?:{whole})(?:\.[0-9]{{1,9}})?|{digits}(?:\.0{{1,9}})?)"


# JSON Schema compares numbers and no texts, so that the longest wait is written out digit by digit.
_WITHIN_A_YEAR: Final = "|".join(
    rf"{_numbers_up_to(int(MAX_WAIT_S / seconds))}\s?{unit}" for unit, seconds in (("s?", 1), ("m", 60), ("h", 3600))
)
_SHORT_DURATION: Final = rf"(?=.*[1-9])(?=[0-9]{{1,9}}(?![0-9]))(?:[0-9]+(?:\.[0-9]{{1,9}})?\s?ms|{_WITHIN_A_YEAR})"
_INVALID_CHARACTERS: Final = re.compile("[\x00\ud800-\udfff]")
_INVALID_CHARACTERS_MESSAGE: Final = "this text holds a NUL character or half a character. Remove it."


class ConfigField(Protocol[T_co]):
    def parse(self, node: Node, at: str, tell: ProblemCollector) -> T_co | Invalid: ...

    def schema(self) -> JsonObject: ...


@dataclass(frozen=True)
class TextRule:
    """A rule for a text: a regular expression in the dialect of JSON Schema, and the rule in words."""

    regex: str
    rule: str
    reserved: tuple[str, ...] = ()
    excluded: "TextRule | None" = None
    """What fits and is refused all the same, and why."""
    max_length: int | None = None
    """Characters."""
    is_name: bool = False
    """Whether people know somebody by it, so that it must show as it is."""

    def mismatch(self, text: str) -> str | None:
        if self.max_length is not None and len(text) > self.max_length:
            return f"it has {len(text)} characters, and {self.max_length} are the most"
        if re.fullmatch(self.regex, text) is None:
            return self.rule
        if self.is_name and is_deceptive_name(text):
            return "use characters that show as they are"
        if text in self.reserved:
            return "it has a meaning of its own; choose another"
        if self.excluded is not None and self.excluded.mismatch(text) is None:
            return self.excluded.rule
        return None

    def schema(self) -> JsonObject:
        rule: JsonObject = {"pattern": f"^(?:{self.regex})$"}
        if self.max_length is not None:
            rule["maxLength"] = self.max_length
        if self.excluded is not None:
            rule["not"] = self.excluded.schema()
        return {**rule, "not": {"enum": [*self.reserved]}} if self.reserved else rule


ANY_TEXT: Final = TextRule(r"[\s\S]*", "write a text")


@dataclass(frozen=True)
class TextField:
    """With `accepts_scalars`, numbers and booleans are texts too, exactly as they stand in the file."""

    rule: TextRule = ANY_TEXT
    allows_references: bool = False
    allows_header_references: bool = False
    """Whether a reference may stand for a header of the caller's own request."""
    accepts_scalars: bool = False
    is_secret: bool = False

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> str | Invalid:
        if not isinstance(node, ScalarNode) or (node.kind is not ScalarKind.TEXT and not self.accepts_scalars):
            return tell.add_problem(
                node.line, at, f"this must be a text, and it is {describe_node(node)}. {_quoting_hint(node)}"
            )
        if node.kind is ScalarKind.NULL:
            return tell.add_problem(node.line, at, 'this has no value. Write "" for an empty text, or remove the key.')
        if _INVALID_CHARACTERS.search(node.text):
            return tell.add_problem(node.line, at, _INVALID_CHARACTERS_MESSAGE)
        if self.allows_references and isinstance(
            split := references.parse_references(node.text), references.MalformedText
        ):
            return tell.add_problem(node.line, at, split.why)
        if (
            self.allows_references
            and not self.allows_header_references
            and (asked := references.header_references(node.text))
        ):
            return tell.add_problem(node.line, at, references.header_reference_problem(asked[0]))
        if (misfit := self.rule.mismatch(node.text)) is not None:
            named = "" if self.is_secret else f"{_shorten(node.text)} does not fit: "
            return tell.add_problem(node.line, at, f"{named}{misfit}.")
        return node.text

    def schema(self) -> JsonObject:
        types: JsonObject = {"type": ["string", "number", "boolean"] if self.accepts_scalars else "string"}
        rules = [] if self.rule is ANY_TEXT else [self.rule.schema()]
        if self.allows_references:
            form = (
                references.CALLER_REFERENCE_PATTERN if self.allows_header_references else references.REFERENCE_PATTERN
            )
            rules.append({"pattern": f"^{form}$"})
        return {**types, **rules[0]} if len(rules) == 1 else {**types, "allOf": [*rules]} if rules else types


@dataclass(frozen=True)
class BooleanField:
    def parse(self, node: Node, at: str, tell: ProblemCollector) -> bool | Invalid:
        if isinstance(node, ScalarNode) and node.kind is ScalarKind.BOOLEAN:
            return node.text.lower() == "true"
        return tell.add_problem(
            node.line, at, f"this must be true or false, without quotes, and it is {describe_node(node)}."
        )

    def schema(self) -> JsonObject:
        return {"type": "boolean"}


@dataclass(frozen=True)
class IntegerField:
    minimum: int
    maximum: int

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> int | Invalid:
        value: float | None = None
        if isinstance(node, ScalarNode) and node.kind in (ScalarKind.INTEGER, ScalarKind.NUMBER):
            value = parse_integer(node.text) if node.kind is ScalarKind.INTEGER else parse_number(node.text)
        if value is None or not math.isfinite(value) or value != int(value) or not self._is_in_range(value):
            rule = f"this must be a whole number from {self.minimum} to {self.maximum}"
            return tell.add_problem(node.line, at, f"{rule}; it is {describe_node(node)}.")
        return int(value)

    def schema(self) -> JsonObject:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}

    def _is_in_range(self, value: float) -> bool:
        return self.minimum <= value <= self.maximum


@dataclass(frozen=True)
class AnyValueField:
    """A value of any kind, nested as deep as the file may be."""

    allows_references: bool = False

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> Json | Invalid:
        if isinstance(node, ScalarNode) and node.kind is ScalarKind.NULL and not node.text:
            return tell.add_problem(node.line, at, "this has no value. Write null for nothing, or remove the key.")
        found = [told for scalar in _scalars(node) if (told := self._problem(scalar)) is not None]
        found += [(line, _INVALID_CHARACTERS_MESSAGE) for key, line in _keys(node) if _INVALID_CHARACTERS.search(key)]
        for line, what in found:
            tell.add_problem(line, at, what)
        return Invalid() if found else to_json(node)

    def schema(self) -> JsonObject:
        return {}

    def _problem(self, scalar: ScalarNode) -> tuple[int, str] | None:
        if scalar.kind is ScalarKind.NUMBER and not math.isfinite(parse_number(scalar.text)):
            return scalar.line, "JSON has no such number. Write a finite one."
        if scalar.kind is not ScalarKind.TEXT:
            return None
        if _INVALID_CHARACTERS.search(scalar.text):
            return scalar.line, _INVALID_CHARACTERS_MESSAGE
        if not self.allows_references:
            return None
        split = references.parse_references(scalar.text)
        if isinstance(split, references.MalformedText):
            return scalar.line, split.why
        asked = references.header_references(scalar.text)
        return (scalar.line, references.header_reference_problem(asked[0])) if asked else None


@dataclass(frozen=True)
class AnyMapField:
    """A map whose keys another rule knows."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> JsonObject | Invalid:
        if not isinstance(node, MapNode):
            return tell.add_problem(node.line, at, f"this must be a map, name: value, and it is {describe_node(node)}.")
        value = AnyValueField().parse(node, at, tell)
        assert isinstance(value, dict | Invalid)
        return value

    def schema(self) -> JsonObject:
        return {"type": "object"}


@dataclass(frozen=True)
class ChoiceField(Generic[T]):
    """One of some words. The words after the first for a value are other names people write for it."""

    choices: Mapping[str, T]
    lists_aliases: bool = False
    """Whether who writes another word is told of those names too."""
    hints: Mapping[str, str] = field(default_factory=dict[str, str])
    """Words that other programs use here, each with a hint."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> T | Invalid:
        if isinstance(node, ScalarNode) and node.kind is ScalarKind.TEXT and node.text in self.choices:
            return self.choices[node.text]
        written = (
            _shorten(node.text)
            if isinstance(node, ScalarNode) and node.kind is ScalarKind.TEXT
            else describe_node(node)
        )
        values = [*self.choices.values()]
        words = enumerate(self.choices)
        known = ", ".join(
            word for place, word in words if self.lists_aliases or values.index(self.choices[word]) == place
        )
        hint = self._hint(node.text) if isinstance(node, ScalarNode) and node.kind is ScalarKind.TEXT else ""
        return tell.add_problem(node.line, at, f"this must be one of {known}; it is {written}.{hint}")

    def _hint(self, text: str) -> str:
        if text in self.hints:
            return f" {self.hints[text]}"
        near = near_words(text, self.choices)
        return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""

    def schema(self) -> JsonObject:
        return {"enum": [*self.choices]}


@dataclass(frozen=True)
class DurationField:
    """A number of seconds, or a number with its unit. `otherwise` is for who wants none, or no end."""

    hint: str = ""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> float | Invalid:
        match node:
            case ScalarNode(ScalarKind.INTEGER, text):
                seconds = float(parse_integer(text))
            case ScalarNode(ScalarKind.NUMBER, text):
                seconds = parse_number(text)
            case ScalarNode(ScalarKind.TEXT, text) if (written := re.fullmatch(_DURATION, text)) is not None:
                # By the same rule as the JSON Schema: floating point cannot tell a billionth of a second over a year.
                is_short = re.fullmatch(_SHORT_DURATION, text) is not None
                seconds = float(written.group(1)) * _UNITS[written.group(2) or ""] if is_short else 0.0
            case _:
                rule = "this must be seconds: a number, or a text such as 500ms, 30s or 2m."
                return tell.add_problem(node.line, at, f"{rule} {self.hint}".rstrip())
        if not 0 < seconds <= MAX_WAIT_S:
            why = f". {self.hint}" if self.hint else ": every wait has an end."
            return tell.add_problem(node.line, at, f"this must be more than 0 seconds and at most a year{why}")
        return seconds

    def schema(self) -> JsonObject:
        return {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_WAIT_S},
                {"type": "string", "pattern": f"^{_SHORT_DURATION}$"},
            ]
        }


@dataclass(frozen=True)
class DaysOrNeverField:
    """A whole number of days, or the word `never` for no end."""

    maximum: int

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> int | Literal["never"] | Invalid:
        if isinstance(node, ScalarNode) and node.kind is ScalarKind.TEXT and node.text == "never":
            return "never"
        if (
            isinstance(node, ScalarNode)
            and node.kind is ScalarKind.INTEGER
            and 1 <= parse_integer(node.text) <= self.maximum
        ):
            return parse_integer(node.text)
        rule = f"this must be a whole number of days from 1 to {self.maximum}, or never"
        return tell.add_problem(node.line, at, f"{rule}; it is {describe_node(node)}.")

    def schema(self) -> JsonObject:
        return {"anyOf": [{"type": "integer", "minimum": 1, "maximum": self.maximum}, {"const": "never"}]}


@dataclass(frozen=True)
class ListField(Generic[T]):
    """With `allows_commas`, one text with commas does too. What can be read of a list is, so that all problems are
    told."""

    item: ConfigField[T]
    allows_commas: bool = False
    null_is_empty: bool = True

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> tuple[LocatedValue[T], ...] | Invalid:
        match node:
            case ListNode(nodes):
                items = [(item, f"{at}[{place}]") for place, item in enumerate(nodes)]
            case ScalarNode(ScalarKind.NULL) if self.null_is_empty:
                items = []
            case ScalarNode(ScalarKind.NULL):
                return tell.add_problem(
                    node.line, at, "this has no value. Write [] for none of them, or remove the key."
                )
            case ScalarNode(_, text, line) if self.allows_commas:
                words = [word.strip() for word in text.split(",") if word.strip()]
                items = [(ScalarNode(ScalarKind.TEXT, word, line), at) for word in words]
            case _:
                also = " or one text with commas" if self.allows_commas else ""
                what = f"this must be a list{also}, and it is {describe_node(node)}. Write [one, two]."
                return tell.add_problem(node.line, at, what)
        read = [LocatedValue(self.item.parse(item, here, tell), here, item.line) for item, here in items]
        return tuple(LocatedValue(one.value, one.key, one.line) for one in read if not isinstance(one.value, Invalid))

    def schema(self) -> JsonObject:
        several: JsonObject = {"type": "array", "items": self.item.schema()}
        others: list[JsonObject] = [{"type": ["string", "number", "boolean"]}] if self.allows_commas else []
        if self.null_is_empty:
            others.append({"type": "null"})
        return {"anyOf": [several, *others]} if others else several


@dataclass(frozen=True)
class OrFalseField(Generic[T]):
    """`false` for none of it, else what the other shape takes."""

    other: ConfigField[T]

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> T | Literal[False] | Invalid:
        if isinstance(node, ScalarNode) and node.kind is ScalarKind.BOOLEAN:
            if node.text.lower() == "false":
                return False
            return tell.add_problem(node.line, at, "this must be false or a map; true says nothing. Remove the key.")
        return self.other.parse(node, at, tell)

    def schema(self) -> JsonObject:
        return {"anyOf": [{"const": False}, self.other.schema()]}


@dataclass(frozen=True)
class MapField(Generic[T]):
    """Names that people choose, each with a value. What can be read is, so that all problems are told."""

    name_rule: TextRule
    item: ConfigField[T]

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> Mapping[str, LocatedValue[T]] | Invalid:
        if isinstance(node, ScalarNode) and node.kind is ScalarKind.NULL:
            return {}
        if not isinstance(node, MapNode):
            return tell.add_problem(node.line, at, f"this must be a map, name: value, and it is {describe_node(node)}.")
        good: dict[str, LocatedValue[T]] = {}
        for entry in node.entries:
            here = join_key(at, entry.key)
            misfit = (
                "it holds half a character"
                if _INVALID_CHARACTERS.search(entry.key)
                else self.name_rule.mismatch(entry.key)
            )
            if misfit is not None:
                tell.add_problem(entry.line, here, f"{_shorten(entry.key)} cannot be a name here: {misfit}.")
            value = self.item.parse(entry.value, here, tell)
            if not isinstance(value, Invalid) and misfit is None:
                good[entry.key] = LocatedValue(value, here, entry.line)
        return good

    def schema(self) -> JsonObject:
        return {
            "type": ["object", "null"],
            "propertyNames": self.name_rule.schema(),
            "additionalProperties": self.item.schema(),
        }


def _keys(node: Node) -> Iterator[tuple[str, int]]:
    match node:
        case ListNode(nodes):
            for item in nodes:
                yield from _keys(item)
        case MapNode(entries):
            for entry in entries:
                yield entry.key, entry.line
                yield from _keys(entry.value)


def _scalars(node: Node) -> Iterator[ScalarNode]:
    match node:
        case ScalarNode():
            yield node
        case ListNode(nodes):
            for item in nodes:
                yield from _scalars(item)
        case MapNode(entries):
            for entry in entries:
                yield from _scalars(entry.value)


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 64 else f"{text[:61]}...")


def _quoting_hint(node: Node) -> str:
    if isinstance(node, ScalarNode) and node.kind is not ScalarKind.NULL:
        return "Put it in quotes."
    return "Write one text."
