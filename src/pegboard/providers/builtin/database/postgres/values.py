"""Values between the server and callers: types that stay text, and parameters that are bound."""

import json
from typing import Any, Final

from pegboard.core.database import Failed, Fault
from pegboard.ports.databases import Parameters
from pegboard.providers.builtin.database.names import names
from pegboard.providers.builtin.database.server import values_in_order

AS_TEXT: Final = names(
    """
    anyarray bit box cidr circle date inet interval line lseg macaddr money path pg_lsn point polygon record time
    timestamp timestamptz timetz tsquery tsvector uuid varbit xml
    """
)
"""Types whose values come and go as the server writes them: nothing is lost, and a model's text is a date at once. What
holds values of others comes so too: of a date that comes as text the driver would make another."""
_TYPES: Final = {
    "bool": "boolean",
    "bpchar": "character",
    "float4": "real",
    "float8": "double precision",
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "varchar": "character varying",
}


def iso_moment(text: str) -> str:
    """As ISO 8601 has it; what lies beyond all calendars stays as it is."""
    return f"{text[:10]}T{text[11:]}" if text[10:11] == " " else text


def type_name(kind: Any) -> str:
    name: str = kind.name
    return f"{_TYPES.get(name[:-2], name[:-2])}[]" if name.endswith("[]") else _TYPES.get(name, name)


def bind(parameters: Parameters, wanted: Any) -> list[object] | Failed:
    """One value for each `$1`, `$2`, …"""
    values = values_in_order(parameters, len(wanted), "$1, $2, …")
    if isinstance(values, Failed):
        return values
    for number, (value, kind) in enumerate(zip(values, wanted, strict=True), 1):
        try:
            values[number - 1] = _argument(value, kind.name)
        except (ValueError, TypeError, KeyError):
            why = f"Parameter ${number} is {json.dumps(value)[:100]}, and the statement wants {kind.name}."
            return Failed(why, None, Fault.PARAMETERS)
    return values


def _argument(value: Any, kind: str) -> object:
    if value is None:
        return None
    if kind.endswith("[]"):
        if not isinstance(value, list):
            raise TypeError
        return [_argument(item, kind[:-2]) for item in value]
    match kind:
        case "bool":
            return {"true": True, "false": False}[str(value).lower()]
        case "int2" | "int4" | "int8" | "oid":
            return int(str(value))
        case "float4" | "float8":
            return float(value)
        case "bytea":
            text = str(value)
            return bytes.fromhex(text[2:]) if text.startswith(("0x", "\\x")) else text.encode()
    return json.dumps(value) if isinstance(value, bool | list | dict) else str(value)
