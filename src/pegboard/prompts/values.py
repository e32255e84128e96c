"""Converts arguments to the types of the schema where there is only one reading, such as "3" for an integer."""

import json
import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Final, TypeAlias

from pegboard.core.json.values import MAX_JSON_DEPTH, Json
from pegboard.core.model.text import truncate
from pegboard.prompts.integers import read_integer
from pegboard.prompts.python_literals import read_literal
from pegboard.prompts.repair import UnrepairableJson, decode, is_too_deep, read_json
from pegboard.prompts.tool_shape import ToolShape

CoercedValue: TypeAlias = tuple[Json, tuple[str, ...]]
"""A value, and in words what was repaired to read it."""

INTEGER: Final = re.compile(r"[-+]?\d++\Z", re.ASCII)
NUMBER: Final = re.compile(r"[-+]?(?:\d{1,32}(?:\.\d{0,32})?|\.\d{1,32})(?:[eE][-+]?\d{1,3})?\Z", re.ASCII)
NULLS: Final = frozenset(("null", "Null", "NULL", "None"))
MAX_EXACT_FLOAT: Final = 2.0**53
"""Up to here a float is one integer and no other."""
MAX_TYPES: Final = 64
"""Alternatives of one schema that are looked at; more than that is no schema of an argument."""
MAX_REFERENCES: Final = 16
"""Steps from one reference to the next; a schema that needs more goes round in circles."""
CONTAINER_TYPES: Final[Mapping[str, tuple[type, ...]]] = {"object": (dict,), "array": (list,)}
TYPE_ALIASES: Final[Mapping[str, str]] = {
    "str": "string",
    "text": "string",
    "enum": "string",
    "int": "integer",
    "int32": "integer",
    "int64": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "list": "array",
    "tuple": "array",
}
"""Types as schemas written by hand name them."""
_FENCE: Final = "```"
_LANGUAGE: Final = re.compile(r"[ \t]*+\w{0,20}+[ \t]*+\r?\n").match

READ_AS_PYTHON: Final = "it was read as a Python literal, not as JSON"
TWICE_ESCAPED: Final = "its quotes were escaped once too often"
QUOTES_LEFT_OUT: Final = "the quotes around it were left out"
FENCE_LEFT_OUT: Final = "the code fence around it was left out"
DIGIT_AS_BOOLEAN: Final = "1 or 0 was read as a boolean"


def schema_types(schema: Json) -> frozenset[str]:
    """The types that a schema names, through its alternatives; none where it does not say."""
    found: set[str] = set()
    queue: list[Json] = [schema]
    seen = 0
    while queue and seen < MAX_TYPES:
        seen += 1
        part = queue.pop()
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        named = [kind] if isinstance(kind, str) else kind if isinstance(kind, list) else []
        here = {TYPE_ALIASES.get(one.lower(), one) for one in named if isinstance(one, str)}
        alternatives = [sub for word in ("anyOf", "oneOf", "allOf") for sub in _as_list(part.get(word))]
        if not here and not alternatives:
            here = _implied_types(part)
        found |= here
        queue += alternatives
    return frozenset(found)


def _as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _implied_types(schema: dict[str, Json]) -> set[str]:
    options = _as_list(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])
    if options:
        return {_TYPE_NAMES[type(one)] for one in options}
    if isinstance(schema.get("properties"), dict):
        return {"object"}
    return {"array"} if isinstance(schema.get("items"), dict) else set()


