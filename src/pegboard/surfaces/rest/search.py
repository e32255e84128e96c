"""The route for searching tools: the answer that agents get from `retrieve_tools`, for any view."""

from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired, cast

from fastapi import APIRouter, Query
from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from pegboard.core.presentations.search import LONGEST_PLACE
from pegboard.core.retrieval import BLANK, FEW, LONGEST_QUERY, MOST, Detail, Retrieval
from pegboard.gateway.gateway import Gateway

from .answers import routes_about
from .bodies import ViewQuery
from .shapes import Told
from .tools import resolution_of


def not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError(BLANK)
    return text


class SemanticShape(TypedDict):
    model: str
    remote: bool
    tools: int
    vectors: int
    kept: int
    trouble: str | None


class SearchShape(TypedDict):
    ranker: Literal["lexical", "hybrid"]
    semantic: SemanticShape | None


class FoundShape(TypedDict):
    """What `retrieve_tools` answers, key by key: agents read the same."""

    tools: list[Told]
    ranker: str
    notice: NotRequired[str]
    disabled: NotRequired[list[Told]]
    remediation: NotRequired[Mapping[str, str]]
    explanation: NotRequired[Told]
    filter_diagnostics: NotRequired[Told]


class SearchQuery(ViewQuery):
    query: Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY), AfterValidator(not_blank)]
    limit: Annotated[int, Field(ge=1, le=MOST)] = FEW
    include_disabled: bool = False
    read_only_only: bool = False
    exclude_destructive: bool = False
    exclude_open_world: bool = False
    server: Annotated[str, Field(max_length=LONGEST_PLACE)] = ""
    toolset: Annotated[str, Field(max_length=LONGEST_PLACE)] = ""
    explain: bool = False
    detail: Detail = Detail.COMPACT

    def retrieval(self) -> Retrieval:
        return Retrieval(
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
    routes = routes_about("tools")

    @routes.get("/tools/search")
    async def search_tools(asked: Annotated[SearchQuery, Query()]) -> FoundShape:
        """The tools that fit a query, callable ones first; with `include_disabled` also those that are locked."""
        view = asked.view()
        resolution_of(gateway, view)
        return cast(FoundShape, await gateway.finder.retrieve(asked.retrieval(), view))

    @routes.get("/search")
    async def show_search() -> SearchShape:
        """Which ranker answers a search of the whole board, how many tools are read for it, and what is missing."""
        meanings = gateway.meanings
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
                "kept": await meanings.kept.count(),
                "trouble": state.trouble,
            },
        }

    return routes
