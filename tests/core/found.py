"""Searches of small boards, found by a plain ranking: for the tests of what is made of what was found."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.core.boards import DAMAGES, GITHUB, ME, Board

from pegboard.core.decision.resolve import resolve
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.presentations.retrieval import ToolSearchQuery, search_tools


@dataclass(frozen=True)
class Plain:
    ids: tuple[ToolId, ...]
    ranker: str = "lexical"

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[ToolId]:
        return iter(self.ids)

    def __contains__(self, id: object, /) -> bool:
        return id in self.ids

    def explain_rank(self, id: ToolId) -> JsonObject:
        return {"place": self.ids.index(id) if id in self.ids else None}

    def score_parts(self, id: ToolId) -> dict[str, float]:
        return {}

    def query_words(self) -> JsonObject:
        return {"searched": ["words"]}


def plain(ids: Iterable[ToolId]) -> Plain:
    return Plain(tuple(ids))


DAMAGE = {damage.name: damage for damage in DAMAGES}


def made(name: str, description: str = "", **annotations: bool) -> Tool:
    return Tool(ToolId(GITHUB, name), ToolSpec(name, description=description, annotations=dict(annotations) or None))


def rank(query: str, among: Collection[ToolId]) -> Plain:
    """Whatever has the query in its name, by its name."""
    return plain(sorted(id for id in among if query in id.name))


def ask(hung: Board, query: str, view: View = View(ME), **asked: Any) -> dict[str, Any]:  # noqa: B008  a constant
    resolution = resolve(hung.catalogue, hung.policy, view)
    return search_tools(ToolSearchQuery(query, **asked), resolution, hung.policy, rank)


def names(answer: dict[str, Any], member: str = "tools") -> list[str]:
    return [entry["name"] for entry in answer[member]]


def locked(board: Board, **damages: str) -> Board:
    """These tools, each with one thing taken away."""
    for name, damage in damages.items():
        board = DAMAGE[damage.replace("_", " ")].do(board, ToolId(GITHUB, name))
    return board


def everything(query: str, among: Collection[ToolId]) -> Plain:
    return plain(sorted(among))
