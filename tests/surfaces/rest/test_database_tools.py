"""The tools over databases by the API: as whom one asks is who it is shown to."""

from typing import Any

import pytest
from tests.gateway.databases.engines import ScriptedEngines, ScriptedLogin, database, declaring, housing
from tests.gateway.databases.test_callers import limited
from tests.surfaces.rest.desk import Desk, desk_over

from pegboard.core.databases.rows import DatabaseCheck, DatabaseFinding, FindingSeverity
from pegboard.ports.databases import RoleScript

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


async def desk_post(desk: Desk, path: str, body: dict[str, object], status: int = 200) -> Any:
    answer = await desk.ask("POST", path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.mark.behaviour("databases.role_script")
async def test_the_statements_of_a_login_are_shown_and_applied_as_an_administrator() -> None:
    script = RoleScript("reader", ("CREATE ROLE reader LOGIN PASSWORD '…'", "GRANT SELECT ON orders TO reader"))
    login, admin = ScriptedLogin(script), "postgresql://admin:secret@127.0.0.1/shop"
    engines = ScriptedEngines(login=login)
    async with housing(declaring(database("shop")), engines) as house, desk_over(house) as desk:
        shown: Any = await desk_post(desk, "/databases/shop/role", {})
        assert login.applied_as == []
        applied: Any = await desk_post(desk, "/databases/shop/role", {"adminUrl": admin, "apply": True})
        activity = str(await desk.get("/activity"))
        without_admin = await desk_post(desk, "/databases/shop/role", {"apply": True}, status=422)
        misspelled = await desk_post(desk, "/databases/shpo/role", {}, status=404)
        login.outage = "PostgreSQL at 127.0.0.1/shop does not answer."
        outage = await desk_post(desk, "/databases/shop/role", {}, status=503)
        login.outage = login.script = None
        a_file = await desk_post(desk, "/databases/shop/role", {}, status=409)
    assert shown["statements"] == ["CREATE ROLE reader LOGIN PASSWORD '…'", "GRANT SELECT ON orders TO reader"]
    assert (shown["role"], shown["applied"], applied["applied"]) == ("reader", False, True)
    assert login.applied_as == [admin]
    assert "secret" not in activity
    assert "Did you mean 'shop'?" in misspelled["detail"]
    assert "name an administrator" in without_admin["detail"]
    assert "does not answer" in outage["detail"]
    assert "is a file and has no logins" in a_file["detail"]


@pytest.mark.behaviour("databases.excess_privileges_refused")
async def test_an_operator_sees_what_a_login_may_do_too_much_and_the_statements_that_fix_it() -> None:
    excess = DatabaseFinding(
        "'reader' can read shop.staff.", FindingSeverity.REFUSED, ("REVOKE SELECT ON staff FROM reader",)
    )
    engines = ScriptedEngines(checked=DatabaseCheck("PostgreSQL 18", "reader", (excess,)))
    async with housing(declaring(database("shop", force=True)), engines) as house, desk_over(house) as desk:
        checked: Any = await desk.get("/databases/check")
        doctor: Any = await desk.get("/doctor")
    (shop,) = checked["databases"]
    assert shop["served"] is False
    assert shop["findings"] == [
        {
            "message": "'reader' can read shop.staff.",
            "severity": "refused",
            "statements": ["REVOKE SELECT ON staff FROM reader"],
        }
    ]
    assert "Run the statements of: pegboard db role shop" in str(doctor)
