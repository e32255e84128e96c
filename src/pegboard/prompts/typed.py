"""Raw text between tags as a JSON value: the tool's schema says what it is, for the text itself cannot."""

import re
from collections.abc import Mapping
from typing import Final

from pegboard.core.folded import Json

from .coercion import (
    CONTAINER_TYPES,
    CoercedValue,
    read_scalar,
    read_structure,
    read_text,
    resolve_references,
    schema_types,
)
from .literal import MAX_DEPTH
from .repair import decode

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
    if depth > MAX_DEPTH:
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
