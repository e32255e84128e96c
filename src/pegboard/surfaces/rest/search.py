"""Routes: search, saved queries and their evaluation."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Literal, NotRequired, cast

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from pegboard.core.decision.status import explain_reason, remedy
from pegboard.core.explain.states import ToolState, state_of
from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.principals import TokenScope
from pegboard.core.model.references import closest_names
from pegboard.core.model.selection import View
from pegboard.core.model.text import Audience
from pegboard.core.presentations.evaluation import (
    MAX_EXPECTED_TOOLS,
    MAX_QUERIES,
    QueryEvaluation,
    SavedQuery,
    SearchEvaluation,
    SearchQuality,
    search_quality,
)
from pegboard.core.presentations.retrieval import (
    BLANK_QUERY_TEXT,
    DEFAULT_RESULTS,
    MAX_QUERY_CHARS,
    MAX_RESULTS,
    AnswerDetail,
    ToolSearchQuery,
)
from pegboard.core.presentations.search import MAX_PLACE_CHARS
from pegboard.gateway.board import BoardState
from pegboard.gateway.change_feed import ChangeNotifier, Topic
from pegboard.gateway.search import ToolSearch, evaluate_queries
from pegboard.ports.providers import Clock
from pegboard.ports.stores import QueryStore
from pegboard.surfaces.rest.auth import decision_author, requires_scopes
from pegboard.surfaces.rest.requests import Name, ViewQuery
from pegboard.surfaces.rest.responses import ProblemError, make_router
from pegboard.surfaces.rest.schemas import FreeObject, iso_time
from pegboard.surfaces.rest.tools import checked_resolution, find_tool

# The route for searching tools: the answer that agents get from `retrieve_tools`, for any view.


def check_not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError(BLANK_QUERY_TEXT)
    return text


class SemanticSearchInfo(TypedDict):
    model: str
    remote: bool
    tools: int
    vectors: int
    storedVectors: int
    error: str | None


class SearchStatusResponse(TypedDict):
    ranker: Literal["lexical", "hybrid"]
    semantic: SemanticSearchInfo | None


class SearchToolsResponse(TypedDict):
    """What `retrieve_tools` answers, key by key: agents read the same."""

    tools: list[FreeObject]
    ranker: str
    notice: NotRequired[str]
    disabled: NotRequired[list[FreeObject]]
    remediation: NotRequired[Mapping[str, str]]
    explanation: NotRequired[FreeObject]
    filter_diagnostics: NotRequired[FreeObject]


class SearchQuery(ViewQuery):
    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS), AfterValidator(check_not_blank)]
    limit: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = DEFAULT_RESULTS
    include_disabled: bool = False
    read_only_only: bool = False
    exclude_destructive: bool = False
    exclude_open_world: bool = False
    server: Annotated[str, Field(max_length=MAX_PLACE_CHARS)] = ""
    toolset: Annotated[str, Field(max_length=MAX_PLACE_CHARS)] = ""
    explain: bool = False
    detail: AnswerDetail = AnswerDetail.COMPACT

    def retrieval(self) -> ToolSearchQuery:
        return ToolSearchQuery(
            self.query,
            self.limit,
            self.include_disabled,
            self.read_only_only,
            self.exclude_destructive,
            self.exclude_open_world,
            self.server,
            self.toolset,
            self.explain,
            self.detail,
            Audience.OPERATOR,
        )


def search_routes(board: BoardState, tool_search: ToolSearch) -> APIRouter:
    routes = make_router("tools")

    @routes.get("/tools/search")
    async def search_tools(asked: Annotated[SearchQuery, Query()]) -> SearchToolsResponse:
        """The tools that fit a query, callable ones first; with `include_disabled` also those that are locked."""
        view = asked.view()
        checked_resolution(board, view)
        return cast(SearchToolsResponse, await tool_search.retrieve(asked.retrieval(), view))

    @routes.get("/search")
    async def show_search() -> SearchStatusResponse:
        """Which ranker answers a search of the whole board, how many tools are read for it, and what is missing."""
        meanings = tool_search.embeddings
        if meanings is None:
            return {"ranker": "lexical", "semantic": None}
        state = meanings.state()
        return {
            "ranker": "hybrid" if state.is_ready else "lexical",
            "semantic": {
                "model": state.model,
                "remote": state.is_remote,
                "tools": state.tools,
                "vectors": state.vectors,
                "storedVectors": await meanings.store.count(),
                "error": state.problem,
            },
        }

    return routes


QueryName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^/\x00-\x1f]+$")]


class SearchQueryBody(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS), AfterValidator(check_not_blank)]
    expected: Annotated[list[Name], Field(min_length=1, max_length=MAX_EXPECTED_TOOLS)]
    principal: Name = Field(default="local", alias="as")


class NamedQueryBody(SearchQueryBody):
    name: Annotated[str, Field(max_length=100)] = ""


class RunQueriesBody(BaseModel):
    """`queries` are run as they stand here; without them the saved ones, or those of them that are named."""

    model_config = ConfigDict(extra="forbid")

    names: Annotated[list[QueryName] | None, Field(max_length=MAX_QUERIES)] = None
    queries: Annotated[list[NamedQueryBody] | None, Field(max_length=MAX_QUERIES)] = None
    limit: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = DEFAULT_RESULTS


class SavedQueryInfo(TypedDict):
    name: str
    query: str
    expected: list[str]
    principal: str
    by: str
    at: str | None


class SavedQueriesResponse(TypedDict):
    queries: list[SavedQueryInfo]
    next: str | None


class QueryDeletedResponse(TypedDict):
    deleted: str


class ExpectedToolInfo(TypedDict):
    id: str
    rank: int | None
    reason: str


class QueryResultInfo(TypedDict):
    name: str
    query: str
    principal: str
    hit: bool
    expected: list[ExpectedToolInfo]
    found: list[str]
    tokens: int


class SearchRatesInfo(TypedDict):
    firstRate: float
    hitRate: float
    recall: float
    reciprocalRank: float


class EvaluationResponse(TypedDict):
    queries: list[QueryResultInfo]
    rates: SearchRatesInfo
    limit: int
    policyVersion: int


class SavedQueriesQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: Annotated[int, Field(ge=1, le=MAX_QUERIES)] = 100
    after: Annotated[str, Field(max_length=100)] = ""


def search_query_routes(
    board: BoardState, clock: Clock, tool_search: ToolSearch, change_notifier: ChangeNotifier, query_store: QueryStore
) -> APIRouter:
    routes = make_router("search")

    @routes.get("/search/queries")
    async def list_queries(asked: Annotated[SavedQueriesQuery, Query()]) -> SavedQueriesResponse:
        """The saved ones, by name. `next` is what to send as `after`."""
        kept = [each for each in await query_store.all() if each.name > asked.after]
        page = kept[: asked.limit]
        return {"queries": [*map(_saved_query_info, page)], "next": page[-1].name if len(kept) > len(page) else None}

    @routes.put("/search/queries/{name}")
    async def save_query(name: QueryName, body: SearchQueryBody) -> SavedQueryInfo:
        """Keep a query with the tools that it should find, in place of one of the same name."""
        query = _to_saved_query(board, clock, name, body)
        if not await query_store.save(query):
            told = f"{MAX_QUERIES} queries are saved already, and no more may be. Remove one first."
            raise ProblemError(HTTPStatus.CONFLICT, told)
        change_notifier.notify(Topic.SEARCH)
        return _saved_query_info(query)

    @routes.delete("/search/queries/{name}")
    async def forget_query(name: QueryName) -> QueryDeletedResponse:
        """Remove a saved query."""
        if not await query_store.delete(name):
            raise ProblemError(HTTPStatus.NOT_FOUND, await _unknown_query_text(query_store, name))
        change_notifier.notify(Topic.SEARCH)
        return {"deleted": name}

    @routes.post("/search/queries/run")
    @requires_scopes(TokenScope.READ)
    async def run_queries(body: RunQueriesBody) -> EvaluationResponse:
        """What queries find now: where each expected tool stands among the best, why one that is not there could not
        be found, and the rates over all of them. Nothing is called and nothing is saved."""
        found = await evaluate_queries(
            tool_search, board, await _queries_to_run(board, clock, query_store, body), body.limit
        )
        return {
            "queries": [*map(_query_result_info, found)],
            "rates": _rates_info(search_quality(found)),
            "limit": body.limit,
            "policyVersion": board.policy.version,
        }

    return routes


async def _queries_to_run(
    board: BoardState, clock: Clock, query_store: QueryStore, body: RunQueriesBody
) -> list[SavedQuery]:
    if body.queries is not None:
        if body.names is not None:
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "Send names of saved queries or queries, not both.")
        return [
            _to_saved_query(board, clock, each.name or each.query[:100], each, lenient=True) for each in body.queries
        ]
    saved = {each.name: each for each in await query_store.all()}
    for name in body.names or ():
        if name not in saved:
            raise ProblemError(HTTPStatus.NOT_FOUND, await _unknown_query_text(query_store, name))
    return [*saved.values()] if body.names is None else [saved[name] for name in dict.fromkeys(body.names)]


async def _unknown_query_text(query_store: QueryStore, name: str) -> str:
    near = closest_names(name, [each.name for each in await query_store.all()])
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return f"There is no saved query {name[:100]!r}.{meant} See: GET /api/v1/search/queries"


def _to_saved_query(
    board: BoardState, clock: Clock, name: str, body: SearchQueryBody, *, lenient: bool = False
) -> SavedQuery:
    """Tools by their ids, however they were named. To be `lenient` is to take a tool that is gone for one that is not
    found, and not for a mistake."""
    view = View(PrincipalId(body.principal))
    checked_resolution(board, view)
    everyone = board.resolution(View())
    ids: list[str] = []
    for each in body.expected:
        try:
            ids.append(str(find_tool(board, each, everyone)))
        except ProblemError:
            if not lenient:
                raise
            ids.append(each)
    return SavedQuery(name, body.query, tuple(dict.fromkeys(ids)), view.principal, by=decision_author(), at=clock())


def _saved_query_info(query: SavedQuery) -> SavedQueryInfo:
    return {
        "name": query.name,
        "query": query.query,
        "expected": [*query.expected_tools],
        "principal": query.principal,
        "by": query.by,
        "at": iso_time(query.at),
    }


def _query_result_info(each: QueryEvaluation) -> QueryResultInfo:
    return {
        "name": each.query.name,
        "query": each.query.query,
        "principal": each.query.principal,
        "hit": each.is_hit,
        "expected": [
            {"id": id, "rank": rank, "reason": each.explanations.get(id, "")} for id, rank in each.ranks.items()
        ],
        "found": [*each.found_tools],
        "tokens": each.tokens,
    }


def _rates_info(found: SearchQuality) -> SearchRatesInfo:
    return {
        "firstRate": round(found.first_rank_rate, 4),
        "hitRate": round(found.hit_rate, 4),
        "recall": round(found.recall, 4),
        "reciprocalRank": round(found.mean_reciprocal_rank, 4),
    }


# The route that lays a search open: stacked scores, words that met nothing, what was locked and why, and the cost.


class SearchHitInfo(TypedDict):
    id: str
    name: str
    score: float
    scoreParts: dict[str, float]
    matchedWords: list[str]
    tokens: int


class LockedHitInfo(TypedDict):
    id: str
    state: ToolState
    status: str
    message: str
    remedy: str
    otherReasonCount: int


class QueryWordsInfo(TypedDict):
    searched: list[str]
    unmatched: list[str]
    ignored: list[str]


class SearchTokenCosts(TypedDict):
    top: int
    all: int
    toolCount: int


class SearchPlaygroundResponse(TypedDict):
    hits: list[SearchHitInfo]
    ranker: str
    queryWords: QueryWordsInfo
    matched: int
    locked: list[LockedHitInfo]
    lockedCount: int
    tokens: SearchTokenCosts
    policyVersion: int


def playground_routes(board: BoardState, tool_search: ToolSearch) -> APIRouter:
    routes = make_router("search")

    @routes.get("/search/playground")
    async def play_search(asked: Annotated[SearchQuery, Query()]) -> SearchPlaygroundResponse:
        """What `/tools/search` finds for the same parameters, each score with what it is piled up from: words by where
        they are, meaning, and the `base` that every tool has; together the score. Beside it the words that no tool
        has, the locked tools that fit and why they are locked, and the tokens of the best against those of all."""
        view = asked.view()
        checked_resolution(board, view)
        return _playground_response(await tool_search.explain_search(asked.retrieval(), view))

    return routes


def _playground_response(played: SearchEvaluation) -> SearchPlaygroundResponse:
    return {
        "hits": [
            {
                "id": str(hit.id),
                "name": hit.name,
                "score": hit.score,
                "scoreParts": dict(hit.score_parts),
                "matchedWords": [*hit.matched_words],
                "tokens": hit.tokens,
            }
            for hit in played.hits
        ],
        "ranker": played.ranker,
        "queryWords": {
            "searched": _texts(played.query_words.get("searched")),
            "unmatched": _texts(played.query_words.get("unmatched")),
            "ignored": _texts(played.query_words.get("ignored")),
        },
        "matched": played.match_count,
        "locked": [
            {
                "id": str(each.tool.id),
                "state": state_of(each),
                "status": each.status.value,
                "message": explain_reason(each.reason),
                "remedy": remedy(each.reason, Audience.OPERATOR),
                "otherReasonCount": len(each.other_reasons),
            }
            for each in played.locked_tools
        ],
        "lockedCount": played.locked_count,
        "tokens": {"top": played.tokens, "all": played.all_tokens, "toolCount": played.all_tools},
        "policyVersion": played.policy_version,
    }


def _texts(words: object) -> list[str]:
    return [str(word) for word in words] if isinstance(words, list) else []
