"""Values that a caller binds, as the server's types want them."""

import json
from typing import Any, Final

from pegboard.core.database import Failed, Fault
from pegboard.ports.databases import Parameters
from pegboard.providers.builtin.database.unreadable import miscounted

_TEXT: Final = frozenset({"text", "varchar", "bpchar", "name", "unknown", "char"})
_JSON: Final = frozenset({"json", "jsonb"})
_TRUE: Final = {"true": True, "false": False}


def bound(parameters: Parameters, wanted: Any) -> list[object] | Failed:
    """One value for each `$1`, `$2`, …"""
    if not isinstance(parameters, list | tuple):
        if not parameters:
            parameters = ()
        else:
            return _wrong("Parameters have no names here. Give them as a list, and write $1, $2, … in the statement.")
    if len(parameters) != len(wanted):
        return _wrong(miscounted(len(wanted), len(parameters), "$1, $2, …"))
    told: list[object] = []
    for number, (value, kind) in enumerate(zip(parameters, wanted, strict=True), 1):
        try:
            told.append(_value(value, kind.name))
        except (ValueError, TypeError):
            return _wrong(f"Parameter ${number} is {json.dumps(value)[:100]}, and the statement wants {kind.name}.")
    return told


def _value(value: Any, kind: str) -> object:
    if value is None:
        return None
    if kind.endswith("[]"):
        if not isinstance(value, list):
            raise TypeError
        return [_value(item, kind[:-2]) for item in value]
    if kind in _JSON:
        return value if isinstance(value, str) and _is_json(value) else json.dumps(value)
    match kind:
        case "bool":
            return (
                value
                if isinstance(value, bool)
                else _TRUE[str(value).lower()]
                if str(value).lower() in _TRUE
                else _no()
            )
        case "int2" | "int4" | "int8" | "oid":
            return int(value) if not isinstance(value, bool) and int(value) == float(value) else _no()
        case "float4" | "float8":
            return float(value)
        case "bytea":
            text = str(value)
            return bytes.fromhex(text[2:]) if text.startswith(("0x", "\\x")) else text.encode()
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | list | dict) else str(value)


def _no() -> object:
    raise ValueError


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _wrong(words: str) -> Failed:
    return Failed(words, None, Fault.PARAMETERS)
