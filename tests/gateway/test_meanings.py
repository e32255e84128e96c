"""Search by meaning over a board: read in the background, kept, followed, and never in the way of an answer."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import anyio
import pytest
from tests.core.boards import NOW, key, tool
from tests.support.doubles import Providers
from tests.support.encoders import MemoryVectors, SmallEncoder
from tests.support.house import PATIENCE, House, declared, opened

from pegboard.core.commands.commands import ApproveTool, SetOverride, SetSwitch
from pegboard.core.model.ids import ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.server import Trust
from pegboard.core.overrides.model import Override
from pegboard.core.presentations.retrieval import ToolSearchQuery
from pegboard.gateway.embeddings import EmbeddableTools, EmbeddingIndex, EmbeddingState
from pegboard.gateway.signals import ChangeSignal

pytestmark = pytest.mark.anyio
SHED, BARN = key("farm~shed"), key("farm~barn")
RAKE = tool(SHED, "tidy_lawn", "Gathers leaves in autumn.")
TOOLS = {
    SHED: (RAKE, tool(SHED, "dig", "Makes a hole in soil.")),
    BARN: (tool(BARN, "fetch_bucket", "Brings milk of the cow."),),
}


class Reading:
    """A board's meanings, and the means to wait for them."""

    def __init__(self, encoder: SmallEncoder | None = None, kept: MemoryVectors | None = None) -> None:
        self.encoder = encoder or SmallEncoder()
        self.kept = kept or MemoryVectors()
        self.meanings = EmbeddingIndex(self.encoder, self.kept, lambda: NOW, settling=0.0)

    async def until(self, holds: Callable[[EmbeddingState], bool]) -> None:
        with anyio.fail_after(PATIENCE), self.meanings.progress.subscribe() as bell:
            while not holds(self.meanings.state()):
                await bell.wait()

    async def all_read(self, tools: int) -> None:
        await self.until(lambda state: (state.tools, state.vectors, state.problem) == (tools, tools, None))


async def found(house: House, query: str, **asked: Any) -> tuple[list[str], str]:
    answer: Any = await house.gateway.search.retrieve(ToolSearchQuery(query, **asked), View())
    return [each["name"] for each in answer["tools"]], answer["ranker"]


@pytest.mark.behaviour("semantic.until_read", "semantic.found_by_meaning")
async def test_words_answer_until_the_tools_are_read_and_then_meaning_does_too() -> None:
    reading = Reading()
    async with opened(declared(SHED, BARN), Providers(TOOLS), meanings=reading.meanings) as house:
        assert reading.meanings.state() == EmbeddingState("small/1", False, 0, 0, None)
        reading.encoder.hold = anyio.Event()
        assert await found(house, "foliage") == ([], "lexical")
        reading.encoder.hold.set()
        await reading.all_read(3)
        assert await found(house, "foliage") == (["tidy_lawn"], "hybrid")
        assert await found(house, "dairy") == (["fetch_bucket"], "hybrid")
        assert sorted(reading.encoder.read) == [
            "farm barn fetch bucket: Brings milk of the cow.",
            "farm shed dig: Makes a hole in soil.",
            "farm shed tidy lawn: Gathers leaves in autumn.",
        ]
        assert len(reading.kept.vectors) == 3


@pytest.mark.behaviour("search.fusion_by_confidence")
@pytest.mark.parametrize("remote", [False, True])
async def test_each_clause_is_read_on_this_machine_and_none_is_sent_to_a_model_elsewhere(remote: bool) -> None:
    reading = Reading(SmallEncoder(remote=remote))
    query = "Rake up all the foliage outside. Then bring me some dairy for breakfast."
    async with opened(declared(SHED, BARN), Providers(TOOLS), meanings=reading.meanings) as house:
        await found(house, query)
        await reading.all_read(3)
        reading.encoder.queries.clear()
        names, ranker = await found(house, query)
        assert ({*names[:2]}, ranker) == ({"tidy_lawn", "fetch_bucket"}, "hybrid")
        clauses = ["Rake up all the foliage outside.", " bring me some dairy for breakfast."]
        assert [said.strip() for said in reading.encoder.queries if said != query] == (
            [] if remote else [clause.strip() for clause in clauses]
        )
        await reading.until(lambda _: reading.kept.swept == [NOW - timedelta(days=30)])


@pytest.mark.behaviour("semantic.not_before_a_search")
async def test_nothing_is_read_before_somebody_searches() -> None:
    reading = Reading()
    async with opened(declared(SHED), Providers(TOOLS), meanings=reading.meanings) as house:
        house.provider(SHED).lists(tool(SHED, "blow_leaves"))
        await house.until(lambda: ToolId(SHED, "blow_leaves") in house.board.catalogue.tools)
        assert reading.encoder.read == []
        assert reading.encoder.queries == []


