"""Who may ask which database: to a caller there are no others than its own, by any road that the core decides."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.core.boards import FILE, GITHUB, NOW, board, tool

from pegboard.core.calls.call import BadArguments, ToolCall, admit
from pegboard.core.decision.resolve import HiddenTool, OpenTool, resolve
from pegboard.core.decision.visibility import HiddenWithoutDatabase, explain_hidden, hidden_remedy
from pegboard.core.explain.explain import DecisionStep, explain
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.catalogue import Catalogue, Listing, ProviderUp, build_catalogue
from pegboard.core.model.databases import DatabaseId, DatabaseTool, VisibleDatabase, build_database_tool
from pegboard.core.model.ids import LOCAL_PRINCIPAL, BuiltinKey, CallId, PrincipalId, ToolId, WireName
from pegboard.core.model.principals import Principal
from pegboard.core.model.selection import Selection, View
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.policy.policy import Policy
from pegboard.search.documents import ToolDocumentSource

ALICE, BOB, CAROL, MALLORY = map(PrincipalId, ("alice", "bob", "carol", "mallory"))
SHOP, PAYROLL = DatabaseId("shop"), DatabaseId("payroll")
TOLD = (VisibleDatabase(PAYROLL, "SQLite", "Salaries."), VisibleDatabase(SHOP, "SQLite", "Orders."))
SQL = ToolId(BuiltinKey(), "execute_sql")


def written(sources: Sequence[VisibleDatabase]) -> ToolSpec:
    said = "; ".join(f"{each.id}: {each.description}" for each in sources)
    ids: list[Json] = [str(each.id) for each in sources]
    schema: JsonObject = {"type": "object", "properties": {"source": {"enum": ids}}}
    return ToolSpec("execute_sql", None, f"Runs SQL. {said}", schema)


def over_databases(**limits: frozenset[DatabaseId] | None) -> tuple[Catalogue, Policy]:
    """A wall with a tool over two databases, and callers who may ask some of them."""
    wall = board([tool(GITHUB, "read")])
    listing = Listing(BuiltinKey(), ProviderUp(NOW), (build_database_tool("execute_sql", written, TOLD),))
    callers = {
        PrincipalId(name): Principal(PrincipalId(name), FILE, (name.encode(),), databases)
        for name, databases in limits.items()
    }
    declared = replace(wall.policy.declared, principals=callers)
    return build_catalogue((*wall.catalogue.listings.values(), listing)), replace(wall.policy, declared=declared)


def shown(found: tuple[Catalogue, Policy], who: PrincipalId) -> Tool | None:
    verdict = resolve(*found, View(who)).verdicts[SQL]
    return verdict.tool if isinstance(verdict, OpenTool) else None


@pytest.mark.behaviour("databases.limited_by_caller")
def test_a_caller_sees_the_tool_as_if_there_were_only_the_databases_that_it_may_ask() -> None:
    found = over_databases(alice=frozenset({SHOP}), bob=None)
    tool = shown(found, ALICE)
    assert isinstance(tool, DatabaseTool)
    assert (tool.ids, tool.spec) == ((SHOP,), written(TOLD[1:]))
    for who in (BOB, LOCAL_PRINCIPAL):
        everything = shown(found, who)
        assert everything is not None
        assert everything.spec == written(TOLD)


@pytest.mark.behaviour("databases.limited_by_caller")
def test_who_may_ask_no_database_has_no_tool_over_them_and_cannot_choose_one() -> None:
    found = over_databases(alice=frozenset(), carol=frozenset({DatabaseId("off")}))
    for who in (ALICE, CAROL):
        resolution = resolve(*found, View(who))
        asked = frozenset[DatabaseId]() if who == ALICE else frozenset({DatabaseId("off")})
        assert resolution.verdicts[SQL] == HiddenTool(found[0].tools[SQL], HiddenWithoutDatabase(who, asked))
        assert SQL not in resolution.names
        assert SQL not in resolution.offered_tools
        narrowed = resolve(*found, View(who).narrow(Selection(enabled=("execute_sql",))))
        unheard = resolve(*found, View(who).narrow(Selection(enabled=("execute_sqm",))))
        assert [len(each.unknown_in_narrowing) for each in (narrowed, unheard)] == [1, 1]
        assert "execute_sql" not in narrowed.unknown_in_narrowing[0].suggestions
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
        call = ToolCall(CallId("1"), WireName("execute_sql"), {"source": source}, ALICE, NOW)
        return admit(call, resolution, validate)

    assert asking("payroll") == asking("nowhere") == BadArguments(SQL, ("one of ['shop']",))
    assert not isinstance(asking("shop"), BadArguments)


@pytest.mark.behaviour("databases.limited_by_caller")
def test_why_tells_which_databases_a_caller_may_ask() -> None:
    found = over_databases(alice=frozenset({SHOP}), bob=None, carol=frozenset())

    def step(who: PrincipalId) -> list[DecisionStep]:
        trail = explain(*found, View(who), SQL)
        assert trail is not None
        return [each for each in trail.steps if "databases" in each.question]

    assert step(ALICE) == [DecisionStep("Which databases may alice ask?", True, "databases: shop")]
    assert step(BOB) == []
    assert step(CAROL) == [DecisionStep("Which databases may carol ask?", False, "none that is on: databases: nothing")]
    assert (
        explain_hidden(HiddenWithoutDatabase(CAROL, frozenset())),
        hidden_remedy(HiddenWithoutDatabase(CAROL, frozenset({DatabaseId("off")}), FILE, (SHOP, PAYROLL)), SQL),
        hidden_remedy(HiddenWithoutDatabase(CAROL, frozenset()), SQL),
    ) == (
        "carol may ask none of the databases that are on: it may ask nothing.",
        "This is operator policy: in pegboard.yaml:7, name shop or payroll under databases of carol (now off).",
        "This is operator policy: in pegboard.yaml, enable a database, and name it under databases of carol (now "
        "nothing).",
    )


@pytest.mark.behaviour("databases.limited_by_caller")
def test_nobody_finds_the_tool_by_words_about_a_database_of_others() -> None:
    wall, limited = over_databases(alice=frozenset({SHOP}), bob=frozenset({SHOP, PAYROLL}))
    document = ToolDocumentSource.of(wall.tools[SQL], limited).document
    assert document.description == "Runs SQL. shop: Orders."
    assert "payroll" not in str(document)
    _, apart = over_databases(alice=frozenset({SHOP}), bob=frozenset({PAYROLL}))
    assert ToolDocumentSource.of(wall.tools[SQL], apart).document.description == "Runs SQL. "
    _, unlimited = over_databases(bob=None)
    assert "Salaries" in ToolDocumentSource.of(wall.tools[SQL], unlimited).document.description


def test_one_choice_of_databases_is_one_value() -> None:
    whole = build_database_tool("execute_sql", written, TOLD)
    assert whole.narrow_to({SHOP}) is whole.narrow_to([SHOP, DatabaseId("nowhere")])
    assert whole.narrow_to({SHOP, PAYROLL}) is whole
