"""Search over the board: what was found before a change is not found after it, and nothing is taken apart twice."""

import sys
from threading import get_ident
from typing import Any

import anyio
import pytest
from anyio import from_thread
from tests.core.boards import NOW, key, tool
from tests.support.doubles import Providers
from tests.support.house import House, declared, opened

from pegboard.core.commands.commands import ApproveTool, SetSwitch
from pegboard.core.decision.resolve import resolve
from pegboard.core.model.catalogue import Listing, ProviderUp
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import Selection, View
from pegboard.core.model.server import Trust
from pegboard.core.presentations.retrieval import ToolSearchQuery
from pegboard.search.documents import IndexedDocuments

pytestmark = pytest.mark.anyio
SHED, BARN = key("farm~shed"), key("farm~barn")
TOOLS = {SHED: (tool(SHED, "rake_leaves", "Gathers leaves."), tool(SHED, "dig")), BARN: (tool(BARN, "milk_cow"),)}


async def found(house: House, query: str, **asked: Any) -> tuple[list[str], list[str]]:
    answer: Any = await house.gateway.search.retrieve(ToolSearchQuery(query, include_disabled=True, **asked), View())
    return [t["name"] for t in answer["tools"]], [t["name"] for t in answer.get("disabled", [])]


@pytest.mark.behaviour("search.follows_the_board")
async def test_a_search_is_made_on_the_board_as_it_is() -> None:
    async with opened(declared(SHED, BARN), Providers(TOOLS)) as house:
        assert await found(house, "leaves") == (["rake_leaves"], [])
        await house.does(SetSwitch(ToolId(SHED, "rake_leaves"), False))
        assert await found(house, "leaves") == ([], ["rake_leaves"])
        await house.does(SetSwitch(ToolId(SHED, "rake_leaves"), True))
        house.provider(SHED).lists(tool(SHED, "blow_leaves"))
        await house.until(lambda: ToolId(SHED, "blow_leaves") in house.board.catalogue.tools)
        assert await found(house, "leaves") == (["blow_leaves"], [])
        house.provider(SHED).falls()
        await house.until(lambda: house.status(ToolId(SHED, "blow_leaves")) == "server_unavailable")
        assert await found(house, "leaves") == ([], ["blow_leaves"])


@pytest.mark.behaviour("search.follows_the_board", "law.withheld_in_search_and_code")
async def test_a_tool_is_found_by_its_words_once_a_person_has_read_them() -> None:
    async with opened(declared(SHED, trust=Trust.STRICT), Providers(TOOLS)) as house:
        assert await found(house, "gathers") == ([], [])
        rake = TOOLS[SHED][0]
        await house.does(ApproveTool(rake.id, rake.spec, rake.spec.fingerprint))
        assert await found(house, "gathers") == (["rake_leaves"], [])


@pytest.mark.behaviour("search.incremental")
async def test_only_what_changed_is_taken_apart_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = IndexedDocuments.of

    def counting(documents: Any) -> IndexedDocuments:
        part = make(documents)
        made.append(len(part))
        return part

    monkeypatch.setattr(IndexedDocuments, "of", counting)
    async with opened(declared(SHED, BARN), Providers(TOOLS)) as house:
        await found(house, "leaves")
        assert sorted(made) == [1, 2]
        await found(house, "cow")
        await house.does(SetSwitch(ToolId(BARN, "milk_cow"), False))
        await found(house, "cow")
        house.provider(SHED).falls()
        await house.until(lambda: house.status(ToolId(SHED, "dig")) == "server_unavailable")
        await found(house, "cow")
        assert sorted(made) == [1, 2]
        house.provider(BARN).lists(tool(BARN, "milk_goat"), tool(BARN, "milk_sheep"), tool(BARN, "milk_cow"))
        await house.until(lambda: ToolId(BARN, "milk_goat") in house.board.catalogue.tools)
        assert await found(house, "goat") == (["milk_goat"], [])
        assert made[2:] == [2], "milk_cow is known"


async def test_many_searches_at_once_each_have_their_answer() -> None:
    tools = tuple(tool(SHED, f"tool_{number}") for number in range(300))
    async with opened(declared(SHED), Providers({SHED: tools})) as house:
        answers: dict[int, tuple[list[str], list[str]]] = {}

        async def search(number: int) -> None:
            answers[number] = await found(house, f"tool_{number}", limit=1)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for number in range(100):
                    tasks.start_soon(search, number)
    assert answers == {number: ([f"tool_{number}"], []) for number in range(100)}


