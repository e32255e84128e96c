"""The search before the first turn: how many tools a model of which size is shown, and why."""

import pytest

from pegboard.core.deferral import Materialised
from pegboard.core.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.prompts.automatic import Automatic, Decision, Step, not_searched, searched
from pegboard.prompts.model import Model

KEY = ServerKey(ToolsetId("dev"), ServerId("files"))
A, B, C, D = (ToolId(KEY, name) for name in "abcd")
MANY = tuple(ToolId(KEY, f"tool_{number}") for number in range(30))
RAN = Decision(Step.RAN, "tool_search", "tools are deferred, and the user's words tell what is wanted")
SMALL = Decision(
    Step.BOUND,
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
    assert (model.most_found, model.size) == (most, size)
    assert searched(Materialised(), MANY, (), model).found == Materialised((MANY[:most],))


@pytest.mark.behaviour("deferred.automatic")
def test_every_tool_that_fits_is_decided_about_with_its_reason() -> None:
    assert searched(Materialised(), [A, B, C, D], [B], Model()) == Automatic(
        Materialised(((A, C),)),
        (
            RAN,
            SMALL,
            Decision(Step.FOUND, "mcp:dev~files:a", "it fits the user's words, in place 1"),
            Decision(Step.LEFT_OUT, "mcp:dev~files:b", "it fits in place 2, and is shown anyway"),
            Decision(Step.FOUND, "mcp:dev~files:c", "it fits the user's words, in place 3"),
            Decision(Step.LEFT_OUT, "mcp:dev~files:d", "it fits in place 4, and 2 fit better"),
        ),
    )


@pytest.mark.behaviour("deferred.automatic")
def test_what_the_conversation_found_before_stays_as_far_as_there_is_room() -> None:
    assert searched(Materialised(((A, B),)), [C], (), Model()).found.ids == (A, C)
    assert searched(Materialised(((A, B),)), [C], (), Model(8)).found.ids == (A, B, C)


@pytest.mark.behaviour("autosearch.earlier_messages")
def test_places_that_the_newest_message_leaves_go_to_called_tools_and_then_to_earlier_messages() -> None:
    automatic = searched(Materialised(), [D], [B], Model(8), called=[C], earlier=[[A, B, C], MANY[:4]])
    assert automatic.found == Materialised(((D, A, C, *MANY[:2]),))
    assert automatic.decisions[2:] == (
        Decision(Step.FOUND, "mcp:dev~files:d", "it fits the user's words, in place 1"),
        Decision(Step.KEPT, "mcp:dev~files:c", "it was called before, and a place is free"),
        Decision(Step.KEPT, "mcp:dev~files:a", "it fits what the user said before, and a place is free"),
        Decision(Step.KEPT, "mcp:dev~files:tool_0", "it fits what the user said before, and a place is free"),
        Decision(Step.KEPT, "mcp:dev~files:tool_1", "it fits what the user said before, and a place is free"),
    )


@pytest.mark.behaviour("autosearch.earlier_messages")
@pytest.mark.parametrize("billions", [None, 13, 70])
def test_a_message_that_finds_enough_leaves_no_place(billions: float | None) -> None:
    model = Model(billions)
    automatic = searched(Materialised(), MANY, (), model, called=[A], earlier=[[B, C]])
    assert automatic.found == Materialised((MANY[: model.most_found],))


@pytest.mark.behaviour("autosearch.earlier_messages")
def test_a_called_tool_keeps_its_place_in_the_list_and_is_kept_before_others() -> None:
    """The same list again after a call, so that prompt caches stay good."""
    assert searched(Materialised(), [], (), Model(8), called=[C], earlier=[[A, B, C, D]]).found.ids == (A, B, C, D)
    assert searched(Materialised(), [], (), Model(), called=[D, C], earlier=[[A, B, C]]).found.ids == (C, D)


@pytest.mark.behaviour("deferred.automatic")
def test_a_search_that_finds_nothing_says_so_and_loses_nothing() -> None:
    nothing = Decision(Step.NOTHING, "tool_search", "no tool fits the user's words; the model can search anew")
    automatic = searched(Materialised(((A,),)), [], (), Model())
    assert automatic == Automatic(Materialised(((A,),)), (RAN, SMALL, nothing))
    assert automatic.ran


@pytest.mark.behaviour("deferred.automatic")
def test_what_was_not_searched_says_why() -> None:
    automatic = not_searched(Materialised(((A,),)), "it is late")
    assert automatic.found == Materialised(((A,),))
    assert not automatic.ran
    assert [*map(str, automatic.decisions)] == ["tool_search: not searched, because it is late"]
