"""Who may ask which database: to a caller there are no others than its own, by any road that the core decides."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.core.boards import FILE, GITHUB, NOW, board, tool

from pegboard.core.call import BadArguments, Call, admit
from pegboard.core.catalogue import Catalogue, Listing, Up, catalogue
from pegboard.core.database import SourceId
from pegboard.core.database.source import DatabaseTool, ToolDatabase, database_tool
from pegboard.core.explain import Step, explain
from pegboard.core.ids import LOCAL, BuiltinKey, CallId, PrincipalId, ToolId, WireName
from pegboard.core.passage import NoDatabase
from pegboard.core.policy import Policy
from pegboard.core.principal import Principal
from pegboard.core.removal import removal_remedy, removal_sentence
from pegboard.core.resolve import Absent, Open, resolve
from pegboard.core.selection import Selection
from pegboard.core.tool import Json, JsonObject, Tool, ToolSpec
from pegboard.core.view import View
from pegboard.search.documents import Telling

ALICE, BOB, CAROL, MALLORY = map(PrincipalId, ("alice", "bob", "carol", "mallory"))
SHOP, PAYROLL = SourceId("shop"), SourceId("payroll")
TOLD = (ToolDatabase(PAYROLL, "SQLite", "Salaries."), ToolDatabase(SHOP, "SQLite", "Orders."))
SQL = ToolId(BuiltinKey(), "execute_sql")


def written(sources: Sequence[ToolDatabase]) -> ToolSpec:
    said = "; ".join(f"{each.id}: {each.description}" for each in sources)
    ids: list[Json] = [str(each.id) for each in sources]
    schema: JsonObject = {"type": "object", "properties": {"source": {"enum": ids}}}
    return ToolSpec("execute_sql", None, f"Runs SQL. {said}", schema)


def over_databases(**limits: frozenset[SourceId] | None) -> tuple[Catalogue, Policy]:
    """A wall with a tool over two databases, and callers who may ask some of them."""
    wall = board([tool(GITHUB, "read")])
    listing = Listing(BuiltinKey(), Up(NOW), (database_tool("execute_sql", written, TOLD),))
    callers = {
        PrincipalId(name): Principal(PrincipalId(name), FILE, (name.encode(),), databases)
        for name, databases in limits.items()
    }
    declared = replace(wall.policy.declared, principals=callers)
    return catalogue((*wall.catalogue.listings.values(), listing)), replace(wall.policy, declared=declared)


def shown(found: tuple[Catalogue, Policy], who: PrincipalId) -> Tool | None:
    verdict = resolve(*found, View(who)).verdicts[SQL]
    return verdict.tool if isinstance(verdict, Open) else None


@pytest.mark.behaviour("databases.limited_by_caller")
def test_a_caller_sees_the_tool_as_if_there_were_only_the_databases_that_it_may_ask() -> None:
    found = over_databases(alice=frozenset({SHOP}), bob=None)
    tool = shown(found, ALICE)
    assert isinstance(tool, DatabaseTool)
    assert (tool.ids, tool.spec) == ((SHOP,), written(TOLD[1:]))
    for who in (BOB, LOCAL):
        everything = shown(found, who)
        assert everything is not None
        assert everything.spec == written(TOLD)


@pytest.mark.behaviour("databases.limited_by_caller")
def test_who_may_ask_no_database_has_no_tool_over_them_and_cannot_choose_one() -> None:
    found = over_databases(alice=frozenset(), carol=frozenset({SourceId("off")}))
    for who in (ALICE, CAROL):
        resolution = resolve(*found, View(who))
        asked = frozenset[SourceId]() if who == ALICE else frozenset({SourceId("off")})
        assert resolution.verdicts[SQL] == Absent(found[0].tools[SQL], NoDatabase(who, asked))
        assert SQL not in resolution.names
        assert SQL not in resolution.offered
        narrowed = resolve(*found, View(who).narrowed(Selection(enabled=("execute_sql",))))
        unheard = resolve(*found, View(who).narrowed(Selection(enabled=("execute_sqm",))))
        assert [len(each.refused) for each in (narrowed, unheard)] == [1, 1]
        assert "execute_sql" not in narrowed.refused[0].near
    assert shown(found, MALLORY) is None


@pytest.mark.behaviour("databases.limited_by_caller")
def test_a_call_that_names_a_database_of_others_is_refused_like_one_that_names_none() -> None:
    found = over_databases(alice=frozenset({SHOP}))

    def validate(tool: Tool, arguments: object) -> tuple[str, ...]:
        assert isinstance(arguments, dict)
        properties = tool.spec.input_schema["properties"]
        assert isinstance(properties, dict)
        asked = properties["source"]
        assert isinstance(asked, dict)
        return () if arguments["source"] in (allowed := asked["enum"]) else (f"one of {allowed}",)  # type: ignore[operator]

    resolution = resolve(*found, View(ALICE))

    def asking(source: str) -> object:
        call = Call(CallId("1"), WireName("execute_sql"), {"source": source}, ALICE, NOW)
        return admit(call, resolution, validate)

    assert asking("payroll") == asking("nowhere") == BadArguments(SQL, ("one of ['shop']",))
    assert not isinstance(asking("shop"), BadArguments)


@pytest.mark.behaviour("databases.limited_by_caller")
def test_why_tells_which_databases_a_caller_may_ask() -> None:
    found = over_databases(alice=frozenset({SHOP}), bob=None, carol=frozenset())

    def step(who: PrincipalId) -> list[Step]:
        trail = explain(*found, View(who), SQL)
        assert trail is not None
        return [each for each in trail.steps if "databases" in each.asked]

    assert step(ALICE) == [Step("Which databases may alice ask?", True, "databases: shop")]
    assert step(BOB) == []
    assert step(CAROL) == [Step("Which databases may carol ask?", False, "none that is on: databases: nothing")]
    assert (
        removal_sentence(NoDatabase(CAROL, frozenset())),
        removal_remedy(NoDatabase(CAROL, frozenset({SourceId("off")}), FILE, (SHOP, PAYROLL)), SQL),
        removal_remedy(NoDatabase(CAROL, frozenset()), SQL),
    ) == (
        "carol may ask none of the databases that are on: it may ask nothing.",
        "This is operator policy: in pegboard.yaml:7, name shop or payroll under databases of carol (now off).",
        "This is operator policy: in pegboard.yaml, enable a database, and name it under databases of carol (now "
        "nothing).",
    )


@pytest.mark.behaviour("databases.limited_by_caller")
def test_nobody_finds_the_tool_by_words_about_a_database_of_others() -> None:
    wall, limited = over_databases(alice=frozenset({SHOP}), bob=frozenset({SHOP, PAYROLL}))
    document = Telling.of(wall.tools[SQL], limited).document
    assert document.description == "Runs SQL. shop: Orders."
    assert "payroll" not in str(document)
    _, apart = over_databases(alice=frozenset({SHOP}), bob=frozenset({PAYROLL}))
    assert Telling.of(wall.tools[SQL], apart).document.description == "Runs SQL. "
    _, unlimited = over_databases(bob=None)
    assert "Salaries" in Telling.of(wall.tools[SQL], unlimited).document.description


def test_one_choice_of_databases_is_one_value() -> None:
    whole = database_tool("execute_sql", written, TOLD)
    assert whole.within({SHOP}) is whole.within([SHOP, SourceId("nowhere")])
    assert whole.within({SHOP, PAYROLL}) is whole
