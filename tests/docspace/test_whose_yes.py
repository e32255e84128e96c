"""A person's yes to a call in one DocSpace with one credential is none to the same call in another name."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.docspace.boards import housed, listening, said_of, text_of, titles
from tests.docspace.stand_in import ADA_KEY, BOB_KEY, StandIn, stand_in
from tests.surfaces.mcp.places import MODES, http_client

from pegboard.bootstrap.application import Application
from pegboard.core.calls.tickets import ConsentScope, Ticket, TicketState
from pegboard.core.model.ids import LOCAL_PRINCIPAL

pytestmark = pytest.mark.anyio
ADAS = ["Ada's forms", "Ada's team", "Ada's public room"]
BOBS = ["Bob's forms", "Bob's team", "Bob's public room"]
ROOMS = {"filters": {"fields": ["folders.title"]}}
ASKS = {"rooms": {"rooms:get_rooms_folder": {"requires_confirmation": True}}}
WAITS = "confirmation_required: "


def key(docspace: StandIn, value: str) -> dict[str, str]:
    return {"X-Mcp-Base-Url": docspace.url, "X-Mcp-Api-Key": value}


async def called(url: str, headers: Mapping[str, str], mode: str) -> list[str] | str:
    """The rooms that were told, or why there are none."""
    async with http_client(url, headers, mode=mode) as client:
        answer = await client.call_tool("get_rooms_folder", ROOMS)
    return text_of(answer) if answer.is_error else titles(answer)


async def fetched(url: str, headers: Mapping[str, str], ticket: Ticket, mode: str) -> list[str] | str:
    async with http_client(url, headers, mode=mode) as client:
        answer = await client.call_tool("pegboard_ticket", {"ticket": ticket.id, "wait": 0})
    return text_of(answer) if answer.is_error else titles(answer)


async def waiting(house: Application) -> Ticket:
    [ticket] = await house.gateway.tickets.pending_tickets()
    return ticket


async def allowed(house: Application, scope: ConsentScope) -> Ticket:
    ticket = await waiting(house)
    decided = await house.gateway.tickets.allow(ticket.id, scope, LOCAL_PRINCIPAL)
    assert isinstance(decided, Ticket)
    return decided


@pytest.mark.behaviour("docspace.confirmed_for_one")
@pytest.mark.parametrize("mode", MODES)
async def test_a_yes_is_used_by_nobody_with_other_credentials_or_at_another_docspace(mode: str, tmp_path: Path) -> None:
    async with stand_in() as docspace, stand_in() as other:
        said = said_of(docspace, request_credentials=True)
        async with housed(tmp_path, said, overrides=ASKS) as house, listening(house) as url:
            bob = key(docspace, BOB_KEY)
            assert str(await called(url, bob, mode)).startswith(WAITS)
            ticket = await allowed(house, ConsentScope.ONCE)
            assert ticket.identity is not None
            assert ticket.identity.description == f"{docspace.url} with the caller's own API key"
            for others in ({}, key(docspace, ADA_KEY), key(other, BOB_KEY)):
                told = await fetched(url, others, ticket, mode)
                assert isinstance(told, str)
                assert "other credentials" in told
                assert str(await called(url, others, mode)).startswith(WAITS)
            whose = [
                each.identity.description
                for each in await house.gateway.tickets.pending_tickets()
                if each.identity is not None
            ]
            assert sorted(whose) == sorted(
                # Ada with her own key is whom the gateway speaks for.
                (f"{docspace.url} with the gateway's own API key", f"{other.url} with the caller's own API key")
            )
            assert (docspace.seen, other.seen) == ([], [])
            assert await called(url, bob, mode) == BOBS
            used = await house.gateway.tickets.find(ticket.id)
            assert used is not None
            assert used.state is TicketState.DONE


@pytest.mark.behaviour("docspace.confirmed_for_one")
async def test_a_ticket_is_fetched_with_the_credentials_it_was_asked_with(tmp_path: Path) -> None:
    async with stand_in() as docspace:
        said = said_of(docspace, request_credentials=True)
        async with housed(tmp_path, said, overrides=ASKS) as house, listening(house) as url:
            bob = key(docspace, BOB_KEY)
            await called(url, bob, MODES[0])
            ticket = await allowed(house, ConsentScope.ONCE)
            assert await fetched(url, bob, ticket, MODES[0]) == BOBS


@pytest.mark.behaviour("docspace.confirmed_for_one")
async def test_a_remembered_yes_is_for_the_same_credentials_alone(tmp_path: Path) -> None:
    async with stand_in() as docspace:
        said = said_of(docspace, request_credentials=True)
        async with housed(tmp_path, said, overrides=ASKS) as house, listening(house) as url:
            assert str(await called(url, {}, MODES[0])).startswith(WAITS)
            await allowed(house, ConsentScope.ALWAYS)
            assert [await called(url, {}, MODES[0]) for _ in range(3)] == [ADAS] * 3
            assert str(await called(url, key(docspace, BOB_KEY), MODES[0])).startswith(WAITS)
            await allowed(house, ConsentScope.ALWAYS)
            assert [await called(url, key(docspace, BOB_KEY), MODES[0]) for _ in range(3)] == [BOBS] * 3
            assert await called(url, {}, MODES[0]) == ADAS
            told = [str(each) for each in house.gateway.board.policy.decisions.consents.values()]
            assert [f"{docspace.url} with the" in each for each in told] == [True, True]
    kept = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert b"caller's own API key" in kept
    assert BOB_KEY.encode() not in kept
