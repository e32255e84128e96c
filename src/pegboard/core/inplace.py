"""The parts of a schema that speak of the same object as the schema itself: `anyOf`, `if`, `$ref` and the like.

A parameter that only its own `properties` entry speaks of can be taken away exactly; one that these speak of cannot.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import count
from typing import Final

from .schema_refs import resolve_ref
from .tool import Json, JsonObject

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
_MAX_DEPTH: Final = 50
"""Parts looked at, and how deep they nest, before a schema counts as too tangled: a server may send any."""


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
    if not isinstance(branch, dict) or depth >= _MAX_DEPTH:
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
        if part is None or looked > _MAX_PARTS or depth > _MAX_DEPTH:
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
