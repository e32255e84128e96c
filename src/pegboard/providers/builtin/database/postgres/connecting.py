"""A connection to a PostgreSQL server that keeps no more than it was allowed to, and what its user may do there."""

import asyncio
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg
from asyncpg.connection import Connection

from pegboard.core.database import Checked, Finding, Severity
from pegboard.ports.databases import SourceAway
from pegboard.providers.builtin.database.names import names

from .composed import composed, moment
from .memory import Memory

PATIENCE: Final = 10.0
ROW: Final = 32 * 2**20
"""Bytes that may come in answer to one request for rows. A server sends a value of a gigabyte if it is asked for
one."""

_KNOWN: Final = names(
    """
    application_name database dbname host passfile password port search_path sslcert sslcrl sslkey sslmode
    sslpassword sslrootcert target_session_attrs user
    """
)
"""What of a URL's options is passed on. The driver would send any other to the server as a setting."""

_SETTINGS: Final = {
    "application_name": "pegboard",
    "default_transaction_read_only": "on",
    "idle_in_transaction_session_timeout": "60s",
    "lock_timeout": "2s",
    "statement_timeout": "60s",
    "jit": "off",
    # The question to the catalogue takes much longer to plan than to answer, and is the same each time.
    "plan_cache_mode": "force_generic_plan",
    "work_mem": "32MB",
    # As the grammar that judges reads a backslash, so must the one that runs.
    "standard_conforming_strings": "on",
    "datestyle": "ISO, MDY",
    "intervalstyle": "iso_8601",
    "extra_float_digits": "1",
    "bytea_output": "hex",
}

_AS_TEXT: Final = names(
    """
    bit box cidr circle date inet interval line lseg macaddr money path pg_lsn point polygon time timetz tsquery
    tsvector
    uuid varbit xml
    """
)
"""Types whose values come and go as the server writes them: nothing is lost, and a model's text is a date at once."""

_WHOLE_AS_TEXT: Final = {
    "anyarray": 2277,
    "record": 2249,
    **{"int4range": 3904, "numrange": 3906, "tsrange": 3908, "tstzrange": 3910, "daterange": 3912, "int8range": 3926},
    **{"int4multirange": 4451, "nummultirange": 4532, "tsmultirange": 4533, "tstzmultirange": 4534},
    **{"datemultirange": 4535, "int8multirange": 4536},
}
"""These hold values of others, and the driver takes them apart by no means but those of its own: of a date that comes
as text it would make another."""


class TooMuch(Exception):  # noqa: N818 - it is told as a limit, not as an error
    """More bytes came than were allowed, of so many rows that were asked for at once."""

    def __init__(self, rows: int = 1) -> None:
        super().__init__(rows)
        self.rows = rows


class _Meter(asyncio.Protocol):
    """Between the transport and the driver: counts what comes, and hangs up when it is too much."""

    def __init__(self, inner: Any, transport: asyncio.Transport) -> None:
        self._inner = inner
        self._transport = transport
        self.room = ROW
        self.received = 0
        self.overrun = False

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        self.room -= len(data)
        if self.room < 0:
            self.overrun = True
            self._transport.abort()
            return
        self._inner.data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._inner.connection_lost(exc)

    def eof_received(self) -> Any:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()


