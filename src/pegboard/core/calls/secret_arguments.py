"""What a person sees of a call's arguments before they decide: all of it but what the tool's schema marks as secret.

A mark is `format: password`, `writeOnly: true`, or the operator's `redact:` setting where it names a property that the
schema declares. Names and values that a caller chose mask nothing: otherwise a caller could hide what it wants to run.
Where a mark is in doubt, the value is shown.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pegboard.core.json.schema_refs import pointer_step, resolve_ref
from pegboard.core.json.values import MAX_TEXT_DEPTH, Json, JsonObject
from pegboard.core.model.redaction import DEFAULT_DISPLAY_LIMITS, DisplayLimits, MaskText, Redaction, shorten
from pegboard.core.model.tool import canonical_json

DIGEST_LENGTH: Final = 8
MAX_STEPS: Final = 200_000
"""Of following one schema: a server may refer to its definitions as often as it likes."""
MAX_DEPTH: Final = 40
MAX_EXACT_INTEGER: Final = 2**53 - 1
"""Beyond it, double precision does not tell every whole number from the next."""


@dataclass(frozen=True)
class DisplayedArguments:
    arguments: JsonObject
    masked_paths: tuple[str, ...]
    """Where a value is masked, as JSON pointers into the call's arguments."""


def exact_numbers(value: Json, pointer: str = "") -> dict[str, str]:
    """Numbers that a browser would round or write otherwise, by JSON pointer: -0.0 and 1.0, which JavaScript writes as
    0 and 1, and all with an exponent, which it writes by other rules."""
    match value:
        case bool():
            return {}
        case int() if not -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER:
            return {pointer: str(value)}
        case float() if "e" in (text := repr(value)) or text.endswith(".0"):
            return {pointer: text}
        case dict():
            members = ((pointer_step(name), member) for name, member in value.items())
        case list():
            members = ((str(at), member) for at, member in enumerate(value))
        case _:
            return {}
    return {at: text for name, member in members for at, text in exact_numbers(member, f"{pointer}/{name}").items()}


