"""Connections to a MySQL or MariaDB server: one for each statement, so nothing crosses from one to the next."""

import ssl
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.connections import Connection
from pymysql.constants import COMMAND, FIELD_TYPE, FLAG
from pymysql.converters import conversions
from pymysql.cursors import Cursor, SSCursor

from pegboard.providers.database.server import CATALOG_TIMEOUT_S, names, unreachable

CONNECT_TIMEOUT_S: Final = 10
MAX_ROW_BYTES: Final = 32 * 2**20
"""Of one row on the wire."""
DRIVER_ERRORS: Final = (pymysql.MySQLError, OSError)
_MODE: Final = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
"""Pinned, because it decides how quotation marks, backslashes and bars are read."""

_KEPT_AS_TEXT: Final = {getattr(FIELD_TYPE, name) for name in names("DATE DATETIME NEWDATE TIME TIMESTAMP")}
"""The driver makes durations of times of day, and drops dates that the calendar does not have."""
DECODERS: Final = {code: decode for code, decode in conversions.items() if code not in _KEPT_AS_TEXT} | {
    FIELD_TYPE.BIT: lambda value: int.from_bytes(value, "big")
}
"""For the driver."""

_BINARY_CHARSET: Final = 63
_SAME_NAMES: Final = names("BIT DATE DATETIME DECIMAL DOUBLE ENUM FLOAT GEOMETRY JSON NULL SET TIME TIMESTAMP YEAR")
_NAMES: Final = {getattr(FIELD_TYPE, name): name.lower() for name in _SAME_NAMES} | {
    FIELD_TYPE.INT24: "mediumint",
    FIELD_TYPE.LONG: "int",
    FIELD_TYPE.LONGLONG: "bigint",
    FIELD_TYPE.NEWDATE: "date",
    FIELD_TYPE.NEWDECIMAL: "decimal",
    FIELD_TYPE.SHORT: "smallint",
    FIELD_TYPE.TINY: "tinyint",
}
_TEXTS: Final = {FIELD_TYPE.STRING: "char", FIELD_TYPE.VARCHAR: "varchar", FIELD_TYPE.VAR_STRING: "varchar"}
_BLOBS: Final = (FIELD_TYPE.TINY_BLOB, FIELD_TYPE.BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB)
_MAX_LETTER_BYTES: Final = 4
_SIZES: Final = ((2**8, "tiny"), (2**16, ""), (2**24, "medium"))


class TooManyBytesError(Exception):
    """More bytes came than were allowed."""


class UnreadCursor(SSCursor):  # type: ignore[misc]  # the driver has no types
    """Leaves the rest of an answer unread."""

    def close(self) -> None:
        self.connection = None

    __del__ = close


class MeteredMysqlConnection(Connection):  # type: ignore[misc]  # the driver has no types
    """Reads no more bytes than it has room for."""

    _result: Any
    room = MAX_ROW_BYTES

    def _create_ssl_ctx(self, sslp: Any) -> Any:
        # Where TLS is only preferred, no certificate is checked; loading all authorities would cost more than the rest.
        if sslp:
            return super()._create_ssl_ctx(sslp)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context

    def _read_bytes(self, num_bytes: int) -> Any:
        self.room -= num_bytes
        if self.room < 0:
            raise TooManyBytesError
        return super()._read_bytes(num_bytes)

    def types(self) -> list[str]:
        """Of the columns of the answer that comes."""
        return [type_name(column) for column in self._result.fields]

    def end(self) -> None:
        """Close it, without the rest of an answer. Else wait until the server has let go, which counts connections."""
        result, self._result = self._result, None
        if result is not None and (result.unbuffered_active or result.has_next):
            result.unbuffered_active, result.connection = False, None
        else:
            with suppress(*DRIVER_ERRORS, ValueError, AttributeError):  # it was cut off
                self._sock.settimeout(1)
                self._write_bytes(struct.pack("<iB", 1, COMMAND.COM_QUIT))
                self._rfile.read(1)
        self._force_close()

    def abort(self) -> None:
        """Without a word, and so without waiting."""
        self._force_close()


