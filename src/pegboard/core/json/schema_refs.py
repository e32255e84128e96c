"""The parts of a schema that speak of the same object as the schema itself: `anyOf`, `if`, `$ref` and the like.

A parameter that only its own `properties` entry speaks of can be taken away exactly; one that these speak of cannot.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import count
from typing import Final
from urllib.parse import unquote

from pegboard.core.json.values import MAX_SCHEMA_DEPTH, Json, JsonObject

# References inside a schema: where they lead, and what is left over when one is taken away.

_REFS: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS: Final = ("$anchor", "$dynamicAnchor", "$id")
_DEFINITIONS: Final = ("$defs", "definitions")


def pointer_step(name: str) -> str:
    """A name as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def resolve_ref(schema: JsonObject, ref: str) -> Json:
    """What a reference within the schema leads to; `None` for any other."""
    if ref == "#":
        return schema
    if not ref.startswith("#/"):
        return None
    found: Json = schema
    for part in ref[2:].split("/"):
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        match found:
            case dict():
                found = found.get(name)
            case list() if name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            case _:
                return None
    return found


def refs_in(value: Json) -> Iterator[str]:
    """Without recursion: a server may nest as deep as it likes."""
    for member in _walk_objects(value):
        yield from (ref for key in _REFS if isinstance(ref := member.get(key), str))


def refs_outside(schema: JsonObject, name: str) -> Iterator[str]:
    """Every reference but those of this parameter itself."""
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            yield from refs_in({other: subschema for other, subschema in value.items() if other != name})
        else:
            yield from refs_in({key: value})


def has_anchors(value: Json) -> bool:
    return any(isinstance(member.get(key), str) for member in _walk_objects(value) for key in _ANCHORS)


def prune_definitions(shown: JsonObject, whole: JsonObject) -> JsonObject:
    """Without the definitions that only what was taken away had used. Whatever is not plainly so stays."""
    if not any(key in shown for key in _DEFINITIONS):
        return shown
    if any(not ref.startswith(("#/$defs/", "#/definitions/")) for ref in refs_in(whole)):
        return shown
    before, now = _used_definitions(whole), _used_definitions(shown)
    rest = dict(shown)
    for key in _DEFINITIONS:
        definitions = shown.get(key)
        if isinstance(definitions, dict):
            kept = {
                name: value
                for name, value in definitions.items()
                if (place := f"#/{key}/{pointer_step(name)}") in now or place not in before
            }
            rest.pop(key) if not kept else rest.update({key: kept})
    return rest


def _used_definitions(schema: JsonObject) -> set[str]:
    """The definitions that are reached, by their pointers."""
    outside: JsonObject = {key: value for key, value in schema.items() if key not in _DEFINITIONS}
    waiting, used = [*refs_in(outside)], set[str]()
    while waiting:
        place = "/".join(waiting.pop().split("/")[:3])
        if place not in used:
            used.add(place)
            waiting += refs_in(resolve_ref(schema, place))
    return used


def _walk_objects(value: Json) -> Iterator[JsonObject]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


_LIST_KEYWORDS: Final = ("allOf", "anyOf", "oneOf")
_SINGLE_KEYWORDS: Final = ("not", "if", "then", "else")
_DEPENDENT_KEYWORDS: Final = ("dependentRequired", "dependencies")
_ALL_MEMBER_KEYWORDS: Final = (
    *("additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"),
    *("minProperties", "maxProperties", "const", "enum"),
)
"""Beside a parameter's own entry, these hold of every parameter."""

_DYNAMIC_REFS: Final = ("$dynamicRef", "$recursiveRef")
_MAX_PARTS: Final = 2_000
"""Parts looked at before a schema counts as too tangled: a server may send any."""


def mentions_parameter(schema: JsonObject, name: str) -> bool:
    """Whether a part beside the schema's own `properties` speaks of this parameter by its name."""
    return any(part is None or _names_parameter(part, name) for part, _ in _parts(schema))


def is_entangled(schema: JsonObject, name: str, *, present: bool) -> bool:
    """Whether taking the parameter away changes more than its own entry says. `present`: it is always sent."""
    if any(key in schema for key in ("const", "enum", *_DYNAMIC_REFS)):
        return True
    if not present and any(
        name in _string_list(schema, key, other) for key in _DEPENDENT_KEYWORDS for other in _keys(schema, key)
    ):
        return True
    conditions = [_member(schema, key, name) for key in (*_DEPENDENT_KEYWORDS, "dependentSchemas")]
    if present and any(isinstance(condition, dict | bool) for condition in conditions):
        return True
    for part, shared in _parts(schema):
        if part is None or any(key in part for key in _ALL_MEMBER_KEYWORDS if part.get(key) is not True):
            return True
        required = part.get("required")
        if isinstance(required, list) and name in required and (shared or not present):
            return True
        if _names_parameter({key: value for key, value in part.items() if key != "required"}, name):
            return True
    return False