@dataclass(frozen=True)
class ArgumentDisplay:
    """How arguments are displayed to a person who decides about them."""

    redaction: Redaction
    digest_key: bytes
    """Keys the digests. It is random and only in memory, so nobody can try out candidates for a short secret."""

    def display(
        self, schema: Mapping[str, Json], arguments: Mapping[str, Json], bounds: DisplayLimits = DEFAULT_DISPLAY_LIMITS
    ) -> DisplayedArguments:
        members, masked = self._mask(schema, arguments)
        shown = shorten(members, bounds)
        return DisplayedArguments(shown if isinstance(shown, dict) else {}, masked)

    def redact(
        self, schema: Mapping[str, Json], arguments: Mapping[str, Json], bounds: DisplayLimits = DEFAULT_DISPLAY_LIMITS
    ) -> JsonObject:
        """For those who do not decide: without what looks like a secret either."""
        return self.redaction.redact_arguments(self._mask(schema, arguments)[0], bounds)

    def _mask(self, schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> tuple[JsonObject, tuple[str, ...]]:
        masking = _MaskWalk(dict(schema), self.redaction, self.digest_key)
        members = masking.mask_members(dict(arguments)) if masking.has_marks() else dict(arguments)
        return members, tuple(masking.masked_paths)


def mask(value: Json, key: bytes) -> MaskText:
    """In the place of a masked value: its length, and a digest by which equal values are known to be equal."""
    digest = hmac.new(key, canonical_json(value), hashlib.sha256).hexdigest()[:DIGEST_LENGTH]
    match value:
        case str():
            size = f"{len(value):,} character{'' if len(value) == 1 else 's'}, "
        case list() | dict():
            size = f"{len(value):,} member{'' if len(value) == 1 else 's'}, "
        case _:
            size = ""
    return MaskText(f"[secret: {size}digest {digest}]")


def describe_masking(count: int) -> str:
    """How the arguments are displayed, with so many values masked."""
    if not count:
        return "to the letter"
    return f"to the letter but for {count:,} value{' that is' if count == 1 else 's that are'} marked as secret"


class _MaskWalk:
    """One walk over arguments and schema side by side."""

    def __init__(self, schema: JsonObject, redaction: Redaction, key: bytes) -> None:
        self.masked_paths: list[str] = []
        self._root = schema
        self._redaction = redaction
        self._key = key
        self._steps = 0

    def has_marks(self) -> bool:
        """Whether anything can be masked at all. Most schemas mark nothing."""
        if self._redaction.patterns:
            return True
        waiting: list[Json] = [self._root]
        while waiting:
            match waiting.pop():
                case dict() as members:
                    if members.get("format") == "password" or members.get("writeOnly") is True:
                        return True
                    waiting += members.values()
                case list() as items:
                    waiting += items
                case _:
                    pass
        return False

    def mask_members(self, arguments: JsonObject) -> JsonObject:
        return self._members(arguments, self._root, "", "", 0)

    def _value(self, value: Json, schema: JsonObject, path: str, pointer: str, level: int) -> Json:
        if not schema or level > MAX_TEXT_DEPTH:
            return value
        if self._is_secret(schema, value, 0):
            self.masked_paths.append(pointer)
            return mask(value, self._key)
        match value:
            case dict():
                return self._members(value, schema, path, pointer, level)
            case list():
                return [
                    self._value(item, self._item(schema, at, value, 0), path, f"{pointer}/{at}", level + 1)
                    for at, item in enumerate(value)
                ]
            case _:
                return value

    def _members(self, members: JsonObject, schema: JsonObject, path: str, pointer: str, level: int) -> JsonObject:
        result: JsonObject = {}
        for name, value in members.items():
            below = f"{path}.{name}" if path else name
            declared = self._property(schema, name, members, below, 0)
            result[name] = self._value(value, declared, below, f"{pointer}/{pointer_step(name)}", level + 1)
        return result

    def _is_secret(self, schema: Json, value: Json, depth: int) -> bool:
        if not isinstance(schema, dict) or self._is_too_far(depth):
            return False
        if schema.get("writeOnly") is True or (schema.get("format") == "password" and isinstance(value, str)):
            return True
        if self._is_secret(self._resolve_ref(schema), value, depth + 1):
            return True
        if any(self._is_secret(each, value, depth + 1) for each in _schemas(schema, "allOf")):
            return True
        return any(
            all(self._is_secret(each, value, depth + 1) for each in branches)
            for branches in self._branches(schema, value, depth)
        )

    def _property(self, schema: Json, name: str, owner: JsonObject, path: str, depth: int) -> JsonObject:
        """What the schema declares of one property; empty where it declares nothing, however the name came about."""

        def declaration_in(part: Json) -> JsonObject:
            return self._property(part, name, owner, path, depth + 1)

        if not isinstance(schema, dict) or self._is_too_far(depth):
            return {}
        parts: list[Json] = []
        properties = schema.get("properties")
        if isinstance(properties, dict) and name in properties:
            own = properties[name]
            parts.append({"writeOnly": True} if self._redaction.is_operator_secret(name, path) else own)
        parts += (declaration_in(each) for each in (self._resolve_ref(schema), *_schemas(schema, "allOf")))
        parts += (_any_of([declaration_in(each) for each in found]) for found in self._branches(schema, owner, depth))
        return _all_of(parts)

    def _item(self, schema: Json, at: int, owner: list[Json], depth: int) -> JsonObject:
        def declaration_in(part: Json) -> JsonObject:
            return self._item(part, at, owner, depth + 1)

        if not isinstance(schema, dict) or self._is_too_far(depth):
            return {}
        first, rest = schema.get("prefixItems"), schema.get("items")
        if isinstance(rest, list):  # as prefixItems were written before draft 2020-12
            first, rest = rest, schema.get("additionalItems")
        listed = first if isinstance(first, list) else []
        parts: list[Json] = [listed[at] if at < len(listed) else rest]
        parts += (declaration_in(each) for each in (self._resolve_ref(schema), *_schemas(schema, "allOf")))
        parts += (_any_of([declaration_in(each) for each in found]) for found in self._branches(schema, owner, depth))
        return _all_of(parts)

    def _branches(self, schema: JsonObject, value: Json, depth: int) -> list[list[Json]]:
        """Of each choice that the schema leaves, the branches that may be meant by this value. Which one is meant is
        in doubt, so a mark counts only if all of them have it."""
        choices = (
            [each for each in _schemas(schema, key) if self._may_apply(each, value, depth + 1)]
            for key in ("anyOf", "oneOf")
        )
        return [branches for branches in choices if branches]

    def _may_apply(self, schema: Json, value: Json, depth: int) -> bool:
        """False only for what plainly does not fit."""
        if not isinstance(schema, dict):
            return schema is not False
        if self._is_too_far(depth):
            return True
        kinds = schema.get("type")
        if isinstance(kinds, str) and not _is_kind(value, kinds):
            return False
        if isinstance(kinds, list) and not any(isinstance(kind, str) and _is_kind(value, kind) for kind in kinds):
            return False
        if "const" in schema and schema["const"] != value:
            return False
        if isinstance(choices := schema.get("enum"), list) and value not in choices:
            return False
        if isinstance(value, dict):
            required, properties = schema.get("required"), schema.get("properties")
            if isinstance(required, list) and not all(name in value for name in required if isinstance(name, str)):
                return False
            if isinstance(properties, dict) and not all(
                self._may_apply(properties[name], value[name], depth + 1) for name in properties.keys() & value.keys()
            ):
                return False
        further = (self._resolve_ref(schema), *_schemas(schema, "allOf"))
        return all(self._may_apply(each, value, depth + 1) for each in further)

    def _resolve_ref(self, schema: JsonObject) -> Json:
        """What its reference leads to; an empty schema without one, or with one that leads elsewhere."""
        ref = schema.get("$ref")
        found = resolve_ref(self._root, ref) if isinstance(ref, str) else None
        return found if isinstance(found, dict) else {}

    def _is_too_far(self, depth: int) -> bool:
        self._steps += 1
        return depth > MAX_DEPTH or self._steps > MAX_STEPS


def _all_of(parts: list[Json]) -> JsonObject:
    said: list[Json] = [part for part in parts if isinstance(part, dict) and part]
    only = said[0] if len(said) == 1 else None
    return only if isinstance(only, dict) else {"allOf": said} if said else {}


def _any_of(branches: list[Json]) -> JsonObject:
    return {"anyOf": branches} if any(branches) else {}


def _schemas(schema: JsonObject, key: str) -> list[Json]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def _is_kind(value: Json, kind: str) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer" | "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return True
