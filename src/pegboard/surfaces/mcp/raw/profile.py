"""What the headers of a request mean, worked out once for each set of them: its era and through which view it asks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pegboard.core.view import View
from pegboard.gateway.access.callers import Callers
from pegboard.gateway.board import Board
from pegboard.surfaces.mcp.door import Refused, is_modern
from pegboard.surfaces.mcp.protocol import MODERN_PROTOCOL_VERSIONS
from pegboard.surfaces.mcp.view import of_toolset

MOST: Final = 1024
VERSION: Final = b"mcp-protocol-version"
NARROWING: Final = b"x-mcp-"
DECIDING: Final = (*(VERSION, b"host", b"origin", b"content-type", b"accept", b"content-encoding", b"authorization"),)
LONGEST: Final = 4096
"""Bytes of the narrowing that are remembered with what they mean; a longer one is read anew."""

Pairs: TypeAlias = Sequence[tuple[bytes, bytes]]
ReadView: TypeAlias = Callable[[str, bytes, Pairs, Mapping[bytes, bytes]], View | Refused]
"""Of a POST: from the address of whoever asks, the query and the headers."""


@dataclass(slots=True, eq=False)
class Profile:
    view: View
    modern: bool
    version: str
    stamp: object = None
    """Of the board on which every name in this view was found to mean something."""
    plain: dict[str, bool] = field(default_factory=dict[str, bool])
    """Which tools of that board, by name, want none of their arguments repeated in headers."""

    def holds(self, board: Board) -> bool:
        if self.stamp is not board.stamp:
            if board.resolution(self.view).refused:
                return False
            self.stamp = board.stamp
            self.plain.clear()
        return True


class Profiles:
    """Only who is let in is remembered, and only for as long as the same principals are."""

    def __init__(self, callers: Callers, read: ReadView) -> None:
        self._callers = callers
        self._view = read
        self._principals: object = None
        self._known: dict[tuple[object, ...], Profile] = {}

    def of(
        self, address: str, query: bytes, given: Pairs, headers: Mapping[bytes, bytes], toolset: str | None = None
    ) -> Profile | Refused | None:
        """`None` for a version that only the SDK has words for."""
        known = self.known(query, given, headers, toolset)
        if known is not None:
            return known
        return self._read(address, query, given, self._key(query, given, headers, toolset), toolset)

    def known(
        self, query: bytes, given: Pairs, headers: Mapping[bytes, bytes], toolset: str | None = None
    ) -> Profile | None:
        """Of whoever came before with the same headers, as far as those decide anything."""
        principals = self._callers.known
        if principals is not self._principals:
            self._principals = principals
            self._known.clear()
        return self._known.get(self._key(query, given, headers, toolset))

    def forget(self) -> None:
        """Tokens stand in the keys."""
        self._known.clear()

    def _key(
        self, query: bytes, given: Pairs, headers: Mapping[bytes, bytes], toolset: str | None
    ) -> tuple[object, ...]:
        narrowing = [pair for pair in given if pair[0][:6] == NARROWING]
        return (*map(headers.get, DECIDING), query, toolset, *narrowing)

    def _read(
        self, address: str, query: bytes, given: Pairs, key: tuple[object, ...], toolset: str | None
    ) -> Profile | Refused | None:
        trimmed = [(name, value.strip(b" \t")) for name, value in given]
        headers = dict(trimmed)
        view = self._view(address, query, trimmed, headers)
        if isinstance(view, Refused):
            return view
        version = headers.get(VERSION, b"").decode("latin-1")
        modern = is_modern(version or None)
        if modern and version not in MODERN_PROTOCOL_VERSIONS:
            return None
        profile = Profile(view if toolset is None else of_toolset(view, toolset), modern, version)
        if sum(map(_size, key)) <= LONGEST:
            if len(self._known) >= MOST:
                del self._known[next(iter(self._known))]
            self._known[key] = profile
        return profile


def _size(part: object) -> int:
    return len(part) if isinstance(part, bytes | str) else sum(map(_size, part)) if isinstance(part, tuple) else 0
