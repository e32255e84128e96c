"""A connection to a MySQL or MariaDB server for one statement, and what its user may do there."""

import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import SSCursor

from pegboard.core.database import Checked, Finding
from pegboard.ports.databases import SourceAway
from pegboard.providers.builtin.database.names import names

PATIENCE: Final = 10
ROW: Final = 32 * 2**20
"""Bytes that one row may have on the wire."""

_MODE: Final = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
"""Pinned: how quotation marks, backslashes and bars are read must be known to whoever judges."""


class TooMuch(Exception):  # noqa: N818 - it is told as a limit, not as an error
    """More bytes came than were allowed."""


class Metered(Connection):  # type: ignore[misc]  # the driver has no types
    """Takes in no more than it was allowed to."""

    room = ROW

    def _create_ssl_ctx(self, sslp: Any) -> Any:
        # Where TLS is merely preferred, nobody's certificate is looked at; to read all the world's authorities for
        # that takes longer than everything else.
        if sslp:
            return super()._create_ssl_ctx(sslp)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context

    def allow(self, size: int) -> None:
        self.room = size

    def _read_bytes(self, num_bytes: int) -> Any:
        self.room -= num_bytes
        if self.room < 0:
            raise TooMuch
        return super()._read_bytes(num_bytes)


@dataclass(frozen=True)
class Place:
    """Where a source is and how one gets in."""

    host: str
    port: int
    user: str
    password: str
    database: str
    options: tuple[tuple[str, str], ...]

    @property
    def told(self) -> str:
        socket = dict(self.options).get("unix_socket")
        return f"MySQL at {socket or f'{self.host}:{self.port}'}/{self.database}"


def place(url: str) -> Place:
    parts = urlsplit(url)
    return Place(
        parts.hostname or "localhost",
        parts.port or 3306,
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        unquote(parts.path.lstrip("/")),
        tuple(parse_qsl(parts.query)),
    )


def connect(where: Place, seconds: float) -> Metered:
    """Raises `SourceAway`, in words without the password. Nothing is set up yet."""
    options = dict(where.options)
    try:
        connection = Metered(
            host=where.host,
            port=where.port,
            user=where.user,
            password=where.password,
            database=where.database or None,
            unix_socket=options.get("unix_socket"),
            ssl=_tls(options),
            charset="utf8mb4",
            connect_timeout=PATIENCE,
            read_timeout=seconds + PATIENCE,
            write_timeout=PATIENCE,
            local_infile=False,
            autocommit=True,
            cursorclass=SSCursor,
        )
    except (pymysql.MySQLError, OSError, RuntimeError) as error:
        raise SourceAway(_away(where, error)) from error
    return connection


def _tls(options: dict[str, str]) -> ssl.SSLContext | None:
    """Of a URL's options, those that other drivers know by the same names."""
    mode = options.get("ssl_mode", options.get("ssl-mode", "")).lower()
    authority = options.get("ssl_ca")
    if not authority and mode not in {"required", "verify_ca", "verify_identity"}:
        return None
    context = ssl.create_default_context(cafile=authority)
    if mode != "verify_identity":
        context.check_hostname = False
    if not authority and mode == "required":
        context.verify_mode = ssl.CERT_NONE
    if certificate := options.get("ssl_cert"):
        context.load_cert_chain(certificate, options.get("ssl_key"))
    return context


def is_mariadb(connection: Metered) -> bool:
    return "mariadb" in str(connection.get_server_info()).lower()


def set_up(connection: Metered, seconds: float, *, write: bool) -> None:
    """A session that reads, for so long; and a transaction that cannot do more."""
    late = (
        f"max_statement_time = {seconds:.3f}"
        if is_mariadb(connection)
        else f"max_execution_time = {int(seconds * 1000)}"
    )
    for line in (
        f"SET SESSION sql_mode = '{_MODE}'",
        f"SET SESSION lock_wait_timeout = 2, SESSION innodb_lock_wait_timeout = 2, SESSION {late}",
        f"SET SESSION TRANSACTION READ {'WRITE' if write else 'ONLY'}",
        f"START TRANSACTION READ {'WRITE' if write else 'ONLY'}",
    ):
        connection.query(line)


