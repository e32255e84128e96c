"""Values that a caller binds, written where the statement has a `?`."""

import json
import math
from collections.abc import Sequence
from typing import Any

from pegboard.core.database import Failed, Fault
from pegboard.ports.databases import Parameters
from pegboard.providers.builtin.database.unreadable import miscounted

from .splicing import Edit
from .words import Word


def bound(words: Sequence[Word], parameters: Parameters) -> tuple[Edit, ...] | Failed:
    """A literal for each place of a statement. Texts are written in digits, so that no way of reading a quotation mark
    or a backslash makes anything else of them."""
    places = [word for word in words if word.kind == "place"]
    if not isinstance(parameters, list | tuple):
        if parameters:
            return _wrong("Parameters have no names here. Give them as a list, and write ? in the statement.")
        parameters = ()
    if len(places) != len(parameters):
        return _wrong(miscounted(len(places), len(parameters), "?"))
    edits = []
    for number, (place, value) in enumerate(zip(places, parameters, strict=True), 1):
        written = literal(value)
        if written is None:
            return _wrong(f"Parameter {number} is not a value that SQL can hold.")
        edits.append(Edit(place.start, place.end, written))
    return tuple(edits)


def literal(value: Any) -> str | None:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return repr(value) if math.isfinite(value) else None
        case list() | dict():
            return literal(json.dumps(value, ensure_ascii=False))
        case str():
            try:
                digits = value.encode().hex()
            except UnicodeEncodeError:
                return None
            return f"_utf8mb4 0x{digits}" if digits else "''"
    return None


def _wrong(words: str) -> Failed:
    return Failed(words, None, Fault.PARAMETERS)
