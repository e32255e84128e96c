"""Connections to a MySQL or MariaDB server, and the pool that uses them again, each as though it had just been made.

A connection that goes back to the pool is reset, and its user is authenticated again before the next statement: no
variable, setting, lock, temporary table or transaction crosses, and a revoked privilege is gone. A role outlives even
that on MariaDB, so it is compared. A connection on which anything failed or was left unread is closed.
"""

import re
import ssl
import struct
import threading
import time
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

CONNECT_TIMEOUT_S: Final = 10
MAX_ROW_BYTES: Final = 32 * 2**20
"""Of one row on the wire."""
DRIVER_ERRORS: Final = (pymysql.MySQLError, OSError)
_CHANGE_USER: Final = 0x11
_RESET: Final = 0x1F
"""Commands of the protocol (COM_CHANGE_USER, COM_RESET_CONNECTION) that the driver has no function for."""
_MALFORMED: Final = 2027
_NO_FUNCTION: Final = 1305
_MODE: Final = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
"""Pinned, because it decides how quotation marks, backslashes and bars are read."""
_DECODERS: Final = decoders()
_POOL_SIZE: Final = 4
_MAX_IDLE_S: Final = 30.0
"""After it a firewall on the way may have dropped the connection silently."""
_CLOSED_BY_SERVER: Final = ((0,), (2006,), (2013,), (4031,))
_POOL_PAUSE_S: Final = 60.0
"""Nothing is kept for so long once a server did not authenticate a user again: it takes its time to refuse."""


class TooManyBytesError(Exception):
    """More bytes came than were allowed."""


class MeteredConnection(Connection):  # type: ignore[misc]  # the driver has no types
    """Reads no more bytes than it was allowed to."""

    _result: Any
    room = MAX_ROW_BYTES
    role: object = None
    """The role it started with, which is what no reset of MariaDB undoes."""
    is_spent = False
    """Something failed or is unread: it is not used again."""

    def _create_ssl_ctx(self, sslp: Any) -> Any:
        # Where TLS is only preferred, no certificate is checked; loading all authorities would cost more than the rest.
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
            raise TooManyBytesError
        return super()._read_bytes(num_bytes)

    def request_reset(self) -> None:
        """Does not wait for the answer. The server rolls back and releases what the session holds."""
        self._execute_command(_RESET, b"")

    def restart_session(self, seconds: float) -> None:
        """After `request_reset`: reads its answer and authenticates again. Raises the driver's errors."""
        self._read_timeout = seconds + CONNECT_TIMEOUT_S
        self.allow(MAX_ROW_BYTES)
        self._read_ok_packet()
        charset = struct.pack("<H", charset_by_name(self.charset).id)
        # The first empty part is the proof, which needs the server's challenge first. Without the last empty part
        # (connection attributes) MariaDB does not know the command.
        parts = (self.user, b"", self.db or b"", charset + b"mysql_native_password", b"", b"")
        self._execute_command(_CHANGE_USER, b"\0".join(parts))
        packet = self._read_packet()
        if packet.is_auth_switch_request():
            packet.read_uint8()
            packet = self._process_auth(packet.read_string(), packet)
        if not packet.is_ok_packet():
            raise pymysql.OperationalError(_MALFORMED, "The server did not authenticate its user again.")
        self._result = None
        if current_role(self) != self.role:
            raise pymysql.OperationalError(_MALFORMED, "The user has another role than before.")

    def types(self) -> list[str]:
        """Of the columns of the answer that comes."""
        return [type_name(column) for column in self._result.fields]

    def discard_answer(self) -> None:
        """Drop the rest of an answer, which the driver would otherwise read to its end."""
        result = self._result
        if result is not None:
            self.is_spent = self.is_spent or bool(result.unbuffered_active or result.has_next)
            result.unbuffered_active = False
            result.has_next = False
            result.connection = None

    def cut(self) -> None:
        """Close the socket without a word, and so without waiting."""
        self._force_close()


@dataclass(frozen=True)
class Address:
    """Where a source is, and its login."""

    host: str
    port: int
    user: str
    password: str
    database: str
    options: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        socket = dict(self.options).get("unix_socket")
        return f"MySQL at {socket or f'{self.host}:{self.port}'}/{self.database}"


def parse_address(url: str) -> Address:
    parts = urlsplit(url)
    user, password, database = map(unquote, (parts.username or "", parts.password or "", parts.path.lstrip("/")))
    options = tuple(parse_qsl(parts.query))
    return Address(parts.hostname or "localhost", parts.port or 3306, user, password, database, options)


