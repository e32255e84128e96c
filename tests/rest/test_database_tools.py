"""The tools over databases by the API: as whom one asks is who it is shown to."""

from typing import Any

import pytest
from tests.gateway.database.engines import ScriptedEngines, housing
from tests.gateway.database.test_callers import limited
from tests.rest.desk import desk_over

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("databases.limited_by_caller")
@pytest.mark.parametrize("tool", ["execute_sql", "search_schemas"])
async def test_a_tool_is_shown_as_over_those_databases_that_the_principal_may_ask(tool: str) -> None:
    async with housing(limited(), ScriptedEngines()) as house, desk_over(house) as desk:
        alice: Any = await desk.get("/tools/show", tool=tool, **{"as": "alice"})
        bob: Any = await desk.get("/tools/show", tool=tool, **{"as": "bob"})
        operator: Any = await desk.get("/tools/show", tool=tool)
    assert alice["inputSchema"]["properties"]["source"]["enum"] == ["shop"]
    assert "payroll" not in str(alice)
    assert "earn" not in str(alice)
    for shown in (bob, operator):
        assert shown["inputSchema"]["properties"]["source"]["enum"] == ["payroll", "shop"]
    assert alice["asOffered"] != bob["asOffered"]