@pytest.mark.behaviour("semantic.vectors_kept")
async def test_what_was_read_once_is_not_read_again_after_a_restart_not_even_for_the_first_search() -> None:
    first = Reading()
    async with opened(declared(SHED, BARN), Providers(TOOLS), meanings=first.meanings) as house:
        await found(house, "anything")
        await first.all_read(3)
        before = await found(house, "foliage")
    again = Reading(kept=first.kept)
    async with opened(declared(SHED, BARN), Providers(TOOLS), meanings=again.meanings) as house:
        assert await found(house, "foliage") == before == (["tidy_lawn"], "hybrid")
        assert again.encoder.read == []


@pytest.mark.behaviour("semantic.follows_the_board")
async def test_a_change_of_one_tool_reads_that_tool_alone_without_another_search() -> None:
    reading = Reading()
    async with opened(declared(SHED, BARN), Providers(TOOLS), meanings=reading.meanings) as house:
        await found(house, "anything")
        await reading.all_read(3)
        reading.encoder.read.clear()
        umbrella = tool(BARN, "lend_umbrella", "Against rain.")
        house.provider(BARN).lists(*TOOLS[BARN], umbrella)
        await reading.all_read(4)
        assert reading.encoder.read == ["farm barn lend umbrella: Against rain."]
        assert await found(house, "weather") == (["lend_umbrella"], "hybrid")
        reading.encoder.read.clear()
        await house.does(SetOverride(Override(SHED.toolset, RAKE.id, description_override="Milks a cow.")))
        await reading.until(lambda _: reading.encoder.read == ["farm shed tidy lawn: Milks a cow."])
        await reading.all_read(4)
        assert await found(house, "foliage") == ([], "hybrid")
        assert (await found(house, "dairy"))[0] == ["tidy_lawn", "fetch_bucket"]


@pytest.mark.behaviour("semantic.only_what_may_be_told")
async def test_of_a_tool_that_nobody_approved_only_the_name_is_read() -> None:
    reading = Reading()
    async with opened(declared(SHED, trust=Trust.STRICT), Providers(TOOLS), meanings=reading.meanings) as house:
        await found(house, "anything")
        await reading.all_read(2)
        assert sorted(reading.encoder.read) == ["farm shed dig:", "farm shed tidy lawn:"]
        await house.does(ApproveTool(RAKE.id, RAKE.spec, RAKE.spec.fingerprint))
        await reading.until(lambda _: "farm shed tidy lawn: Gathers leaves in autumn." in reading.encoder.read)


@pytest.mark.behaviour("semantic.nothing_locked_is_sent")
async def test_nothing_of_a_locked_tool_is_sent_elsewhere() -> None:
    reading = Reading(SmallEncoder(remote=True))
    async with opened(declared(SHED, BARN), Providers(TOOLS), meanings=reading.meanings) as house:
        await house.does(SetSwitch(ToolId(SHED, "dig"), False))
        await found(house, "anything")
        await reading.all_read(2)
        assert sorted(reading.encoder.read) == [
            "farm barn fetch bucket: Brings milk of the cow.",
            "farm shed tidy lawn: Gathers leaves in autumn.",
        ]
        answer: Any = await house.gateway.search.retrieve(
            ToolSearchQuery("foliage soil", include_disabled=True), View()
        )
        assert [each["name"] for each in answer["tools"]] == ["tidy_lawn"]
        assert [each["name"] for each in answer["disabled"]] == ["dig"]
        await house.does(SetSwitch(ToolId(SHED, "dig"), True))
        await reading.all_read(3)


@pytest.mark.behaviour("semantic.words_answer_when_it_fails")
async def test_when_a_query_cannot_be_read_words_answer_and_the_encoder_is_left_alone_for_a_while() -> None:
    reading = Reading()
    async with opened(declared(SHED, BARN), Providers(TOOLS), meanings=reading.meanings) as house:
        await found(house, "anything")
        await reading.all_read(3)
        assert await found(house, "foliage") == (["tidy_lawn"], "hybrid")
        reading.encoder.fails = "It is tired."
        reading.encoder.queries.clear()
        assert await found(house, "gathers") == (["tidy_lawn"], "lexical")
        assert await found(house, "hole") == (["dig"], "lexical")
        assert reading.encoder.queries == ["gathers"]
        # What was asked before needs no encoder.
        assert await found(house, "foliage") == (["tidy_lawn"], "hybrid")


@pytest.mark.behaviour("semantic.words_answer_when_it_fails")
async def test_a_query_that_is_read_by_another_model_than_the_tools_is_answered_by_words_and_told() -> None:
    reading = Reading()
    async with opened(declared(SHED, BARN), Providers(TOOLS), meanings=reading.meanings) as house:
        await found(house, "anything")
        await reading.all_read(3)
        reading.encoder.wider = 2
        assert await found(house, "gathers") == (["tidy_lawn"], "lexical")
        assert reading.meanings.state().problem == (
            "small/1 reads a query as 7 numbers, and read the tools as 5: it is another model now. "
            "Name it in search.embeddings as what it is, and the tools are read anew."
        )
        assert not reading.meanings.state().is_ready


