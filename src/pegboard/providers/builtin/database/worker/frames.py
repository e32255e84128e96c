"""What an engine and its worker send each other, in frames over two pipes: a length, a kind, and values."""

import struct
from enum import IntEnum
from typing import Any, Final, TypeAlias

import msgspec

from pegboard.core.database import Access, Answer, Checked, Cut, Failed, Field, Limits, Refused, Row, Rows, Schema
from pegboard.core.folded import Json

HEADER: Final = struct.Struct("<IB")
MAX_BYTES: Final = 64 * 1024 * 1024
"""A longer frame is not one of ours."""


class RequestKind(IntEnum):
    SETUP = 1
    CHECK = 2
    SCHEMA = 3
    STAMP = 4
    RUN = 5
    STOP = 6
    """The running statement is cancelled. Has no response of its own."""


class ResponseKind(IntEnum):
    READY = 16
    CHECKED = 17
    SCHEMA = 18
    STAMP = 19
    ROWS = 20
    REFUSED = 21
    FAILED = 22
    UNAVAILABLE = 23


class Setup(msgspec.Struct, array_like=True):
    """What a worker serves, and under which limits."""

    engine: str
    """`sqlite` or `duckdb`."""
    path: str
    access: Access
    writes: bool
    memory: int
    """Bytes of address space."""
    file: int
    """Bytes that it may write into one file."""


class Run(msgspec.Struct, array_like=True):
    statement: str
    values: list[Any] | None
    named_values: dict[str, Any] | None
    """One of the two."""
    limits: Limits
    write: bool

    @property
    def parameters(self) -> "list[Json] | dict[str, Json]":
        return self.named_values if self.named_values is not None else self.values or []


class Unavailable(msgspec.Struct, frozen=True):
    """The database cannot be opened."""

    why: str


class _EncodedRows(msgspec.Struct, array_like=True):
    """`Rows` have values that nest without end, for which there is no decoder."""

    columns: tuple[Field, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: Cut | None
    seconds: float
    affected: int | None


Response: TypeAlias = Answer | Checked | Schema | Unavailable | str
_encode: Final = msgspec.msgpack.Encoder().encode
_rows_decoder: Final = msgspec.msgpack.Decoder(_EncodedRows)
_decoders: Final[dict[ResponseKind, msgspec.msgpack.Decoder[Any]]] = {
    ResponseKind.CHECKED: msgspec.msgpack.Decoder(Checked),
    ResponseKind.SCHEMA: msgspec.msgpack.Decoder(Schema),
    ResponseKind.STAMP: msgspec.msgpack.Decoder(str),
    ResponseKind.REFUSED: msgspec.msgpack.Decoder(Refused),
    ResponseKind.FAILED: msgspec.msgpack.Decoder(Failed),
    ResponseKind.UNAVAILABLE: msgspec.msgpack.Decoder(Unavailable),
    ResponseKind.READY: msgspec.msgpack.Decoder(str),
}
setup_decoder: Final = msgspec.msgpack.Decoder(Setup)
run_decoder: Final = msgspec.msgpack.Decoder(Run)


def frame(kind: RequestKind | ResponseKind, value: object = None) -> bytes:
    body = _encode(value)
    return HEADER.pack(len(body), kind) + body


def answer_frame(answer: Answer) -> bytes:
    match answer:
        case Rows(columns, rows, cut, seconds, affected):
            return frame(ResponseKind.ROWS, _EncodedRows(columns, rows, cut, seconds, affected))
        case Refused():
            return frame(ResponseKind.REFUSED, answer)
        case Failed():
            return frame(ResponseKind.FAILED, answer)


def decode_response(kind: int, body: bytes) -> Response:
    """Raises `ValueError` for what is not one of ours."""
    if kind == ResponseKind.ROWS:
        rows = _rows_decoder.decode(body)
        values: tuple[Row, ...] = rows.rows
        return Rows(rows.columns, values, rows.cut, rows.seconds, rows.affected)
    response: Response = _decoders[ResponseKind(kind)].decode(body)
    return response
