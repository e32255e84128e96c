"""What a person decides about one tool by the API: its switch, and the approval of exactly what was read."""

import pytest
from tests.core.boards import tool
from tests.support.house import declared
from tests.support.sentences import rejection
from tests.surfaces.rest.desk import GITHUB, Desk, at_desk, problem

from pegboard.core.commands.commands import ApproveTool
from pegboard.core.model.ids import ToolId
from pegboard.core.model.server import Trust
from pegboard.core.model.tool import Fingerprint

pytestmark = pytest.mark.anyio

READ = ToolId(GITHUB, "read")
STRICT = declared(GITHUB, trust=Trust.STRICT)


async def status_of_read(desk: Desk) -> str:
    body = await desk.get("/tools/show", tool=str(READ))
    return str(body.get("status") or body["verdict"])


async def test_a_switch_locks_and_opens_one_tool_and_says_who_threw_it() -> None:
    async with at_desk() as desk:
        body = {"tool": "read", "enabled": False, "note": "too loud"}
        off = await desk.ask("POST", "/tools/switch", json=body)
        assert (off.status_code, off.json()["status"]) == (200, "disabled_by_user")
        assert "switched off by local" in off.json()["message"]
        assert "too loud" in off.json()["message"]
        on = await desk.ask("POST", "/tools/switch", json={"tool": str(READ), "enabled": True})
        assert (on.status_code, on.json()["verdict"]) == (200, "open")


@pytest.mark.behaviour("approvals.trust_strict", "approvals.name_the_fingerprint")
async def test_a_tool_of_a_strict_server_opens_when_what_was_read_is_approved() -> None:
    async with at_desk(STRICT) as desk:
        assert await status_of_read(desk) == "pending_approval"
        read = (await desk.get("/tools/show", tool=str(READ)))["fingerprint"]
        approved = await desk.ask("POST", "/tools/approve", json={"tool": str(READ), "fingerprint": read})
        assert (approved.status_code, approved.json()["verdict"]) == (200, "open")
        assert approved.json()["approval"]["by"] == "local"


@pytest.mark.behaviour("approvals.name_the_fingerprint")
async def test_a_tool_that_changed_while_it_was_read_is_not_approved() -> None:
    async with at_desk(STRICT) as desk:
        read = (await desk.get("/tools/show", tool=str(READ)))["fingerprint"]
        desk.house.provider(GITHUB).lists(tool(GITHUB, "read", description="Now it deletes."))
        await desk.house.until(lambda: desk.house.board.catalogue.tools[READ].spec.fingerprint != read)
        refused = await desk.ask("POST", "/tools/approve", json={"tool": str(READ), "fingerprint": read})
        now = desk.house.board.catalogue.tools[READ].spec
        assert problem(refused) == (409, rejection(desk.house.board.policy, ApproveTool(READ, now, Fingerprint(read))))
        assert await status_of_read(desk) == "pending_approval"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/tools/approve", {"tool": "read", "fingerprint": "abc"}, 422),
        ("/tools/approve", {"tool": "read"}, 422),
        ("/tools/approve", {"tool": "raed", "fingerprint": "0" * 64}, 404),
        ("/tools/switch", {"tool": "read", "enabled": "perhaps"}, 422),
        ("/tools/switch", {"tool": "raed", "enabled": True}, 404),
    ],
)
async def test_what_makes_no_sense_is_refused_in_words(path: str, body: dict[str, object], status: int) -> None:
    async with at_desk() as desk:
        assert problem(await desk.ask("POST", path, json=body))[0] == status
