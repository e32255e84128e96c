"""Pages of `tools/list` as text: each tool encoded once, joined once for each list, and kept for the next who asks."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from pegboard.surfaces.mcp.direct import PAGE, Shown
from pegboard.surfaces.mcp.pages import BadCursor

from .messages import encode

MOST_BYTES: Final = 16 * 1024 * 1024

Key = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class Page:
    """The answer up to its last tool, and what follows up to the id of the request, which comes last.

    All who ask share the first, in either era: it is as long as the tools themselves.
    """

    text: bytes
    rest: bytes


class Lists:
    def __init__(self, tail: bytes) -> None:
        self._tail = tail
        self._pages: OrderedDict[Key, Page] = OrderedDict()
        self._size = 0

    def page(self, shown: Shown, cursor: str | None, *, modern: bool) -> Page | None:
        """`None` for a cursor that cannot be used."""
        start = shown.start(cursor)
        if isinstance(start, BadCursor):
            return None
        page = self._page(shown, start)
        return Page(page.text, b"%b%b%b" % (page.rest, self._tail if modern else b"", b'},"id":'))

    def _page(self, shown: Shown, start: int) -> Page:
        key = shown.mark, start
        known = self._pages.get(key)
        if known is not None:
            self._pages.move_to_end(key)
            return known
        fresh = self._pages[key] = _joined(shown, start)
        self._size += len(fresh.text)
        while self._size > MOST_BYTES and len(self._pages) > 1:
            _, forgotten = self._pages.popitem(last=False)
            self._size -= len(forgotten.text)
        return fresh


def _joined(shown: Shown, start: int) -> Page:
    fragments, following = shown.fragments[start : start + PAGE], shown.following(start)
    more = b"" if following is None else b',"nextCursor":%b' % encode(following)
    return Page(b'{"jsonrpc":"2.0","result":{"tools":[' + b",".join(fragments), b"]" + more)
