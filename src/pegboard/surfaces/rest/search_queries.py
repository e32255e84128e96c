"""Routes for queries that are kept with the tools that they should find, and for how well a search does by them."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from pegboard.core.evaluation import MOST_EXPECTED, MOST_QUERIES, Judged, Rates, SavedQuery, rates
from pegboard.core.ids import PrincipalId
from pegboard.core.reference import closest
from pegboard.core.retrieval import FEW, LONGEST_QUERY, MOST
from pegboard.core.scope import Scope
from pegboard.core.view import View
from pegboard.gateway.bells import Noun
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.queries import judged

from .access import needs, whoever
from .answers import routes_about
from .bodies import Name
from .problems import Problem
from .search import not_blank
from .shapes import moment
from .tools import resolution_of, tool_named

Label = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^/\x00-\x1f]+$")]


class QueryBody(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    query: Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY), AfterValidator(not_blank)]
    expected: Annotated[list[Name], Field(min_length=1, max_length=MOST_EXPECTED)]
    principal: Name = Field(default="local", alias="as")


class NamedBody(QueryBody):
    name: Annotated[str, Field(max_length=100)] = ""


class RunBody(BaseModel):
    """`queries` are run as they stand here; without them the saved ones, or those of them that are named."""

    model_config = ConfigDict(extra="forbid")

    names: Annotated[list[Label] | None, Field(max_length=MOST_QUERIES)] = None
    queries: Annotated[list[NamedBody] | None, Field(max_length=MOST_QUERIES)] = None
    limit: Annotated[int, Field(ge=1, le=MOST)] = FEW


class SavedQueryShape(TypedDict):
    name: str
    query: str
    expected: list[str]
    principal: str
    by: str
    at: str | None


class SavedQueries(TypedDict):
    queries: list[SavedQueryShape]
    next: str | None


class Forgotten(TypedDict):
    forgot: str


class ExpectedTool(TypedDict):
    id: str
    rank: int | None
    why: str


class JudgedQuery(TypedDict):
    name: str
    query: str
    principal: str
    hit: bool
    expected: list[ExpectedTool]
    found: list[str]
    tokens: int


class RatesShape(TypedDict):
    first: float
    hits: float
    recall: float
    reciprocalRank: float


class Evaluation(TypedDict):
    queries: list[JudgedQuery]
    rates: RatesShape
    limit: int
    policyVersion: int


class QueriesQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: Annotated[int, Field(ge=1, le=MOST_QUERIES)] = 100
    after: Annotated[str, Field(max_length=100)] = ""


def search_query_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("search")

    @routes.get("/search/queries")
    async def list_queries(asked: Annotated[QueriesQuery, Query()]) -> SavedQueries:
        """The saved ones, by name. `next` is what to send as `after`."""
        kept = [each for each in await gateway.queries.all() if each.name > asked.after]
        page = kept[: asked.limit]
        return {"queries": [*map(_saved_shape, page)], "next": page[-1].name if len(kept) > len(page) else None}

    @routes.put("/search/queries/{name}")
    async def save_query(name: Label, body: QueryBody) -> SavedQueryShape:
        """Keep a query with the tools that it should find, in place of one of the same name."""
        query = _query(gateway, name, body)
        if not await gateway.queries.keep(query):
            told = f"{MOST_QUERIES} queries are saved already, and no more may be. Remove one first."
            raise Problem(HTTPStatus.CONFLICT, told)
        gateway.bells.ring(Noun.SEARCH)
        return _saved_shape(query)

    @routes.delete("/search/queries/{name}")
    async def forget_query(name: Label) -> Forgotten:
        """Remove a saved query."""
        if not await gateway.queries.forget(name):
            raise Problem(HTTPStatus.NOT_FOUND, await _unknown(gateway, name))
        gateway.bells.ring(Noun.SEARCH)
        return {"forgot": name}

    @routes.post("/search/queries/run")
    @needs(Scope.READ)
    async def run_queries(body: RunBody) -> Evaluation:
        """What queries find now: where each expected tool stands among the best, why one that is not there could not
        be found, and the rates over all of them. Nothing is called and nothing is saved."""
        found = await judged(gateway.finder, gateway.board, await _chosen(gateway, body), body.limit)
        return {
            "queries": [*map(_judged_shape, found)],
            "rates": _rates_shape(rates(found)),
            "limit": body.limit,
            "policyVersion": gateway.board.policy.version,
        }

    return routes


async def _chosen(gateway: Gateway, body: RunBody) -> list[SavedQuery]:
    if body.queries is not None:
        if body.names is not None:
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "Send names of saved queries or queries, not both.")
        return [_query(gateway, each.name or each.query[:100], each, lenient=True) for each in body.queries]
    saved = {each.name: each for each in await gateway.queries.all()}
    for name in body.names or ():
        if name not in saved:
            raise Problem(HTTPStatus.NOT_FOUND, await _unknown(gateway, name))
    return [*saved.values()] if body.names is None else [saved[name] for name in dict.fromkeys(body.names)]


async def _unknown(gateway: Gateway, name: str) -> str:
    near = closest(name, [each.name for each in await gateway.queries.all()])
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return f"There is no saved query {name[:100]!r}.{meant} See: GET /api/v1/search/queries"


def _query(gateway: Gateway, name: str, body: QueryBody, *, lenient: bool = False) -> SavedQuery:
    """Tools by their ids, however they were named. To be `lenient` is to take a tool that is gone for one that is not
    found, and not for a mistake."""
    view = View(PrincipalId(body.principal))
    resolution_of(gateway, view)
    everyone = gateway.board.resolution(View())
    ids: list[str] = []
    for each in body.expected:
        try:
            ids.append(str(tool_named(gateway, each, everyone)))
        except Problem:
            if not lenient:
                raise
            ids.append(each)
    return SavedQuery(name, body.query, tuple(dict.fromkeys(ids)), view.principal, by=whoever(), at=gateway.clock())


def _saved_shape(query: SavedQuery) -> SavedQueryShape:
    return {
        "name": query.name,
        "query": query.query,
        "expected": [*query.expected],
        "principal": query.principal,
        "by": query.by,
        "at": moment(query.at),
    }


def _judged_shape(each: Judged) -> JudgedQuery:
    return {
        "name": each.query.name,
        "query": each.query.query,
        "principal": each.query.principal,
        "hit": each.is_hit,
        "expected": [{"id": id, "rank": rank, "why": each.whys.get(id, "")} for id, rank in each.ranks.items()],
        "found": [*each.found],
        "tokens": each.tokens,
    }


def _rates_shape(found: Rates) -> RatesShape:
    return {
        "first": round(found.first, 4),
        "hits": round(found.hits, 4),
        "recall": round(found.recall, 4),
        "reciprocalRank": round(found.reciprocal, 4),
    }