def forbids_argument(schema: JsonObject, name: str) -> bool:
    """Whether the schema plainly takes no argument of this name, which its own `properties` do not have. Nothing is
    known where names are told by a pattern, nor of parts that hold only sometimes."""
    waiting: list[Json] = [schema]
    for _ in range(_MAX_PARTS):
        if not waiting:
            break
        part = waiting.pop()
        if part is False:
            return True
        if not isinstance(part, dict):
            continue
        properties, patterns = part.get("properties"), part.get("patternProperties")
        taken = (isinstance(properties, dict) and name in properties) or (isinstance(patterns, dict) and patterns)
        shut = part.get("additionalProperties") is False or part.get("unevaluatedProperties") is False
        if part.get("maxProperties") == 0 or (shut and not taken):
            return True
        branches = part.get("allOf")
        waiting += branches if isinstance(branches, list) else ()
        if isinstance(ref := part.get("$ref"), str):
            waiting.append(resolve_ref(schema, ref))
    return False


def takes_by_pattern(schema: JsonObject) -> bool:
    """Whether nothing but a pattern of names tells which further arguments there are."""
    return schema.get("additionalProperties") is False or schema.get("unevaluatedProperties") is False


def without_parameters(
    schema: JsonObject, *, present: Collection[str], gone: Collection[str], depth: int = 0
) -> JsonObject:
    """Nobody has to send what is always `present`, and nothing depends on what is `gone`."""
    rest = dict(schema)
    now_required = [
        other
        for key in _DEPENDENT_KEYWORDS
        for name in gone
        if name in present
        for other in _string_list(schema, key, name)
    ]
    required = schema.get("required")
    needed = [*(required if isinstance(required, list) else ()), *now_required]
    _set_or_drop(rest, "required", [*dict.fromkeys(name for name in needed if name not in present)])
    for key in (*_DEPENDENT_KEYWORDS, "dependentSchemas"):
        if isinstance(said := schema.get(key), dict):
            kept = {name: _reduce_branch(value, present, depth) for name, value in said.items() if name not in gone}
            _set_or_drop(rest, key, kept)
    for key in _LIST_KEYWORDS:
        if isinstance(branches := schema.get(key), list):
            rest[key] = [_reduce_branch(branch, present, depth) for branch in branches]
    for key in _SINGLE_KEYWORDS:
        if key in schema:
            rest[key] = _reduce_branch(schema[key], present, depth)
    return rest


def _reduce_branch(branch: Json, present: Collection[str], depth: int) -> Json:
    if isinstance(branch, list):
        return [name for name in branch if name not in present]
    if not isinstance(branch, dict) or depth >= MAX_SCHEMA_DEPTH:
        return branch
    return without_parameters(branch, present=present, gone=(), depth=depth + 1)


def _set_or_drop(schema: JsonObject, key: str, value: Json) -> None:
    """What says nothing is left out: old dialects allow no empty list there."""
    if value:
        schema[key] = value
    else:
        schema.pop(key, None)


def _parts(schema: JsonObject) -> Iterator[tuple[JsonObject | None, bool]]:
    """Every part but the schema itself, and whether others use it too. `None` for what cannot be looked into."""
    waiting = [(part, shared, 1) for part, shared in _in_place_subschemas(schema, shared=False)]
    seen: set[str] = set()
    for looked in count():
        if not waiting:
            return
        part, shared, depth = waiting.pop()
        if isinstance(part, str):
            if part in seen:
                continue
            seen.add(part)
            part, shared = resolve_ref(schema, part), True
        if part is None or looked > _MAX_PARTS or depth > MAX_SCHEMA_DEPTH:
            yield None, True
            return
        if isinstance(part, dict):
            yield part, shared
            waiting += [(inner, also, depth + 1) for inner, also in _in_place_subschemas(part, shared=shared)]


def _in_place_subschemas(schema: JsonObject, *, shared: bool) -> Iterator[tuple[Json, bool]]:
    for key in _LIST_KEYWORDS:
        branches = schema.get(key)
        yield from ((branch, shared) for branch in (branches if isinstance(branches, list) else ()))
    for key in _SINGLE_KEYWORDS:
        yield schema.get(key, True), shared
    for key in ("dependentSchemas", "dependencies"):
        branches = schema.get(key)
        yield from ((branch, shared) for branch in (branches.values() if isinstance(branches, dict) else ()))
    if isinstance(ref := schema.get("$ref"), str):
        yield ref, True


def _names_parameter(part: JsonObject, name: str) -> bool:
    properties, required = part.get("properties"), part.get("required")
    return (
        (isinstance(properties, dict) and name in properties)
        or (isinstance(required, list) and name in required)
        or any(key in part for key in _DYNAMIC_REFS)
        or any(
            name == other or name in _string_list(part, key, other)
            for key in (*_DEPENDENT_KEYWORDS, "dependentSchemas")
            for other in _keys(part, key)
        )
    )


def _keys(schema: Mapping[str, Json], key: str) -> Collection[str]:
    said = schema.get(key)
    return said.keys() if isinstance(said, dict) else ()


def _member(schema: Mapping[str, Json], key: str, name: str) -> Json:
    said = schema.get(key)
    return said.get(name) if isinstance(said, dict) else None


def _string_list(schema: Mapping[str, Json], key: str, name: str) -> list[str]:
    said = _member(schema, key, name)
    return [other for other in said if isinstance(other, str)] if isinstance(said, list) else []
