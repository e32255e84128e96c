"""The route that lays a search open: stacked scores, words that met nothing, what was locked and why, and the cost."""

from typing import Annotated

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.addressed import to_you
from pegboard.core.playground import Played
from pegboard.core.status import remedy, sentence
from pegboard.core.unlocking import PegState, state_of
from pegboard.gateway.gateway import Gateway

from .answers import routes_about
from .search import SearchQuery
from .tools import resolution_of


class HitShape(TypedDict):
    id: str
    name: str
    score: float
    stack: dict[str, float]
    words: list[str]
    tokens: int


class LockedHit(TypedDict):
    id: str
    state: PegState
    status: str
    sentence: str
    remedy: str
    more: int


class WordsHeard(TypedDict):
    lookedFor: list[str]
    foundNowhere: list[str]
    passedOver: list[str]


class SearchTokens(TypedDict):
    top: int
    all: int
    allTools: int


class Playground(TypedDict):
    hits: list[HitShape]
    ranker: str
    words: WordsHeard
    matched: int
    locked: list[LockedHit]
    lockedCount: int
    tokens: SearchTokens
    policyVersion: int


def playground_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("search")

    @routes.get("/search/playground")
    async def play_search(asked: Annotated[SearchQuery, Query()]) -> Playground:
        """What `/tools/search` finds for the same parameters, each score with what it is piled up from: words by where
        they are, meaning, and the `base` that every tool has; together the score. Beside it the words that no tool
        has, the locked tools that fit and why they are locked, and the tokens of the best against those of all."""
        view = asked.view()
        resolution_of(gateway, view)
        return _shape(await gateway.finder.played(asked.retrieval(), view))

    return routes


def _shape(played: Played) -> Playground:
    return {
        "hits": [
            {
                "id": str(hit.id),
                "name": hit.name,
                "score": hit.score,
                "stack": dict(hit.stack),
                "words": [*hit.words],
                "tokens": hit.tokens,
            }
            for hit in played.hits
        ],
        "ranker": played.ranker,
        "words": {
            "lookedFor": _texts(played.heard.get("looked_for")),
            "foundNowhere": _texts(played.heard.get("found_nowhere")),
            "passedOver": _texts(played.heard.get("passed_over")),
        },
        "matched": played.matched,
        "locked": [
            {
                "id": str(each.tool.id),
                "state": state_of(each),
                "status": each.status.value,
                "sentence": sentence(each.reason),
                "remedy": to_you(remedy(each.reason)),
                "more": len(each.more),
            }
            for each in played.locked
        ],
        "lockedCount": played.locked_count,
        "tokens": {"top": played.tokens, "all": played.all_tokens, "allTools": played.all_tools},
        "policyVersion": played.policy_version,
    }


def _texts(words: object) -> list[str]:
    return [str(word) for word in words] if isinstance(words, list) else []
