"""The route for searching tools: the answer that agents get from `retrieve_tools`, for any view."""

from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired, cast

from fastapi import APIRouter, Query
from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from pegboard.core.presentations.search import MAX_PLACE_CHARS
from pegboard.core.retrieval import (
    BLANK_QUERY_TEXT,
    DEFAULT_RESULTS,
    MAX_QUERY_CHARS,
    MAX_RESULTS,
    AnswerDetail,
    ToolSearchQuery,
)
from pegboard.gateway.gateway import Gateway

from .answers import make_router
from .bodies import ViewQuery
from .shapes import FreeObject
from .tools import checked_resolution


def check_not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError(BLANK_QUERY_TEXT)
    return text


class SemanticSearchInfo(TypedDict):
    model: str
    remote: bool
    tools: int
    vectors: int
    kept: int
    trouble: str | None


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
        )


def search_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("tools")

    @routes.get("/tools/search")
    async def search_tools(asked: Annotated[SearchQuery, Query()]) -> SearchToolsResponse:
        """The tools that fit a query, callable ones first; with `include_disabled` also those that are locked."""
        view = asked.view()
        checked_resolution(gateway, view)
        return cast(SearchToolsResponse, await gateway.search.retrieve(asked.retrieval(), view))

    @routes.get("/search")
    async def show_search() -> SearchStatusResponse:
        """Which ranker answers a search of the whole board, how many tools are read for it, and what is missing."""
        meanings = gateway.embeddings
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
                "kept": await meanings.store.count(),
                "trouble": state.problem,
            },
        }

    return routes
