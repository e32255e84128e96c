"""JSON as models write it: strictly first, then with what they get wrong, each liberty told. One pass each."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Final

from pegboard.core.folded import Json

from .literal import (
    MAX_DEPTH,
    MISSING_END,
    RAW_CONTROLS_KEPT,
    SURROGATES,
    TolerantJsonReader,
    UnreadableError,
    whole_characters,
)

MAX_REPAIR_LENGTH: Final = 1 << 20
"""Characters of what is repaired. A longer text that is no JSON is told as broken, not bent."""
SURPLUS_BRACKETS: Final = "brackets too many at the end were left out"
_ONLY_CLOSING: Final = re.compile(r"[\s\]}]*\Z").match
_search_surrogate: Final = re.compile(r"\\u[dD][89a-fA-F]").search


def _finite(said: str) -> float:
    number = float(said)
    if not isfinite(number):
        raise ValueError(f"{said} is larger than any number")
    return number


def _no_constant(said: str) -> float:
    raise ValueError(f"{said} is no JSON")


def _unique_members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is given twice")
    return members


_STRICT: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant, object_pairs_hook=_unique_members)
_LOOSE: Final = json.JSONDecoder(
    parse_float=_finite, parse_constant=_no_constant, object_pairs_hook=_unique_members, strict=False
)
decode: Final[Callable[[str], Json]] = _LOOSE.decode
"""JSON with raw line breaks allowed in strings. Raises `ValueError` for a key given twice, as for NaN and infinity."""


@dataclass(frozen=True, slots=True)
class RepairedJson:
    value: Json
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnrepairableJson:
    why: str
    """A clause: what is wrong with the text."""


def read_json(text: str, *, whole: bool = False) -> RepairedJson | UnrepairableJson:
    """The one value that a text is, and nothing but white space around it. `whole`: the text ends where the model
    meant it to, so that brackets missing there are added, and those too many are left out."""
    try:
        return _check_value(text, _STRICT.decode(text), ())
    except (ValueError, RecursionError):
        pass
    if len(text) > MAX_REPAIR_LENGTH:
        return UnrepairableJson(
            f"it is no JSON, and longer than the {MAX_REPAIR_LENGTH:,} characters that are repaired"
        )
    try:
        return _check_value(text, _LOOSE.decode(text), (RAW_CONTROLS_KEPT,))
    except (ValueError, RecursionError):
        pass
    reader = TolerantJsonReader(text, closes_brackets=whole)
    try:
        value = reader.read_value()
        rest = reader.next_character()
    except UnreadableError as error:
        return UnrepairableJson(str(error))
    if rest and not (whole and _ONLY_CLOSING(text, reader.position)):
        return UnrepairableJson(f"{rest!r} at character {reader.position} is too much")
    if reader.missing_brackets:
        reader.repairs[MISSING_END.format(missing=reader.missing_brackets)] = None
    if rest:
        reader.repairs[SURPLUS_BRACKETS] = None
    return RepairedJson(value, tuple(reader.repairs))


def read_json_at(text: str, place: int) -> tuple[Json, int] | None:
    """The sound JSON value that begins there and where it ends; None if there is none or the text ends within.

    A failure costs the distance to it and to the beginning of the text, so ask once for one text."""
    try:
        value, end = _STRICT.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None
    if _search_surrogate(text, place, end) or (
        text.count("{", place, end) + text.count("[", place, end) > MAX_DEPTH and is_too_deep(value)
    ):
        return None
    return value, end


def is_too_deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _check_value(text: str, value: Json, repairs: tuple[str, ...]) -> RepairedJson | UnrepairableJson:
    if text.count("{") + text.count("[") > MAX_DEPTH and is_too_deep(value):
        return UnrepairableJson(f"it is nested deeper than {MAX_DEPTH} levels")
    if _search_surrogate(text):
        whole = _with_whole_characters(value)
        if whole != value:
            return RepairedJson(whole, (*repairs, SURROGATES))
    return RepairedJson(value, repairs)


def _with_whole_characters(value: Json) -> Json:
    match value:
        case str():
            return whole_characters(value)
        case dict():
            return {whole_characters(key): _with_whole_characters(inner) for key, inner in value.items()}
        case list():
            return [_with_whole_characters(inner) for inner in value]
        case _:
            return value
