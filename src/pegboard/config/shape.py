"""What a value may look like. One description reads a node, tells what is wrong with it, and writes its JSON Schema."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, Protocol, TypeVar

from pegboard.core.characters import is_deceptive_name
from pegboard.core.foreign_names import near_words
from pegboard.core.tool import Json, JsonObject

from . import references
from .telling import Placed, Telling, Wrong
from .tree import Items, Kind, Node, Scalar, Table, integer, number, plain, shown, under

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_DURATION: Final = r"(?=.*[1-9])([0-9]{1,9}(?:\.[0-9]{1,9})?)\s?(ms|s|m|h)?"
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
LONGEST_WAIT: Final = 365 * 24 * 60 * 60


def _up_to(most: int) -> str:
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
    rf"{_up_to(int(LONGEST_WAIT / seconds))}\s?{unit}" for unit, seconds in (("s?", 1), ("m", 60), ("h", 3600))
)
_SHORT_DURATION: Final = rf"(?=.*[1-9])(?=[0-9]{{1,9}}(?![0-9]))(?:[0-9]+(?:\.[0-9]{{1,9}})?\s?ms|{_WITHIN_A_YEAR})"
_UNUSABLE: Final = re.compile("[\x00\ud800-\udfff]")
_HALVED: Final = "this text holds a NUL character or half a character. Remove it."


class Shape(Protocol[T_co]):
    def read(self, node: Node, at: str, tell: Telling) -> T_co | Wrong: ...

    def schema(self) -> JsonObject: ...


@dataclass(frozen=True)
class Form:
    """A rule for a text: a regular expression in the dialect of JSON Schema, and the rule in words."""

    regex: str
    rule: str
    reserved: tuple[str, ...] = ()
    taken: "Form | None" = None
    """What fits and is refused all the same, and why."""
    longest: int | None = None
    """Characters."""
    is_name: bool = False
    """Whether people know somebody by it, so that it must show as it is."""

    def misfit(self, text: str) -> str | None:
        if self.longest is not None and len(text) > self.longest:
            return f"it has {len(text)} characters, and {self.longest} are the most"
        if re.fullmatch(self.regex, text) is None:
            return self.rule
        if self.is_name and is_deceptive_name(text):
            return "use characters that show as they are"
        if text in self.reserved:
            return "it has a meaning of its own; choose another"
        if self.taken is not None and self.taken.misfit(text) is None:
            return self.taken.rule
        return None

    def schema(self) -> JsonObject:
        rule: JsonObject = {"pattern": f"^(?:{self.regex})$"}
        if self.longest is not None:
            rule["maxLength"] = self.longest
        if self.taken is not None:
            rule["not"] = self.taken.schema()
        return {**rule, "not": {"enum": [*self.reserved]}} if self.reserved else rule


ANY_TEXT: Final = Form(r"[\s\S]*", "write a text")


@dataclass(frozen=True)
class Text:
    """With `as_written`, numbers and booleans are texts too, exactly as they stand in the file."""

    form: Form = ANY_TEXT
    holds_references: bool = False
    of_caller: bool = False
    """Whether a reference may stand for a header of the caller's own request."""
    as_written: bool = False
    is_secret: bool = False

    def read(self, node: Node, at: str, tell: Telling) -> str | Wrong:
        if not isinstance(node, Scalar) or (node.kind is not Kind.TEXT and not self.as_written):
            return tell.wrong(node.line, at, f"this must be a text, and it is {shown(node)}. {_quoted(node)}")
        if node.kind is Kind.NOTHING:
            return tell.wrong(node.line, at, 'this has no value. Write "" for an empty text, or remove the key.')
        if _UNUSABLE.search(node.text):
            return tell.wrong(node.line, at, _HALVED)
        if self.holds_references and isinstance(split := references.parts(node.text), references.Malformed):
            return tell.wrong(node.line, at, split.why)
        if self.holds_references and not self.of_caller and (asked := references.asked_of_callers(node.text)):
            return tell.wrong(node.line, at, references.not_here(asked[0]))
        if (misfit := self.form.misfit(node.text)) is not None:
            named = "" if self.is_secret else f"{_short(node.text)} does not fit: "
            return tell.wrong(node.line, at, f"{named}{misfit}.")
        return node.text

    def schema(self) -> JsonObject:
        types: JsonObject = {"type": ["string", "number", "boolean"] if self.as_written else "string"}
        rules = [] if self.form is ANY_TEXT else [self.form.schema()]
        if self.holds_references:
            form = references.FORM_OF_CALLERS if self.of_caller else references.FORM
            rules.append({"pattern": f"^{form}$"})
        return {**types, **rules[0]} if len(rules) == 1 else {**types, "allOf": [*rules]} if rules else types