class Metered(Connection):  # type: ignore[misc]  # the driver has no types
    __slots__ = ("composed", "memory", "meter", "role")

    def __init__(self, protocol: Any, transport: Any, loop: Any, addr: Any, config: Any, params: Any) -> None:
        super().__init__(protocol, transport, loop, addr, config, params)
        self.meter = _Meter(protocol, transport)
        self.memory = Memory()
        self.composed: dict[int, tuple[str, str]] = {}
        """Types of rows and ranges that were met, with their names and schemas."""
        transport.set_protocol(self.meter)

    def allow(self, size: int) -> int:
        """So many bytes from here on; what was received until now."""
        self.meter.room = size
        return self.meter.received

    def forget(self) -> None:
        """All that the catalogue said, of types as well."""
        self.memory.forget()
        while self.composed:
            number, (name, schema) = self.composed.popitem()
            self._protocol.get_settings().remove_python_codec(number, name, schema)

    async def _introspect_types(self, typeoids: Any, timeout: Any) -> Any:
        """The driver asks for whatever it meets for the first time, and would then refuse rows that hold a date."""
        types, statement = await super()._introspect_types(typeoids, timeout)
        for number, name, schema, kind, reader in composed(types):
            if number not in self.composed and number not in _WHOLE_AS_TEXT.values():
                self._protocol.get_settings().add_python_codec(number, name, schema, (), kind, str, reader, "text")
                self.composed[number] = name, schema
        return types, statement


@dataclass(frozen=True)
class Role:
    """What the user of a source is there, as the server tells."""

    name: str
    version: str
    powers: tuple[str, ...]
    """Why nobody should ask questions with it."""
    writes: tuple[str, ...]
    """Some tables that it may change."""
    warnings: tuple[str, ...] = ()
    """What else somebody may not have meant, with what to do."""

    def checked(self, *, writes: bool) -> Checked:
        """Where the operator lets rows be changed, that it may do so is as it should be."""
        findings = [Finding(f"{power} {MEND}", Severity.REFUSED_UNLESS_FORCED) for power in self.powers]
        if self.writes and not writes and not self.powers:
            some = ", ".join(self.writes)
            findings.append(
                Finding(
                    f"The role {self.name!r} may change tables ({some}). {MEND} What is asked here still only reads."
                )
            )
        findings += [Finding(warning) for warning in self.warnings]
        return Checked(f"PostgreSQL {self.version}", self.name, tuple(findings))


MEND: Final = (
    "Create a role that may only read: CREATE ROLE pegboard_reader LOGIN PASSWORD '…'; then GRANT it USAGE on the "
    "schemas and SELECT on the tables that may be asked."
)

_ROLE: Final = """
SELECT pg_catalog.json_build_object(
    'name', r.rolname, 'version', pg_catalog.current_setting('server_version'),
    'rolsuper', r.rolsuper, 'rolcreaterole', r.rolcreaterole, 'rolreplication', r.rolreplication,
    'becomes', ARRAY(SELECT m.rolname FROM pg_catalog.pg_roles m WHERE m.oid <> r.oid
                     AND (m.rolsuper OR m.rolcreaterole OR m.rolreplication)
                     AND pg_catalog.pg_has_role(r.oid, m.oid, 'MEMBER') ORDER BY m.rolsuper DESC, 1),
    'unfiltered', ARRAY(SELECT m.rolname FROM pg_catalog.pg_roles m WHERE m.rolbypassrls
                        AND pg_catalog.pg_has_role(r.oid, m.oid, 'MEMBER') ORDER BY 1),
    'supers', ARRAY(SELECT m.rolname FROM pg_catalog.pg_roles m WHERE m.rolsuper),
    'member', ARRAY(SELECT m.rolname FROM pg_catalog.pg_roles m WHERE m.rolname = ANY($1::text[])
                    AND pg_catalog.pg_has_role(r.oid, m.oid, 'MEMBER') ORDER BY 1),
    'writes', ARRAY(SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c
                    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                    WHERE c.relkind IN ('r', 'p') AND c.oid >= 16384
                      AND pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') ORDER BY 1 LIMIT 3))
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
"""

_GROUPS: Final = {
    "pg_execute_server_program": "may run programs on the server",
    "pg_read_server_files": "may read the server's files",
    "pg_write_server_files": "may write the server's files",
    "pg_signal_backend": "may end other people's sessions",
    "pg_write_all_data": "may change every table",
    "pg_checkpoint": "may order checkpoints",
    "pg_maintain": "may rebuild every table",
    "pg_create_subscription": "may subscribe to other servers",
}