@pytest.mark.behaviour("search.ranker_told")
async def test_an_empty_board_answers_with_nothing() -> None:
    async with opened(declared(), Providers({})) as house:
        answer = await house.gateway.search.retrieve(ToolSearchQuery("anything", explain=True), View())
    assert answer == {
        "tools": [],
        "ranker": "lexical",
        "explanation": {
            "words": {"searched": ["anything"], "unmatched": ["anything"], "ignored": []},
            "searched": 0,
            "matched": 0,
            "shown": 0,
            "omitted": {"by_filters": 0, "by_limit": 0, "locked": 0},
        },
    }


@pytest.mark.behaviour("search.explained")
async def test_a_rank_is_explained_by_words_and_fields() -> None:
    async with opened(declared(SHED, BARN), Providers(TOOLS)) as house:
        asked = ToolSearchQuery("please gather the leaves of the tree", explain=True)
        answer: Any = await house.gateway.search.retrieve(asked, View())
    [entry] = answer["tools"]
    gains = [word.pop("gain") for word in entry["explanation"]["words"]]
    assert gains == sorted(gains, reverse=True)
    parts = entry["explanation"].pop("parts")
    assert [*parts] == ["words", "name", "server"]
    assert entry["explanation"].pop("score") == pytest.approx(sum(parts.values()), abs=0.002) != 0
    assert entry["explanation"] == {
        "words": [
            {"word": "leaves", "fields": {"name": 1, "description": 1}},
            {"word": "gather", "fields": {"description": 1}},
        ],
        "name_covered": 0.5,
    }
    assert answer["explanation"]["words"] == {
        "searched": ["gather", "leaves", "tree"],
        "unmatched": ["tree"],
        "ignored": ["please", "the", "of"],
    }


@pytest.mark.behaviour("search.exact_names_first")
async def test_an_id_finds_its_tool_first_even_where_no_word_fits() -> None:
    tools = {SHED: (tool(SHED, "dig", "mcp farm shed"), tool(SHED, "+", "Adds.")), BARN: (tool(BARN, "dig"),)}
    async with opened(declared(SHED, BARN), Providers(tools)) as house:
        answer: Any = await house.gateway.search.retrieve(ToolSearchQuery("mcp:farm~shed:+"), View())
        assert answer["tools"][0]["description"] == "Adds."
        answer = await house.gateway.search.retrieve(ToolSearchQuery("mcp:farm~barn:dig", explain=True), View())
        ranks = [(entry["server"], entry["explanation"].get("exact_name")) for entry in answer["tools"]]
        for why in (entry["explanation"] for entry in answer["tools"]):
            assert why["score"] == pytest.approx(sum(why["parts"].values()), abs=0.002)
        assert ranks[:2] == [("farm~barn", True), ("farm~shed", None)]


@pytest.mark.behaviour("search.beside_the_loop")
async def test_a_view_is_worked_out_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def watched(*given: Any, **more: Any) -> Any:
        threads.append(get_ident())
        return resolve(*given, **more)

    async with opened(declared(SHED, BARN), Providers(TOOLS)) as house:
        monkeypatch.setattr("pegboard.gateway.board.resolve", watched)
        view = View(narrowings=(Selection(enabled=("dig",)),))
        await house.gateway.search.retrieve(ToolSearchQuery("leaves"), view)
        await house.gateway.search.retrieve(ToolSearchQuery("dig"), view)
        house.board.resolution(view)
    assert len(threads) == 1, "what was worked out is remembered"
    assert threads[0] != get_ident()


@pytest.mark.behaviour("search.beside_the_loop")
async def test_a_board_that_changes_while_a_view_is_worked_out_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(declared(SHED, BARN), Providers(TOOLS)) as house:
        changes: list[int] = []

        def changing(*given: Any, **more: Any) -> Any:
            if len(changes) < 2:
                changes.append(len(changes))
                extra = tool(SHED, f"sow_{len(changes)}")
                from_thread.run_sync(house.board.publish, Listing(SHED, ProviderUp(NOW), (*TOOLS[SHED], extra)))
            return resolve(*given, **more)

        monkeypatch.setattr("pegboard.gateway.board.resolve", changing)
        with anyio.fail_after(30):
            resolution = await house.board.resolve_off_loop(View())
        assert resolution is house.board.resolution(View())
        assert {id.name for id in resolution.names} == {"rake_leaves", "dig", "milk_cow", "sow_2"}


@pytest.mark.behaviour("search.without_numpy_until_used")
async def test_what_searching_needs_is_loaded_by_the_first_search() -> None:
    program = "import sys, pegboard.gateway.gateway, pegboard.bootstrap.serve; sys.exit('numpy' in sys.modules)"
    with anyio.fail_after(60):
        await anyio.run_process([sys.executable, "-c", program])
