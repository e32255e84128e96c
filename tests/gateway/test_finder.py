"""Search over the board: what was found before a change is not found after it, and nothing is taken apart twice."""

from typing import Any

import anyio
import pytest
from tests.core.boards import key, tool
from tests.support.doubles import Providers
from tests.support.house import House, declared, opened

from pegboard.core.commands import Approve, ThrowSwitch
from pegboard.core.ids import ToolId
from pegboard.core.retrieval import Retrieval
from pegboard.core.server import Trust
from pegboard.core.view import View
from pegboard.search.lexical import Index, Part

pytestmark = pytest.mark.anyio
SHED, BARN = key("farm~shed"), key("farm~barn")
TOOLS = {SHED: (tool(SHED, "rake_leaves", "Gathers leaves."), tool(SHED, "dig")), BARN: (tool(BARN, "milk_cow"),)}


async def found(house: House, query: str, **asked: Any) -> tuple[list[str], list[str]]:
    answer: Any = await house.gateway.finder.retrieve(Retrieval(query, include_disabled=True, **asked), View())
    return [t["name"] for t in answer["tools"]], [t["name"] for t in answer.get("disabled", [])]


@pytest.mark.behaviour("search.follows_the_board")
async def test_a_search_is_made_on_the_board_as_it_is() -> None:
    async with opened(declared(SHED, BARN), Providers(TOOLS)) as house:
        assert await found(house, "leaves") == (["rake_leaves"], [])
        await house.does(ThrowSwitch(ToolId(SHED, "rake_leaves"), False))
        assert await found(house, "leaves") == ([], ["rake_leaves"])
        await house.does(ThrowSwitch(ToolId(SHED, "rake_leaves"), True))
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
        await house.does(Approve(rake.id, rake.spec, rake.spec.fingerprint))
        assert await found(house, "gathers") == (["rake_leaves"], [])


async def test_only_what_changed_is_taken_apart_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = Part.of

    def counting(documents: Any) -> Part:
        part = make(documents)
        made.append(len(part.documents))
        return part

    monkeypatch.setattr(Part, "of", counting)
    async with opened(declared(SHED, BARN), Providers(TOOLS)) as house:
        await found(house, "leaves")
        assert sorted(made) == [1, 2]
        await found(house, "cow")
        await house.does(ThrowSwitch(ToolId(BARN, "milk_cow"), False))
        await found(house, "cow")
        house.provider(SHED).falls()
        await house.until(lambda: house.status(ToolId(SHED, "dig")) == "server_unavailable")
        await found(house, "cow")
        assert sorted(made) == [1, 2]
        house.provider(BARN).lists(tool(BARN, "milk_goat"), tool(BARN, "milk_sheep"), tool(BARN, "milk_cow"))
        await house.until(lambda: ToolId(BARN, "milk_goat") in house.board.catalogue.tools)
        assert await found(house, "goat") == (["milk_goat"], [])
        assert made[2:] == [3]


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


def test_an_empty_board_has_an_empty_index() -> None:
    assert Index(()).ranked("anything") == []
