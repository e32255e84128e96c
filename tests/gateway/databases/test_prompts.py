"""What a model is told of databases: the two built-ins while one is on, the filter lets them, and a person has not
switched them off."""

from dataclasses import replace

import pytest
from tests.gateway.databases.engines import ScriptedEngines, database, declaring, housing
from tests.support.house import House

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.model.ids import BuiltinKey, ToolId
from pegboard.core.model.patterns import NO_FILTER, LaunchFilter, parse_launch_filter
from pegboard.core.model.selection import View
from pegboard.prompts.model import Model

pytestmark = pytest.mark.anyio

NATIVE = Model(3, name="m", tool_calling=True)
BOTH = ("search_schemas", "execute_sql")


async def told(house: House, launch: LaunchFilter = NO_FILTER) -> dict[str, str]:
    made = await house.gateway.prompts.prompt(View(), NATIVE, "", launch=launch)
    shown = {each.shape.name for each in made.prompt.offered_tools}
    rulings = {each.subject: each for each in made.prompt.capabilities.builtin_decisions if each.subject in BOTH}
    assert {name for name, each in rulings.items() if each.availability.value == "in"} == shown & {*BOTH}
    return {name: each.why for name, each in rulings.items()}


@pytest.mark.behaviour("builtins.search_schemas_included", "builtins.execute_sql_included")
async def test_both_are_in_while_a_database_is_on_and_out_with_the_reason_otherwise() -> None:
    shop = database("shop")
    async with housing(declaring(shop), ScriptedEngines()) as house:
        on = "it is switched on, and a database source is on: shop"
        assert await told(house) == dict.fromkeys(BOTH, on)
        barred = parse_launch_filter({"deny_builtins": ["*_sql"]})
        assert isinstance(barred, LaunchFilter)
        assert await told(house, barred) == {
            "search_schemas": on,
            "execute_sql": "the launch filter denies it: '*_sql' under deny_builtins",
        }
        await house.does(SetSwitch(ToolId(BuiltinKey(), "execute_sql"), enabled=False))
        assert (await told(house))["execute_sql"].startswith("it is locked (disabled_by_user): ")
    async with housing(declaring(replace(shop, enabled=False)), ScriptedEngines()) as house:
        assert await told(house) == dict.fromkeys(BOTH, "no database source is on")
