"""The launch filter: which built-ins, servers and tools pass, why the others do not, and that it opens nothing."""

import pickle

import pytest
from hypothesis import given
from tests.core import laws
from tests.core.boards import (
    BUILTINS,
    DEV_FILES,
    DOCS_FILES,
    GITHUB,
    MATH,
    ME,
    NOW,
    Board,
    board,
    boards,
    tool,
    views,
)
from tests.core.launching import launches

from pegboard.core.decision.resolve import HiddenTool, OpenTool, resolve
from pegboard.core.decision.unknown_names import unmatched_launch_entries
from pegboard.core.decision.visibility import HiddenByLaunchFilter, explain_hidden, hidden_remedy
from pegboard.core.explain.explain import DecisionStep, explain
from pegboard.core.model.catalogue import ProviderStart
from pegboard.core.model.ids import BadId, BuiltinKey, SourceKey, ToolId
from pegboard.core.model.patterns import (
    NO_FILTER,
    Allowance,
    LaunchBlock,
    LaunchFilter,
    Pattern,
    allowance,
    parse_launch_filter,
    parse_launch_pattern,
)
from pegboard.core.model.selection import View
from pegboard.core.resources.visibility import ResourcesOutOfView, explain_not_visible, resource_visibility

READ, WRITE = ToolId(GITHUB, "read"), ToolId(DEV_FILES, "write")


def filtered(kind: str, allow: list[str] | None = None, deny: list[str] | None = None) -> LaunchFilter:
    made = allowance(kind, allow, deny or [])
    assert isinstance(made, Allowance)
    return LaunchFilter(**{kind: made})


@pytest.mark.behaviour("filter.builtin_allowed")
@pytest.mark.parametrize(
    ("allow", "deny", "passing"),
    [
        (None, [], {"tool_search", "execute_sql", "search_schemas"}),
        (["tool_search"], [], {"tool_search"}),
        (["*_sql", "tool_*"], [], {"tool_search", "execute_sql"}),
        (["*"], ["execute_*"], {"tool_search", "search_schemas"}),
        (["execute_sql"], ["execute_sql"], set()),
        ([], [], set()),
        (["nothing"], [], set()),
        (None, ["search_[a-z]*"], {"tool_search", "execute_sql"}),
    ],
)
def test_built_ins_pass_by_patterns_of_their_names(allow: list[str] | None, deny: list[str], passing: set[str]) -> None:
    launch = filtered("builtins", allow, deny)
    names = ("tool_search", "execute_sql", "search_schemas")
    assert {name for name in names if launch.find_block(ToolId(BuiltinKey(), name)) is None} == passing
    assert launch.find_block(READ) is None


@pytest.mark.behaviour("filter.server_allowed")
@pytest.mark.parametrize(
    ("allow", "deny", "passing"),
    [
        (None, [], {GITHUB, DEV_FILES, DOCS_FILES, MATH}),
        (["github"], [], {GITHUB}),
        (["dev"], [], {GITHUB, DEV_FILES}),
        (["files"], [], {DEV_FILES, DOCS_FILES}),
        (["dev~files"], [], {DEV_FILES}),
        (["*~files", "math"], [], {DEV_FILES, DOCS_FILES, MATH}),
        (None, ["dev"], {DOCS_FILES, MATH}),
        (["*"], ["d?cs"], {GITHUB, DEV_FILES, MATH}),
        ([], [], set()),
    ],
)
def test_servers_pass_by_toolset_by_server_or_by_both(
    allow: list[str] | None, deny: list[str], passing: set[SourceKey]
) -> None:
    launch = filtered("servers", allow, deny)
    blocks = {source: launch.find_source_block(source) for source in (GITHUB, DEV_FILES, DOCS_FILES, MATH)}
    assert {source for source, block in blocks.items() if block is None} == passing
    assert all(
        (launch.find_block(ToolId(source, "x")) is None) == (blocks[source] is None) for source in (GITHUB, MATH)
    )
    assert launch.find_block(ToolId(BuiltinKey(), "tool_search")) is None


