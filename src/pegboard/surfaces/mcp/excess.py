"""What makes a request too much to be read at all, told from its bytes: nothing is built to find out."""

from dataclasses import dataclass
from typing import Final

import msgspec

from pegboard.core.nesting import more_values_than

SMALL: Final = 65_536
"""Bytes of a request that is read without a further look."""

LARGEST_OPENING: Final = 65_536
"""Bytes of the params of initialize: capabilities and client info are kept for as long as the session lasts."""

_SHARE: Final = 10
"""Arguments of a tool may have so many times the values of what any other method has a use for."""


class _Outside(msgspec.Struct):
    id: msgspec.Raw = msgspec.Raw(b"null")
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"")


_read: Final = msgspec.json.Decoder(_Outside).decode
_UNREAD: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True)
class Opening:
    """An initialize that says too much about its client."""

    id: str | int | None

    @property
    def why(self) -> str:
        return (
            f"The params of initialize are larger than {LARGEST_OPENING} bytes, and capabilities and clientInfo are "
            "kept for as long as the session lasts. Send shorter ones."
        )


@dataclass(frozen=True)
class Values:
    """A request of too many values, each list and object counted as well."""

    id: str | int | None
    method: str
    most: int

    @property
    def why(self) -> str:
        what = "The request" if not self.method else f"The request {self.method[:60]!r}"
        remedy = "Send less at once, send what is large as one text, or have the operator raise gateway.most_values"
        return f"{what} has more than {self.most} values, counting each list and object. {remedy} in pegboard.yaml."


def excess(body: bytes, most_values: int) -> Opening | Values | None:
    """The first thing that is too much. For a large body beside the event loop, because it takes some milliseconds."""
    if len(body) <= SMALL:
        return None
    try:
        found = _read(body)
    except _UNREAD:
        # It is refused by a reader, which should not have to build all of it first.
        return Values(None, "", most_values) if more_values_than(most_values, body) else None
    id = _id(bytes(found.id))
    if found.method == "initialize" and len(bytes(found.params)) > LARGEST_OPENING:
        return Opening(id)
    most = most_values if found.method == "tools/call" else max(most_values // _SHARE, 1)
    return Values(id, found.method, most) if more_values_than(most, body) else None


def _id(raw: bytes) -> str | int | None:
    if len(raw) > SMALL:
        return None
    id = msgspec.json.decode(raw)
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None
