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

from pegboard.core.json.values import Json, JsonObject
from pegboard.providers.docspace.javascript import format_number
from pegboard.providers.docspace.limits import DocSpaceError, Issue, ValuePath

_UUID_PATTERN: Final = (
    "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}"
    "|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$"
)
_UUID_REGEX: Final = re.compile(_UUID_PATTERN.replace("$", r"\Z"))
JSON_SCHEMA_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class UndefinedType(Enum):
    UNDEFINED = "undefined"


UNDEFINED: Final = UndefinedType.UNDEFINED
JsonOrUndefined: TypeAlias = Json | UndefinedType


class ValueSender(Enum):
    """Who sent a value."""

    CALLER = "caller"
    DOCSPACE = "docspace"


class ValueType(Protocol):
    @property
    def description(self) -> str: ...

    def check(self, value: JsonOrUndefined, path: ValuePath, issues: list[Issue], by: ValueSender) -> Json:
        """The value, as it is gone on with. What is wrong with it is added to the issues."""
        ...

    def schema(self, by: ValueSender) -> JsonObject: ...


@dataclass(frozen=True)
class NumberType:
    description: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: Mapping[int, str] = field(default_factory=dict[int, str])
    """What each number means; empty where any will do."""

    def check(self, value: JsonOrUndefined, path: ValuePath, issues: list[Issue], by: ValueSender) -> Json:
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == _INFINITE:
            return _report_wrong_type("number", value, path, issues, by)
        if by is ValueSender.CALLER:
            if self.choices and value not in self.choices:
                issues.append(_invalid_choice([format_number(choice) for choice in self.choices], path))
            if self.minimum is not None and value < self.minimum:
                told = f"Too small: expected number to be >={format_number(self.minimum)}"
                issues.append(Issue(path, "too_small", told))
            if self.maximum is not None and value > self.maximum:
                issues.append(Issue(path, "too_big", f"Too big: expected number to be <={format_number(self.maximum)}"))
        return value

    def schema(self, by: ValueSender) -> JsonObject:
        schema: JsonObject = {"type": _type_keyword("number", by)}
        if by is ValueSender.CALLER:
            if self.choices:
                schema["enum"] = [*self.choices]
            if self.minimum is not None:
                schema["minimum"] = self.minimum
            if self.maximum is not None:
                schema["maximum"] = self.maximum
        meant = ", ".join(f"{choice}: {name}" for choice, name in self.choices.items())
        return _with_description(schema, " ".join(filter(None, (self.description, f"({meant})" if meant else ""))))


@dataclass(frozen=True)
class TextType:
    description: str = ""
    choices: Sequence[str] = ()

    def check(self, value: JsonOrUndefined, path: ValuePath, issues: list[Issue], by: ValueSender) -> Json:
        if not isinstance(value, str):
            return _report_wrong_type("string", value, path, issues, by)
        if by is ValueSender.CALLER and self.choices and value not in self.choices:
            issues.append(_invalid_choice([f'"{choice}"' for choice in self.choices], path))
        return value

    def schema(self, by: ValueSender) -> JsonObject:
        schema: JsonObject = {"type": _type_keyword("string", by)}
        if self.choices and by is ValueSender.CALLER:
            schema["enum"] = [*self.choices]
        return _with_description(schema, self.description)


@dataclass(frozen=True)
class UuidType:
    description: str = ""

    def check(self, value: JsonOrUndefined, path: ValuePath, issues: list[Issue], by: ValueSender) -> Json:
        if not isinstance(value, str):
            return _report_wrong_type("string", value, path, issues, by)
        if _UUID_REGEX.match(value) is None:
            issues.append(Issue(path, "invalid_format", "Invalid UUID"))
        return value

    def schema(self, by: ValueSender) -> JsonObject:
        return _with_description(
            {"type": _type_keyword("string", by), "format": "uuid", "pattern": _UUID_PATTERN}, self.description
        )


@dataclass(frozen=True)
class BooleanType:
    description: str = ""

    def check(self, value: JsonOrUndefined, path: ValuePath, issues: list[Issue], by: ValueSender) -> Json:
        return value if isinstance(value, bool) else _report_wrong_type("boolean", value, path, issues, by)

    def schema(self, by: ValueSender) -> JsonObject:
        return _with_description({"type": _type_keyword("boolean", by)}, self.description)


@dataclass(frozen=True)
class TextOrNumberType:
    description: str = ""

    def check(self, value: JsonOrUndefined, path: ValuePath, issues: list[Issue], by: ValueSender) -> Json:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return value
        if value is not None or by is ValueSender.CALLER:
            issues.append(Issue(path, "invalid_union", "Invalid input", fatal=True))
        return None

    def schema(self, by: ValueSender) -> JsonObject:
        types: list[Json] = ["string", "number"]
        return _with_description({"type": types if by is ValueSender.CALLER else [*types, "null"]}, self.description)


@dataclass(frozen=True)
class AnyValueType:
    description: str = ""

    def check(self, value: JsonOrUndefined, path: ValuePath, issues: list[Issue], by: ValueSender) -> Json:
        return None if isinstance(value, UndefinedType) else value

    def schema(self, by: ValueSender) -> JsonObject:
        return _with_description({}, self.description)


@dataclass(frozen=True)
class ListType:
    items: ValueType
    description: str = ""

    def check(self, value: JsonOrUndefined, path: ValuePath, issues: list[Issue], by: ValueSender) -> Json:
        if not isinstance(value, list):
            return _report_wrong_type("array", value, path, issues, by)
        return [self.items.check(item, (*path, place), issues, by) for place, item in enumerate(value)]

    def schema(self, by: ValueSender) -> JsonObject:
        return _with_description({"type": _type_keyword("array", by), "items": self.items.schema(by)}, self.description)


