"""One value of a database as JSON can carry it, without losing what it was."""

import datetime
import decimal
import json
import math
from collections.abc import Mapping, Sequence, Set
from typing import Final

from pegboard.core.folded import Json

SAFE_INTEGER: Final = 2**53 - 1
"""Beyond it most readers of JSON round."""
CUT: Final = "…"
_DEEPEST: Final = 32


def cell(value: object) -> Json:
    """Numbers that JSON readers would change become text, and so does what JSON has no word for: a decimal keeps its
    digits, a blob is `0x…`, a day is written as ISO 8601 has it."""
    return _cell(value, 0)


def _cell(value: object, depth: int) -> Json:
    match value:
        case None | bool():
            return value
        case str():
            return _text(value)
        case int():
            return int(value) if -SAFE_INTEGER <= value <= SAFE_INTEGER else _digits(value)
        case float():
            return value if math.isfinite(value) else _unending(value)
        case bytes() | bytearray() | memoryview():
            return "0x" + bytes(value).hex()
        case decimal.Decimal():
            return str(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case Mapping() if depth < _DEEPEST:
            return {_text(str(key)): _cell(each, depth + 1) for key, each in value.items()}
        case Sequence() | Set() if depth < _DEEPEST:
            return [_cell(each, depth + 1) for each in value]
        case _:
            return _text(str(value))


def shortened(value: Json, most: int) -> tuple[Json, int]:
    """A value of at most so many bytes, and the bytes that it had: what is longer is cut, and ends in `…`."""
    match value:
        case str():
            text = value
        case list() | dict():
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        case _:
            return value, 8
    size = len(text) if text.isascii() else len(text.encode())
    if size <= most:
        return value, size
    return text.encode()[: max(0, most)].decode(errors="ignore") + CUT, size


def _text(value: str) -> str:
    """Half of a surrogate pair has no form in UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode(errors="surrogatepass").decode("utf-8", "replace")
    return value


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # Python writes no number of more than some thousand digits in decimal
        return hex(value)


def _unending(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