@pytest.mark.behaviour("filter.tool_allowed")
@pytest.mark.parametrize(
    ("allow", "deny", "passing"),
    [
        (["github:*"], [], {READ}),
        (["*:read"], [], {READ}),
        (["read", "files:write"], [], {READ, WRITE}),
        (["mcp:dev~files:write"], [], {WRITE}),
        (None, ["*:w*"], {READ}),
        (["*"], ["read"], {WRITE}),
        ([], [], set()),
    ],
)
def test_tools_pass_by_scope_and_name(allow: list[str] | None, deny: list[str], passing: set[ToolId]) -> None:
    launch = filtered("tools", allow, deny)
    assert {id for id in (READ, WRITE) if launch.find_block(id) is None} == passing


@pytest.mark.behaviour("filter.tool_allowed")
def test_a_tool_must_pass_what_is_said_of_servers_and_what_is_said_of_tools() -> None:
    both = LaunchFilter(servers=filtered("servers", ["github"]).servers, tools=filtered("tools", ["*:write"]).tools)
    assert [both.find_block(id) is None for id in (READ, WRITE, ToolId(GITHUB, "write"))] == [False, False, True]
    assert both.find_block(WRITE) == LaunchBlock("servers", None)
    assert both.find_block(READ) == LaunchBlock("tools", None)


def test_why_something_does_not_pass_names_the_pattern() -> None:
    told = [filtered("tools", None, ["*:w*"]).find_block(WRITE), filtered("servers", [], []).find_block(WRITE)]
    assert [*map(str, told)] == [
        "the launch filter denies it: '*:w*' under deny_tools",
        "the launch filter allows others: nothing under allow_servers fits it",
    ]


@pytest.mark.parametrize(
    ("kind", "text"),
    [("builtins", ""), ("builtins", "a:b"), ("servers", ""), ("servers", "a:b"), ("tools", ""), ("tools", ":x")],
)
def test_what_is_no_pattern_is_told(kind: str, text: str) -> None:
    read = parse_launch_pattern(kind, text)
    assert isinstance(read, BadId)
    assert repr(text) in read.why
    assert allowance(kind, ["fine", text]) == read
    assert allowance(kind, None, [text]) == read


def test_a_pattern_longer_than_any_id_is_refused() -> None:
    assert isinstance(parse_launch_pattern("builtins", "x" * 600), BadId)


def test_no_filter_limits_nothing_and_leaves_a_view_as_it_is() -> None:
    assert not NO_FILTER.is_limited
    assert View(ME).with_filter(NO_FILTER) == View(ME)
    view = View(ME).with_filter(filtered("tools", []))
    assert view != View(ME)
    assert pickle.loads(pickle.dumps(view)) == view


@pytest.mark.behaviour("filter.only_narrows")
@given(boards(), views, launches)
def test_a_filter_only_takes_away_and_the_resolver_says_what_it_says(
    board: Board, view: View, launch: LaunchFilter
) -> None:
    wide = resolve(board.catalogue, board.policy, view)
    narrow = resolve(board.catalogue, board.policy, view.with_filter(launch))
    assert laws.opened(narrow) == {id for id in laws.opened(wide) if launch.find_block(id) is None}
    assert narrow.names.keys() <= wide.names.keys()
    for id, verdict in narrow.verdicts.items():
        if launch.find_block(id) is None or isinstance(wide.verdicts[id], HiddenTool):
            assert type(verdict) is type(wide.verdicts[id])
        else:
            barred = launch.find_block(id)
            assert barred is not None
            assert verdict == HiddenTool(board.tools[id], HiddenByLaunchFilter(barred))


