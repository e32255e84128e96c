"""Boards of hundreds of servers: what a list of them costs."""

from collections.abc import Mapping

import pytest
from tests.surfaces.rest.desk import at_desk

from pegboard.core.decision.resolve import Resolution
from pegboard.core.model.ids import SourceKey
from pegboard.core.presentations.search import tool_counts
from pegboard.surfaces.rest import schemas as shapes

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("rest.servers_at_once")
async def test_however_many_servers_are_listed_all_tools_are_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(resolution: Resolution) -> Mapping[SourceKey, Mapping[str, int]]:
        asked.append(len(resolution.verdicts))
        return tool_counts(resolution)

    async with at_desk() as desk:
        monkeypatch.setattr(shapes, "tool_counts", counted)
        body = await desk.get("/servers")
        assert {server["id"]: server["tools"]["callable"] for server in body["servers"]} == {
            "dev~github": 2,
            "docs~notes": 1,
        }
        assert len(asked) == 1
        assert (await desk.get("/servers/dev~github"))["tools"] == body["servers"][0]["tools"]
