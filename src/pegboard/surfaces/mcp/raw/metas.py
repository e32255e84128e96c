"""The `_meta` of requests: checked and made sound once, because a client sends the same one with every request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pegboard.surfaces.mcp.exchange import client_text

from .messages import ABSENT, EMPTY_OBJECT, UNREADABLE, RequestMeta, normalize_json, read_list, read_message, read_meta

MAX_CACHED: Final = 1024
MAX_CACHED_BYTES: Final = 2048
MAX_META_BYTES: Final = 262_144
"""Bytes. It is about the request, and is read on the event loop; what is large belongs into the arguments."""
EMPTY_META: Final = RequestMeta()


@dataclass(frozen=True, slots=True)
class ParsedMeta:
    meta: RequestMeta
    text: bytes
    """As it is passed on; empty where there was none."""
    client_name: str = ""
    extra_members: Mapping[str, bytes] = field(init=False)
    """The same as what a request says beside name and arguments, if that is all."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "extra_members", {"_meta": self.text})


NO_META: Final = ParsedMeta(EMPTY_META, b"")


class MetaTooLargeError(Exception):
    """No request is served that says more about itself."""


class MetaCache:
    def __init__(self) -> None:
        self._cache: dict[bytes, ParsedMeta] = {}

    def parse(self, raw: bytes) -> ParsedMeta | None:
        """`None` for what the long road must look at. Raises `MetaTooLargeError`."""
        if raw is ABSENT or not raw:
            return NO_META
        text = bytes(raw)
        known = self._cache.get(text)
        return self._parse_new(text) if known is None else known

    def _parse_new(self, text: bytes) -> ParsedMeta | None:
        if len(text) > MAX_META_BYTES:
            raise MetaTooLargeError
        try:
            meta = read_meta(text)
            told = meta.client or {}
            known = ParsedMeta(
                meta, normalize_json(text), client_text(told.get("name", ""), told.get("version", "")) if told else ""
            )
        except UNREADABLE:
            return None
        # A token is of one request, and would only push the others out.
        if known.meta.token is None and len(text) <= MAX_CACHED_BYTES and text != bytes(EMPTY_OBJECT):
            if len(self._cache) >= MAX_CACHED:
                del self._cache[next(iter(self._cache))]
            self._cache[text] = known
        return known


def is_too_large(body: bytes) -> bool:
    """Whether a request says more about itself than is served, on whichever road."""
    if len(body) <= MAX_META_BYTES:
        return False
    try:
        return len(bytes(read_list(read_message(body).params).meta)) > MAX_META_BYTES
    except UNREADABLE:
        return False
