"""The tools over databases by the API: as whom one asks is who it is shown to."""

from typing import Any

import httpx2
import pytest
from tests.gateway.database.engines import ScriptedEngines, housing
from tests.gateway.database.test_callers import limited
from tests.rest.desk import ABOUT, TOKEN, Desk
from tests.support.sign_ins import ScriptedSignIns

from pegboard.surfaces.rest.access import hashed
from pegboard.surfaces.rest.app import rest_app

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("databases.limited_by_caller")
@pytest.mark.parametrize("tool", ["execute_sql", "search_schemas"])
async def test_a_tool_is_shown_as_over_those_databases_that_the_principal_may_ask(tool: str) -> None:
    async with housing(limited(), ScriptedEngines()) as house:
        app = rest_app(house.gateway, ABOUT, hashed(TOKEN), ScriptedSignIns)
        headers = {"authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1", headers=headers
        ) as client:
            desk = Desk(house, client)
            alice: Any = await desk.get("/tools/show", tool=tool, **{"as": "alice"})
            bob: Any = await desk.get("/tools/show", tool=tool, **{"as": "bob"})
            operator: Any = await desk.get("/tools/show", tool=tool)
    assert alice["inputSchema"]["properties"]["source"]["enum"] == ["shop"]
    assert "payroll" not in str(alice)
    assert "earn" not in str(alice)
    for shown in (bob, operator):
        assert shown["inputSchema"]["properties"]["source"]["enum"] == ["payroll", "shop"]
    assert alice["asOffered"] != bob["asOffered"]