_TYPE_NAMES: Final[Mapping[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}


def parameter_schema(tool: ToolShape | None, key: str) -> Json:
    """What the tool says of one of its parameters, with local references followed."""
    if tool is None:
        return None
    return resolve_references(tool.properties.get(key), tool.parameters)


def resolve_references(schema: Json, root: Mapping[str, Json]) -> Json:
    """The schema a local reference stands for; in alternatives one level down as well."""
    schema = _resolve_reference(schema, root)
    if not isinstance(schema, dict):
        return schema
    for word in ("anyOf", "oneOf", "allOf"):
        options = schema.get(word)
        if isinstance(options, list) and any(isinstance(one, dict) and "$ref" in one for one in options):
            schema = {**schema, word: [_resolve_reference(one, root) for one in options]}
    if schema.get("nullable") is True and "anyOf" not in schema:
        return {"anyOf": [{**schema, "nullable": False}, {"type": "null"}], "properties": schema.get("properties")}
    return schema


def _resolve_reference(schema: Json, root: Mapping[str, Json]) -> Json:
    for _ in range(MAX_REFERENCES):
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


def coerce_arguments(
    arguments: Mapping[str, Json], tool: ToolShape, *, only_inner: bool = False
) -> tuple[Mapping[str, Json], tuple[str, ...]]:
    """The arguments, and in words what was read otherwise than written. `only_inner`: the arguments themselves are
    read already, and not what objects and arrays among them hold."""
    properties = tool.properties
    changed: dict[str, Json] = {}
    repairs: dict[str, str] = {}
    for key, value in arguments.items():
        if isinstance(value, dict | list):
            read = _coerce_inner(value, properties.get(key), tool.parameters, key, repairs) if value else value
        elif only_inner or not isinstance(value, str | float) or isinstance(value, bool):
            continue
        else:
            schema = properties.get(key)
            if not isinstance(schema, dict) or schema.get("type") == "string":
                continue
            read = _coerce(value, schema_types(resolve_references(schema, tool.parameters)))
            if read is not value:
                repairs[key] = _describe_reading(value, read)
        if read is not value:
            changed[key] = read
    told = tuple(f"argument {path!r}: {reading}" for path, reading in repairs.items())
    return ({**arguments, **changed}, told) if changed else (arguments, ())


def _coerce_inner(
    value: Json, schema: Json, root: Mapping[str, Json], path: str, repairs: dict[str, str], depth: int = 0
) -> Json:
    """The same object or array with what it holds read by the schema; `value` itself where nothing changes. Where
    alternatives describe it, none is chosen."""
    schema = resolve_references(schema, root)
    if not isinstance(schema, dict) or depth > MAX_JSON_DEPTH:
        return value
    places: list[tuple[int | str, Json, Json, str]] = []
    if isinstance(value, dict) and isinstance(members := schema.get("properties"), dict):
        places = [(key, one, members[key], f"{path}.{key}") for key, one in value.items() if key in members]
    elif isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        places = [(place, one, items, f"{path}[]") for place, one in enumerate(value)]
    changed: dict[int | str, Json] = {}
    known: dict[int, frozenset[str]] = {}
    for place, one, inner, inner_path in places:
        if isinstance(one, dict | list):
            read = _coerce_inner(one, inner, root, inner_path, repairs, depth + 1)
        elif isinstance(one, str | float) and not isinstance(one, bool):
            types = known.get(id(inner))
            if types is None:
                types = known[id(inner)] = schema_types(resolve_references(inner, root))
            read = _coerce(one, types)
            if read is not one:
                repairs.setdefault(inner_path, _describe_reading(one, read))
        else:
            continue
        if read is not one:
            changed[place] = read
    if not changed:
        return value
    if isinstance(value, dict):
        return {key: changed.get(key, one) for key, one in value.items()}
    return [changed.get(place, one) for place, one in enumerate(value)] if isinstance(value, list) else value


def _describe_reading(value: Json, read: Json) -> str:
    return f"{_shorten_value(value)} was read as {_describe_type(read)}"


def _coerce(value: str | float, types: frozenset[str]) -> Json:
    if isinstance(value, float):
        # 3.0 is the integer 3 to JSON Schema, and an int to whoever calls a function with it.
        whole = abs(value) < MAX_EXACT_FLOAT and value.is_integer()
        return int(value) if whole and "integer" in types and "number" not in types else value
    if "string" in types or not types:
        return value
    said = value.strip()
    # JSON has a null of its own: in quotes it is one only where the schema has it.
    found = None if said in NULLS and "null" not in types else read_text(said, types, strictly=True)
    return value if found is None else found[0]


def read_text(said: str, types: frozenset[str], *, strictly: bool = False) -> CoercedValue | None:
    """What a text means that cannot be meant as a string, by the types that its schema allows; None where it is none
    of them."""
    scalar = read_scalar(said, types)
    if scalar is not None:
        return scalar
    if types == {"boolean"} and said in ("1", "0"):
        return said == "1", (DIGIT_AS_BOOLEAN,)
    wanted = tuple(kind for word in types for kind in CONTAINER_TYPES.get(word, ()))
    structure = read_structure(said, wanted, strictly=strictly)
    if structure is not None or strictly or said[:1] != '"':
        return structure
    try:
        inner: Json = decode(said)
    except (ValueError, RecursionError):
        return None
    again = read_text(inner.strip(), types) if isinstance(inner, str) and inner[:1] != '"' else None
    return None if again is None else (again[0], (QUOTES_LEFT_OUT, *again[1]))


def read_scalar(said: str, types: frozenset[str]) -> CoercedValue | None:
    if said in NULLS and ("null" in types or "string" not in types):
        return None, ()
    if said.lower() == "none" and "null" in types and "string" not in types:
        return None, ()
    if types & {"integer", "number"}:
        if INTEGER.match(said):
            integer = read_integer(said)
            return None if integer is None else (integer, ())
        if NUMBER.match(said):
            number = float(said)
            if "number" in types:
                return (number, ()) if isfinite(number) else None
            if abs(number) < MAX_EXACT_FLOAT and number.is_integer():
                return int(number), ()
    if "boolean" in types and said.lower() in ("true", "false"):
        return said.lower() == "true", ()
    return None


def read_structure(said: str, wanted: tuple[type, ...], *, strictly: bool = False) -> CoercedValue | None:
    """An object or an array: as JSON, as a Python literal, as JSON whose quotes were escaped once too often, or as JSON
    that can be repaired. `strictly`: without repairs, because a text might be meant."""
    if not wanted:
        return None
    before: tuple[str, ...] = ()
    if not strictly and said.startswith(_FENCE) and said.endswith(_FENCE):
        opened = _LANGUAGE(said, len(_FENCE))
        if opened is not None:
            said, before = said[opened.end() : -len(_FENCE)].strip(), (FENCE_LEFT_OUT,)
    if said[:1] not in ("{", "["):
        return None
    for reading in _READERS[:2] if strictly else _READERS:
        try:
            value, repairs = reading(said)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, wanted) and not is_too_deep(value):
            return value, (*before, *repairs)
        return None
    return None


