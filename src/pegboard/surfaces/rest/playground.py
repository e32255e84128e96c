"""The route that lays a search open: stacked scores, words that met nothing, what was locked and why, and the cost."""

from typing import Annotated

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.addressed import address_user
from pegboard.core.playground import SearchEvaluation
from pegboard.core.status import explain_reason, remedy_for
from pegboard.core.unlocking import ToolState, state_of
from pegboard.gateway.gateway import Gateway

from .answers import make_router
from .search import SearchQuery
from .tools import checked_resolution


class SearchHitInfo(TypedDict):
    id: str
    name: str
    score: float
    stack: dict[str, float]
    words: list[str]
    tokens: int


class LockedHitInfo(TypedDict):
    id: str
    state: ToolState
    status: str
    sentence: str
    remedy: str
    more: int


class QueryWordsInfo(TypedDict):
    lookedFor: list[str]
    foundNowhere: list[str]
    passedOver: list[str]


class SearchTokenCosts(TypedDict):
    top: int
    all: int
    allTools: int


class SearchPlaygroundResponse(TypedDict):
    hits: list[SearchHitInfo]
    ranker: str
    words: QueryWordsInfo
    matched: int
    locked: list[LockedHitInfo]
    lockedCount: int
    tokens: SearchTokenCosts
    policyVersion: int


def playground_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("search")

    @routes.get("/search/playground")
    async def play_search(asked: Annotated[SearchQuery, Query()]) -> SearchPlaygroundResponse:
        """What `/tools/search` finds for the same parameters, each score with what it is piled up from: words by where
        they are, meaning, and the `base` that every tool has; together the score. Beside it the words that no tool
        has, the locked tools that fit and why they are locked, and the tokens of the best against those of all."""
        view = asked.view()
        checked_resolution(gateway, view)
        return _playground_response(await gateway.search.explain_search(asked.retrieval(), view))

    return routes


def _playground_response(played: SearchEvaluation) -> SearchPlaygroundResponse:
    return {
        "hits": [
            {
                "id": str(hit.id),
                "name": hit.name,
                "score": hit.score,
                "stack": dict(hit.score_parts),
                "words": [*hit.matched_words],
                "tokens": hit.tokens,
            }
            for hit in played.hits
        ],
        "ranker": played.ranker,
        "words": {
            "lookedFor": _texts(played.query_words.get("looked_for")),
            "foundNowhere": _texts(played.query_words.get("found_nowhere")),
            "passedOver": _texts(played.query_words.get("passed_over")),
        },
        "matched": played.match_count,
        "locked": [
            {
                "id": str(each.tool.id),
                "state": state_of(each),
                "status": each.status.value,
                "sentence": explain_reason(each.reason),
                "remedy": address_user(remedy_for(each.reason)),
                "more": len(each.other_reasons),
            }
            for each in played.locked_tools
        ],
        "lockedCount": played.locked_count,
        "tokens": {"top": played.tokens, "all": played.all_tokens, "allTools": played.all_tools},
        "policyVersion": played.policy_version,
    }


def _texts(words: object) -> list[str]:
    return [str(word) for word in words] if isinstance(words, list) else []
