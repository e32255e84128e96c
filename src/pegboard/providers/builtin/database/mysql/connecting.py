"""A connection to a MySQL or MariaDB server, and what its user may do there."""

import re
import ssl
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.charset import charset_by_name
from pymysql.connections import Connection
from pymysql.cursors import SSCursor

from pegboard.core.database import Checked, Finding
from pegboard.ports.databases import SourceAway
from pegboard.providers.builtin.database.names import names

PATIENCE: Final = 10
ROW: Final = 32 * 2**20
"""Bytes that one row may have on the wire."""

_CHANGE_USER: Final = 0x11
_RESET: Final = 0x1F
"""Commands of the protocol (COM_CHANGE_USER, COM_RESET_CONNECTION) that the driver has no function for."""
_MALFORMED: Final = 2027
_NO_FUNCTION: Final = 1305
_MODE: Final = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
"""Pinned: how quotation marks, backslashes and bars are read must be known to whoever judges."""


class TooMuch(Exception):  # noqa: N818 - it is told as a limit, not as an error
    """More bytes came than were allowed."""


class Metered(Connection):  # type: ignore[misc]  # the driver has no types
    """Takes in no more than it was allowed to."""

    _result: Any
    room = ROW
    role: object = None
    """That it was given when it was made, which is what no reset of MariaDB undoes."""
    is_spent = False
    """What is left of an answer waits in it, or something failed: it is good for nothing more."""

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

    def ask_for_reset(self) -> None:
        """Without waiting for the answer. The server rolls back and lets go of whatever the session holds."""
        self._execute_command(_RESET, b"")

    def begin_anew(self, seconds: float) -> None:
        """Once a reset was asked for: reads that it was done, and has the user let in again, with the rights that it
        has now, in the database of the URL. Raises the driver's errors, for instance where a server cannot."""
        self._read_timeout = seconds + PATIENCE
        self.allow(ROW)
        self._read_ok_packet()
        charset = struct.pack("<H", charset_by_name(self.charset).id)
        # The first empty word is the proof, which cannot be given before the server has sent what it is made of. The
        # last says that nothing more is told of us; where it lacks, MariaDB knows no such command.
        words = (self.user, b"", self.db or b"", charset + b"mysql_native_password", b"", b"")
        self._execute_command(_CHANGE_USER, b"\0".join(words))
        packet = self._read_packet()
        if packet.is_auth_switch_request():
            packet.read_uint8()
            packet = self._process_auth(packet.read_string(), packet)
        if not packet.is_ok_packet():
            raise pymysql.OperationalError(_MALFORMED, "The server did not let its user in again.")
        self._result = None
        if role_of(self) != self.role:
            raise pymysql.OperationalError(_MALFORMED, "The user has another role than before.")

    def forget(self) -> None:
        """What is left of an answer, which the driver would read to its end before it lets go of it."""
        result = self._result
        if result is not None:
            self.is_spent = self.is_spent or bool(result.unbuffered_active or result.has_next)
            result.unbuffered_active = False
            result.has_next = False
            result.connection = None

    def leave(self) -> None:
        self.forget()
        with suppress(pymysql.MySQLError):  # it was cut off
            self.close()

    def cut(self) -> None:
        """Says nothing, and so waits for nobody."""
        self._force_close()


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
    way = "WRITE" if write else "ONLY"
    for line in (
        f"SET NAMES utf8mb4, SESSION autocommit = 1, SESSION sql_mode = '{_MODE}', SESSION lock_wait_timeout = 2, "
        f"SESSION innodb_lock_wait_timeout = 2, SESSION {late}",
        f"SET SESSION TRANSACTION READ {way}",
        f"START TRANSACTION READ {way}",
    ):
        connection.query(line)


def asked(connection: Metered, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Every row of a question of our own."""
    connection.allow(1 << 40)
    with connection.cursor(pymysql.cursors.Cursor) as cursor:
        cursor.execute(statement, tuple(parameters))
        return list(cursor.fetchall())


def role_of(connection: Metered) -> object:
    """The one that is active; none where a server has no roles."""
    try:
        return asked(connection, "SELECT CURRENT_ROLE()")[0][0]
    except pymysql.MySQLError as error:
        if error.args[:1] == (_NO_FUNCTION,):
            return None
        raise


@dataclass(frozen=True)
class Role:
    name: str
    version: str
    powers: tuple[str, ...]
    writes: tuple[tuple[str, frozenset[str]], ...]
    """By where: what it may do there beyond reading."""
    broad: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """By where: what else it may do there that no reader needs."""

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
        if self.broad and not self.powers:
            some = "; ".join(f"{', '.join(granted)} on {where}" for where, granted in self.broad)
            findings.append(Finding(f"The user {self.name} has rights that are not needed here ({some}). {MEND}"))
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
_READING: Final = frozenset({"USAGE", "SELECT", "SHOW VIEW"})
_GRANT: Final = re.compile(r"GRANT (?P<what>.+?) ON (?P<where>.+?) TO ", re.IGNORECASE)


def role(connection: Metered) -> Role:
    name = str(asked(connection, "SELECT CURRENT_USER()")[0][0])
    version = str(asked(connection, "SELECT VERSION()")[0][0])
    lines = [str(row[0]) for row in asked(connection, "SHOW GRANTS")]
    powers: list[str] = []
    writes: list[tuple[str, frozenset[str]]] = []
    broad: list[tuple[str, tuple[str, ...]]] = []
    for line in lines:
        found = _GRANT.match(line)
        if found is None:
            continue
        granted = [part.strip().upper() for part in re.sub(r"\([^)]*\)", "", found["what"]).split(",")]
        where = found["where"]
        hands_on = re.search(r" WITH (.* )?GRANT OPTION", line[found.end() :], re.IGNORECASE) is not None
        if where == "*.*":
            powers += [f"The user {name} {_GRAVE[one]} ({one})." for one in granted if one in _GRAVE]
            if hands_on:
                powers.append(f"The user {name} {_GRAVE['GRANT OPTION']} (GRANT OPTION).")
        if (where == "*.*" or where.startswith("`mysql`.")) and (changed := sorted(_ROWS.intersection(granted))):
            powers.append(f"The user {name} may rewrite who may do what ({', '.join(changed)} on {where}).")
        beyond = {one for one in granted if one not in _READING | _WRITING | _GRAVE.keys()} if where == "*.*" else set()
        if "PROXY" in granted:
            beyond.add("PROXY")
        if hands_on and where != "*.*":
            beyond.add("GRANT OPTION")
        if beyond:
            broad.append((where, tuple(sorted(beyond))))
        if changing := frozenset(one for one in granted if one in _WRITING or one == "ALL PRIVILEGES"):
            writes.append((where, changing))
    product = "MariaDB" if is_mariadb(connection) else "MySQL"
    return Role(name, f"{product} {version.split('-')[0]}", tuple(powers), tuple(writes), tuple(broad))


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
