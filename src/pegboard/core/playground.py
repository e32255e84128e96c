"""A search laid open for a person: what each rank is piled up from, what was locked, and what it costs a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .ids import ToolId
from .policy import Policy
from .resolve import LockedTool, OpenTool, Resolution
from .retrieval import RankTools, ToolSearchQuery, callable_results, locked_results
from .tokens import rough_tool_cost
from .tool import JsonObject


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