def asked(connection: Metered, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Every row of a question of our own."""
    connection.allow(1 << 40)
    with connection.cursor(pymysql.cursors.Cursor) as cursor:
        cursor.execute(statement, tuple(parameters))
        return list(cursor.fetchall())


@dataclass(frozen=True)
class Role:
    name: str
    version: str
    powers: tuple[str, ...]
    writes: tuple[tuple[str, frozenset[str]], ...]
    """By where: what it may do there beyond reading."""

    def checked(self, *, writes: bool) -> Checked:
        """Where the operator lets rows be changed, only what does more than that is too much."""
        findings = [Finding(f"{power} {MEND}", is_grave=True) for power in self.powers]
        beyond = [(where, sorted(granted - _ROWS if writes else granted)) for where, granted in self.writes]
        if some := "; ".join(
            f"{', '.join(granted)} on {where}" for where, granted in beyond if granted and not self.powers
        ):
            if writes:
                told = f"The user {self.name} may do more than change rows ({some}). Statements here only do that."
                findings.append(
                    Finding(f"{told} Leave it INSERT, UPDATE and DELETE on the tables that may be changed.")
                )
            else:
                told = f"The user {self.name} may change data ({some}). {MEND}"
                findings.append(Finding(f"{told} What is asked through here still only reads."))
        return Checked(self.version, self.name, tuple(findings))


MEND: Final = (
    "Create a user that may only read: CREATE USER 'pegboard_reader'@'%' IDENTIFIED BY '…'; "
    "GRANT SELECT, SHOW VIEW ON the_database.* TO 'pegboard_reader'@'%';"
)
_GRAVE: Final = {
    "ALL PRIVILEGES": "may do everything on this server",
    "SUPER": "is a superuser",
    "FILE": "may read and write the server's files",
    "SHUTDOWN": "may shut the server down",
    "CREATE USER": "may create users, and so give itself more",
    "RELOAD": "may flush the server's logs and tables",
    "PROCESS": "sees what all other users are asking",
    "GRANT OPTION": "may hand on what it may do",
    "CREATE TABLESPACE": "may write files",
    "CONNECTION ADMIN": "may end other people's connections",
    "SET USER": "may act as others",
    "READ_ONLY ADMIN": "may write where nobody should",
    "SYSTEM_VARIABLES_ADMIN": "may change the server's settings",
    "CONNECTION_ADMIN": "may end other people's connections",
    "SYSTEM_USER": "is a system user",
}
_WRITING: Final = names("INSERT UPDATE DELETE CREATE DROP ALTER TRUNCATE INDEX TRIGGER EVENT EXECUTE")
_ROWS: Final = frozenset({"INSERT", "UPDATE", "DELETE"})
_GRANT: Final = re.compile(r"GRANT (?P<what>.+?) ON (?P<where>.+?) TO ", re.IGNORECASE)


def role(connection: Metered) -> Role:
    name = str(asked(connection, "SELECT CURRENT_USER()")[0][0])
    version = str(asked(connection, "SELECT VERSION()")[0][0])
    lines = [str(row[0]) for row in asked(connection, "SHOW GRANTS")]
    powers: list[str] = []
    writes: list[tuple[str, frozenset[str]]] = []
    for line in lines:
        found = _GRANT.match(line)
        if found is None:
            continue
        granted = [part.strip().upper() for part in re.sub(r"\([^)]*\)", "", found["what"]).split(",")]
        where = found["where"]
        if where == "*.*":
            powers += [f"The user {name} {_GRAVE[one]} ({one})." for one in granted if one in _GRAVE]
            if line.upper().endswith("WITH GRANT OPTION"):
                powers.append(f"The user {name} {_GRAVE['GRANT OPTION']} (GRANT OPTION).")
        if changing := frozenset(one for one in granted if one in _WRITING or one == "ALL PRIVILEGES"):
            writes.append((where, changing))
    product = "MariaDB" if is_mariadb(connection) else "MySQL"
    return Role(name, f"{product} {version.split('-')[0]}", tuple(powers), tuple(writes))


def _away(where: Place, error: BaseException) -> str:
    number = error.args[0] if error.args else None
    said = str(error.args[1] if len(error.args) > 1 else error).rstrip(".")
    match number:
        case 1044 | 1045 | 1698:
            return f"{where.told} does not let us in: {said}. Check the user, the password and from where it may come."
        case 1049:
            return f"{where.told} is not there: {said}. Correct the database's name in the URL."
        case 1040 | 1203:
            return f"{where.told} takes no more connections: {said}. Close some, or raise max_connections."
    seen = said or type(error).__name__
    return f"{where.told} cannot be reached: {seen}. Check that the server runs and that the address is right."
