"""How well a search finds saved queries, and a search with the scores behind each rank."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pegboard.core.decision.resolve import LockedTool, OpenTool, Resolution
from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ToolId
from pegboard.core.policy.policy import Policy
from pegboard.core.presentations.entries import rough_tool_cost
from pegboard.core.presentations.retrieval import RankTools, ToolSearchQuery, callable_results, locked_results

# Queries with the tools that they should find, and how well a search does by them.

MAX_QUERIES: Final = 500
MAX_EXPECTED_TOOLS: Final = 20


@dataclass(frozen=True)
class SavedQuery:
    name: str
    query: str
    expected_tools: tuple[str, ...]
    """Ids of tools. Any of them may be found first."""
    principal: PrincipalId = LOCAL_PRINCIPAL
    """By whose view it is searched."""
    by: PrincipalId = LOCAL_PRINCIPAL
    at: datetime | None = None


@dataclass(frozen=True)
class QueryEvaluation:
    """What became of one query: where each expected tool stood, and why one that did not could not."""

    query: SavedQuery
    found_tools: Sequence[str]
    ranks: Mapping[str, int | None]
    """From 1 on; `None` for what was not among the best."""
    explanations: Mapping[str, str]
    """Of what was not found, where there is more to say than that others fit better."""
    tokens: int

    @property
    def best_rank(self) -> int | None:
        return min((rank for rank in self.ranks.values() if rank is not None), default=None)

    @property
    def is_hit(self) -> bool:
        return self.best_rank is not None

    @property
    def recall(self) -> float:
        return sum(rank is not None for rank in self.ranks.values()) / len(self.ranks)


@dataclass(frozen=True)
class SearchQuality:
    """Over all queries; 1 is all of them, and nothing asked is nothing missed."""

    first_rank_rate: float
    """Of how many queries an expected tool stood first."""
    hit_rate: float
    """Of how many one was among the best."""
    recall: float
    """How many of the expected tools were, on average."""
    mean_reciprocal_rank: float
    """The mean of one over the rank of the first of them."""


def search_quality(judged: Sequence[QueryEvaluation]) -> SearchQuality:
    if not judged:
        return SearchQuality(1.0, 1.0, 1.0, 1.0)
    count = len(judged)
    return SearchQuality(
        sum(each.best_rank == 1 for each in judged) / count,
        sum(each.is_hit for each in judged) / count,
        sum(each.recall for each in judged) / count,
        sum(0.0 if each.best_rank is None else 1 / each.best_rank for each in judged) / count,
    )


def expected_ranks(expected: Sequence[str], found: Sequence[str]) -> dict[str, int | None]:
    places = {id: place for place, id in enumerate(found, start=1)}
    return {id: places.get(id) for id in expected}


@dataclass(frozen=True)
class SearchHit:
    id: ToolId
    name: str
    score: float
    score_parts: Mapping[str, float]
    """Together the score."""
    matched_words: Sequence[str]
    """Of the query, those that it has."""
    tokens: int


@dataclass(frozen=True)
class SearchEvaluation:
    hits: Sequence[SearchHit]
    ranker: str
    query_words: JsonObject
    match_count: int
    """How many tools fit at all, before the limit."""
    locked_tools: Sequence[LockedTool]
    """The best of those that fit and are locked."""
    locked_count: int
    all_tools: int
    all_tokens: int
    """Of every open tool of the view, as itself."""
    policy_version: int

    @property
    def tokens(self) -> int:
        return sum(hit.tokens for hit in self.hits)


def evaluate_search(
    asked: ToolSearchQuery, resolution: Resolution, policy: Policy, rank: RankTools
) -> SearchEvaluation:
    """The order is that of the search itself, by the same code."""
    found = rank(asked.query, resolution.open_ids)
    passed = callable_results(asked, found, resolution)
    hits: list[SearchHit] = []
    for id in passed.tools[: asked.limit]:
        verdict = resolution.verdicts[id]
        assert isinstance(verdict, OpenTool)
        why, stack = found.explain_rank(id), found.score_parts(id)
        said = why.get("words")
        words = [str(each["word"]) for each in said if isinstance(each, dict)] if isinstance(said, list) else []
        score = why.get("score")
        number = float(score) if isinstance(score, int | float) else 0.0
        hits.append(
            SearchHit(id, resolution.names[id], number, stack, words, rough_tool_cost(verdict.visible_tool.spec))
        )
    shut = locked_results(asked, resolution, policy, rank)
    locked = [resolution.verdicts[id] for id in shut.tools]
    costs = [
        rough_tool_cost(each.visible_tool.spec) for each in resolution.verdicts.values() if isinstance(each, OpenTool)
    ]
    return SearchEvaluation(
        hits,
        found.ranker,
        found.query_words(),
        passed.count,
        [each for each in locked if isinstance(each, LockedTool)],
        shut.count,
        len(costs),
        sum(costs),
        resolution.policy_version,
    )