def connect(address: Address, seconds: float) -> MeteredConnection:
    """Raises `SourceAway`, in words without the password. Nothing is set up yet."""
    options = dict(address.options)
    try:
        return MeteredConnection(
            host=address.host,
            port=address.port,
            user=address.user,
            password=address.password,
            database=address.database or None,
            unix_socket=options.get("unix_socket"),
            ssl=_tls(options),
            charset="utf8mb4",
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=seconds + CONNECT_TIMEOUT_S,
            write_timeout=CONNECT_TIMEOUT_S,
            local_infile=False,
            autocommit=True,
            cursorclass=SSCursor,
            conv=_DECODERS,
        )
    except (*DRIVER_ERRORS, RuntimeError) as error:
        raise SourceAway(_connect_problem(address.title, error)) from error


def _connect_problem(title: str, error: BaseException) -> str:
    details = str(error.args[1] if len(error.args) > 1 else error).rstrip(".") or type(error).__name__
    match error.args[0] if error.args else None:
        case 1044 | 1045 | 1698:
            return f"{title} does not let us in: {details}. Check the user, the password and from where it may come."
        case 1049:
            return f"{title} is not there: {details}. Correct the database's name in the URL."
        case 1040 | 1203:
            return f"{title} takes no more connections: {details}. Close some, or raise max_connections."
    return f"{title} cannot be reached: {details}. Check that the server runs and that the address is right."


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


def is_mariadb(connection: MeteredConnection) -> bool:
    return "mariadb" in str(connection.get_server_info()).lower()


def start_transaction(connection: MeteredConnection, seconds: float, *, write: bool) -> None:
    """Set up the session with its time limit, then begin a transaction that reads, or one that writes."""
    settings = (
        f"SET NAMES utf8mb4, SESSION autocommit = 1, SESSION sql_mode = '{_MODE}', SESSION lock_wait_timeout = 2, "
        "SESSION innodb_lock_wait_timeout = 2, SESSION "
    )
    mode = "WRITE" if write else "ONLY"
    if is_mariadb(connection):
        version = re.findall(r"\d+", str(connection.get_server_info()).removeprefix("5.5.5-"))
        read_only = "transaction_read_only" if [*map(int, version)] >= [11, 1, 1] else "tx_read_only"
        lines = [f"{settings}max_statement_time = {seconds:.3f}, SESSION {read_only} = {int(not write)}"]
    else:
        lines = [f"{settings}max_execution_time = {int(seconds * 1000)}", f"SET SESSION TRANSACTION READ {mode}"]
    for line in (*lines, f"START TRANSACTION READ {mode}"):
        connection.query(line)


def fetch(connection: MeteredConnection, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Every row of a question of our own."""
    connection.allow(1 << 40)
    with connection.cursor(pymysql.cursors.Cursor) as cursor:
        cursor.execute(statement, tuple(parameters) or None)
        return list(cursor.fetchall())


def current_role(connection: MeteredConnection) -> object:
    """Nothing where a server has no roles."""
    try:
        return fetch(connection, "SELECT CURRENT_ROLE()")[0][0]
    except pymysql.MySQLError as error:
        if error.args[:1] == (_NO_FUNCTION,):
            return None
        raise


class ConnectionPool:
    """For threads: each takes a connection, and puts it back."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: list[tuple[MeteredConnection, float]] = []
        self._keeps_from = 0.0
        self._is_closed = False
        self._lock = threading.Lock()

    def take(self, seconds: float) -> MeteredConnection:
        """Raises `SourceAway`."""
        while (idle := self._last()) is not None:
            connection, since = idle
            try:
                if time.monotonic() - since < _MAX_IDLE_S:
                    connection.restart_session(seconds)
                    return connection
            except (*DRIVER_ERRORS, TooManyBytesError) as error:
                if error.args[:1] not in _CLOSED_BY_SERVER:
                    self._keeps_from = time.monotonic() + _POOL_PAUSE_S
            connection.cut()
        connection = connect(self._address, seconds)
        try:
            connection.role = current_role(connection)
        except DRIVER_ERRORS as error:
            connection.cut()
            raise SourceAway(f"{self._address.title}: {error.args[-1]}") from error
        return connection

    def put_back(self, connection: MeteredConnection) -> None:
        """The server resets it at once; its answer is read by the next who takes it."""
        if connection.is_spent or not self._has_room():
            connection.discard_answer()
            with suppress(pymysql.MySQLError):  # it was cut off
                connection.close()
            return
        try:
            connection.request_reset()
        except DRIVER_ERRORS:
            connection.cut()
            return
        with self._lock:
            if is_kept := self._has_room():
                self._idle.append((connection, time.monotonic()))
        if not is_kept:
            connection.cut()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.cut()

    def _has_room(self) -> bool:
        return not self._is_closed and len(self._idle) < _POOL_SIZE and time.monotonic() >= self._keeps_from

    def _last(self) -> tuple[MeteredConnection, float] | None:
        with self._lock:
            if self._is_closed:
                raise SourceAway("The source was closed.")
            return self._idle.pop() if self._idle else None
