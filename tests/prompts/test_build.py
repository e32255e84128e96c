"""The system prompt part by part: order, reasons, costs, the budget, and one text for equal boards."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import GITHUB, Board
from tests.prompts.boards import ADD, ISSUE, PYTHON, READ, SQL, WRITE, capable, hung, many
from tests.support.collect_failures import each_case

from pegboard.core.model.ids import ToolId
from pegboard.core.model.settings import MIN_BUDGET_TOKENS, TEXT_FORMATS, PromptSettings
from pegboard.core.overrides.model import Override, OverrideIndex
from pegboard.core.presentations.entries import estimate_tokens
from pegboard.prompts.capability import Availability, Capabilities, CapabilityDecision, CapabilityKind
from pegboard.prompts.formats import FORMATS
from pegboard.prompts.model import Model
from pegboard.prompts.system_prompt import BuiltPrompt, PartKind, PromptPart, build
from pegboard.prompts.tool_shape import SEARCH_SHAPE, ToolShape, tool_functions

NATIVE = Model(8, tool_calling=True)
TOOL = ToolShape("look_up", "Looks up.", {"type": "object", "properties": {}})


def built(made: Capabilities, *, client: Sequence[ToolShape] = (), **settings: object) -> BuiltPrompt:
    prompting = replace(PromptSettings(), **settings)  # type: ignore[arg-type]  # checked by dataclasses
    return build(made, prompting, client=client)


def kinds(prompt: BuiltPrompt) -> list[PartKind]:
    return [part.kind for part in prompt.parts]


@pytest.mark.behaviour("prompt.parts_in_order", "prompt.text_format_instructions", "prompt.base_from_settings")
def test_a_prompt_has_base_format_built_ins_and_tools_in_this_order() -> None:
    prompt = built(capable(found=[READ, ISSUE]), base="Be brief.")
    assert kinds(prompt) == [PartKind.BASE, PartKind.FORMAT, PartKind.BUILTINS, PartKind.TOOLS]
    hermes = FORMATS["hermes"]
    assert prompt.system == "\n\n".join(
        ["Be brief.", hermes.instructions(prompt.shapes), hermes.tools_text(prompt.shapes)]
    )
    assert [shape.name for shape in prompt.shapes] == ["tool_search", "read_file", "create_issue"]
    assert prompt.system.index("tool_search") < prompt.system.index("read_file") < prompt.system.index("create_issue")


@pytest.mark.behaviour("prompt.parts_in_order")
def test_each_part_tells_its_reason_and_its_cost() -> None:
    prompt = built(capable(found=[READ]), base="Be brief.")
    assert [(part.why, part.tokens == estimate_tokens(part.separator + part.text)) for part in prompt.parts] == [
        ("it is what the settings say under prompts.base", True),
        ("hermes is the format in which this model calls tools", True),
        ("these built-ins are in: tool_search", True),
        (
            "they are always shown or were found, the best first; the model has 8 billion parameters, 7 to 30: 5 at "
            "most",
            True,
        ),
    ]
    assert prompt.parts[0] == PromptPart(
        PartKind.BASE, "Be brief.", prompt.parts[0].why, estimate_tokens("Be brief."), ""
    )
    assert prompt.tokens == sum(part.tokens for part in prompt.parts)
    assert all(each.tokens > 10 for each in prompt.offered_tools)


@pytest.mark.behaviour("prompt.native_tools_array")
def test_with_native_the_tools_stand_beside_the_system_prompt() -> None:
    prompt = built(capable(model=NATIVE, found=[READ]), base="Be brief.")
    assert prompt.system == "Be brief."
    assert kinds(prompt) == [PartKind.BASE, PartKind.BUILTINS, PartKind.TOOLS]
    assert json.loads("".join(part.text for part in prompt.parts if part.in_tools_array)) == tool_functions(
        prompt.shapes
    )


def test_where_nothing_can_be_called_nothing_is_told_of_calling() -> None:
    assert kinds(built(capable(formats=()))) == [PartKind.BASE]
    assert kinds(built(capable(builtins=()))) == [PartKind.BASE]
    assert kinds(built(capable(builtins=()), base="")) == []
    assert built(capable(formats=()), base="").system == ""


@pytest.mark.behaviour("prompt.code_mode_instructions")
def test_in_code_mode_the_prompt_tells_how_to_write_python_and_the_tools_are_functions() -> None:
    prompt = built(capable(hung([READ, PYTHON]), found=[READ], formats=("codemode", "hermes")))
    assert prompt.capabilities.primary == "codemode"
    code = FORMATS["codemode"]
    assert code.instructions(prompt.shapes) in prompt.system
    assert "```python" in prompt.system
    assert [shape.name for shape in prompt.shapes] == ["tool_search", "read_file"]
    assert "def read_file(" in prompt.system
    alone = built(capable(hung([PYTHON]), formats=("codemode",)))
    assert alone.parts[1].text == code.instructions([])


def test_built_ins_of_the_board_are_told_by_their_own_schemas() -> None:
    prompt = built(capable(hung([READ, SQL, PYTHON]), sources=["shop"]))
    assert [shape.name for shape in prompt.shapes] == ["python_execution", "tool_search", "execute_sql"]
    assert prompt.tool("execute_sql") == SQL
    assert prompt.tool("nothing") is None


@pytest.mark.behaviour("builtins.tool_search_always_callable")
def test_tool_search_can_be_called_where_the_model_is_not_told_of_it() -> None:
    quiet = built(capable(hung([PYTHON]), formats=("hermes",)))
    assert (quiet.shapes, quiet.callable) == ((), (SEARCH_SHAPE,))
    told = built(capable())
    assert told.callable == told.shapes == (SEARCH_SHAPE,)
    assert built(capable(builtins=())).callable == ()


def test_a_tool_is_told_in_the_words_that_people_gave_it() -> None:
    override = Override(READ.toolset, READ, description_override="Ours.")
    prompt = build(capable(found=[READ]), PromptSettings(), overrides=OverrideIndex((override,)))
    assert prompt.shapes[1].description == "Ours."


def test_tools_of_the_client_keep_their_names_and_take_none_from_the_board() -> None:
    mine = ToolShape("read_file", "Mine.", {})
    prompt = built(capable(found=[READ]), client=[mine, TOOL])
    assert kinds(prompt) == [PartKind.BASE, PartKind.FORMAT, PartKind.BUILTINS, PartKind.TOOLS, PartKind.CLIENT]
    assert [(each.shape.name, each.id) for each in prompt.offered_tools[1:]] == [
        ("dev__read_file", READ),
        ("read_file", None),
        ("look_up", None),
    ]


@pytest.mark.behaviour("prompt.budget")
def test_over_the_budget_the_least_relevant_tools_leave_first_and_are_told() -> None:
    made = capable(model=Model(70), found=[READ, WRITE, ISSUE, ADD])
    whole = built(made)
    assert whole.left_out == ()
    short = built(made, budget=whole.tokens - 1)
    assert [each.id for each in short.offered_tools[1:]] == [READ, WRITE, ISSUE]
    why = f"the budget of {whole.tokens - 1} tokens had no room for it"
    assert short.left_out == (CapabilityDecision(CapabilityKind.TOOL, "math:add", Availability.OUT, why),)
    assert short.decision(ADD) == short.left_out[0]
    assert short.decision(READ).availability is Availability.IN


@pytest.mark.behaviour("prompt.budget")
def test_what_is_always_shown_and_built_ins_leave_last_and_without_them_the_format_leaves_too() -> None:
    made = capable(model=Model(70), found=[READ], always=[ADD])
    sizes = [built(made, budget=budget) for budget in range(10, built(made).tokens + 1)]
    left = [tuple(each.subject for each in prompt.left_out) for prompt in sizes]
    assert [*dict.fromkeys(left)] == [
        ("tool_search", "math:add", str(READ)),
        ("math:add", str(READ)),
        (str(READ),),
        (),
    ]
    assert kinds(sizes[-1])[1] is PartKind.FORMAT
    assert {tuple(kinds(prompt)) for prompt in sizes if len(prompt.left_out) == 3} == {(), (PartKind.BASE,)}


@pytest.mark.behaviour("prompt.budget")
@given(st.integers(MIN_BUDGET_TOKENS, 4_000), st.integers(0, 12), st.sampled_from([Model(1), Model(70), NATIVE]))
def test_the_budget_is_never_exceeded(budget: int, count: int, model: Model) -> None:
    made = MANY if count else hung([READ])
    found = [ToolId(GITHUB, f"tool_{number}") for number in range(count)]
    prompt = built(capable(made, model, found), budget=budget)
    assert prompt.tokens <= budget
    assert estimate_tokens(prompt.system) <= budget + len(prompt.parts)
    assert len(prompt.offered_tools) + len(prompt.left_out) == 1 + min(count, model.max_found_tools)
    assert {each.id for each in prompt.offered_tools}.isdisjoint(each.subject for each in prompt.left_out)


MANY: Board = many(12)


@pytest.mark.behaviour("prompt.deterministic")
@given(st.permutations([READ, WRITE, ISSUE, ADD]), st.booleans())
def test_equal_boards_give_equal_prompts(found: list[ToolId], native: bool) -> None:
    model = replace(Model(70), tool_calling=native)
    one = built(capable(hung([READ, WRITE, ISSUE, ADD]), model, found))
    other = built(capable(hung([READ, WRITE, ISSUE, ADD]), model, found))
    assert (one.system, one.parts, one.shapes) == (other.system, other.parts, other.shapes)
    assert [each.id for each in one.offered_tools[1:]] == found


@pytest.mark.behaviour("prompt.deterministic")
def test_what_is_found_later_stands_behind_what_was_found_before() -> None:
    before = built(capable(model=Model(70), found=[READ]))
    after = built(capable(model=Model(70), found=[READ, ISSUE]))
    start = before.system[: before.system.rindex("}")]
    assert after.system.startswith(start)


def test_words_from_anywhere_in_the_world_and_broken_ones_are_told() -> None:
    odd = ToolShape("odd", "説明 \ud800 🦜 </tools>", {"type": "object"})
    prompt = built(capable(found=[READ]), client=[odd])
    assert "🦜" in prompt.system
    assert prompt.tokens <= PromptSettings().budget


@pytest.mark.behaviour("prompt.parts_in_order", "prompt.text_format_instructions", "prompt.budget")
@each_case("name", [*TEXT_FORMATS, "codemode"])
def test_in_every_format_the_parts_are_its_own_texts_and_keep_to_every_budget(name: str) -> None:
    made = capable(hung([READ, WRITE, ISSUE, PYTHON]), Model(70), [READ, WRITE, ISSUE], formats=(name, "codemode"))
    whole = built(made, client=[TOOL])
    format = FORMATS[name]
    assert whole.system.split("\n\n", 1)[1] == (
        f"{format.instructions(whole.shapes)}\n\n{format.tools_text(whole.shapes)}"
    )
    kinds_in_order = [PartKind.BASE, PartKind.FORMAT, PartKind.BUILTINS, PartKind.TOOLS, PartKind.CLIENT]
    assert kinds(whole) == kinds_in_order
    builtins, tools, client = (part.text for part in whole.parts[2:])
    assert ("tool_search" in builtins, "read_file" in tools, "look_up" in client) == (True, True, True)
    described = re.sub(r"\w+\.read_file", "", builtins)  # as a function of python_execution
    assert ("read_file" in described, "look_up" in tools) == (False, False)
    for budget in range(MIN_BUDGET_TOKENS, whole.tokens, 61):
        assert built(made, client=[TOOL], budget=budget).tokens <= budget
