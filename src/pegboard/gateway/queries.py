"""Saved queries run against the board as it is: what each finds, and how good that is."""

from collections.abc import Iterable, Sequence
from typing import Final

from pegboard.core.evaluation import MOST_QUERIES, Judged, SavedQuery, ranks
from pegboard.core.ids import ToolId, tool_id
from pegboard.core.removal import removal_sentence
from pegboard.core.resolve import Absent, Locked
from pegboard.core.retrieval import Retrieval
from pegboard.core.status import sentence
from pegboard.core.view import View

from .board import Board
from .finder import Finder

_GONE: Final = "it is not on the board"


class KeptQueries:
    """While the gateway runs, where there is no store for them."""

    def __init__(self) -> None:
        self._kept: dict[str, SavedQuery] = {}

    async def all(self) -> Sequence[SavedQuery]:
        return [self._kept[name] for name in sorted(self._kept)]

    async def keep(self, query: SavedQuery) -> bool:
        if query.name not in self._kept and len(self._kept) >= MOST_QUERIES:
            return False
        self._kept[query.name] = query
        return True

    async def forget(self, name: str) -> bool:
        return self._kept.pop(name, None) is not None


async def judged(finder: Finder, board: Board, queries: Iterable[SavedQuery], limit: int) -> list[Judged]:
    """Each by the view of its caller, by the search that agents get."""
    found: list[Judged] = []
    for query in queries:
        played = await finder.played(Retrieval(query.query, limit), View(query.principal))
        ids = [str(hit.id) for hit in played.hits]
        placed = ranks(query.expected, ids)
        whys = {id: why for id, rank in placed.items() if rank is None and (why := _why(board, query, id))}
        found.append(Judged(query, ids, placed, whys, played.tokens))
    return found


def _why(board: Board, query: SavedQuery, id: str) -> str:
    """Nothing, where the tool could have been found and others fit better."""
    read = tool_id(id)
    verdict = board.resolution(View(query.principal)).verdicts.get(read) if isinstance(read, ToolId) else None
    match verdict:
        case None:
            return _GONE
        case Locked(_, reason):
            return sentence(reason)
        case Absent(_, removed):
            return removal_sentence(removed)
        case _:
            return ""
