"""A ticket goes with the tool that it is for."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.boards import ME
from tests.gateway.asking import asking, deletes, ticket_of

from pegboard.core.calls.tickets import ConsentScope, TicketState
from pegboard.core.model.rejection import CommandRejection

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("toolsets.no_ghost_tickets")
async def test_a_ticket_whose_server_was_removed_waits_for_nobody(tmp_path: Path) -> None:
    async with asking(tmp_path) as house:
        id = ticket_of(await deletes(house))
        desk = house.gateway.tickets
        assert await desk.count() == 1
        board = house.gateway.board
        board.set_policy(replace(board.policy, declared=replace(board.policy.declared, servers={})))
        assert (await desk.pending_tickets(), await desk.count()) == ([], 0)
        assert [ticket.state for ticket in await desk.latest_tickets()] == [TicketState.EXPIRED]
        found = await desk.find(id)
        assert found is not None
        assert found.state is TicketState.EXPIRED
        assert await desk.allow(id, ConsentScope.ONCE, ME) == CommandRejection(
            f"Ticket {id} is for mcp:dev~github:delete, which is not on the board any more: dev~github was removed. "
            "There is nothing to decide."
        )
