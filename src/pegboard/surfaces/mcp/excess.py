"""What makes a request too much to be read at all, told from its bytes: nothing is built to find out."""

from dataclasses import dataclass
from typing import Final

import msgspec

from pegboard.core.nesting import has_more_values_than

SMALL_BODY_BYTES: Final = 65_536
"""Bytes of a request that is read without a further look."""

MAX_INITIALIZE_BYTES: Final = 65_536
"""Bytes of the params of initialize: capabilities and client info are kept for as long as the session lasts."""

_NON_CALL_DIVISOR: Final = 10
"""Arguments of a tool may have so many times the values of what any other method has a use for."""


class _MessageHead(msgspec.Struct):
    id: msgspec.Raw = msgspec.Raw(b"null")
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"")


_decode_head: Final = msgspec.json.Decoder(_MessageHead).decode
_DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True)
class InitializeTooLarge:
    """An initialize that says too much about its client."""

    id: str | int | None

    @property
    def why(self) -> str:
        return (
            f"The params of initialize are larger than {MAX_INITIALIZE_BYTES} bytes, and capabilities and "
            "clientInfo are "
            "kept for as long as the session lasts. Send shorter ones."
        )


@dataclass(frozen=True)
class TooManyValues:
    """A request of too many values, each list and object counted as well."""

    id: str | int | None
    method: str
    max_values: int

    @property
    def why(self) -> str:
        what = "The request" if not self.method else f"The request {self.method[:60]!r}"
        remedy = "Send less at once, send what is large as one text, or have the operator raise gateway.most_values"
        return (
            f"{what} has more than {self.max_values} values, counting each list and object. {remedy} in pegboard.yaml."
        )


def find_excess(body: bytes, most_values: int) -> InitializeTooLarge | TooManyValues | None:
    """The first thing that is too much. For a large body beside the event loop, because it takes some milliseconds."""
    if len(body) <= SMALL_BODY_BYTES:
        return None
    try:
        found = _decode_head(body)
    except _DECODE_ERRORS:
        # It is refused by a reader, which should not have to build all of it first.
        return TooManyValues(None, "", most_values) if has_more_values_than(most_values, body) else None
    id = _decode_id(bytes(found.id))
    if found.method == "initialize" and len(bytes(found.params)) > MAX_INITIALIZE_BYTES:
        return InitializeTooLarge(id)
    most = most_values if found.method == "tools/call" else max(most_values // _NON_CALL_DIVISOR, 1)
    return TooManyValues(id, found.method, most) if has_more_values_than(most, body) else None


def _decode_id(raw: bytes) -> str | int | None:
    if len(raw) > SMALL_BODY_BYTES:
        return None
    id = msgspec.json.decode(raw)
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None
