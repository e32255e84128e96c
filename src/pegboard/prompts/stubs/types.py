"""JSON Schemas as Python types. Bounded for any schema; what cannot be expressed becomes `Any`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pegboard.core.json.schema_refs import resolve_ref
from pegboard.core.json.values import MAX_TEXT_DEPTH, Json, JsonObject, LazyJson, is_deeper_than
from pegboard.core.model.tool import JsonSchema

# Types of JSON values as Python tells them: what a schema says, before it is written down.


@dataclass(frozen=True, slots=True)
class PlainTypeHint:
    """By the word that Python has for it."""

    word: str


@dataclass(frozen=True, slots=True)
class LiteralTypeHint:
    """One of these values: texts, integers, booleans, None."""

    values: tuple[str | int | bool | None, ...]


@dataclass(frozen=True, slots=True)
class ListTypeHint:
    inner: "TypeHint"


@dataclass(frozen=True, slots=True)
class DictTypeHint:
    inner: "TypeHint"


@dataclass(frozen=True, slots=True)
class UnionTypeHint:
    members: tuple["TypeHint", ...]


@dataclass(frozen=True, slots=True)
class ObjectMember:
    key: str
    type: "TypeHint"
    is_required: bool
    description: str = ""


@dataclass(eq=False, slots=True)
class ObjectTypeHint:
    """An object whose keys are known. It may hold itself, so each is one thing, whatever stands in it."""

    hint: str
    """Words for its name."""
    is_named: bool = False
    """Whether its schema names it, and the name is its own."""
    members: tuple[ObjectMember, ...] = field(default=())
    """Set once all of them are read."""


TypeHint: TypeAlias = PlainTypeHint | LiteralTypeHint | ListTypeHint | DictTypeHint | UnionTypeHint | ObjectTypeHint

ANY_TYPE = PlainTypeHint("Any")
TEXT_TYPE = PlainTypeHint("str")
NONE_TYPE = PlainTypeHint("None")
TYPES_BY_NAME: dict[str, PlainTypeHint] = {
    "string": TEXT_TYPE,
    "integer": PlainTypeHint("int"),
    "number": PlainTypeHint("float"),
    "boolean": PlainTypeHint("bool"),
    "null": NONE_TYPE,
}


def unite_types(types: Iterator[TypeHint] | tuple[TypeHint, ...]) -> TypeHint:
    """Each once; with one that may be anything, anything."""
    flat: dict[TypeHint, None] = {}
    for each in types:
        flat |= dict.fromkeys(each.members) if isinstance(each, UnionTypeHint) else {each: None}
    if ANY_TYPE in flat or not flat:
        return ANY_TYPE
    if PlainTypeHint("float") in flat:
        flat.pop(PlainTypeHint("int"), None)
    members = tuple(flat)
    return members[0] if len(members) == 1 else UnionTypeHint(members)


def literal_type(values: list[Json], most: int) -> TypeHint:
    """What an enumeration allows. Numbers with a fraction, lists and objects are no literals of Python's types."""
    if len(values) > most or not all(value is None or isinstance(value, str | int) for value in values):
        return unite_types(tuple(map(value_type, values)))
    literals = [value for value in values if value is None or isinstance(value, str | int)]
    if any(isinstance(value, str) and len(value) > _MAX_LITERAL_LENGTH for value in literals) or any(
        isinstance(value, int) and abs(value) >= 2**63 for value in literals
    ):
        return unite_types(tuple(map(value_type, values)))
    # True is 1 in a dictionary, and not the same in JSON.
    each = {(type(value), value): value for value in literals}
    return LiteralTypeHint(tuple(each.values()))


_MAX_LITERAL_LENGTH = 100


def value_type(value: Json) -> TypeHint:
    match value:
        case None:
            return NONE_TYPE
        case bool():
            return PlainTypeHint("bool")
        case int():
            return PlainTypeHint("int")
        case float():
            return PlainTypeHint("float")
        case str():
            return TEXT_TYPE
        case list():
            return ListTypeHint(ANY_TYPE)
        case dict():
            return DictTypeHint(ANY_TYPE)


MAX_DEPTH: Final = 8
_MAX_STEPS: Final = 1_500
_MAX_CHOICES: Final = 60
_MAX_MEMBERS: Final = 200
_MAX_ALTERNATIVES: Final = 24
_MAX_REFERENCE_LENGTH: Final = 300