@pytest.mark.behaviour("semantic.words_answer_when_it_fails")
async def test_a_query_that_takes_too_long_is_answered_by_words() -> None:
    reading = Reading(SmallEncoder(patience=0.2))
    async with opened(declared(SHED, BARN), Providers(TOOLS), meanings=reading.meanings) as house:
        await found(house, "anything")
        await reading.all_read(3)
        reading.encoder.hold = anyio.Event()
        assert await found(house, "gathers") == (["tidy_lawn"], "lexical")
        assert reading.meanings.state().problem == (
            "A query was not read within 0.2 s, and was answered by its words alone."
        )


@pytest.mark.behaviour("semantic.words_answer_when_it_fails")
async def test_reading_that_fails_is_told_and_goes_on_once_it_can() -> None:
    reading = Reading()
    reading.encoder.fails = "It is tired."
    async with opened(declared(SHED, BARN), Providers(TOOLS), meanings=reading.meanings) as house:
        assert await found(house, "gathers") == (["tidy_lawn"], "lexical")
        await reading.until(lambda state: state.problem == "It is tired.")
        reading.encoder.fails = None
        reading.kept.away = "The store is away."
        await found(house, "gathers")
        await reading.until(lambda state: state.problem == "The store is away.")
        reading.kept.away = None
        await found(house, "gathers")
        await reading.all_read(3)


@pytest.mark.behaviour("semantic.words_answer_when_it_fails")
async def test_a_model_that_is_set_up_while_the_gateway_runs_is_used_from_then_on() -> None:
    reading = Reading()
    reading.encoder.is_missing = "Set it up."
    async with opened(declared(SHED, BARN), Providers(TOOLS), meanings=reading.meanings) as house:
        with anyio.fail_after(PATIENCE), reading.meanings.progress.subscribe() as bell:
            assert await found(house, "foliage") == ([], "lexical")
            await bell.wait()
        assert reading.meanings.state().problem == "Set it up."
        reading.encoder.is_missing = None
        # Whoever asks now is not told to set it up again.
        assert reading.meanings.state() == EmbeddingState("small/1", False, 0, 0, None)
        await found(house, "foliage")
        await reading.all_read(3)
        assert await found(house, "foliage") == (["tidy_lawn"], "hybrid")


async def test_a_few_tools_that_are_not_read_yet_are_ranked_by_their_words_beside_the_others() -> None:
    many = tuple(tool(SHED, f"chore_{number}", "Gathers leaves.") for number in range(30))
    reading = Reading()
    async with opened(declared(SHED, BARN), Providers({SHED: many, BARN: TOOLS[BARN]}), meanings=reading.meanings) as h:
        await found(h, "anything")
        await reading.all_read(31)
        reading.encoder.hold = anyio.Event()
        h.provider(BARN).lists(*TOOLS[BARN], tool(BARN, "lend_umbrella", "Against rain."))
        await reading.until(lambda state: (state.tools, state.vectors) == (32, 31))
        reading.meanings._queries["cattle or umbrella"] = (await SmallEncoder().encode_documents(["cattle"]))[0]
        names, ranker = await found(h, "cattle or umbrella", limit=2)
        assert (sorted(names), ranker) == (["fetch_bucket", "lend_umbrella"], "hybrid")


@pytest.mark.behaviour("search.beside_the_loop")
async def test_without_a_model_the_board_is_not_looked_at_for_its_meaning() -> None:
    looks: list[str] = []
    encoder = SmallEncoder()
    encoder.is_missing = "it is not there"
    meanings = Reading(encoder).meanings

    async def look() -> EmbeddableTools:
        looks.append("a look")
        return EmbeddableTools({}, frozenset())

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            with meanings.progress.subscribe() as bell:
                tasks.start_soon(meanings.run, ChangeSignal(), look)
                meanings.wake()
                await bell.wait()
            tasks.cancel_scope.cancel()
    assert (looks, meanings.state().problem) == ([], "it is not there")


@pytest.mark.behaviour("search.explained")
async def test_what_words_and_meaning_add_is_told_and_adds_up_to_the_score() -> None:
    reading = Reading()
    async with opened(declared(SHED, BARN), Providers(TOOLS), meanings=reading.meanings) as house:
        await found(house, "anything")
        await reading.all_read(3)
        answer: Any = await house.gateway.search.retrieve(ToolSearchQuery("foliage in a bucket", explain=True), View())
    assert answer["ranker"] == "hybrid"
    whys = {each["name"]: each["explanation"] for each in answer["tools"]}
    assert {*whys} == {"tidy_lawn", "fetch_bucket"}
    for why in whys.values():
        assert [*why["parts"]] == ["words", "name", "server", "meaning"]
        assert why["score"] == pytest.approx(sum(why["parts"].values()), abs=0.003)
    assert whys["tidy_lawn"]["parts"]["meaning"] > 0 > whys["tidy_lawn"]["parts"]["words"]
    # 0.6 of how far each cosine stands out: over all tools that is nothing together.
    assert whys["fetch_bucket"]["parts"]["meaning"] < 0 < whys["fetch_bucket"]["parts"]["words"]