def role(told: Mapping[str, Any]) -> Role:
    name = told["name"]
    powers, warnings = [], []
    if told["rolsuper"]:
        powers.append(
            f"The role {name!r} is a superuser: a read-only transaction does not keep it from files and programs."
        )
    else:
        if told["rolcreaterole"]:
            powers.append(f"The role {name!r} may create roles, and so give itself more.")
        if told["rolreplication"]:
            powers.append(f"The role {name!r} may replicate, and so read everything.")
        for other in told["becomes"]:
            what = "a superuser" if other in told["supers"] else "which may create roles or replicate"
            powers.append(f"The role {name!r} is a member of {other!r}, {what}, and so may do what that one may.")
        powers += [f"The role {name!r} {_GROUPS[group]} ({group})." for group in told["member"]]
        if others := [one for one in told["unfiltered"] if one not in told["supers"]]:
            through = "" if name in others else f" as a member of {others[0]!r}"
            warnings.append(
                f"The role {name!r} reads past row security (BYPASSRLS){through}: it is told rows that policies keep "
                f"from others. If that is not meant: ALTER ROLE {_identifier(others[0])} NOBYPASSRLS"
                f"{'' if name in others else ', or take the membership away'}."
            )
    return Role(name, told["version"], tuple(powers), tuple(told["writes"]), tuple(warnings))


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def address(url: str) -> str:
    """The URL without what only other drivers know."""
    parts = urlsplit(url)
    kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name in _KNOWN]
    return urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(kept), ""))


async def connect(url: str) -> Metered:
    """Raises `SourceAway`, in words without the password."""
    try:
        connection: Metered = await asyncpg.connect(
            address(url), timeout=PATIENCE, server_settings=_SETTINGS, connection_class=Metered, statement_cache_size=40
        )
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError, ssl.SSLError, TimeoutError) as error:
        raise SourceAway(_away(url, error)) from error
    try:
        for name in sorted(_AS_TEXT):
            await connection.set_type_codec(name, schema="pg_catalog", encoder=str, decoder=str, format="text")
        for name in ("timestamp", "timestamptz"):
            await connection.set_type_codec(name, schema="pg_catalog", encoder=str, decoder=moment, format="text")
        settings = connection._protocol.get_settings()
        for name, number in _WHOLE_AS_TEXT.items():
            # The driver's own way to say it asks the server first, and takes no type that holds others.
            settings.add_python_codec(number, name, "pg_catalog", (), "scalar", str, str, "text")
        connection.role = role(json.loads(await connection.fetchval(_ROLE, list(_GROUPS))))
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        connection.terminate()
        raise SourceAway(_away(url, error)) from error
    return connection


def place(url: str) -> str:
    """Where a source is, as it may be told: neither user nor password."""
    parts = urlsplit(url)
    host = parts.hostname or dict(parse_qsl(parts.query)).get("host") or "this machine"
    return f"PostgreSQL at {host}{f':{parts.port}' if parts.port else ''}{parts.path}"


def _away(url: str, error: BaseException) -> str:
    where = place(url)
    state = getattr(error, "sqlstate", None)
    said = str(getattr(error, "message", None) or error).strip().split("\n")[0].rstrip(".")
    match state:
        case "28P01" | "28000":
            return f"{where} does not let us in: {said}. Check the user, the password and pg_hba.conf."
        case "3D000":
            return f"{where} is not there: {said}. Correct the database's name in the URL."
        case "53300":
            return f"{where} takes no more connections: {said}. Close some, or raise max_connections."
    if isinstance(error, TimeoutError):
        return (
            f"{where} did not answer within {PATIENCE:g} s. Check that the server runs and that the address is right."
        )
    seen = said or type(error).__name__
    return f"{where} cannot be reached: {seen}. Check that the server runs and that the address is right."