class SchemaTypeReader:
    """The types of one schema. `giving` reads it as what a tool gives back: of several objects that it may be, one is
    made that has the keys of all, because what is read from it is read by key."""

    def __init__(self, schema: JsonSchema, *, giving: bool = False, deepest: int = MAX_DEPTH) -> None:
        deep = not isinstance(schema, LazyJson) or is_deeper_than(MAX_TEXT_DEPTH, schema.text)
        self._root: JsonObject = {} if deep else dict(schema)
        self._is_result = giving
        self._max_depth = deepest
        self._steps = 0
        self._types_by_reference: dict[str, ObjectTypeHint] = {}

    def parameters(self) -> tuple[tuple[ObjectMember, ...], bool]:
        """Of the tool; and whether it takes others that nobody names."""
        schema = self._merge_all_of(self._root, 0)
        named = {**_properties(schema)}
        for key in ("anyOf", "oneOf"):
            several = schema.get(key)
            for each in several[:_MAX_ALTERNATIVES] if isinstance(several, list) else ():
                if (part := self._resolve_reference(each)) is not None:
                    # What only one way of calling it needs may be left out.
                    named = {**_properties(self._merge_all_of(part, 1)), **named}
        whole: JsonObject = {**schema, "properties": named} if named else schema
        others = schema.get("additionalProperties")
        unnamed = others is True or isinstance(others, dict) or bool(schema.get("patternProperties"))
        return self._members(whole, "", 0), unnamed or ("properties" not in whole and others is not False)

    def whole_type(self, hint: str) -> TypeHint:
        return self._type(self._root, hint, 0)

    def _type(self, schema: Json, hint: str, depth: int) -> TypeHint:
        self._steps += 1
        ref = schema.get("$ref") if isinstance(schema, dict) else None
        if isinstance(ref, str) and (known := self._types_by_reference.get(ref)) is not None:
            return known
        if not isinstance(schema, dict) or self._steps > _MAX_STEPS or depth > self._max_depth:
            return ANY_TYPE
        if isinstance(ref, str):
            return self._reference_type(ref, hint, depth)
        schema = self._merge_all_of(schema, depth)
        if "const" in schema:
            return literal_type([schema["const"]], _MAX_CHOICES)
        choices = schema.get("enum")
        if isinstance(choices, list) and choices:
            return literal_type(choices, _MAX_CHOICES)
        for key in ("anyOf", "oneOf"):
            several = schema.get(key)
            if isinstance(several, list) and several:
                beside: JsonObject = {name: value for name, value in schema.items() if name not in ("anyOf", "oneOf")}
                return self._union_type(several, beside, hint, depth)
        return self._type_by_kind(schema, hint, depth)

    def _type_by_kind(self, schema: JsonObject, hint: str, depth: int) -> TypeHint:
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = [each for each in kind if isinstance(each, str)]
            return unite_types(tuple(self._type_by_kind({**schema, "type": each}, hint, depth) for each in kinds))
        match kind:
            case "array":
                return self._list_type(schema, hint, depth)
            case "object":
                return self._object_type(schema, hint, depth)
            case str() if kind in TYPES_BY_NAME:
                return TYPES_BY_NAME[kind]
            case None if "properties" in schema:
                return self._object_type(schema, hint, depth)
            case None if "items" in schema or "prefixItems" in schema:
                return self._list_type(schema, hint, depth)
            case _:
                return ANY_TYPE

    def _reference_type(self, ref: str, hint: str, depth: int) -> TypeHint:
        found = resolve_ref(self._root, ref) if len(ref) <= _MAX_REFERENCE_LENGTH else None
        if not isinstance(found, dict):
            return ANY_TYPE
        name = ref.rsplit("/", 1)[-1]
        if name in ("", "#"):
            name = hint
        shape = self._types_by_reference[ref] = ObjectTypeHint(name, is_named=True)
        read = self._type(found, name, depth + 1)
        if isinstance(read, ObjectTypeHint):
            shape.members = read.members
            return shape
        # It is no object, so nothing can hold itself by this name.
        del self._types_by_reference[ref]
        return read

    def _union_type(self, several: list[Json], beside: JsonObject, hint: str, depth: int) -> TypeHint:
        said = bool({"properties", "items", "required"} & beside.keys())
        parts: list[Json] = [
            {**beside, "allOf": [each]} if said and isinstance(each, dict) else each
            for each in several[:_MAX_ALTERNATIVES]
        ]
        if len(several) > _MAX_ALTERNATIVES:
            return ANY_TYPE
        types = [self._type(each, f"{hint}_{place}" if place else hint, depth + 1) for place, each in enumerate(parts)]
        shapes = [each for each in types if isinstance(each, ObjectTypeHint)]
        if not self._is_result or len(shapes) < 2:
            return unite_types(tuple(types))
        others = tuple(each for each in types if not isinstance(each, ObjectTypeHint))
        return unite_types((_merge_objects(hint, shapes), *others))

    def _list_type(self, schema: JsonObject, hint: str, depth: int) -> TypeHint:
        first = schema.get("prefixItems")
        items = schema.get("items", False if isinstance(first, list) else None)
        inner = f"{hint}_item"
        if isinstance(first, list) and first:
            types = [self._type(each, inner, depth + 1) for each in first[:_MAX_ALTERNATIVES]]
            rest = () if items is False else (self._type(items, inner, depth + 1),)
            return ListTypeHint(unite_types((*types, *rest)))
        return ListTypeHint(self._type(items, inner, depth + 1))

    def _object_type(self, schema: JsonObject, hint: str, depth: int) -> TypeHint:
        others = schema.get("additionalProperties")
        by_pattern = schema.get("patternProperties")
        known = _properties(schema)
        if by_pattern or (known and (others is True or isinstance(others, dict)) and self._is_result):
            # Keys that nobody names may be there too, and a type that knows some refuses all others.
            return DictTypeHint(ANY_TYPE)
        if known:
            shape = ObjectTypeHint(hint)
            shape.members = self._members(schema, hint, depth)
            return shape
        if isinstance(others, dict):
            return DictTypeHint(self._type(others, f"{hint}_value", depth + 1))
        return DictTypeHint(ANY_TYPE)

    def _members(self, schema: JsonObject, hint: str, depth: int) -> tuple[ObjectMember, ...]:
        """Those that must be there first."""
        known, needed = _properties(schema), _required_keys(schema)
        order = sorted(known, key=lambda key: key not in needed)
        return tuple(
            ObjectMember(
                key,
                self._type(known[key], f"{hint}_{key}" if hint else key, depth + 1),
                key in needed,
                _description(known[key]),
            )
            for key in order[:_MAX_MEMBERS]
        )

    def _merge_all_of(self, schema: JsonObject, depth: int) -> JsonObject:
        """With what `allOf` adds: members of the same object, and else what is said last."""
        several = schema.get("allOf")
        if not isinstance(several, list) or depth > self._max_depth:
            return schema
        whole: JsonObject = {}
        properties: JsonObject = {}
        needed: list[Json] = []
        for each in (*several[:_MAX_ALTERNATIVES], {key: value for key, value in schema.items() if key != "allOf"}):
            self._steps += 1
            part = self._resolve_reference(each)
            if self._steps > _MAX_STEPS or part is None:
                continue
            part = self._merge_all_of(part, depth + 1)
            whole |= part
            properties |= _properties(part)
            needed += sorted(_required_keys(part))
        return {**whole, "properties": properties, "required": needed} if properties else whole

    def _resolve_reference(self, schema: Json) -> JsonObject | None:
        for _ in range(self._max_depth):
            if not isinstance(schema, dict):
                return None
            ref = schema.get("$ref")
            if not isinstance(ref, str) or len(ref) > _MAX_REFERENCE_LENGTH:
                return schema
            schema = resolve_ref(self._root, ref)
        return None