@dataclass(frozen=True)
class Truth:
    def read(self, node: Node, at: str, tell: Telling) -> bool | Wrong:
        if isinstance(node, Scalar) and node.kind is Kind.TRUTH:
            return node.text.lower() == "true"
        return tell.wrong(node.line, at, f"this must be true or false, without quotes, and it is {shown(node)}.")

    def schema(self) -> JsonObject:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Whole:
    minimum: int
    maximum: int

    def read(self, node: Node, at: str, tell: Telling) -> int | Wrong:
        value: float | None = None
        if isinstance(node, Scalar) and node.kind in (Kind.INTEGER, Kind.NUMBER):
            value = integer(node.text) if node.kind is Kind.INTEGER else number(node.text)
        if value is None or not math.isfinite(value) or value != int(value) or not self._holds(value):
            rule = f"this must be a whole number from {self.minimum} to {self.maximum}"
            return tell.wrong(node.line, at, f"{rule}; it is {shown(node)}.")
        return int(value)

    def schema(self) -> JsonObject:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}

    def _holds(self, value: float) -> bool:
        return self.minimum <= value <= self.maximum


@dataclass(frozen=True)
class Value:
    """A value of any kind, nested as deep as the file may be."""

    holds_references: bool = False

    def read(self, node: Node, at: str, tell: Telling) -> Json | Wrong:
        if isinstance(node, Scalar) and node.kind is Kind.NOTHING and not node.text:
            return tell.wrong(node.line, at, "this has no value. Write null for nothing, or remove the key.")
        found = [told for scalar in _scalars(node) if (told := self._problem(scalar)) is not None]
        found += [(line, _HALVED) for key, line in _keys(node) if _UNUSABLE.search(key)]
        for line, what in found:
            tell.wrong(line, at, what)
        return Wrong() if found else plain(node)

    def schema(self) -> JsonObject:
        return {}

    def _problem(self, scalar: Scalar) -> tuple[int, str] | None:
        if scalar.kind is Kind.NUMBER and not math.isfinite(number(scalar.text)):
            return scalar.line, "JSON has no such number. Write a finite one."
        if scalar.kind is not Kind.TEXT:
            return None
        if _UNUSABLE.search(scalar.text):
            return scalar.line, _HALVED
        if not self.holds_references:
            return None
        split = references.parts(scalar.text)
        if isinstance(split, references.Malformed):
            return scalar.line, split.why
        asked = references.asked_of_callers(scalar.text)
        return (scalar.line, references.not_here(asked[0])) if asked else None


@dataclass(frozen=True)
class AnyMap:
    """A map whose keys another rule knows."""

    def read(self, node: Node, at: str, tell: Telling) -> JsonObject | Wrong:
        if not isinstance(node, Table):
            return tell.wrong(node.line, at, f"this must be a map, name: value, and it is {shown(node)}.")
        value = Value().read(node, at, tell)
        assert isinstance(value, dict | Wrong)
        return value

    def schema(self) -> JsonObject:
        return {"type": "object"}


