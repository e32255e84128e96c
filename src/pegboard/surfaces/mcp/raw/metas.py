"""The `_meta` of requests: checked and made sound once, because a client sends the same one with every request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pegboard.surfaces.mcp.exchange import client_text

from .messages import EMPTY, NOTHING, UNREADABLE, Meta, read_list, read_message, read_meta, sound

MOST: Final = 1024
LONGEST: Final = 2048
LARGEST: Final = 262_144
"""Bytes. It is about the request, and is read on the event loop; what is large belongs into the arguments."""
NO_META: Final = Meta()


@dataclass(frozen=True, slots=True)
class Known:
    meta: Meta
    text: bytes
    """As it is passed on; empty where there was none."""
    client: str = ""
    beside: Mapping[str, bytes] = field(init=False)
    """The same as what a request says beside name and arguments, if that is all."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "beside", {"_meta": self.text})


NONE: Final = Known(NO_META, b"")


class MetaTooLargeError(Exception):
    """No request is served that says more about itself."""


class Metas:
    def __init__(self) -> None:
        self._known: dict[bytes, Known] = {}

    def of(self, raw: bytes) -> Known | None:
        """`None` for what the long road must look at. Raises `MetaTooLargeError`."""
        if raw is NOTHING or not raw:
            return NONE
        text = bytes(raw)
        known = self._known.get(text)
        return self._read(text) if known is None else known

    def _read(self, text: bytes) -> Known | None:
        if len(text) > LARGEST:
            raise MetaTooLargeError
        try:
            meta = read_meta(text)
            told = meta.client or {}
            known = Known(meta, sound(text), client_text(told.get("name", ""), told.get("version", "")) if told else "")
        except UNREADABLE:
            return None
        # A token is of one request, and would only push the others out.
        if known.meta.token is None and len(text) <= LONGEST and text != bytes(EMPTY):
            if len(self._known) >= MOST:
                del self._known[next(iter(self._known))]
            self._known[text] = known
        return known


def is_too_large(body: bytes) -> bool:
    """Whether a request says more about itself than is served, on whichever road."""
    if len(body) <= LARGEST:
        return False
    try:
        return len(bytes(read_list(read_message(body).params).meta)) > LARGEST
    except UNREADABLE:
        return False