@dataclass(frozen=True)
class MapType:
    """An object whose members are all of one kind, under names that are not known before."""

    items: ValueType
    description: str = ""

    def check(self, value: JsonOrUndefined, path: ValuePath, issues: list[Issue], by: ValueSender) -> Json:
        if not isinstance(value, Mapping):
            return _report_wrong_type("record", value, path, issues, by)
        return {name: self.items.check(item, (*path, name), issues, by) for name, item in value.items()}

    def schema(self, by: ValueSender) -> JsonObject:
        return _with_description(
            {"type": _type_keyword("object", by), "additionalProperties": self.items.schema(by)}, self.description
        )


@dataclass(frozen=True)
class OptionalMember:
    """A member that may be left out. `null` is not leaving it out."""

    value_type: ValueType
    default: JsonOrUndefined = UNDEFINED


ObjectCheck: TypeAlias = Callable[[Mapping[str, Json]], Issue | None]
"""What is asked of an object as a whole, once its members are of their kinds. The path begins within the object."""


@dataclass(frozen=True)
class ObjectType:
    members: Mapping[str, ValueType | OptionalMember] = field(default_factory=dict[str, "ValueType | OptionalMember"])
    description: str = ""
    extra_check: ObjectCheck | None = None

    def check(self, value: JsonOrUndefined, path: ValuePath, issues: list[Issue], by: ValueSender) -> Json:
        if not isinstance(value, Mapping):
            return _report_wrong_type("object", value, path, issues, by)
        found: list[Issue] = []
        read: JsonObject = {}
        for name, member in self.members.items():
            given: JsonOrUndefined = value.get(name, UNDEFINED)
            if isinstance(member, OptionalMember):
                given = member.default if given is UNDEFINED else given
                if given is UNDEFINED:
                    continue
            elif given is UNDEFINED and isinstance(member, AnyValueType):
                continue
            kind = member.value_type if isinstance(member, OptionalMember) else member
            read[name] = kind.check(given, (*path, name), found, by)
        if self.extra_check is not None and not any(issue.fatal for issue in found):
            whole = self.extra_check(read)
            if whole is not None:
                found.append(Issue((*path, *whole.path), whole.code, whole.message))
        issues += found
        return read

    def schema(self, by: ValueSender) -> JsonObject:
        properties: JsonObject = {}
        required: list[Json] = []
        for name, member in self.members.items():
            if isinstance(member, OptionalMember):
                properties[name] = member.value_type.schema(by)
                if not isinstance(member.default, UndefinedType):
                    properties[name] = {**member.value_type.schema(by), "default": member.default}
            else:
                properties[name] = member.schema(by)
                required.append(name)
        schema: JsonObject = {"type": _type_keyword("object", by), "properties": properties}
        if by is ValueSender.CALLER:
            if required:
                schema["required"] = required
            schema["additionalProperties"] = False
        return _with_description(schema, self.description)


def optional_members(**members: ValueType) -> Mapping[str, OptionalMember]:
    """Members that may all be left out."""
    return {name: OptionalMember(kind) for name, kind in members.items()}


def validate_arguments(shape: ObjectType, arguments: Mapping[str, Json]) -> JsonObject:
    """The arguments that a tool knows, in the order of its schema. Raises `DocSpaceError` that tells all that is
    wrong."""
    issues: list[Issue] = []
    read = shape.check(dict(arguments), (), issues, ValueSender.CALLER)
    if issues:
        raise DocSpaceError("Parsing input.", issues)
    assert isinstance(read, dict)
    return read


def response_issues(kind: ValueType, answer: JsonOrUndefined) -> Sequence[Issue]:
    """What keeps an answer from being of this kind."""
    issues: list[Issue] = []
    kind.check(answer, (), issues, ValueSender.DOCSPACE)
    if answer is None:
        return [
            Issue((), "invalid_type", f"Invalid input: expected {_expected_type_name(kind)}, received null", fatal=True)
        ]
    return issues


def decode_base64(content: str) -> bytes:
    """Raises `DocSpaceError` when it is not base64. Line breaks are for people and mean nothing."""
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        issue = Issue(("content",), "invalid_format", "Invalid base64-encoded string")
        raise DocSpaceError("Parsing input.", [issue]) from None


_INFINITE: Final = float("inf")


def _report_wrong_type(
    expected: str, value: JsonOrUndefined, path: ValuePath, issues: list[Issue], by: ValueSender
) -> Json:
    if value is not None or by is ValueSender.CALLER:
        told = f"Invalid input: expected {expected}, received {_type_name(value)}"
        issues.append(Issue(path, "invalid_type", told, fatal=True))
    return None


def _type_name(value: JsonOrUndefined) -> str:
    match value:
        case UndefinedType():
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


def _expected_type_name(kind: ValueType) -> str:
    match kind:
        case ListType():
            return "array"
        case NumberType():
            return "number"
        case TextType():
            return "string"
        case _:
            return "object"


def _invalid_choice(choices: Sequence[str], path: ValuePath) -> Issue:
    return Issue(path, "invalid_value", f"Invalid option: expected one of {'|'.join(choices)}")


def _type_keyword(name: str, by: ValueSender) -> Json:
    return name if by is ValueSender.CALLER else [name, "null"]


def _with_description(schema: JsonObject, about: str) -> JsonObject:
    return {**schema, "description": about} if about else schema
