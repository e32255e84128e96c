"""A person's yes to a call with one caller's credentials for a server is none to the same call with another's."""

from pathlib import Path

import pytest
from tests.docspace.boards import housed, listening, text_of
from tests.providers.mcp.test_per_caller import OWN, owners
from tests.surfaces.mcp.places import MODES, http_client

from pegboard.bootstrap.application import Application
from pegboard.core.calls.tickets import ConsentScope, Ticket
from pegboard.core.model.ids import LOCAL_PRINCIPAL

pytestmark = pytest.mark.anyio
WAITS = "confirmation_required: "
ASKS = {"diary": {"mcp:diary~diary:whose": {"requires_confirmation": True}}}


async def called(url: str, name: str, mode: str, tool: str = "whose", **arguments: object) -> str:
    async with http_client(url, {"X-Owner-Token": f"token-of-{name}"}, mode=mode) as client:
        await client.list_tools()
        return text_of(await client.call_tool(tool, arguments))


async def allowed(house: Application, scope: ConsentScope) -> Ticket:
    [ticket] = await house.gateway.tickets.pending_tickets()
    decided = await house.gateway.tickets.allow(ticket.id, scope, LOCAL_PRINCIPAL)
    assert isinstance(decided, Ticket)
    return decided


@pytest.mark.behaviour("per_caller.confirmed_for_one")
@pytest.mark.parametrize("mode", MODES)
async def test_a_yes_is_used_by_nobody_with_another_callers_credentials(mode: str, tmp_path: Path) -> None:
    async with owners("--open") as upstream:
        servers = {"diary": {"url": upstream, "headers": OWN, "trust": "open"}}
        async with housed(tmp_path, None, servers=servers, overrides=ASKS) as house, listening(house) as url:
            assert (await called(url, "alice", mode)).startswith(WAITS)
            once = await allowed(house, ConsentScope.ONCE)
            assert once.identity is not None
            assert once.identity.description == "diary~diary with the X-Owner-Token of the caller"
            assert "other credentials" in await called(url, "bob", mode, "pegboard_ticket", ticket=once.id, wait=0)
            assert (await called(url, "bob", mode)).startswith(WAITS)
            assert await called(url, "alice", mode) == "alice"

            await allowed(house, ConsentScope.ALWAYS)
            assert [await called(url, "bob", mode) for _ in range(2)] == ["bob"] * 2
            assert (await called(url, "alice", mode)).startswith(WAITS)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert b"X-Owner-Token of the caller" in kept
    assert b"token-of-" not in kept
