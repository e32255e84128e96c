"""A connection to a MySQL or MariaDB server."""

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

from pegboard.ports.databases import SourceAway

from .values import decoders, type_name

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


DECODERS: Final = decoders()


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

    def types(self) -> list[str]:
        """Of the columns of the answer that comes."""
        return [type_name(column) for column in self._result.fields]

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
            conv=DECODERS,
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
    settings = (
        f"SET NAMES utf8mb4, SESSION autocommit = 1, SESSION sql_mode = '{_MODE}', SESSION lock_wait_timeout = 2, "
        "SESSION innodb_lock_wait_timeout = 2, SESSION "
    )
    way = "WRITE" if write else "ONLY"
    if is_mariadb(connection):
        lines = [f"{settings}max_statement_time = {seconds:.3f}, SESSION {_read_only(connection)} = {int(not write)}"]
    else:
        # Which name it has there is not always what the greeting lets one think.
        lines = [f"{settings}max_execution_time = {int(seconds * 1000)}", f"SET SESSION TRANSACTION READ {way}"]
    for line in (*lines, f"START TRANSACTION READ {way}"):
        connection.query(line)


def _read_only(connection: Metered) -> str:
    """The setting of MariaDB by which a session's transactions only read, by the name that its version has for it."""
    version = [int(number) for number in re.findall(r"\d+", str(connection.get_server_info()).removeprefix("5.5.5-"))]
    return "transaction_read_only" if version >= [11, 1, 1] else "tx_read_only"


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
