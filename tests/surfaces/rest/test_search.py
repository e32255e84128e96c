"""Searching by the API: the answer that agents get, for any view."""

import json
from typing import Any

import pytest
from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp_types import TextContent
from tests.surfaces.rest.desk import GITHUB, at_desk, problem

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.decision.status import LockStatus, status_remedy
from pegboard.core.model.ids import ToolId
from pegboard.core.model.text import Audience
from pegboard.surfaces.mcp.presentations.search import SearchPresentation
from pegboard.surfaces.mcp.server import GatewayMcpServer

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("search.by_every_road")
@pytest.mark.parametrize(
    "asked",
    [
        {"query": "read write jot"},
        {"query": "read write", "limit": 1},
        {"query": "write"},
        {"query": "read write", "include_disabled": True},
        {"query": "read", "read_only_only": True, "exclude_destructive": True, "exclude_open_world": True},
        {"query": "read", "detail": "full", "server": "dev~github", "toolset": "dev", "explain": True},
        {"query": "read", "server": "nowhere"},
        {"query": "no such thing"},
    ],
)
async def test_the_answer_is_the_one_that_an_agent_gets(asked: dict[str, Any]) -> None:
    async with at_desk() as desk:
        await desk.house.does(SetSwitch(ToolId(GITHUB, "write"), False))
        server = GatewayMcpServer(desk.house.gateway, presentation=SearchPresentation(desk.house.gateway)).server
        async with Client(InMemoryTransport(server)) as client:
            [content] = (await client.call_tool("retrieve_tools", asked)).content
        assert isinstance(content, TextContent)
        params = {name: str(value).lower() if isinstance(value, bool) else value for name, value in asked.items()}
        answer = json.loads(content.text)
        if "remediation" in answer:
            answer["remediation"] = {"disabled_by_user": status_remedy(LockStatus.DISABLED_BY_USER, Audience.OPERATOR)}
        assert await desk.get("/tools/search", **params) == answer


@pytest.mark.behaviour("semantic.status")
async def test_without_a_model_a_search_goes_by_words_alone_and_that_is_told() -> None:
    async with at_desk() as desk:
        assert await desk.get("/search") == {"ranker": "lexical", "semantic": None}


async def test_a_search_is_narrowed_like_any_other_request() -> None:
    async with at_desk() as desk:
        found = await desk.get("/tools/search", query="read jot", toolsets="docs")
        assert [tool["name"] for tool in found["tools"]] == ["jot"]
        refused = await desk.ask("GET", "/tools/search", params={"query": "x", "toolsets": "dosc"})
        assert problem(refused)[0] == 400
        assert refused.json()["errors"] == ["Unknown toolset 'dosc'. Did you mean 'docs'?"]
        blank = await desk.ask("GET", "/tools/search", params={"query": "   "})
        assert problem(blank) == (422, "query: this is blank; say in a few words what you want to do")


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"query": ""},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": 101},
        {"query": "x", "lim": 5},
        {"query": "x", "detail": "most"},
    ],
)
async def test_a_search_that_makes_no_sense_is_refused(asked: dict[str, Any]) -> None:
    async with at_desk() as desk:
        status, detail = problem(await desk.ask("GET", "/tools/search", params=asked))
        assert status == 422
        assert any(name in detail for name in ("query", "lim", "detail"))