@dataclass(frozen=True)
class Choice(Generic[T]):
    """One of some words. The words after the first for a value are other names people write for it."""

    words: Mapping[str, T]
    names_all: bool = False
    """Whether who writes another word is told of those names too."""
    elsewhere: Mapping[str, str] = field(default_factory=dict[str, str])
    """Words that other programs use here, each with a hint."""

    def read(self, node: Node, at: str, tell: Telling) -> T | Wrong:
        if isinstance(node, Scalar) and node.kind is Kind.TEXT and node.text in self.words:
            return self.words[node.text]
        written = _short(node.text) if isinstance(node, Scalar) and node.kind is Kind.TEXT else shown(node)
        values = [*self.words.values()]
        words = enumerate(self.words)
        known = ", ".join(word for place, word in words if self.names_all or values.index(self.words[word]) == place)
        hint = self._hint(node.text) if isinstance(node, Scalar) and node.kind is Kind.TEXT else ""
        return tell.wrong(node.line, at, f"this must be one of {known}; it is {written}.{hint}")

    def _hint(self, text: str) -> str:
        if text in self.elsewhere:
            return f" {self.elsewhere[text]}"
        near = near_words(text, self.words)
        return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""

    def schema(self) -> JsonObject:
        return {"enum": [*self.words]}


@dataclass(frozen=True)
class Seconds:
    """A number of seconds, or a number with its unit. `otherwise` is for who wants none, or no end."""

    otherwise: str = ""

    def read(self, node: Node, at: str, tell: Telling) -> float | Wrong:
        match node:
            case Scalar(Kind.INTEGER, text):
                seconds = float(integer(text))
            case Scalar(Kind.NUMBER, text):
                seconds = number(text)
            case Scalar(Kind.TEXT, text) if (written := re.fullmatch(_DURATION, text)) is not None:
                # By the same rule as the JSON Schema: floating point cannot tell a billionth of a second over a year.
                is_short = re.fullmatch(_SHORT_DURATION, text) is not None
                seconds = float(written.group(1)) * _UNITS[written.group(2) or ""] if is_short else 0.0
            case _:
                rule = "this must be seconds: a number, or a text such as 500ms, 30s or 2m."
                return tell.wrong(node.line, at, f"{rule} {self.otherwise}".rstrip())
        if not 0 < seconds <= LONGEST_WAIT:
            why = f". {self.otherwise}" if self.otherwise else ": every wait has an end."
            return tell.wrong(node.line, at, f"this must be more than 0 seconds and at most a year{why}")
        return seconds

    def schema(self) -> JsonObject:
        return {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST_WAIT},
                {"type": "string", "pattern": f"^{_SHORT_DURATION}$"},
            ]
        }


@dataclass(frozen=True)
class DaysOrNever:
    """A whole number of days, or the word `never` for no end."""

    maximum: int

    def read(self, node: Node, at: str, tell: Telling) -> int | Literal["never"] | Wrong:
        if isinstance(node, Scalar) and node.kind is Kind.TEXT and node.text == "never":
            return "never"
        if isinstance(node, Scalar) and node.kind is Kind.INTEGER and 1 <= integer(node.text) <= self.maximum:
            return integer(node.text)
        rule = f"this must be a whole number of days from 1 to {self.maximum}, or never"
        return tell.wrong(node.line, at, f"{rule}; it is {shown(node)}.")

    def schema(self) -> JsonObject:
        return {"anyOf": [{"type": "integer", "minimum": 1, "maximum": self.maximum}, {"const": "never"}]}


