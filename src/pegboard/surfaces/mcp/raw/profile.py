"""What the headers of a request mean, worked out once for each set of them: its era and through which view it asks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pegboard.core.view import View
from pegboard.gateway.access.callers import CallerTokens
from pegboard.gateway.board import BoardState
from pegboard.surfaces.mcp.door import HttpRejection, is_modern
from pegboard.surfaces.mcp.protocol import MODERN_PROTOCOL_VERSIONS
from pegboard.surfaces.mcp.view import narrow_to_toolset

MAX_CACHED: Final = 1024
VERSION_HEADER: Final = b"mcp-protocol-version"
NARROWING_PREFIX: Final = b"x-mcp-"
DECISIVE_HEADERS: Final = (
    *(VERSION_HEADER, b"host", b"origin", b"content-type", b"accept", b"content-encoding", b"authorization"),
)
MAX_CACHED_KEY_BYTES: Final = 4096
"""Bytes of the narrowing that are remembered with what they mean; a longer one is read anew."""

HeaderPairs: TypeAlias = Sequence[tuple[bytes, bytes]]
ReadView: TypeAlias = Callable[[str, bytes, HeaderPairs, Mapping[bytes, bytes]], View | HttpRejection]
"""Of a POST: from the address of whoever asks, the query and the headers."""


@dataclass(slots=True, eq=False)
class RequestContext:
    view: View
    modern: bool
    version: str
    board_revision: object = None
    """Of the board on which every name in this view was found to mean something."""
    has_no_param_headers: dict[str, bool] = field(default_factory=dict[str, bool])
    """Which tools of that board, by name, want none of their arguments repeated in headers."""

    def is_valid_on(self, board: BoardState) -> bool:
        if self.board_revision is not board.revision:
            if board.resolution(self.view).unknown_in_narrowing:
                return False
            self.board_revision = board.revision
            self.has_no_param_headers.clear()
        return True


class RequestContextCache:
    """Only who is let in is remembered, and only for as long as the same principals are."""

    def __init__(self, callers: CallerTokens, read: ReadView) -> None:
        self._token_index = callers
        self._read_view = read
        self._principals: object = None
        self._cache: dict[tuple[object, ...], RequestContext] = {}

    def resolve(
        self, address: str, query: bytes, given: HeaderPairs, headers: Mapping[bytes, bytes], toolset: str | None = None
    ) -> RequestContext | HttpRejection | None:
        """`None` for a version that only the SDK has words for."""
        known = self.find_cached(query, given, headers, toolset)
        if known is not None:
            return known
        return self._build(address, query, given, self._key(query, given, headers, toolset), toolset)

    def find_cached(
        self, query: bytes, given: HeaderPairs, headers: Mapping[bytes, bytes], toolset: str | None = None
    ) -> RequestContext | None:
        """Of whoever came before with the same headers, as far as those decide anything."""
        principals = self._token_index.hashes
        if principals is not self._principals:
            self._principals = principals
            self._cache.clear()
        return self._cache.get(self._key(query, given, headers, toolset))

    def forget(self) -> None:
        """Tokens stand in the keys."""
        self._cache.clear()

    def _key(
        self, query: bytes, given: HeaderPairs, headers: Mapping[bytes, bytes], toolset: str | None
    ) -> tuple[object, ...]:
        narrowing = [pair for pair in given if pair[0][:6] == NARROWING_PREFIX]
        return (*map(headers.get, DECISIVE_HEADERS), query, toolset, *narrowing)

    def _build(
        self, address: str, query: bytes, given: HeaderPairs, key: tuple[object, ...], toolset: str | None
    ) -> RequestContext | HttpRejection | None:
        trimmed = [(name, value.strip(b" \t")) for name, value in given]
        headers = dict(trimmed)
        view = self._read_view(address, query, trimmed, headers)
        if isinstance(view, HttpRejection):
            return view
        version = headers.get(VERSION_HEADER, b"").decode("latin-1")
        modern = is_modern(version or None)
        if modern and version not in MODERN_PROTOCOL_VERSIONS:
            return None
        profile = RequestContext(view if toolset is None else narrow_to_toolset(view, toolset), modern, version)
        if sum(map(_size, key)) <= MAX_CACHED_KEY_BYTES:
            if len(self._cache) >= MAX_CACHED:
                del self._cache[next(iter(self._cache))]
            self._cache[key] = profile
        return profile


def _size(part: object) -> int:
    return len(part) if isinstance(part, bytes | str) else sum(map(_size, part)) if isinstance(part, tuple) else 0
