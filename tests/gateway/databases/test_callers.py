"""Databases and their callers: who may ask one is told of no other, whatever it calls and however it asks."""

import json
from dataclasses import replace

import pytest
from tests.gateway.databases.engines import GITHUB, ScriptedEngines, asks, database, declaring, housing
from tests.support.house import House, call_of, declared

from pegboard.core.calls.call import AnnotatedSuccess, BadArguments, ToolFailure, UnknownTool, refusal_text
from pegboard.core.json.values import Json
from pegboard.core.model.databases import DatabaseId
from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.principals import Principal
from pegboard.core.model.selection import View
from pegboard.core.model.server import DeclaredAt
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.core.presentations.retrieval import ToolSearchQuery
from pegboard.gateway.caller import CallOutcome
from pegboard.surfaces.mcp.presentations.direct import DirectPresentation

pytestmark = pytest.mark.anyio

ALICE, BOB, CAROL = map(PrincipalId, ("alice", "bob", "carol"))
SHOP, PAYROLL = DatabaseId("shop"), DatabaseId("payroll")
LIMITS = {ALICE: frozenset({SHOP}), BOB: None, CAROL: frozenset[DatabaseId]()}


def limited() -> DeclaredSettings:
    callers = {who: Principal(who, DeclaredAt("pegboard.yaml", 9), (), some) for who, some in LIMITS.items()}
    secret = database("payroll", description="What people earn.", writes=True)
    return declaring(database("shop"), secret, board=replace(declared(GITHUB), principals=callers))


async def called(house: House, who: PrincipalId, tool: str, arguments: dict[str, Json]) -> CallOutcome:
    return await house.gateway.caller.call(call_of(tool, arguments, by=who), View(who))


def text(ended: CallOutcome) -> str:
    assert isinstance(ended, AnnotatedSuccess | ToolFailure)
    return ended.body.decode()


@pytest.mark.behaviour("databases.limited_by_caller")
async def test_a_caller_reads_of_no_database_but_its_own_in_lists_searches_answers_and_errors() -> None:
    async with housing(limited(), ScriptedEngines()) as house:
        listed = {
            who: b"".join(DirectPresentation(house.board).tool_list(View(who)).fragments).decode() for who in LIMITS
        }
        assert {who: ("shop" in said, "payroll" in said, "earn" in said) for who, said in listed.items()} == {
            ALICE: (True, False, False),
            BOB: (True, True, True),
            CAROL: (False, False, False),
        }
        assert '"readOnlyHint":false' not in listed[ALICE]
        found = await called(house, ALICE, "search_schemas", {"query": "orders of a city"})
        assert {each["source"] for each in json.loads(text(found))["structuredContent"]["tables"]} == {"shop"}
        refused = await called(house, ALICE, "execute_sql", dict(asks("read", "payroll")))
        unheard = await called(house, ALICE, "execute_sql", dict(asks("read", "payrolx")))
        assert isinstance(refused, BadArguments)
        assert isinstance(unheard, BadArguments)
        assert refusal_text(refused).replace("payroll", "payrolx") == refusal_text(unheard)
        assert isinstance(await called(house, ALICE, "execute_sql", dict(asks("read"))), AnnotatedSuccess)
        assert isinstance(await called(house, BOB, "execute_sql", dict(asks("read", "payroll"))), AnnotatedSuccess)
        for tool in ("execute_sql", "search_schemas"):
            gone = await called(house, CAROL, tool, dict(asks("read")))
            assert isinstance(gone, UnknownTool)
            assert set(gone.suggestions) <= {"search"}


@pytest.mark.behaviour("databases.search_answer", "databases.limited_by_caller")
async def test_a_search_that_finds_nothing_names_the_few_tables_that_its_caller_may_ask() -> None:
    async with housing(limited(), ScriptedEngines()) as house:
        told = {}
        for who in (ALICE, BOB):
            found = json.loads(text(await called(house, who, "search_schemas", {"query": "zeppelin"})))
            told[who] = found["structuredContent"]["notices"]
        assert told == {
            ALICE: ["No table fits these words: shop has orders."],
            BOB: ["No table fits these words: payroll has orders; shop has orders."],
        }


@pytest.mark.behaviour("databases.limited_by_caller")
async def test_no_search_for_tools_finds_one_by_the_words_of_a_database_of_others() -> None:
    async with housing(limited(), ScriptedEngines()) as house:
        for who, words in ((ALICE, "payroll"), (ALICE, "what people earn"), (CAROL, "execute sql statement")):
            answer = await house.gateway.search.retrieve(ToolSearchQuery(words), View(who))
            assert "payroll" not in str(answer).replace(f"'{words}'", "")
            assert "execute_sql" not in str(answer), words


@pytest.mark.behaviour("databases.limited_by_caller")
async def test_a_source_that_left_while_a_call_was_admitted_is_not_told_with_those_of_others() -> None:
    async with housing(limited(), ScriptedEngines()) as house:
        toolbox = house.gateway.databases.toolbox
        assert toolbox is not None
        sources = toolbox.sources
        toolbox.sources = {id: source for id, source in sources.items() if id != SHOP}
        try:
            failed = text(await called(house, ALICE, "execute_sql", dict(asks("read"))))
            assert "there is no database 'shop' here. There are: none." in failed
            nothing = await called(house, ALICE, "search_schemas", {"query": "salaries"})
            assert json.loads(text(nothing))["structuredContent"]["tables"] == []
        finally:
            toolbox.sources = sources


@pytest.mark.behaviour("databases.limited_by_caller")
async def test_a_caller_who_may_ask_less_from_now_on_is_told_so_by_the_next_list() -> None:
    board = limited()
    async with housing(board, ScriptedEngines()) as house:
        assert isinstance(await called(house, BOB, "execute_sql", dict(asks("read", "payroll"))), AnnotatedSuccess)
        fewer = {**board.principals, BOB: replace(board.principals[BOB], databases=frozenset({SHOP}))}
        assert await house.gateway.operator.apply_settings(replace(board, principals=fewer)) == ()
        assert isinstance(await called(house, BOB, "execute_sql", dict(asks("read", "payroll"))), BadArguments)


async def test_lists_of_callers_with_other_databases_do_not_change_each_others_marks() -> None:
    async with housing(limited(), ScriptedEngines()) as house:
        direct = DirectPresentation(house.board)
        marks = [direct.fingerprint(View(who)) for who in (ALICE, BOB)]
        house.board._swap(house.board.catalogue, replace(house.board.policy))
        assert [direct.fingerprint(View(who)) for who in (ALICE, BOB)] == marks
