"""Raw text between tags as a JSON value: the tool's schema says what it is, for the text itself cannot."""

import json
from collections.abc import Mapping
from typing import Final, TypeAlias

from pegboard.core.folded import Json

from .coercion import INTEGER, NUMBER, types_of
from .literal import DEEPEST
from .python_literals import literal
from .repair import too_deep
from .shapes import ToolShape

Read: TypeAlias = tuple[Json, tuple[str, ...]]
"""A value, and in words what had to be bent to read it."""

MOST_REFERENCES: Final = 16
"""Steps from one reference to the next; a schema that needs more goes round in circles."""
NULLS: Final = frozenset(("null", "Null", "NULL", "None"))
KINDS: Final[Mapping[str, tuple[type, ...]]] = {"object": (dict,), "array": (list,)}

_decode: Final = json.JSONDecoder(strict=False).decode


class Bare(str):
    """A word without quotes in a format that quotes its strings: what it means is for the schema to say."""

    __slots__ = ()


def schema_of(tool: ToolShape | None, key: str) -> Json:
    """What the tool says of one of its parameters, with local references followed."""
    if tool is None:
        return None
    return _followed(tool.properties.get(key), tool.parameters)


def typed(raw: str, schema: Json, *, guess: bool = True, no_text: bool = False) -> Read:
    """Without a schema the text is read as JSON where it is JSON and `guess` says so. Text that does not fit its
    schema stays as it is, so that validation can tell of it. `no_text`: the format marks strings, and this is none."""
    kinds = types_of(schema)
    if no_text and len(kinds) > 1:
        kinds -= {"string"}
    if kinds == {"string"} or (not kinds and not guess):
        return raw, ()
    said = raw.strip()
    if not kinds:
        return _guessed(raw, said)
    if said in NULLS and ("null" in kinds or "string" not in kinds):
        return None, ()
    if said.lower() == "none" and "null" in kinds and "string" not in kinds:
        return None, ()
    # Where a string would do too, a text that looks like a number is no less a text. An object is hardly ever one.
    if "string" not in kinds and kinds & {"integer", "number"}:
        if INTEGER.match(said):
            return int(said), ()
        if NUMBER.match(said):
            number = float(said)
            if number.is_integer() and "number" not in kinds:
                return int(number), ()
            if "number" in kinds and number - number == 0:
                return number, ()
    if "string" not in kinds and "boolean" in kinds and said.lower() in ("true", "false"):
        return said.lower() == "true", ()
    wanted = tuple(kind for word in kinds for kind in KINDS.get(word, ()))
    if wanted and said[:1] in ("{", "["):
        found = _structure(said, wanted)
        if found is not None:
            return found
    return raw, ()


def settled(value: Json, schema: Json, root: Mapping[str, Json], *, no_text: bool = False, depth: int = 0) -> Json:
    """The same value with every bare word in it read by what the schema says of its place."""
    schema = _followed(schema, root)
    if isinstance(value, Bare):
        return None if no_text and value == "null" else typed(str(value), schema, no_text=no_text)[0]
    if depth > DEEPEST:
        return value
    known = schema if isinstance(schema, dict) else {}
    members, items = known.get("properties"), known.get("items")
    properties = members if isinstance(members, dict) else {}
    if isinstance(value, dict):
        return {
            str(key): settled(one, properties.get(key), root, no_text=no_text, depth=depth + 1)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [settled(one, items, root, no_text=no_text, depth=depth + 1) for one in value]
    return value


def _guessed(raw: str, said: str) -> Read:
    if not said or said[0] not in '{["-0123456789tfn':
        return raw, ()
    try:
        value: Json = _decode(said)
    except (ValueError, RecursionError):
        return raw, ()
    # Text in quotes is text with quotes: nobody said that this parameter is written as JSON.
    return (raw if isinstance(value, str) or (isinstance(value, float) and value - value != 0) else value), ()


def _structure(said: str, wanted: tuple[type, ...]) -> Read | None:
    """An object or an array: as JSON, as a Python literal, or as JSON whose quotes were escaped once too often."""
    for reading, repairs in (
        (_decode, ()),
        (literal, ("it was read as a Python literal, not as JSON",)),
        (_twice, ("its quotes were escaped once too often",)),
    ):
        try:
            value: Json = reading(said)
        except (ValueError, RecursionError):
            continue
        return (value, repairs) if isinstance(value, wanted) and not too_deep(value) else None
    return None


def _twice(said: str) -> Json:
    inner: Json = _decode(f'"{said}"') if '\\"' in said else None
    value: Json = _decode(inner) if isinstance(inner, str) else None
    return value


def _followed(schema: Json, root: Mapping[str, Json]) -> Json:
    """The schema a local reference stands for; in alternatives one level down as well."""
    schema = _target(schema, root)
    if not isinstance(schema, dict):
        return schema
    for word in ("anyOf", "oneOf", "allOf"):
        options = schema.get(word)
        if isinstance(options, list) and any(isinstance(one, dict) and "$ref" in one for one in options):
            schema = {**schema, word: [_target(one, root) for one in options]}
    if schema.get("nullable") is True and "anyOf" not in schema:
        return {"anyOf": [{**schema, "nullable": False}, {"type": "null"}], "properties": schema.get("properties")}
    return schema


def _target(schema: Json, root: Mapping[str, Json]) -> Json:
    for _ in range(MOST_REFERENCES):
        if not isinstance(schema, dict):
            return schema
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        found: Json = dict(root)
        for step in reference[2:].split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, dict) else None
        schema = found
    return None
