"""A connection to a PostgreSQL server that takes in no more bytes than were allowed, and how values are bound."""

import asyncio
import json
import ssl
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import asyncpg
from asyncpg.connection import Connection
from asyncpg.protocol.protocol import BUILTIN_TYPE_NAME_MAP

from pegboard.core.databases.rows import StatementFailure, StatementFault
from pegboard.ports.databases import Parameters
from pegboard.providers.database.server import names, unreachable, values_in_order

CONNECT_TIMEOUT_S: Final = 10.0
MAX_BATCH_BYTES: Final = 32 * 2**20
"""In answer to one request for rows. A server sends a value of a gigabyte if it is asked for one."""
MAX_LIST_BYTES: Final = 4 * 2**20
"""Where columns hold arrays, which the driver takes apart while everything else waits."""
DRIVER_ERRORS: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)

_SETTINGS: Final = {
    "application_name": "pegboard",
    "default_transaction_read_only": "on",
    "idle_in_transaction_session_timeout": "60s",
    "lock_timeout": "2s",
    "statement_timeout": "60s",
    "jit": "off",
    "work_mem": "32MB",
    # As the grammar that judges reads a backslash, so must the one that runs.
    "standard_conforming_strings": "on",
    "datestyle": "ISO, MDY",
    "intervalstyle": "iso_8601",
    "extra_float_digits": "1",
    "bytea_output": "hex",
}

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


class _Meter:
    """Between the transport and the driver: counts what comes, and hangs up when it is too much."""

    def __init__(self, driver: Any, transport: asyncio.Transport) -> None:
        self._driver = driver
        self._transport = transport
        self.room = MAX_BATCH_BYTES
        """So many bytes may come from here on."""
        self.is_overrun = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def data_received(self, data: bytes) -> None:
        self.room -= len(data)
        if self.room < 0:
            self.is_overrun = True
            self._transport.abort()
        else:
            self._driver.data_received(data)


class MeteredPostgresConnection(Connection):  # type: ignore[misc]  # the driver has no types
    __slots__ = ("meter",)

    def __init__(self, protocol: Any, transport: Any, loop: Any, addr: Any, config: Any, params: Any) -> None:
        super().__init__(protocol, transport, loop, addr, config, params)
        self.meter = _Meter(protocol, transport)
        transport.set_protocol(self.meter)

    async def _introspect_types(self, typeoids: Any, timeout: Any) -> Any:
        """Rows and ranges come as the server writes them. The driver would refuse those that hold a date, as text."""
        types, statement = await super()._introspect_types(typeoids, timeout)
        for one in types:
            if one["kind"] in (b"c", b"r", b"m"):
                self.read_as_text(one["oid"], one["name"], one["ns"])
        return types, statement

    def read_as_text(self, number: int, name: str, schema: str, decode: Callable[[str], str] = str) -> None:
        """The driver's own way takes no type that holds others."""
        settings = self._protocol.get_settings()
        settings.add_python_codec(number, name, schema, (), "scalar", str, decode, "text")


async def connect(url: str, **_: object) -> MeteredPostgresConnection:
    """Raises `SourceError`, in words without the password. What else a pool gives is known here."""
    try:
        connection: MeteredPostgresConnection = await asyncpg.connect(
            url,
            timeout=CONNECT_TIMEOUT_S,
            server_settings=_SETTINGS,
            connection_class=MeteredPostgresConnection,
            statement_cache_size=40,
        )
    except (*DRIVER_ERRORS, ValueError, ssl.SSLError, TimeoutError) as error:
        late = f"no answer within {CONNECT_TIMEOUT_S:g} s" if isinstance(error, TimeoutError) else None
        raise unreachable(place(url), error, late or str(getattr(error, "message", None) or error)) from error
    for name in AS_TEXT:
        decode = iso_moment if name.startswith("timestamp") else str
        connection.read_as_text(BUILTIN_TYPE_NAME_MAP[name], name, "pg_catalog", decode)
    return connection


def place(url: str) -> str:
    """Where a source is, as it may be shown: neither user nor password."""
    parts = urlsplit(url)
    host = parts.hostname or dict(parse_qsl(parts.query)).get("host") or "this machine"
    return f"PostgreSQL at {host}{f':{parts.port}' if parts.port else ''}{parts.path}"


def iso_moment(text: str) -> str:
    """As ISO 8601 has it; what lies beyond all calendars stays as it is."""
    return f"{text[:10]}T{text[11:]}" if text[10:11] == " " else text


def type_name(kind: Any) -> str:
    name: str = kind.name
    return f"{_TYPES.get(name[:-2], name[:-2])}[]" if name.endswith("[]") else _TYPES.get(name, name)


def bind(parameters: Parameters, wanted: Any) -> list[object] | StatementFailure:
    """One value for each `$1`, `$2`, …"""
    values = values_in_order(parameters, len(wanted), "$1, $2, …")
    if isinstance(values, StatementFailure):
        return values
    for number, (value, kind) in enumerate(zip(values, wanted, strict=True), 1):
        try:
            values[number - 1] = _argument(value, kind.name)
        except (ValueError, TypeError, KeyError):
            why = f"Parameter ${number} is {json.dumps(value)[:100]}, and the statement wants {kind.name}."
            return StatementFailure(why, None, StatementFault.PARAMETERS)
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
