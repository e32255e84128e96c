"""Kinds of values: what is wrong with one, in the words that today's clients know, and its JSON Schema.

What a caller sends is held to all of it. What DocSpace answers is held to less: `null`, members nobody knows, and
values that were added to a list of choices since are no reason to fail a call.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Protocol, TypeAlias

from pegboard.core.tool import Json, JsonObject

from .javascript import number
from .trouble import Issue, Place, Trouble

_UUID: Final = (
    "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}"
    "|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$"
)
_IS_UUID: Final = re.compile(_UUID.replace("$", r"\Z"))
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class Undefined(Enum):
    UNDEFINED = "undefined"


UNDEFINED: Final = Undefined.UNDEFINED
Given: TypeAlias = Json | Undefined


class Party(Enum):
    """Who sent a value."""

    CALLER = "caller"
    DOCSPACE = "docspace"


class Kind(Protocol):
    @property
    def about(self) -> str: ...

    def check(self, value: Given, path: Place, issues: list[Issue], by: Party) -> Json:
        """The value, as it is gone on with. What is wrong with it is added to the issues."""
        ...

    def schema(self, by: Party) -> JsonObject: ...


@dataclass(frozen=True)
class Number:
    about: str = ""
    least: float | None = None
    most: float | None = None
    choices: Mapping[int, str] = field(default_factory=dict[int, str])
    """What each number means; empty where any will do."""

    def check(self, value: Given, path: Place, issues: list[Issue], by: Party) -> Json:
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == _INFINITE:
            return _other("number", value, path, issues, by)
        if by is Party.CALLER:
            if self.choices and value not in self.choices:
                issues.append(_not_a_choice([number(choice) for choice in self.choices], path))
            if self.least is not None and value < self.least:
                told = f"Too small: expected number to be >={number(self.least)}"
                issues.append(Issue(path, "too_small", told))
            if self.most is not None and value > self.most:
                issues.append(Issue(path, "too_big", f"Too big: expected number to be <={number(self.most)}"))
        return value

    def schema(self, by: Party) -> JsonObject:
        schema: JsonObject = {"type": _typed("number", by)}
        if by is Party.CALLER:
            if self.choices:
                schema["enum"] = [*self.choices]
            if self.least is not None:
                schema["minimum"] = self.least
            if self.most is not None:
                schema["maximum"] = self.most
        meant = ", ".join(f"{choice}: {name}" for choice, name in self.choices.items())
        return _told(schema, " ".join(filter(None, (self.about, f"({meant})" if meant else ""))))


@dataclass(frozen=True)
class Text:
    about: str = ""
    choices: Sequence[str] = ()

    def check(self, value: Given, path: Place, issues: list[Issue], by: Party) -> Json:
        if not isinstance(value, str):
            return _other("string", value, path, issues, by)
        if by is Party.CALLER and self.choices and value not in self.choices:
            issues.append(_not_a_choice([f'"{choice}"' for choice in self.choices], path))
        return value

    def schema(self, by: Party) -> JsonObject:
        schema: JsonObject = {"type": _typed("string", by)}
        if self.choices and by is Party.CALLER:
            schema["enum"] = [*self.choices]
        return _told(schema, self.about)


@dataclass(frozen=True)
class Uuid:
    about: str = ""

    def check(self, value: Given, path: Place, issues: list[Issue], by: Party) -> Json:
        if not isinstance(value, str):
            return _other("string", value, path, issues, by)
        if _IS_UUID.match(value) is None:
            issues.append(Issue(path, "invalid_format", "Invalid UUID"))
        return value

    def schema(self, by: Party) -> JsonObject:
        return _told({"type": _typed("string", by), "format": "uuid", "pattern": _UUID}, self.about)


@dataclass(frozen=True)
class Flag:
    about: str = ""

    def check(self, value: Given, path: Place, issues: list[Issue], by: Party) -> Json:
        return value if isinstance(value, bool) else _other("boolean", value, path, issues, by)

    def schema(self, by: Party) -> JsonObject:
        return _told({"type": _typed("boolean", by)}, self.about)


@dataclass(frozen=True)
class TextOrNumber:
    about: str = ""

    def check(self, value: Given, path: Place, issues: list[Issue], by: Party) -> Json:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return value
        if value is not None or by is Party.CALLER:
            issues.append(Issue(path, "invalid_union", "Invalid input", fatal=True))
        return None

    def schema(self, by: Party) -> JsonObject:
        types: list[Json] = ["string", "number"]
        return _told({"type": types if by is Party.CALLER else [*types, "null"]}, self.about)


@dataclass(frozen=True)
class Anything:
    about: str = ""

    def check(self, value: Given, path: Place, issues: list[Issue], by: Party) -> Json:
        return None if isinstance(value, Undefined) else value

    def schema(self, by: Party) -> JsonObject:
        return _told({}, self.about)


@dataclass(frozen=True)
class Many:
    items: Kind
    about: str = ""

    def check(self, value: Given, path: Place, issues: list[Issue], by: Party) -> Json:
        if not isinstance(value, list):
            return _other("array", value, path, issues, by)
        return [self.items.check(item, (*path, place), issues, by) for place, item in enumerate(value)]

    def schema(self, by: Party) -> JsonObject:
        return _told({"type": _typed("array", by), "items": self.items.schema(by)}, self.about)


@dataclass(frozen=True)
class Keyed:
    """An object whose members are all of one kind, under names that are not known before."""

    items: Kind
    about: str = ""

    def check(self, value: Given, path: Place, issues: list[Issue], by: Party) -> Json:
        if not isinstance(value, Mapping):
            return _other("record", value, path, issues, by)
        return {name: self.items.check(item, (*path, name), issues, by) for name, item in value.items()}

    def schema(self, by: Party) -> JsonObject:
        return _told({"type": _typed("object", by), "additionalProperties": self.items.schema(by)}, self.about)


@dataclass(frozen=True)
class Optional:
    """A member that may be left out. `null` is not leaving it out."""

    kind: Kind
    default: Given = UNDEFINED


Also: TypeAlias = Callable[[Mapping[str, Json]], Issue | None]
"""What is asked of an object as a whole, once its members are of their kinds. The path begins within the object."""


@dataclass(frozen=True)
class Shape:
    members: Mapping[str, Kind | Optional] = field(default_factory=dict[str, "Kind | Optional"])
    about: str = ""
    also: Also | None = None

    def check(self, value: Given, path: Place, issues: list[Issue], by: Party) -> Json:
        if not isinstance(value, Mapping):
            return _other("object", value, path, issues, by)
        found: list[Issue] = []
        read: JsonObject = {}
        for name, member in self.members.items():
            given: Given = value.get(name, UNDEFINED)
            if isinstance(member, Optional):
                given = member.default if given is UNDEFINED else given
                if given is UNDEFINED:
                    continue
            elif given is UNDEFINED and isinstance(member, Anything):
                continue
            kind = member.kind if isinstance(member, Optional) else member
            read[name] = kind.check(given, (*path, name), found, by)
        if self.also is not None and not any(issue.fatal for issue in found):
            whole = self.also(read)
            if whole is not None:
                found.append(Issue((*path, *whole.path), whole.code, whole.message))
        issues += found
        return read

    def schema(self, by: Party) -> JsonObject:
        properties: JsonObject = {}
        required: list[Json] = []
        for name, member in self.members.items():
            if isinstance(member, Optional):
                properties[name] = member.kind.schema(by)
                if not isinstance(member.default, Undefined):
                    properties[name] = {**member.kind.schema(by), "default": member.default}
            else:
                properties[name] = member.schema(by)
                required.append(name)
        schema: JsonObject = {"type": _typed("object", by), "properties": properties}
        if by is Party.CALLER:
            if required:
                schema["required"] = required
            schema["additionalProperties"] = False
        return _told(schema, self.about)


def some(**members: Kind) -> Mapping[str, Optional]:
    """Members that may all be left out."""
    return {name: Optional(kind) for name, kind in members.items()}


def accepted(shape: Shape, arguments: Mapping[str, Json]) -> JsonObject:
    """The arguments that a tool knows, in the order of its schema. Raises `Trouble` that tells all that is wrong."""
    issues: list[Issue] = []
    read = shape.check(dict(arguments), (), issues, Party.CALLER)
    if issues:
        raise Trouble("Parsing input.", issues)
    assert isinstance(read, dict)
    return read


def unlike(kind: Kind, answer: Given) -> Sequence[Issue]:
    """What keeps an answer from being of this kind."""
    issues: list[Issue] = []
    kind.check(answer, (), issues, Party.DOCSPACE)
    if answer is None:
        return [Issue((), "invalid_type", f"Invalid input: expected {_expected(kind)}, received null", fatal=True)]
    return issues


def decoded(content: str) -> bytes:
    """Raises `Trouble` when it is not base64. Line breaks are for people and mean nothing."""
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        issue = Issue(("content",), "invalid_format", "Invalid base64-encoded string")
        raise Trouble("Parsing input.", [issue]) from None


_INFINITE: Final = float("inf")


def _other(expected: str, value: Given, path: Place, issues: list[Issue], by: Party) -> Json:
    if value is not None or by is Party.CALLER:
        told = f"Invalid input: expected {expected}, received {_kind_of(value)}"
        issues.append(Issue(path, "invalid_type", told, fatal=True))
    return None


def _kind_of(value: Given) -> str:
    match value:
        case Undefined():
            return "undefined"
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "NaN" if value != value else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _expected(kind: Kind) -> str:
    match kind:
        case Many():
            return "array"
        case Number():
            return "number"
        case Text():
            return "string"
        case _:
            return "object"


def _not_a_choice(choices: Sequence[str], path: Place) -> Issue:
    return Issue(path, "invalid_value", f"Invalid option: expected one of {'|'.join(choices)}")


def _typed(name: str, by: Party) -> Json:
    return name if by is Party.CALLER else [name, "null"]


def _told(schema: JsonObject, about: str) -> JsonObject:
    return {**schema, "description": about} if about else schema