def _merge_objects(hint: str, shapes: list[ObjectTypeHint]) -> ObjectTypeHint:
    """One object with the keys of all; what not all of them must have may be missing."""
    members: dict[str, ObjectMember] = {}
    for shape in shapes:
        for member in shape.members:
            known = members.get(member.key)
            types = (member.type,) if known is None else (known.type, member.type)
            described = member.description if known is None else known.description
            members[member.key] = ObjectMember(member.key, unite_types(types), False, described)
    always = set.intersection(*({member.key for member in shape.members if member.is_required} for shape in shapes))
    whole = ObjectTypeHint(hint)
    each = (ObjectMember(one.key, one.type, one.key in always, one.description) for one in members.values())
    whole.members = tuple(sorted(each, key=lambda one: not one.is_required))
    return whole


def is_nullable(type: TypeHint) -> bool:
    return type == TYPES_BY_NAME["null"] or (isinstance(type, UnionTypeHint) and TYPES_BY_NAME["null"] in type.members)


def _properties(schema: Mapping[str, Json]) -> JsonObject:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _required_keys(schema: Mapping[str, Json]) -> set[str]:
    found = schema.get("required")
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()


def _description(schema: Json) -> str:
    said = schema.get("description") if isinstance(schema, dict) else None
    return said if isinstance(said, str) else ""
