"""The decision tree of seed 004: built-ins, formats and tools, in or out, and the reason of each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import BUILTINS, DEV_FILES, GITHUB, Board, boards, views
from tests.core.launching import launches
from tests.prompts.boards import ADD, ISSUE, PYTHON, READ, SCHEMAS, SQL, WRITE, capable, hung, many, resolved
from tests.support.collect_failures import each_case

from pegboard.core.decision.resolve import OpenTool, resolve
from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import Allowance, LaunchFilter, Pattern
from pegboard.core.model.selection import View
from pegboard.core.model.settings import BUILTINS as FOUR
from pegboard.core.model.settings import DEFAULT_FORMATS, TEXT_FORMATS, CodeSettings, PromptSettings, python_tool
from pegboard.core.policy.policy import Switch
from pegboard.prompts.capability import (
    Availability,
    Capabilities,
    CapabilityDecision,
    CapabilityKind,
    NoPrograms,
    ProgramRunner,
    capabilities,
)
from pegboard.prompts.formats import FORMATS
from pegboard.prompts.model import Model, model_facts

EVERYTHING = (READ, ISSUE, PYTHON, SCHEMAS, SQL)
CALLS = Model(8, tool_calling=True)


def denying(*names: str) -> LaunchFilter:
    return LaunchFilter(builtins=Allowance(deny=tuple(Pattern("builtin", name) for name in names)))


def about(made: Capabilities, subject: str) -> tuple[Availability, str]:
    (ruling,) = (each for each in made.decisions() if each.subject == subject)
    return ruling.availability, ruling.why


@pytest.mark.behaviour("builtins.python_execution_included")
@pytest.mark.parametrize(
    ("builtins", "launch", "formats", "place", "why"),
    [
        (
            FOUR,
            LaunchFilter(),
            ("codemode",),
            Availability.IN,
            "it is switched on, and codemode is among prompts.formats",
        ),
        ((), LaunchFilter(), ("codemode",), Availability.OUT, "it is not among prompts.builtins"),
        (
            FOUR,
            denying("python_*"),
            ("codemode",),
            Availability.OUT,
            "the launch filter denies it: 'python_*' under deny_builtins",
        ),
        (FOUR, LaunchFilter(), ("native", "hermes"), Availability.OUT, "codemode is not among prompts.formats"),
    ],
)
def test_python_execution_needs_its_switch_the_filter_and_code_mode(
    builtins: tuple[str, ...], launch: LaunchFilter, formats: tuple[str, ...], place: Availability, why: str
) -> None:
    made = capable(hung(EVERYTHING), builtins=builtins, formats=formats, launch=launch)
    assert about(made, "python_execution") == (place, why)
    assert ("python_execution" in made.builtins) == (place is Availability.IN)


RUNNER = ProgramRunner(python_tool("A small Python.", CodeSettings()), "A small Python.")


@pytest.mark.behaviour("builtins.python_execution_included")
@pytest.mark.parametrize("formats", [DEFAULT_FORMATS, ("hermes", "codemode"), ("codemode",)])
def test_python_execution_is_in_by_default_where_programs_are_run_whatever_the_primary_format(
    formats: tuple[str, ...],
) -> None:
    made = capable(hung([READ]), CALLS, programs=RUNNER, formats=formats)
    assert about(made, "python_execution") == (
        Availability.IN,
        "it is switched on, and codemode is among prompts.formats",
    )
    assert about(made, "codemode") == (Availability.IN, "python_execution is in")


def test_where_programs_cannot_run_the_reason_is_the_one_that_the_gateway_gives() -> None:
    made = capable(hung([READ]), programs=NoPrograms("code mode is not installed"))
    assert about(made, "python_execution") == (Availability.OUT, "code mode is not installed")
    assert about(made, "codemode")[1] == "it needs python_execution, which is out: code mode is not installed"


@pytest.mark.behaviour("builtins.search_schemas_included", "builtins.execute_sql_included")
@pytest.mark.parametrize("name", ["search_schemas", "execute_sql"])
@pytest.mark.parametrize(
    ("on", "denied", "sources", "place"),
    [
        (True, False, ("shop",), Availability.IN),
        (True, False, (), Availability.OUT),
        (True, True, ("shop",), Availability.OUT),
        (False, False, ("shop",), Availability.OUT),
    ],
)
def test_database_tools_need_their_switch_the_filter_and_a_source(
    name: str, on: bool, denied: bool, sources: tuple[str, ...], place: Availability
) -> None:
    launch = denying(name) if denied else LaunchFilter()
    made = capable(hung(EVERYTHING), builtins=FOUR if on else ("tool_search",), launch=launch, sources=sources)
    assert about(made, name)[0] is place
    assert (name in made.builtins) == (place is Availability.IN)


def test_why_a_database_tool_is_in_or_out_is_told() -> None:
    made = hung(EVERYTHING)
    assert (
        about(capable(made, sources=["shop"]), "execute_sql")[1]
        == "it is switched on, and a database source is on: shop"
    )
    assert about(capable(made), "execute_sql")[1] == "no database source is on"


@pytest.mark.behaviour("builtins.tool_search_included")
@pytest.mark.parametrize(
    ("builtins", "launch", "ids", "place", "why"),
    [
        (FOUR, LaunchFilter(), (READ,), Availability.IN, "it is switched on, and there are deferred tools to find"),
        (
            FOUR,
            LaunchFilter(),
            (PYTHON,),
            Availability.CALLABLE,
            "no tool is deferred, so that there is nothing to tell the model to look for",
        ),
        (("execute_sql",), LaunchFilter(), (READ,), Availability.OUT, "it is not among prompts.builtins"),
        (
            FOUR,
            denying("tool_search"),
            (READ,),
            Availability.OUT,
            "the launch filter denies it: 'tool_search' under deny_builtins",
        ),
    ],
)
def test_tool_search_needs_its_switch_the_filter_and_deferred_tools(
    builtins: tuple[str, ...], launch: LaunchFilter, ids: tuple[ToolId, ...], place: Availability, why: str
) -> None:
    made = capable(hung(ids), builtins=builtins, launch=launch)
    assert about(made, "tool_search") == (place, why)
    assert (made.should_search, made.may_search) == (place is Availability.IN, place is not Availability.OUT)


def test_a_filter_that_leaves_no_tool_leaves_nothing_to_search() -> None:
    nothing = LaunchFilter(servers=Allowance(()))
    assert about(capable(launch=nothing), "tool_search")[0] is Availability.CALLABLE


@pytest.mark.behaviour("builtins.four_in_one_list")
def test_what_this_gateway_has_not_got_is_out_for_that_reason() -> None:
    made = capable(hung([READ]), sources=["shop"])
    assert [*map(str, made.builtin_decisions)] == [
        "python_execution: out, because nothing here runs programs",
        "tool_search: in, because it is switched on, and there are deferred tools to find",
        "search_schemas: out, because this gateway has no search_schemas",
        "execute_sql: out, because this gateway has no execute_sql",
    ]


def test_a_built_in_that_a_person_switched_off_is_out_for_that_reason() -> None:
    off = Switch(False, *next((a.by, a.at) for a in hung().policy.decisions.approvals.values()))
    made = hung(EVERYTHING)
    made = made.deciding(switches={PYTHON: off})
    place, why = about(capable(made), "python_execution")
    assert place is Availability.OUT
    assert why.startswith("it is locked (disabled_by_user): ")


@pytest.mark.behaviour(
    "formats.preferred_if_available",
    "formats.fallback",
    "formats.native_needs_the_model",
    "formats.code_mode_needs_python",
    "formats.hermes",
)
@pytest.mark.parametrize(
    ("formats", "primary", "model", "ids", "chosen", "available"),
    [
        (("native", "hermes"), "native", CALLS, (READ,), "native", ("native", "hermes")),
        (("native", "hermes"), "hermes", CALLS, (READ,), "hermes", ("native", "hermes")),
        (("native", "hermes"), None, CALLS, (READ,), "native", ("native", "hermes")),
        (("native", "hermes"), "native", Model(8), (READ,), "hermes", ("hermes",)),
        (("hermes", "native"), None, CALLS, (READ,), "hermes", ("hermes", "native")),
        (("hermes",), "native", CALLS, (READ,), "hermes", ("hermes",)),
        (("native",), "native", Model(8), (READ,), None, ()),
        (("codemode", "hermes"), "codemode", CALLS, (READ, PYTHON), "codemode", ("codemode", "hermes")),
        (("codemode", "hermes"), "codemode", CALLS, (READ,), "hermes", ("hermes",)),
        (("codemode",), None, CALLS, (READ,), None, ()),
        (("native", "family"), "family", Model(8, tool_calling=True, format="hermes"), (READ,), "hermes", None),
        (("family", "hermes", "hermes"), None, Model(8, format="hermes"), (READ,), "hermes", ("hermes",)),
        (("family", "hermes"), "family", Model(8), (READ,), "hermes", ("hermes",)),
        ((), None, CALLS, (READ,), None, ()),
    ],
)
def test_the_preferred_format_is_taken_if_available_and_else_the_first_that_is(
    formats: tuple[str, ...],
    primary: str | None,
    model: Model,
    ids: tuple[ToolId, ...],
    chosen: str | None,
    available: tuple[str, ...] | None,
) -> None:
    made = capable(hung(ids), model, formats=formats, primary=primary)
    assert made.primary == chosen
    assert made.is_native == (chosen == "native")
    assert available is None or made.formats == available


@pytest.mark.behaviour("formats.hermes", "formats.mistral", "formats.pythonic", "formats.pure_json")
@each_case("name", TEXT_FORMATS)
def test_every_text_format_is_available_whenever_it_is_switched_on(name: str) -> None:
    made = capable(model=Model(), formats=("native", name))
    assert (made.primary, made.formats) == (name, (name,))


def test_the_formats_that_can_be_switched_on_are_those_that_there_are() -> None:
    assert {*FORMATS} == {*TEXT_FORMATS, "native", "codemode"}


def test_every_format_in_or_out_has_its_reason() -> None:
    made = capable(formats=("native", "family", "hermes", "codemode"))
    assert [*map(str, made.format_decisions)] == [
        "native: out, because the model cannot, as far as is known, call tools natively",
        "family: out, because no format is known to be the model's own",
        "hermes: in, because it is switched on, and any model can write text",
        "codemode: out, because it needs python_execution, which is out: nothing here runs programs",
    ]
    qwen = capable(model=model_facts("qwen3:8b"), formats=("native", "family"))
    assert [*map(str, qwen.format_decisions)] == [
        "native: in, because the model can call tools natively",
        "hermes: in, because Qwen3 was trained on it",
    ]


def test_without_any_format_nothing_can_be_called_and_nothing_is_told() -> None:
    made = capable(formats=("native",), found=[READ], always=[ISSUE])
    assert (made.primary, made.tools) == (None, ())
    assert made.decision(READ) == CapabilityDecision(
        CapabilityKind.TOOL, str(READ), Availability.OUT, "no format is available to call it in"
    )


@pytest.mark.behaviour(
    "prompt.small_model_two_tools",
    "prompt.medium_model_five_tools",
    "prompt.large_model_ten_tools",
    "prompt.unknown_size_two_tools",
    "prompt.no_compact_mode",
    "prompt.tools_by_relevance",
)
@pytest.mark.parametrize(
    ("billions", "most"), [(None, 2), (0.5, 2), (6.99, 2), (7, 5), (13, 5), (30, 5), (30.1, 10), (405, 10)]
)
def test_the_size_of_the_model_caps_what_was_found_the_best_first(billions: float | None, most: int) -> None:
    made = many(30)
    found = [*made.tools][::-1]
    told = capable(made, Model(billions), found)
    assert told.tools == tuple(found[:most])
    assert told.decision(found[most - 1]).availability is Availability.IN
    late = told.decision(found[most])
    assert late.availability is Availability.DEFERRED
    assert late.why.startswith(f"it was found in place {most + 1}, and ")
    assert late.why.endswith(f": it is shown {most} found tools at most")


@pytest.mark.behaviour("explain.prompt_placement")
def test_for_one_tool_the_step_that_placed_it_is_told() -> None:
    made = hung().deciding(approvals={id: a for id, a in hung().policy.decisions.approvals.items() if id != ISSUE})
    launch = LaunchFilter(tools=Allowance(deny=(Pattern("*", "write_*"),)))
    told = capable(made, Model(8), [READ, WRITE], launch, always=[ADD])
    assert [*map(str, map(told.decision, (READ, WRITE, ADD)))] == [
        "mcp:dev~files:read_file: in, because it was found, in place 1; the model has 8 billion parameters, 7 to 30: "
        "it is shown 5 found tools at most",
        "mcp:dev~files:write_file: out, because the launch filter denies it: '*:write_*' under deny_tools",
        "math:add: in, because always_visible names it",
    ]
    assert told.decision(ISSUE).why.startswith("it is locked (pending_approval): ")
    unfound = capable(made).decision(READ)
    assert str(unfound) == (
        "mcp:dev~files:read_file: deferred, because it is known to search and is in the prompt once a search finds it"
    )
    off = capable(made, builtins=()).decision(READ)
    assert off.why == "it is known to search and tool_search is out, so it stays there"
    nowhere = told.decision(ToolId(GITHUB, "nowhere"))
    assert nowhere.why == "the board has no such tool"


@pytest.mark.behaviour("explain.prompt_placement")
def test_what_the_view_has_not_got_is_out_by_the_step_that_removed_it() -> None:
    launch = LaunchFilter(servers=Allowance((Pattern("github", "*"),)))
    view = resolved(hung(), launch)
    told = capabilities(PromptSettings(), Model(8), LaunchFilter(), view, [READ])
    assert told.tools == ()
    assert told.decision(READ).why == (
        "it is not in this view: it is filtered away: the launch filter allows others: nothing under allow_servers "
        "fits it"
    )


@pytest.mark.behaviour("prompt.capabilities")
def test_searching_again_changes_what_is_told_and_nothing_else() -> None:
    before = capable()
    after = before.with_found([ISSUE, READ, ISSUE])
    assert after.tools == (ISSUE, READ)
    assert after == capable(found=[ISSUE, READ])
    assert before.tools == ()


def test_tools_that_are_always_shown_come_first_and_take_no_place_of_found_ones() -> None:
    told = capable(model=Model(1), found=[ADD, READ, ISSUE], always=[ADD, WRITE])
    assert told.tools == (*(id for id in resolved(hung()).open_ids if id in (ADD, WRITE)), READ, ISSUE)


@pytest.mark.behaviour("prompt.one_decision_each", "prompt.deterministic")
@given(boards(), views, launches, st.data())
def test_everything_gets_exactly_one_decision_and_nothing_closed_is_told_of(
    board: Board, view: View, launch: LaunchFilter, data: st.DataObject
) -> None:
    resolution = resolve(board.catalogue, board.policy, view)
    found = data.draw(st.lists(st.sampled_from(sorted(board.tools)), max_size=6))
    always = data.draw(st.lists(st.sampled_from(sorted(board.tools)), max_size=2))
    made = capabilities(PromptSettings(), Model(), launch, resolution, found, always=always)
    rulings = [*made.decisions()]
    subjects = [each.subject for each in rulings if each.kind is not CapabilityKind.FORMAT]
    assert len(subjects) == len({*subjects})
    assert {*subjects} == {*FOUR, *map(str, board.tools)}
    assert [*made.decisions()] == rulings
    told = {
        each.subject for each in rulings if each.kind is CapabilityKind.TOOL and each.availability is Availability.IN
    }
    assert told == {*map(str, made.tools)}
    for id in made.tools:
        assert isinstance(resolution.verdicts[id], OpenTool)
        assert launch.find_block(id) is None
    assert len([id for id in made.tools if id not in made.always_visible and id.source != BUILTINS]) <= 2


@pytest.mark.behaviour("filter.only_narrows")
@given(boards(), launches)
def test_more_filter_never_means_more_tools(board: Board, launch: LaunchFilter) -> None:
    resolution = resolved(board)
    found = sorted(board.tools)
    wide = capabilities(PromptSettings(), Model(70), LaunchFilter(), resolution, found)
    narrow = capabilities(PromptSettings(), Model(70), launch, resolution, found)
    assert {*narrow.tools} <= {*wide.tools}
    assert {*narrow.builtins} <= {*wide.builtins}
    within = capabilities(PromptSettings(), Model(70), LaunchFilter(), resolved(board, launch), found)
    assert within.tools == narrow.tools


def test_tools_of_one_server_are_told_in_the_order_in_which_they_were_found() -> None:
    ids = [ToolId(DEV_FILES, name) for name in "cab"]
    assert capable(hung(ids), found=ids).tools == tuple(ids)
