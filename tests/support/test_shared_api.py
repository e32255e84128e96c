"""The REST application that tests share knows one gateway at a time and nothing of the one before."""

import pytest
from tests.support.doubles import Providers
from tests.support.house import declared, opened
from tests.support.shared_api import shared_rest_app
from tests.support.sign_ins import ScriptedSignIns
from tests.surfaces.rest.desk import ABOUT, GITHUB, NOTES, TOKEN, TOOLS, at_desk

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import ToolId
from pegboard.gateway.access.tokens import hash_token

pytestmark = pytest.mark.anyio


async def test_gateways_that_are_open_at_once_are_answered_for_apart() -> None:
    async with at_desk() as first, at_desk(declared(NOTES)) as second, at_desk(declared(GITHUB)) as third:
        counts = [(await desk.get("/status"))["servers"] for desk in (first, second, third, first)]
    assert counts == [2, 1, 1, 2]


async def test_the_next_gateway_has_the_same_application_and_nothing_of_the_one_before() -> None:
    async with at_desk(declared(NOTES)) as desk:
        await desk.house.does(SetSwitch(ToolId(NOTES, "jot"), False))
        before = await desk.get("/status")
    async with at_desk() as desk:
        after = await desk.get("/status")
    assert (before["servers"], before["policyVersion"]) == (1, 1)
    assert (after["servers"], after["policyVersion"]) == (2, 0)
    async with opened(declared(NOTES), Providers(TOOLS)) as house:
        arguments = (house.gateway, ABOUT, hash_token(TOKEN), ScriptedSignIns)
        with shared_rest_app(*arguments) as one:
            pass
        with shared_rest_app(*arguments) as two, shared_rest_app(*arguments) as three:
            assert one is two
            assert two is not three