@dataclass(frozen=True)
class ListOf(Generic[T]):
    """With `or_commas`, one text with commas does too. What can be read of a list is, so that all problems are told."""

    item: Shape[T]
    or_commas: bool = False
    nothing_is_empty: bool = True

    def read(self, node: Node, at: str, tell: Telling) -> tuple[Placed[T], ...] | Wrong:
        match node:
            case Items(nodes):
                items = [(item, f"{at}[{place}]") for place, item in enumerate(nodes)]
            case Scalar(Kind.NOTHING) if self.nothing_is_empty:
                items = []
            case Scalar(Kind.NOTHING):
                return tell.wrong(node.line, at, "this has no value. Write [] for none of them, or remove the key.")
            case Scalar(_, text, line) if self.or_commas:
                words = [word.strip() for word in text.split(",") if word.strip()]
                items = [(Scalar(Kind.TEXT, word, line), at) for word in words]
            case _:
                also = " or one text with commas" if self.or_commas else ""
                what = f"this must be a list{also}, and it is {shown(node)}. Write [one, two]."
                return tell.wrong(node.line, at, what)
        read = [Placed(self.item.read(item, here, tell), here, item.line) for item, here in items]
        return tuple(Placed(one.value, one.at, one.line) for one in read if not isinstance(one.value, Wrong))

    def schema(self) -> JsonObject:
        several: JsonObject = {"type": "array", "items": self.item.schema()}
        others: list[JsonObject] = [{"type": ["string", "number", "boolean"]}] if self.or_commas else []
        if self.nothing_is_empty:
            others.append({"type": "null"})
        return {"anyOf": [several, *others]} if others else several


@dataclass(frozen=True)
class OrFalse(Generic[T]):
    """`false` for none of it, else what the other shape takes."""

    other: Shape[T]

    def read(self, node: Node, at: str, tell: Telling) -> T | Literal[False] | Wrong:
        if isinstance(node, Scalar) and node.kind is Kind.TRUTH:
            if node.text.lower() == "false":
                return False
            return tell.wrong(node.line, at, "this must be false or a map; true says nothing. Remove the key.")
        return self.other.read(node, at, tell)

    def schema(self) -> JsonObject:
        return {"anyOf": [{"const": False}, self.other.schema()]}


@dataclass(frozen=True)
class MapOf(Generic[T]):
    """Names that people choose, each with a value. What can be read is, so that all problems are told."""

    name: Form
    item: Shape[T]

    def read(self, node: Node, at: str, tell: Telling) -> Mapping[str, Placed[T]] | Wrong:
        if isinstance(node, Scalar) and node.kind is Kind.NOTHING:
            return {}
        if not isinstance(node, Table):
            return tell.wrong(node.line, at, f"this must be a map, name: value, and it is {shown(node)}.")
        good: dict[str, Placed[T]] = {}
        for entry in node.entries:
            here = under(at, entry.key)
            misfit = "it holds half a character" if _UNUSABLE.search(entry.key) else self.name.misfit(entry.key)
            if misfit is not None:
                tell.wrong(entry.line, here, f"{_short(entry.key)} cannot be a name here: {misfit}.")
            value = self.item.read(entry.value, here, tell)
            if not isinstance(value, Wrong) and misfit is None:
                good[entry.key] = Placed(value, here, entry.line)
        return good

    def schema(self) -> JsonObject:
        return {
            "type": ["object", "null"],
            "propertyNames": self.name.schema(),
            "additionalProperties": self.item.schema(),
        }


def _keys(node: Node) -> Iterator[tuple[str, int]]:
    match node:
        case Items(nodes):
            for item in nodes:
                yield from _keys(item)
        case Table(entries):
            for entry in entries:
                yield entry.key, entry.line
                yield from _keys(entry.value)


def _scalars(node: Node) -> Iterator[Scalar]:
    match node:
        case Scalar():
            yield node
        case Items(nodes):
            for item in nodes:
                yield from _scalars(item)
        case Table(entries):
            for entry in entries:
                yield from _scalars(entry.value)


def _short(text: str) -> str:
    return repr(text if len(text) <= 64 else f"{text[:61]}...")


def _quoted(node: Node) -> str:
    if isinstance(node, Scalar) and node.kind is not Kind.NOTHING:
        return "Put it in quotes."
    return "Write one text."
