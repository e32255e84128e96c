"""What an engine and its worker send each other, in frames over two pipes: a length, a kind of message, its value."""

import struct
from enum import Enum
from typing import Any, Final, TypeAlias

import msgspec

from pegboard.core.databases.rows import (
    DatabaseCheck,
    QueryRows,
    ResultColumn,
    ResultTruncation,
    StatementFailure,
    StatementRefusal,
)
from pegboard.core.databases.schema import DatabaseSchema
from pegboard.core.model.databases import DatabaseAccess, Dialect, QueryLimits

HEADER: Final = struct.Struct("<IB")
MAX_BYTES: Final = 64 * 1024 * 1024
"""A longer frame is not one of ours."""


class WorkerRequest(Enum):
    """What the engine asks for without more words."""

    CHECK = "check"
    SCHEMA = "schema"
    STAMP = "stamp"
    STOP = "stop"
    """The running statement is cancelled. Has no response of its own."""


class WorkerSetup(msgspec.Struct, array_like=True):
    """What a worker serves, and under which limits. The first frame, once; the response is an empty text."""

    dialect: Dialect
    path: str
    access: DatabaseAccess
    writes: bool
    memory: int
    """Bytes of address space."""
    file: int
    """Bytes that it may write into one file."""


class RunStatement(msgspec.Struct, array_like=True):
    """A statement to run."""

    statement: str
    parameters: list[Any] | dict[str, Any]
    limits: QueryLimits
    write: bool


class _EncodedRows(msgspec.Struct, array_like=True):
    """`Rows` have values that nest without end, for which there is no decoder."""

    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: ResultTruncation | None
    seconds: float
    affected: int | None


Message: TypeAlias = (
    WorkerSetup
    | RunStatement
    | WorkerRequest
    | str
    | DatabaseCheck
    | DatabaseSchema
    | QueryRows
    | StatementRefusal
    | StatementFailure
)
_TYPES: Final = (
    WorkerSetup,
    RunStatement,
    WorkerRequest,
    str,
    DatabaseCheck,
    DatabaseSchema,
    _EncodedRows,
    StatementRefusal,
    StatementFailure,
)
_DECODERS: Final[tuple[msgspec.msgpack.Decoder[Any], ...]] = tuple(map(msgspec.msgpack.Decoder, _TYPES))


def encode(message: Message) -> bytes:
    value: object = message
    if isinstance(message, QueryRows):
        value = _EncodedRows(message.columns, message.rows, message.truncation, message.seconds, message.affected_rows)
    body = msgspec.msgpack.encode(value)
    return HEADER.pack(len(body), _TYPES.index(type(value))) + body


def decode(kind: int, body: bytes) -> Message:
    """Raises `ValueError` for what is not one of ours."""
    if kind >= len(_DECODERS):
        raise ValueError(kind)
    value = _DECODERS[kind].decode(body)
    message: Message = QueryRows(*msgspec.structs.astuple(value)) if isinstance(value, _EncodedRows) else value
    return message
