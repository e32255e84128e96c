"""A server with a tool named like the one that finds tables: advice names the gateway's own as it is called."""

import anyio
import pytest
from tests.gateway.asking import text_of
from tests.gateway.databases.engines import GITHUB, ScriptedEngines, asks, database, declaring
from tests.support.doubles import Providers, named
from tests.support.house import PATIENCE, call_of, opened

from pegboard.core.databases.rows import StatementFailure, StatementFault, StatementRefusal
from pegboard.core.model.selection import View

pytestmark = pytest.mark.anyio

ANSWERS = {
    "one": StatementRefusal("sqlite_schema cannot be read here.", "Read tables and views that search_schemas tells."),
    "two": StatementRefusal("The type regclass looks names up.", "Use search_schemas for what there is."),
    "three": StatementFailure("no such table: search_schemas", fault=StatementFault.OTHER),
}


@pytest.mark.behaviour("databases.advice_by_name")
@pytest.mark.parametrize(
    ("theirs", "name"), [("search_schemas", "builtin__search_schemas"), ("find", "search_schemas")]
)
async def test_what_is_told_to_be_used_has_the_name_by_which_it_is_called(theirs: str, name: str) -> None:
    providers = Providers({GITHUB: named(GITHUB, theirs)})
    async with opened(declaring(database("shop")), providers, engines=ScriptedEngines(answers=ANSWERS)) as house:
        with anyio.fail_after(PATIENCE):
            told = [
                text_of(await house.gateway.caller.call(call_of("execute_sql", asks(statement)), View()))
                for statement in ANSWERS
            ]
        assert name in house.board.resolution(View()).names.values()
    assert f"that {name} tells." in told[0]
    assert f"Use {name} for what there is." in told[1]
    assert "no such table: search_schemas" in told[2]