@dataclass(frozen=True)
class MysqlAddress:
    """Where a source is, and its login."""

    host: str
    port: int
    user: str
    password: str
    database: str
    options: Mapping[str, str]

    @property
    def title(self) -> str:
        return f"MySQL at {self.options.get('unix_socket', f'{self.host}:{self.port}')}/{self.database}"


def parse_address(url: str) -> MysqlAddress:
    parts = urlsplit(url)
    user, password, database = map(unquote, (parts.username or "", parts.password or "", parts.path.lstrip("/")))
    options = dict(parse_qsl(parts.query))
    return MysqlAddress(parts.hostname or "localhost", parts.port or 3306, user, password, database, options)


def connect(address: MysqlAddress, seconds: float) -> MeteredMysqlConnection:
    """Raises `SourceError`, in words without the password. Nothing is set up yet."""
    try:
        return MeteredMysqlConnection(
            host=address.host,
            port=address.port,
            user=address.user,
            password=address.password,
            database=address.database or None,
            unix_socket=address.options.get("unix_socket"),
            ssl=_tls(address.options),
            charset="utf8mb4",
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=seconds + CONNECT_TIMEOUT_S,
            write_timeout=CONNECT_TIMEOUT_S,
            local_infile=False,
            autocommit=True,
            cursorclass=UnreadCursor,
            conv=DECODERS,
        )
    except (*DRIVER_ERRORS, RuntimeError) as error:
        raise unreachable(address.title, error, str(error.args[1] if len(error.args) > 1 else error)) from error


@contextmanager
def closing_connection(address: MysqlAddress, seconds: float = CATALOG_TIMEOUT_S) -> Iterator[MeteredMysqlConnection]:
    """For what we ask ourselves. Raises `SourceError`."""
    connection = connect(address, seconds)
    try:
        yield connection
    finally:
        connection.end()


def _tls(options: Mapping[str, str]) -> ssl.SSLContext | None:
    """Of a URL's options, those that other drivers know by the same names."""
    mode = options.get("ssl_mode", options.get("ssl-mode", "")).lower()
    authority = options.get("ssl_ca")
    if not authority and mode not in {"required", "verify_ca", "verify_identity"}:
        return None
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = mode == "verify_identity"
    if not authority and mode == "required":
        context.verify_mode = ssl.CERT_NONE
    if certificate := options.get("ssl_cert"):
        context.load_cert_chain(certificate, options.get("ssl_key"))
    return context


def start_transaction(connection: MeteredMysqlConnection, seconds: float, *, write: bool) -> None:
    """Set up the session with its time limit, then begin a transaction that reads, or one that writes."""
    is_mariadb = "mariadb" in str(connection.get_server_info()).lower()
    limit = f"max_statement_time = {seconds:.3f}" if is_mariadb else f"max_execution_time = {int(seconds * 1000)}"
    connection.query(
        f"SET NAMES utf8mb4, SESSION autocommit = 1, SESSION sql_mode = '{_MODE}', SESSION lock_wait_timeout = 2, "
        f"SESSION innodb_lock_wait_timeout = 2, SESSION {limit}"
    )
    mode = "READ WRITE" if write else "READ ONLY"
    connection.query(f"SET SESSION TRANSACTION {mode}")
    connection.query(f"START TRANSACTION {mode}")


def fetch(
    connection: MeteredMysqlConnection, statement: str, parameters: Sequence[object] = ()
) -> list[tuple[Any, ...]]:
    """Every row of a question of our own."""
    connection.room = 1 << 40
    with connection.cursor(Cursor) as cursor:
        cursor.execute(statement, tuple(parameters) or None)
        return list(cursor.fetchall())


def type_name(column: Any) -> str:
    """Of a column as the driver describes it. The server calls a list of choices a text, and has one type for all
    sizes of a text."""
    if column.flags & (FLAG.ENUM | FLAG.SET):
        return "enum" if column.flags & FLAG.ENUM else "set"
    is_binary = column.charsetnr == _BINARY_CHARSET
    if name := _TEXTS.get(column.type_code):
        return name.replace("char", "binary") if is_binary else name
    if column.type_code in _BLOBS:
        letters = column.length if is_binary else column.length // _MAX_LETTER_BYTES
        return next((name for most, name in _SIZES if letters < most), "long") + ("blob" if is_binary else "text")
    return _NAMES.get(column.type_code, "")
