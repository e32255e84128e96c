"""Arguments as the tool's schema has them, where there is one reading alone: "3" for an integer, "true" for a boolean,
a list in a string for an array. What could be meant twice stays as the model wrote it, and validation tells of it."""

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Final

from pegboard.core.folded import Json

from .shapes import ToolShape

INTEGER: Final = re.compile(r"[-+]?\d{1,18}\Z", re.ASCII)
NUMBER: Final = re.compile(r"[-+]?(?:\d{1,32}(?:\.\d{0,32})?|\.\d{1,32})(?:[eE][-+]?\d{1,3})?\Z", re.ASCII)
EXACT: Final = 2.0**53
"""Up to here a float is one integer and no other."""
MOST_TYPES: Final = 64
"""Alternatives of one schema that are looked at; more than that is no schema of an argument."""


def types_of(schema: Json) -> frozenset[str]:
    """The types that a schema names, through its alternatives; none where it does not say."""
    found: set[str] = set()
    queue: list[Json] = [schema]
    seen = 0
    while queue and seen < MOST_TYPES:
        seen += 1
        part = queue.pop()
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        here = (
            {kind}
            if isinstance(kind, str)
            else {one for one in kind if isinstance(one, str)}
            if isinstance(kind, list)
            else set()
        )
        alternatives = [sub for word in ("anyOf", "oneOf", "allOf") for sub in _list(part.get(word))]
        if not here and not alternatives:
            here = _implied(part)
        found |= here
        queue += alternatives
    return frozenset(found)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _implied(schema: dict[str, Json]) -> set[str]:
    options = schema.get("enum")
    if isinstance(options, list) and options and all(isinstance(one, str) for one in options):
        return {"string"}
    if isinstance(schema.get("const"), str):
        return {"string"}
    return {"object"} if isinstance(schema.get("properties"), dict) else set()


def coerced(arguments: Mapping[str, Json], tool: ToolShape) -> tuple[Mapping[str, Json], tuple[str, ...]]:
    """The arguments, and in words what was read otherwise than written."""
    properties = tool.properties
    changed: dict[str, Json] = {}
    repairs: list[str] = []
    for key, value in arguments.items():
        if not isinstance(value, str | float) or isinstance(value, bool):
            continue
        schema = properties.get(key)
        if not isinstance(schema, dict) or schema.get("type") == "string":
            continue
        read = _read(value, types_of(schema))
        if read is not value:
            changed[key] = read
            repairs.append(f"argument {key!r}: {_shown(value)} was read as {_kind(read)}")
    return ({**arguments, **changed}, tuple(repairs)) if changed else (arguments, ())


def _read(value: str | float, types: frozenset[str]) -> Json:
    if isinstance(value, float):
        # 3.0 is the integer 3 to JSON Schema, and an int to whoever calls a function with it.
        whole = abs(value) < EXACT and value.is_integer()
        return int(value) if whole and "integer" in types and "number" not in types else value
    if "string" in types or not types:
        return value
    said = value.strip()
    if "integer" in types and INTEGER.match(said):
        return int(said)
    if "number" in types and NUMBER.match(said):
        number = int(said) if INTEGER.match(said) else float(said)
        return number if isfinite(number) else value
    if "boolean" in types and said.lower() in ("true", "false"):
        return said.lower() == "true"
    if "null" in types and said.lower() in ("null", "none"):
        return None
    wanted = tuple(kind for word, kind in (("object", dict), ("array", list)) if word in types)
    if wanted and said[:1] in ("{", "["):
        try:
            read: Json = json.loads(said)
        except (ValueError, RecursionError):
            return value
        if isinstance(read, wanted):
            return read
    return value


def _shown(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:39] + "…"


def _kind(value: Json) -> str:
    match value:
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a number"
        case None:
            return "null"
        case dict():
            return "an object"
        case list():
            return "an array"
        case _:
            return "a string"
