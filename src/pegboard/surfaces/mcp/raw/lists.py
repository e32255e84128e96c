"""Pages of `tools/list` as text: each tool encoded once, joined once for each list, and kept for the next who asks."""

from collections import OrderedDict
from typing import Final

from pegboard.surfaces.mcp.direct import PAGE, BadCursor, Shown

from .messages import encode

MOST_BYTES: Final = 16 * 1024 * 1024

Key = tuple[bytes, int, bool]


class Lists:
    """The text of a page ends before the id of the request, which comes last, so that all who ask share it."""

    def __init__(self, tail: bytes) -> None:
        self._tail = tail
        self._pages: OrderedDict[Key, bytes] = OrderedDict()
        self._size = 0

    def page(self, shown: Shown, cursor: str | None, *, modern: bool) -> bytes | None:
        """`None` for a cursor that cannot be used."""
        start = shown.start(cursor)
        if isinstance(start, BadCursor):
            return None
        key = shown.mark, start, modern
        known = self._pages.get(key)
        if known is not None:
            self._pages.move_to_end(key)
            return known
        fresh = self._pages[key] = self._joined(shown, start, modern=modern)
        self._size += len(fresh)
        while self._size > MOST_BYTES and len(self._pages) > 1:
            _, forgotten = self._pages.popitem(last=False)
            self._size -= len(forgotten)
        return fresh

    def _joined(self, shown: Shown, start: int, *, modern: bool) -> bytes:
        fragments, following = shown.fragments[start : start + PAGE], shown.following(start)
        more = b"" if following is None else b',"nextCursor":%b' % encode(following)
        parts = (b'{"jsonrpc":"2.0","result":{"tools":[', b",".join(fragments), b"]", more)
        return b"".join((*parts, self._tail if modern else b"", b'},"id":'))
