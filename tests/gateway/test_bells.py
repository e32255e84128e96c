"""Bells: whoever shows a noun hears that it changed, once a burst, and nothing of what it changed to."""

from dataclasses import replace

import anyio
import pytest
from tests.core.boards import GITHUB, ME, NOW, tool
from tests.support.doubles import Providers
from tests.support.house import PATIENCE, House, call_of, declared, opened

from pegboard.core.commands.commands import SetGrants, SetSwitch, SetTrust
from pegboard.core.model.catalogue import ProviderDown
from pegboard.core.model.selection import View
from pegboard.core.model.server import Trust
from pegboard.core.policy.policy import Switch, Switchable
from pegboard.gateway.board import Notice
from pegboard.gateway.change_feed import Topic, TopicSubscription

pytestmark = pytest.mark.anyio

OF_TOOLS = {Topic.BOARD, Topic.SERVERS, Topic.TOOLSETS, Topic.APPROVALS}
READ = tool(GITHUB, "read")


async def rung(hearing: TopicSubscription, wanted: set[Topic]) -> None:
    """Until all of these were heard."""
    heard: set[Topic] = set()
    with anyio.fail_after(PATIENCE):
        while not heard >= wanted:
            heard.update(await hearing.wait())
    assert heard == wanted


async def test_strokes_between_two_waits_are_one_and_come_in_one_order() -> None:
    hearing = TopicSubscription()
    hearing.notify((Topic.TICKETS, Topic.BOARD))
    hearing.notify((Topic.BOARD,))
    assert await hearing.wait() == (Topic.BOARD, Topic.TICKETS)
    hearing.notify((Topic.TOKENS,))
    hearing.end()
    assert await hearing.wait() == (Topic.TOKENS,), "what was rung before the end is still told"
    assert await hearing.wait() == ()


@pytest.mark.behaviour("rest.events")
async def test_a_decision_rings_for_all_that_shows_it() -> None:
    async with opened(declared(GITHUB), Providers({GITHUB: (READ,)})) as house:
        with house.gateway.changes.subscribe() as hearing:
            await house.does(SetSwitch(READ.id, False, ""))
            await rung(hearing, {Topic.POLICY, *OF_TOOLS})
            await house.does(SetTrust(GITHUB, Trust.STRICT))
            await rung(hearing, {Topic.POLICY, Topic.SETTINGS, *OF_TOOLS})
            await house.does(SetGrants(ME, frozenset({GITHUB.toolset})))
            await rung(hearing, {Topic.POLICY, Topic.SETTINGS, Topic.TOKENS, *OF_TOOLS})


@pytest.mark.behaviour("rest.events")
async def test_what_another_process_decides_rings_too() -> None:
    async with opened(declared(GITHUB), Providers({GITHUB: (READ,)})) as house:
        with house.gateway.changes.subscribe() as hearing:
            was = house.store.decided
            switches: dict[Switchable, Switch] = {READ.id: Switch(False, ME, NOW)}
            house.store.decide_elsewhere(replace(was, version=was.version + 1, switches=switches))
            await rung(hearing, {Topic.POLICY, *OF_TOOLS})


async def test_a_server_that_goes_down_and_a_notice_ring() -> None:
    async with opened(declared(GITHUB), Providers({GITHUB: (READ,)})) as house:
        with house.gateway.changes.subscribe() as hearing:
            house.provider(GITHUB).becomes(ProviderDown(NOW, "it left"))
            await rung(hearing, OF_TOOLS)
            house.board.add_notice(Notice("store", "It is away.", NOW))
            await rung(hearing, {Topic.BOARD, Topic.SERVERS})


@pytest.mark.behaviour("rest.events")
async def test_a_call_rings_for_the_activity() -> None:
    async with opened(declared(GITHUB), Providers({GITHUB: (READ,)})) as house:
        with house.gateway.changes.subscribe() as hearing:
            await followed(house)
            await house.gateway.caller.call(call_of("read"), View())
            await rung(hearing, {Topic.ACTIVITY})


async def followed(house: House) -> None:
    """Until the record of what happened is followed: what came before anyone listened is no news."""
    with anyio.fail_after(PATIENCE):
        while not house.audit.asked:
            await anyio.lowlevel.checkpoint()


@pytest.mark.behaviour("rest.events")
async def test_the_end_of_the_gateway_is_the_end_of_listening() -> None:
    async with opened(declared(GITHUB), Providers({GITHUB: (READ,)})) as house:
        with house.gateway.changes.subscribe() as hearing, house.gateway.changes.subscribe() as other:
            house.board.close()
            with anyio.fail_after(PATIENCE):
                assert await hearing.wait() == await other.wait() == ()
        with house.gateway.changes.subscribe() as late:
            assert late.is_over
