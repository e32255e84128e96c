"""Bells: whoever shows a noun hears that it changed, once a burst, and nothing of what it changed to."""

from dataclasses import replace

import anyio
import pytest
from tests.core.boards import GITHUB, ME, NOW, tool
from tests.support.doubles import Providers
from tests.support.house import PATIENCE, House, call_of, declared, opened

from pegboard.core.catalogue import Down
from pegboard.core.commands import Grant, SetTrust, ThrowSwitch
from pegboard.core.policy import Switch, Switchable
from pegboard.core.server import Trust
from pegboard.core.view import View
from pegboard.gateway.bells import Hearing, Noun
from pegboard.gateway.board import Notice

pytestmark = pytest.mark.anyio

OF_TOOLS = {Noun.BOARD, Noun.SERVERS, Noun.TOOLSETS, Noun.APPROVALS}
READ = tool(GITHUB, "read")


async def rung(hearing: Hearing, wanted: set[Noun]) -> None:
    """Until all of these were heard."""
    heard: set[Noun] = set()
    with anyio.fail_after(PATIENCE):
        while not heard >= wanted:
            heard.update(await hearing.wait())
    assert heard == wanted


async def test_strokes_between_two_waits_are_one_and_come_in_one_order() -> None:
    hearing = Hearing()
    hearing.ring((Noun.TICKETS, Noun.BOARD))
    hearing.ring((Noun.BOARD,))
    assert await hearing.wait() == (Noun.BOARD, Noun.TICKETS)
    hearing.ring((Noun.TOKENS,))
    hearing.end()
    assert await hearing.wait() == (Noun.TOKENS,), "what was rung before the end is still told"
    assert await hearing.wait() == ()


@pytest.mark.behaviour("rest.events")
async def test_a_decision_rings_for_all_that_shows_it() -> None:
    async with opened(declared(GITHUB), Providers({GITHUB: (READ,)})) as house:
        with house.gateway.bells.listen() as hearing:
            await house.does(ThrowSwitch(READ.id, False, ""))
            await rung(hearing, {Noun.POLICY, *OF_TOOLS})
            await house.does(SetTrust(GITHUB, Trust.STRICT))
            await rung(hearing, {Noun.POLICY, Noun.SETTINGS, *OF_TOOLS})
            await house.does(Grant(ME, frozenset({GITHUB.toolset})))
            await rung(hearing, {Noun.POLICY, Noun.SETTINGS, Noun.TOKENS, *OF_TOOLS})


@pytest.mark.behaviour("rest.events")
async def test_what_another_process_decides_rings_too() -> None:
    async with opened(declared(GITHUB), Providers({GITHUB: (READ,)})) as house:
        with house.gateway.bells.listen() as hearing:
            was = house.store.decided
            switches: dict[Switchable, Switch] = {READ.id: Switch(False, ME, NOW)}
            house.store.decide_elsewhere(replace(was, version=was.version + 1, switches=switches))
            await rung(hearing, {Noun.POLICY, *OF_TOOLS})


async def test_a_server_that_goes_down_and_a_notice_ring() -> None:
    async with opened(declared(GITHUB), Providers({GITHUB: (READ,)})) as house:
        with house.gateway.bells.listen() as hearing:
            house.provider(GITHUB).becomes(Down(NOW, "it left"))
            await rung(hearing, OF_TOOLS)
            house.board.notice(Notice("store", "It is away.", NOW))
            await rung(hearing, {Noun.BOARD, Noun.SERVERS})


@pytest.mark.behaviour("rest.events")
async def test_a_call_rings_for_the_activity() -> None:
    async with opened(declared(GITHUB), Providers({GITHUB: (READ,)})) as house:
        with house.gateway.bells.listen() as hearing:
            await followed(house)
            await house.gateway.caller.call(call_of("read"), View())
            await rung(hearing, {Noun.ACTIVITY})


async def followed(house: House) -> None:
    """Until the record of what happened is followed: what came before anyone listened is no news."""
    with anyio.fail_after(PATIENCE):
        while not house.audit.asked:
            await anyio.lowlevel.checkpoint()


@pytest.mark.behaviour("rest.events")
async def test_the_end_of_the_gateway_is_the_end_of_listening() -> None:
    async with opened(declared(GITHUB), Providers({GITHUB: (READ,)})) as house:
        with house.gateway.bells.listen() as hearing, house.gateway.bells.listen() as other:
            house.board.close()
            with anyio.fail_after(PATIENCE):
                assert await hearing.wait() == await other.wait() == ()
        with house.gateway.bells.listen() as late:
            assert late.is_over