@pytest.mark.behaviour("filter.only_narrows")
@given(boards(), views, launches, launches)
def test_filters_commute(board: Board, view: View, one: LaunchFilter, other: LaunchFilter) -> None:
    there = resolve(board.catalogue, board.policy, view.with_filter(one).with_filter(other))
    back = resolve(board.catalogue, board.policy, view.with_filter(other).with_filter(one))
    assert laws.opened(there) == laws.opened(back)
    assert there.names == back.names


def test_an_operator_is_told_which_step_filtered_a_tool_away() -> None:
    made = board([tool(GITHUB, "read"), tool(DEV_FILES, "write"), tool(BUILTINS, "x")])
    view = View(ME).with_filter(filtered("tools", None, ["*:write"]))
    trail = explain(made.catalogue, made.policy, view, WRITE)
    assert trail is not None
    assert trail.steps[2] == DecisionStep(
        "Does the launch filter let it?", False, "the launch filter denies it: '*:write' under deny_tools"
    )
    assert isinstance(trail.verdict, HiddenTool)
    removed = trail.verdict.reason
    assert explain_hidden(removed) == "It is filtered away: the launch filter denies it: '*:write' under deny_tools."
    assert hidden_remedy(removed, WRITE) == (
        "Change deny_tools of the filter: in pegboard.yaml under prompts, or by its flag."
    )
    other = explain(made.catalogue, made.policy, view, READ)
    assert other is not None
    assert isinstance(other.verdict, OpenTool)
    assert DecisionStep("Does the launch filter let it?", True, "yes") in other.steps


def test_what_a_filtered_server_offers_beside_tools_is_beyond_the_view() -> None:
    made = board([tool(GITHUB, "read"), tool(DEV_FILES, "write")])
    view = View(ME).with_filter(LaunchFilter(servers=Allowance((Pattern("github", "*"),))))
    found = resource_visibility(made.catalogue, made.policy, view)
    barred = LaunchBlock("servers", None)
    assert found[DEV_FILES] == ResourcesOutOfView(HiddenByLaunchFilter(barred))
    assert explain_not_visible(DEV_FILES, found[DEV_FILES]) == f"dev~files is filtered away: {barred}."
    assert not isinstance(found[GITHUB], ResourcesOutOfView)


@pytest.mark.behaviour("filter.vain_names_are_told")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            {"deny_builtins": ["tool_serch"]},
            ["'tool_serch' under deny_builtins fits nothing on the board. Did you mean 'tool_search'?"],
        ),
        (
            {"allow_servers": ["githb"]},
            ["'githb' under allow_servers fits nothing on the board. Did you mean 'github' or 'dev~github'?"],
        ),
        ({"deny_tools": ["github:reed"]}, ["'reed' under deny_tools fits nothing on the board. Did you mean 'read'?"]),
        ({"allow_tools": ["nowhere:read"]}, ["'nowhere:read' under allow_tools fits nothing on the board."]),
        (
            {
                "allow_tools": ["read", "dev~files:*", "x*"],
                "allow_servers": ["dev", "db-*"],
                "deny_builtins": ["execute_sql"],
            },
            [],
        ),
    ],
)
def test_what_a_filter_names_in_vain_is_told_with_what_is_near(said: dict[str, list[str]], told: list[str]) -> None:
    made = board([tool(GITHUB, "read"), tool(DEV_FILES, "write")])
    launch = parse_launch_filter(said)
    assert isinstance(launch, LaunchFilter)
    assert [*map(str, unmatched_launch_entries(launch, made.catalogue, made.policy))] == told


@pytest.mark.behaviour("filter.vain_names_are_told")
def test_a_tool_of_a_server_that_has_not_told_its_tools_is_not_thought_misspelt() -> None:
    made = board([tool(GITHUB, "read")], sources=[DEV_FILES]).with_health(DEV_FILES, ProviderStart(1, NOW))
    launch = parse_launch_filter({"deny_tools": ["files:anything", "github:reed"]})
    assert isinstance(launch, LaunchFilter)
    assert [vain.text for vain in unmatched_launch_entries(launch, made.catalogue, made.policy)] == ["reed"]
