"""The search before the first turn: how many tools a model of which size is shown, and why."""

import pytest

from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.presentations.own_tools import MaterializedTools
from pegboard.prompts.model import Model
from pegboard.prompts.tool_search import AutomaticSearch, SearchDecision, SearchStep, search_automatically, skip_search

KEY = ServerKey(ToolsetId("dev"), ServerId("files"))
A, B, C, D = (ToolId(KEY, name) for name in "abcd")
MANY = tuple(ToolId(KEY, f"tool_{number}") for number in range(30))
RAN = SearchDecision(SearchStep.SEARCHED, "tool_search", "tools are deferred, and the user's words tell what is wanted")
SMALL = SearchDecision(
    SearchStep.LIMITED,
    "tool_search",
    "the size of the model is unknown, so it is taken for a small one: it is shown 2 found tools at most",
)


@pytest.mark.behaviour("deferred.automatic")
@pytest.mark.parametrize(
    ("billions", "most", "size"),
    [
        (None, 2, "the size of the model is unknown, so it is taken for a small one"),
        (0.5, 2, "the model has 0.5 billion parameters, fewer than 7"),
        (6.9, 2, "the model has 6.9 billion parameters, fewer than 7"),
        (7, 5, "the model has 7 billion parameters, 7 to 30"),
        (30, 5, "the model has 30 billion parameters, 7 to 30"),
        (30.5, 10, "the model has 30.5 billion parameters, more than 30"),
        (405, 10, "the model has 405 billion parameters, more than 30"),
    ],
)
def test_a_model_is_shown_as_many_found_tools_as_its_size_allows(billions: float | None, most: int, size: str) -> None:
    model = Model(billions)
    assert (model.max_found_tools, model.size_description) == (most, size)
    assert search_automatically(MaterializedTools(), MANY, (), model).found_tools == MaterializedTools((MANY[:most],))


@pytest.mark.behaviour("deferred.automatic")
def test_every_tool_that_fits_is_decided_about_with_its_reason() -> None:
    assert search_automatically(MaterializedTools(), [A, B, C, D], [B], Model()) == AutomaticSearch(
        MaterializedTools(((A, C),)),
        (
            RAN,
            SMALL,
            SearchDecision(SearchStep.FOUND, "mcp:dev~files:a", "it fits the user's words, in place 1"),
            SearchDecision(SearchStep.LEFT_OUT, "mcp:dev~files:b", "it fits in place 2, and is shown anyway"),
            SearchDecision(SearchStep.FOUND, "mcp:dev~files:c", "it fits the user's words, in place 3"),
            SearchDecision(SearchStep.LEFT_OUT, "mcp:dev~files:d", "it fits in place 4, and 2 fit better"),
        ),
    )


@pytest.mark.behaviour("deferred.automatic")
def test_what_the_conversation_found_before_stays_as_far_as_there_is_room() -> None:
    assert search_automatically(MaterializedTools(((A, B),)), [C], (), Model()).found_tools.ids == (A, C)
    assert search_automatically(MaterializedTools(((A, B),)), [C], (), Model(8)).found_tools.ids == (A, B, C)


@pytest.mark.behaviour("autosearch.earlier_messages")
def test_places_that_the_newest_message_leaves_go_to_called_tools_and_then_to_earlier_messages() -> None:
    automatic = search_automatically(MaterializedTools(), [D], [B], Model(8), called=[C], earlier=[[A, B, C], MANY[:4]])
    assert automatic.found_tools == MaterializedTools(((D, A, C, *MANY[:2]),))
    assert automatic.decisions[2:] == (
        SearchDecision(SearchStep.FOUND, "mcp:dev~files:d", "it fits the user's words, in place 1"),
        SearchDecision(SearchStep.KEPT, "mcp:dev~files:c", "it was called before, and a place is free"),
        SearchDecision(SearchStep.KEPT, "mcp:dev~files:a", "it fits what the user said before, and a place is free"),
        SearchDecision(
            SearchStep.KEPT, "mcp:dev~files:tool_0", "it fits what the user said before, and a place is free"
        ),
        SearchDecision(
            SearchStep.KEPT, "mcp:dev~files:tool_1", "it fits what the user said before, and a place is free"
        ),
    )


@pytest.mark.behaviour("autosearch.earlier_messages")
@pytest.mark.parametrize("billions", [None, 13, 70])
def test_a_message_that_finds_enough_leaves_no_place(billions: float | None) -> None:
    model = Model(billions)
    automatic = search_automatically(MaterializedTools(), MANY, (), model, called=[A], earlier=[[B, C]])
    assert automatic.found_tools == MaterializedTools((MANY[: model.max_found_tools],))


@pytest.mark.behaviour("autosearch.earlier_messages")
def test_a_called_tool_keeps_its_place_in_the_list_and_is_kept_before_others() -> None:
    """The same list again after a call, so that prompt caches stay good."""
    assert search_automatically(
        MaterializedTools(), [], (), Model(8), called=[C], earlier=[[A, B, C, D]]
    ).found_tools.ids == (A, B, C, D)
    assert search_automatically(
        MaterializedTools(), [], (), Model(), called=[D, C], earlier=[[A, B, C]]
    ).found_tools.ids == (C, D)


@pytest.mark.behaviour("deferred.automatic")
def test_a_search_that_finds_nothing_says_so_and_loses_nothing() -> None:
    nothing = SearchDecision(
        SearchStep.NOTHING_FOUND, "tool_search", "no tool fits the user's words; the model can search anew"
    )
    automatic = search_automatically(MaterializedTools(((A,),)), [], (), Model())
    assert automatic == AutomaticSearch(MaterializedTools(((A,),)), (RAN, SMALL, nothing))
    assert automatic.has_run


@pytest.mark.behaviour("deferred.automatic")
def test_what_was_not_searched_says_why() -> None:
    automatic = skip_search(MaterializedTools(((A,),)), "it is late")
    assert automatic.found_tools == MaterializedTools(((A,),))
    assert not automatic.has_run
    assert [*map(str, automatic.decisions)] == ["tool_search: not searched, because it is late"]
