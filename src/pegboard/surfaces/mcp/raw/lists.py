"""Pages of `tools/list` as text: each tool encoded once, joined once for each list, and kept for the next who asks."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from pegboard.surfaces.mcp.direct import PAGE_SIZE, ToolList
from pegboard.surfaces.mcp.pages import BadCursor

from .messages import encode

MAX_CACHE_BYTES: Final = 16 * 1024 * 1024

PageKey = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class EncodedToolPage:
    """The answer up to its last tool, and what follows up to the id of the request, which comes last.

    All who ask share the first, in either era: it is as long as the tools themselves.
    """

    text: bytes
    rest: bytes


class ToolListEncoder:
    def __init__(self, tail: bytes) -> None:
        self._tail = tail
        self._pages: OrderedDict[PageKey, EncodedToolPage] = OrderedDict()
        self._size = 0

    def page(self, shown: ToolList, cursor: str | None, *, modern: bool) -> EncodedToolPage | None:
        """`None` for a cursor that cannot be used."""
        start = shown.page_start(cursor)
        if isinstance(start, BadCursor):
            return None
        page = self._page(shown, start)
        return EncodedToolPage(page.text, b"%b%b%b" % (page.rest, self._tail if modern else b"", b'},"id":'))

    def _page(self, shown: ToolList, start: int) -> EncodedToolPage:
        key = shown.fingerprint, start
        known = self._pages.get(key)
        if known is not None:
            self._pages.move_to_end(key)
            return known
        fresh = self._pages[key] = _encode_page(shown, start)
        self._size += len(fresh.text)
        while self._size > MAX_CACHE_BYTES and len(self._pages) > 1:
            _, forgotten = self._pages.popitem(last=False)
            self._size -= len(forgotten.text)
        return fresh


def _encode_page(shown: ToolList, start: int) -> EncodedToolPage:
    fragments, following = shown.fragments[start : start + PAGE_SIZE], shown.next_cursor(start)
    more = b"" if following is None else b',"nextCursor":%b' % encode(following)
    return EncodedToolPage(b'{"jsonrpc":"2.0","result":{"tools":[' + b",".join(fragments), b"]" + more)