def _read_json(said: str) -> CoercedValue:
    value: Json = decode(said)
    return value, ()


def _read_python(said: str) -> CoercedValue:
    value, repairs = read_literal(said)
    return value, (READ_AS_PYTHON, *repairs)


def _read_twice_escaped(said: str) -> CoercedValue:
    inner: Json = decode(f'"{said}"') if '\\"' in said else None
    if not isinstance(inner, str):
        raise ValueError(said[:20])
    value: Json = decode(inner)
    return value, (TWICE_ESCAPED,)


def _read_repaired(said: str) -> CoercedValue:
    found = read_json(said, whole=True)
    if isinstance(found, UnrepairableJson):
        raise ValueError(found.why)
    return found.value, found.repairs


_READERS: Final[tuple[Callable[[str], CoercedValue], ...]] = (
    _read_json,
    _read_python,
    _read_twice_escaped,
    _read_repaired,
)


def _shorten_value(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return truncate(text, 40, total=True)


def _describe_type(value: Json) -> str:
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


# Raw text between tags as a JSON value: the tool's schema says what it is, for the text itself cannot.

match_exact_scalar: Final = re.compile(r"-?(?:0|[1-9]\d*+)(?:\.\d{1,32})?\Z|true\Z|false\Z", re.ASCII).match
"""A number or a boolean as a chat template writes it: `02134`, `1e5` and `True` may be texts that merely look so."""


class BareWord(str):
    """A word without quotes in a format that quotes its strings: what it means is for the schema to say."""

    __slots__ = ()


def read_typed(raw: str, schema: Json, *, guess: bool = True, no_text: bool = False) -> CoercedValue:
    """Without a schema the text is read as JSON where it is JSON and `guess` says so. Text that does not fit its
    schema stays as it is, so that validation can tell of it. `no_text`: the format marks strings, and this is none."""
    kinds = schema_types(schema)
    if no_text and len(kinds) > 1:
        kinds -= {"string"}
    if kinds == {"string"} or (not kinds and not guess):
        return raw, ()
    said = raw.strip()
    if not kinds:
        return _guess_value(raw, said)
    if "string" not in kinds:
        return read_text(said, kinds) or (raw, ())
    # A template writes the text 5 and the number 5 alike. A schema that has a number beside a string means it.
    if _is_option(said, schema):
        return raw, ()
    if match_exact_scalar(said) or "null" in kinds:
        scalar = read_scalar(said, kinds if match_exact_scalar(said) else frozenset(("null", "string")))
        if scalar is not None:
            return scalar
    wanted = tuple(kind for word in kinds for kind in CONTAINER_TYPES.get(word, ()))
    return read_structure(said, wanted, strictly=True) or (raw, ())


def _is_option(said: str, schema: Json) -> bool:
    """Whether the schema lists the text among what it allows."""
    options = schema.get("enum") if isinstance(schema, dict) else None
    return isinstance(options, list) and said in options


def resolve_bare_words(
    value: Json, schema: Json, root: Mapping[str, Json], *, no_text: bool = False, depth: int = 0
) -> Json:
    """The same value with every bare word in it read by what the schema says of its place."""
    schema = resolve_references(schema, root)
    if isinstance(value, BareWord):
        return None if no_text and value == "null" else read_typed(str(value), schema, no_text=no_text)[0]
    if depth > MAX_JSON_DEPTH:
        return value
    known = schema if isinstance(schema, dict) else {}
    members, items = known.get("properties"), known.get("items")
    properties = members if isinstance(members, dict) else {}
    if isinstance(value, dict):
        return {
            str(key): resolve_bare_words(one, properties.get(key), root, no_text=no_text, depth=depth + 1)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [resolve_bare_words(one, items, root, no_text=no_text, depth=depth + 1) for one in value]
    return value


def _guess_value(raw: str, said: str) -> CoercedValue:
    if not said or said[0] not in '{["-0123456789tfn':
        return raw, ()
    try:
        value: Json = decode(said)
    except (ValueError, RecursionError):
        return raw, ()
    # Text in quotes is text with quotes: nobody said that this parameter is written as JSON.
    return (raw if isinstance(value, str) or (isinstance(value, float) and value - value != 0) else value), ()
