"""A schema read as types. Schemas come from servers that nobody vouches for: whatever stands in one, reading it ends
soon, and what cannot be told is told as anything."""

from collections.abc import Mapping
from typing import Final

from pegboard.core.folded import Folded
from pegboard.core.nesting import deeper_than
from pegboard.core.schema_refs import target
from pegboard.core.tool import Json, JsonObject, JsonSchema

from .types import ANYTHING, WORDS, DictOf, ListOf, Member, Shape, Type, Union, chosen, united

DEEPEST: Final = 8
_MOST_STEPS: Final = 1_500
_MOST_CHOICES: Final = 60
_MOST_MEMBERS: Final = 200
_MOST_JOINED: Final = 24
_LONGEST_REF: Final = 300
_DEEPEST_TEXT: Final = 100


class Reader:
    """The types of one schema. `giving` reads it as what a tool gives back: of several objects that it may be, one is
    made that has the keys of all, because what is read from it is read by key."""

    def __init__(self, schema: JsonSchema, *, giving: bool = False, deepest: int = DEEPEST) -> None:
        deep = not isinstance(schema, Folded) or deeper_than(_DEEPEST_TEXT, schema.text)
        self._root: JsonObject = {} if deep else dict(schema)
        self._giving = giving
        self._deepest = deepest
        self._steps = 0
        self._named: dict[str, Shape] = {}

    def parameters(self) -> tuple[tuple[Member, ...], bool]:
        """Of the tool; and whether it takes others that nobody names."""
        schema = self._joined(self._root, 0)
        named = {**_properties(schema)}
        for key in ("anyOf", "oneOf"):
            several = schema.get(key)
            for each in several[:_MOST_JOINED] if isinstance(several, list) else ():
                if (part := self._followed(each)) is not None:
                    # What only one way of calling it needs may be left out.
                    named = {**_properties(self._joined(part, 1)), **named}
        whole: JsonObject = {**schema, "properties": named} if named else schema
        others = schema.get("additionalProperties")
        unnamed = others is True or isinstance(others, dict) or bool(schema.get("patternProperties"))
        return self._members(whole, "", 0), unnamed or ("properties" not in whole and others is not False)

    def whole(self, hint: str) -> Type:
        return self._type(self._root, hint, 0)

    def _type(self, schema: Json, hint: str, depth: int) -> Type:
        self._steps += 1
        ref = schema.get("$ref") if isinstance(schema, dict) else None
        if isinstance(ref, str) and (known := self._named.get(ref)) is not None:
            return known
        if not isinstance(schema, dict) or self._steps > _MOST_STEPS or depth > self._deepest:
            return ANYTHING
        if isinstance(ref, str):
            return self._referred(ref, hint, depth)
        schema = self._joined(schema, depth)
        if "const" in schema:
            return chosen([schema["const"]], _MOST_CHOICES)
        choices = schema.get("enum")
        if isinstance(choices, list) and choices:
            return chosen(choices, _MOST_CHOICES)
        for key in ("anyOf", "oneOf"):
            several = schema.get(key)
            if isinstance(several, list) and several:
                beside: JsonObject = {name: value for name, value in schema.items() if name not in ("anyOf", "oneOf")}
                return self._one_of(several, beside, hint, depth)
        return self._kind(schema, hint, depth)

    def _kind(self, schema: JsonObject, hint: str, depth: int) -> Type:
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = [each for each in kind if isinstance(each, str)]
            return united(tuple(self._kind({**schema, "type": each}, hint, depth) for each in kinds))
        match kind:
            case "array":
                return self._array(schema, hint, depth)
            case "object":
                return self._object(schema, hint, depth)
            case str() if kind in WORDS:
                return WORDS[kind]
            case None if "properties" in schema:
                return self._object(schema, hint, depth)
            case None if "items" in schema or "prefixItems" in schema:
                return self._array(schema, hint, depth)
            case _:
                return ANYTHING

    def _referred(self, ref: str, hint: str, depth: int) -> Type:
        found = target(self._root, ref) if len(ref) <= _LONGEST_REF else None
        if not isinstance(found, dict):
            return ANYTHING
        name = ref.rsplit("/", 1)[-1]
        if name in ("", "#"):
            name = hint
        shape = self._named[ref] = Shape(name, shared=True)
        read = self._type(found, name, depth + 1)
        if isinstance(read, Shape):
            shape.members = read.members
            return shape
        # It is no object, so nothing can hold itself by this name.
        del self._named[ref]
        return read

    def _one_of(self, several: list[Json], beside: JsonObject, hint: str, depth: int) -> Type:
        said = bool({"properties", "items", "required"} & beside.keys())
        parts: list[Json] = [
            {**beside, "allOf": [each]} if said and isinstance(each, dict) else each for each in several[:_MOST_JOINED]
        ]
        if len(several) > _MOST_JOINED:
            return ANYTHING
        types = [self._type(each, f"{hint}_{place}" if place else hint, depth + 1) for place, each in enumerate(parts)]
        shapes = [each for each in types if isinstance(each, Shape)]
        if not self._giving or len(shapes) < 2:
            return united(tuple(types))
        others = tuple(each for each in types if not isinstance(each, Shape))
        return united((_together(hint, shapes), *others))

    def _array(self, schema: JsonObject, hint: str, depth: int) -> Type:
        first = schema.get("prefixItems")
        items = schema.get("items", False if isinstance(first, list) else None)
        inner = f"{hint}_item"
        if isinstance(first, list) and first:
            types = [self._type(each, inner, depth + 1) for each in first[:_MOST_JOINED]]
            rest = () if items is False else (self._type(items, inner, depth + 1),)
            return ListOf(united((*types, *rest)))
        return ListOf(self._type(items, inner, depth + 1))

    def _object(self, schema: JsonObject, hint: str, depth: int) -> Type:
        others = schema.get("additionalProperties")
        by_pattern = schema.get("patternProperties")
        known = _properties(schema)
        if by_pattern or (known and (others is True or isinstance(others, dict)) and self._giving):
            # Keys that nobody names may be there too, and a type that knows some refuses all others.
            return DictOf(ANYTHING)
        if known:
            shape = Shape(hint)
            shape.members = self._members(schema, hint, depth)
            return shape
        if isinstance(others, dict):
            return DictOf(self._type(others, f"{hint}_value", depth + 1))
        return DictOf(ANYTHING)

    def _members(self, schema: JsonObject, hint: str, depth: int) -> tuple[Member, ...]:
        """Those that must be there first."""
        known, needed = _properties(schema), _required(schema)
        order = sorted(known, key=lambda key: key not in needed)
        return tuple(
            Member(
                key,
                self._type(known[key], f"{hint}_{key}" if hint else key, depth + 1),
                key in needed,
                _described(known[key]),
            )
            for key in order[:_MOST_MEMBERS]
        )

    def _joined(self, schema: JsonObject, depth: int) -> JsonObject:
        """With what `allOf` adds: members of the same object, and else what is said last."""
        several = schema.get("allOf")
        if not isinstance(several, list) or depth > self._deepest:
            return schema
        whole: JsonObject = {}
        properties: JsonObject = {}
        needed: list[Json] = []
        for each in (*several[:_MOST_JOINED], {key: value for key, value in schema.items() if key != "allOf"}):
            self._steps += 1
            part = self._followed(each)
            if self._steps > _MOST_STEPS or part is None:
                continue
            part = self._joined(part, depth + 1)
            whole |= part
            properties |= _properties(part)
            needed += sorted(_required(part))
        return {**whole, "properties": properties, "required": needed} if properties else whole

    def _followed(self, schema: Json) -> JsonObject | None:
        for _ in range(self._deepest):
            if not isinstance(schema, dict):
                return None
            ref = schema.get("$ref")
            if not isinstance(ref, str) or len(ref) > _LONGEST_REF:
                return schema
            schema = target(self._root, ref)
        return None


def _together(hint: str, shapes: list[Shape]) -> Shape:
    """One object with the keys of all; what not all of them must have may be missing."""
    members: dict[str, Member] = {}
    for shape in shapes:
        for member in shape.members:
            known = members.get(member.key)
            types = (member.type,) if known is None else (known.type, member.type)
            described = member.described if known is None else known.described
            members[member.key] = Member(member.key, united(types), False, described)
    always = set.intersection(*({member.key for member in shape.members if member.needed} for shape in shapes))
    whole = Shape(hint)
    each = (Member(one.key, one.type, one.key in always, one.described) for one in members.values())
    whole.members = tuple(sorted(each, key=lambda one: not one.needed))
    return whole


def is_nullable(type: Type) -> bool:
    return type == WORDS["null"] or (isinstance(type, Union) and WORDS["null"] in type.members)


def _properties(schema: Mapping[str, Json]) -> JsonObject:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _required(schema: Mapping[str, Json]) -> set[str]:
    found = schema.get("required")
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()


def _described(schema: Json) -> str:
    said = schema.get("description") if isinstance(schema, dict) else None
    return said if isinstance(said, str) else ""
