"""What an engine and its worker say to each other, in frames over two pipes: a length, a kind, and values."""

import struct
from enum import IntEnum
from typing import Any, Final, TypeAlias

import msgspec

from pegboard.core.database import Access, Answer, Checked, Cut, Failed, Field, Limits, Refused, Row, Rows, Schema
from pegboard.core.folded import Json

HEAD: Final = struct.Struct("<IB")
MOST: Final = 64 * 1024 * 1024
"""Bytes. What is longer is no frame of ours."""


class Ask(IntEnum):
    SETUP = 1
    CHECK = 2
    SCHEMA = 3
    STAMP = 4
    RUN = 5
    STOP = 6
    """The statement that runs is not wanted any more. Has no answer of its own."""


class Tell(IntEnum):
    READY = 16
    CHECKED = 17
    SCHEMA = 18
    STAMP = 19
    ROWS = 20
    REFUSED = 21
    FAILED = 22
    AWAY = 23


class Setup(msgspec.Struct, array_like=True):
    """What a worker serves, and within what."""

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
    places: list[Any] | None
    names: dict[str, Any] | None
    """One of the two: parameters by place, or by name."""
    limits: Limits
    write: bool

    @property
    def parameters(self) -> "list[Json] | dict[str, Json]":
        return self.names if self.names is not None else self.places or []


class _Told(msgspec.Struct, array_like=True):
    """`Rows`, whose values nest without end, which no decoder can be told."""

    columns: tuple[Field, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: Cut | None
    seconds: float
    affected: int | None


class Away(msgspec.Struct, frozen=True):
    """The database cannot be opened."""

    why: str


Said: TypeAlias = Answer | Checked | Schema | Away | str
_encode: Final = msgspec.msgpack.Encoder().encode
_told: Final = msgspec.msgpack.Decoder(_Told)
_decoders: Final[dict[Tell, msgspec.msgpack.Decoder[Any]]] = {
    Tell.CHECKED: msgspec.msgpack.Decoder(Checked),
    Tell.SCHEMA: msgspec.msgpack.Decoder(Schema),
    Tell.STAMP: msgspec.msgpack.Decoder(str),
    Tell.REFUSED: msgspec.msgpack.Decoder(Refused),
    Tell.FAILED: msgspec.msgpack.Decoder(Failed),
    Tell.AWAY: msgspec.msgpack.Decoder(Away),
    Tell.READY: msgspec.msgpack.Decoder(str),
}
setup: Final = msgspec.msgpack.Decoder(Setup)
run: Final = msgspec.msgpack.Decoder(Run)


def frame(kind: Ask | Tell, value: object = None) -> bytes:
    body = _encode(value)
    return HEAD.pack(len(body), kind) + body


def told(answer: Answer) -> bytes:
    match answer:
        case Rows(columns, rows, cut, seconds, affected):
            return frame(Tell.ROWS, _Told(columns, rows, cut, seconds, affected))
        case Refused():
            return frame(Tell.REFUSED, answer)
        case Failed():
            return frame(Tell.FAILED, answer)


def said(kind: int, body: bytes) -> Said:
    """Raises `ValueError` for what is none of ours."""
    if kind == Tell.ROWS:
        rows = _told.decode(body)
        values: tuple[Row, ...] = rows.rows
        return Rows(rows.columns, values, rows.cut, rows.seconds, rows.affected)
    found: Said = _decoders[Tell(kind)].decode(body)
    return found
