"""What the activity has of a question to a database by default: the statement without its values, and how many rows."""

import json

import pytest
from tests.gateway.databases.engines import ScriptedEngines, database, declaring, housing
from tests.gateway.databases.test_toolbox import SQL, sql
from tests.support.asking import AskedClient
from tests.support.house import House, call_of

from pegboard.core.calls.call import AnnotatedSuccess, CallRecord, ConfirmationRefusal
from pegboard.core.commands.commands import SetOverride, SetSwitch
from pegboard.core.model.selection import View
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json

pytestmark = pytest.mark.anyio

STATEMENT = "SELECT a FROM t WHERE name = 'Ann' AND pin > 4711 -- for Bob"
TOLD = {"source": "shop", "sql": "SELECT a FROM t WHERE name = ? AND pin > ?"}


def told(house: House) -> list[object]:
    return [
        None if record.recorded_arguments is None else json.loads(record.recorded_arguments)
        for record in records(house)
    ]


def records(house: House) -> list[CallRecord]:
    return [each for each in house.audit.records if each.call.name == "execute_sql"]


@pytest.mark.behaviour("databases.audited", "databases.recorded_without_values")
async def test_a_statement_is_recorded_without_its_values_however_it_ended() -> None:
    async with housing(declaring(database("shop", writes=True)), ScriptedEngines()) as house:
        await sql(house, STATEMENT, parameters=["Cid"])
        await sql(house, "fail WHERE name = 'Ann'")
        no = await sql(house, "write 'Ann'", AskedClient({"action": "decline"}))
        assert isinstance(no, ConfirmationRefusal)
        await sql(house, STATEMENT, max_rows=10**9)
        await house.gateway.caller.call(call_of("execute_sql", {"source": "nothing", "sql": STATEMENT}), View())
        await house.gateway.caller.call(call_of("execute_sql", {"source": "shop", "sql": 7}), View())
        await house.does(SetSwitch(SQL, enabled=False))
        await sql(house, STATEMENT)
        assert told(house) == [
            TOLD,
            {"source": "shop", "sql": "… (23 characters that are not told)"},
            {"source": "shop", "sql": "… (11 characters that are not told)"},
            TOLD,
            None,
            None,
            TOLD,
        ]


@pytest.mark.behaviour("databases.audited")
async def test_a_statement_is_recorded_as_it_was_sent_and_nothing_that_is_pinned() -> None:
    async with housing(declaring(database("shop")), ScriptedEngines()) as house:
        for pinned, sent in (({"source": "shop"}, {"sql": STATEMENT}), ({"sql": STATEMENT}, {"source": "shop"})):
            pins = {name: ArgumentOverride(pin=freeze_json(value)) for name, value in pinned.items()}
            await house.does(SetOverride(Override(SQL.toolset, SQL, arguments=pins)))
            assert isinstance(await house.gateway.caller.call(call_of("execute_sql", sent), View()), AnnotatedSuccess)
        assert told(house) == [{"sql": TOLD["sql"]}, None]
