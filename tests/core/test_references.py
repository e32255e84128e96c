"""How people point at tools, what is found, and what is said when nothing is."""

import pytest
from hypothesis import assume, given
from tests.core.boards import (
    BUILTINS,
    DEV_FILES,
    DOCS_FILES,
    GITHUB,
    MATH,
    NAMES,
    Board,
    board,
    boards,
    ids,
    key,
    texts,
    tool,
)

from pegboard.core.ids import BUILTIN, ID_RULE, BadId, LegacyToolId, ServerId, ToolId, ToolsetId, is_id
from pegboard.core.pattern import Pattern
from pegboard.core.reference import (
    Directory,
    Kind,
    Named,
    OfServer,
    OfToolset,
    Reference,
    Unknown,
    closest,
    find,
    find_toolset,
    reference,
)
from pegboard.core.resolve import directory, resolve
from pegboard.core.view import View

READ, WRITE = ToolId(GITHUB, "read"), ToolId(GITHUB, "write")
DEV_READ, DOCS_READ = ToolId(DEV_FILES, "read"), ToolId(DOCS_FILES, "read")
ADD = ToolId(MATH, "add")
LATE = key("dev~late")
HERE = Directory(
    ids=(READ, WRITE, DEV_READ, DOCS_READ, ADD),
    toolsets=frozenset({*(ToolsetId(id) for id in ("dev", "docs", "math", "empty"))}),
    servers=frozenset({GITHUB, DEV_FILES, DOCS_FILES, LATE}),
)


def found(text: str, within: Directory = HERE) -> tuple[ToolId, ...] | Unknown:
    return find(reference(text), within, Kind.TOOL)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("read", Named("read")),
        ("  read ", Named("read")),
        ("dev__read", Named("dev__read")),
        ("toolset:dev", OfToolset(ToolsetId("dev"))),
        ("toolset:builtin", OfToolset(BUILTIN)),
        ("mcp:dev~github", OfServer(GITHUB)),
        ("mcp:dev~github:read", READ),
        ("mcp:github:read", LegacyToolId(ServerId("github"), "read")),
        ("math:add", ADD),
        ("github:*", Pattern("github", "*")),
        ("read_*", Pattern("*", "read_*")),
        ("[", Named("[")),
        ("", BadId("", "an empty name names no tool")),
    ],
)
def test_each_way_to_point_at_tools_is_told_apart(text: str, meant: Reference) -> None:
    assert reference(text) == meant


@pytest.mark.behaviour("ids.reference_to_toolset", "ids.reference_to_server", "toolsets.aggregate_servers")
@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("read", (READ, DEV_READ, DOCS_READ)),
        ("add", (ADD,)),
        ("math:add", (ADD,)),
        ("mcp:docs~files:read", (DOCS_READ,)),
        ("toolset:dev", (READ, WRITE, DEV_READ)),
        ("toolset:math", (ADD,)),
        ("toolset:empty", ()),
        ("mcp:dev~github", (READ, WRITE)),
        ("mcp:dev~late", ()),
        ("docs__read", (DOCS_READ,)),
        ("dev__read", (READ, DEV_READ)),
        ("dev__files__read", (DEV_READ,)),
        ("math__add", (ADD,)),
        ("*:w*", (WRITE,)),
        ("nothing:*", ()),
    ],
)
def test_what_is_pointed_at_is_found(text: str, tools: tuple[ToolId, ...]) -> None:
    assert found(text) == tools


@pytest.mark.behaviour("ids.legacy_when_unambiguous")
def test_the_older_form_is_understood_while_one_server_has_that_id() -> None:
    assert found("mcp:github:read") == (READ,)
    assert found("mcp:github:raed") == Unknown(
        "mcp:github:raed", Kind.TOOL, ("mcp:dev~github:read", "mcp:dev~github:write")
    )


@pytest.mark.behaviour("ids.legacy_ambiguous_is_error")
def test_the_older_form_is_refused_when_several_servers_have_that_id_and_names_them() -> None:
    assert found("mcp:files:read") == Unknown(
        "mcp:files:read", Kind.TOOL, ("mcp:dev~files:read", "mcp:docs~files:read"), "2 servers have the id 'files'."
    )
    assert str(found("mcp:files:read")) == (
        "Unknown tool 'mcp:files:read'. 2 servers have the id 'files'. "
        "Did you mean 'mcp:dev~files:read' or 'mcp:docs~files:read'?"
    )


def test_the_older_form_is_as_ambiguous_while_one_of_the_servers_has_not_answered_yet() -> None:
    """Else the same words would mean one tool today and none tomorrow, by which server starts first."""
    starting = Directory((DEV_READ,), HERE.toolsets, HERE.servers)
    assert isinstance(found("mcp:files:read", starting), Unknown)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("raed", Unknown("raed", Kind.TOOL, ("read",))),
        ("READ", Unknown("READ", Kind.TOOL, ("read",))),
        ("toolset:deb", Unknown("toolset:deb", Kind.TOOL, ("toolset:dev",))),
        ("mcp:dev~gihub", Unknown("mcp:dev~gihub", Kind.TOOL, ("mcp:dev~github",))),
        ("math:adds", Unknown("math:adds", Kind.TOOL, ("math:add",))),
        ("zzzzzzzz", Unknown("zzzzzzzz", Kind.TOOL)),
        ("", Unknown("", Kind.TOOL, (), "An empty name names no tool.")),
        (
            "A:b",
            Unknown(
                "A:b",
                Kind.TOOL,
                (),
                f"'A:b' is not a tool id: write it as toolset:tool, with a toolset id of {ID_RULE}.",
            ),
        ),
    ],
)
def test_what_is_not_there_is_told_with_what_is_near(text: str, unknown: Unknown) -> None:
    near = unknown.near
    told = found(text)
    assert isinstance(told, Unknown)
    assert (told.text, told.why, told.near[: len(near)]) == (unknown.text, unknown.why, near)


def test_a_tool_is_not_near_because_its_server_is() -> None:
    assert found("mcp:dev~github:zzzzzzzz") == Unknown("mcp:dev~github:zzzzzzzz", Kind.TOOL)
    assert found("mcp:dev~github:raed") == Unknown("mcp:dev~github:raed", Kind.TOOL, ("mcp:dev~github:read",))


def test_a_toolset_is_found_in_any_case_and_a_missing_one_told_without_the_built_ins() -> None:
    with_builtin = Directory((), frozenset({*HERE.toolsets, ToolsetId("builtin")}))
    assert find_toolset(" Dev ", with_builtin) == "dev"
    assert find_toolset("builtim", with_builtin) == Unknown("builtim", Kind.TOOLSET)
    assert find_toolset("dosc", with_builtin) == Unknown("dosc", Kind.TOOLSET, ("docs",))


@pytest.mark.behaviour("ids.shown_is_accepted")
@given(boards(), ids)
def test_the_id_that_an_answer_shows_finds_that_tool_and_no_other(made: Board, id: ToolId) -> None:
    assume(id.source != BUILTINS or is_id(id.name))
    there = directory(made.catalogue, made.policy)
    with_it = Directory(tuple({*there.ids, id}), there.toolsets, there.servers)
    answer = _tools(find(reference(str(id)), with_it, Kind.TOOL))
    # The id of a built-in is a bare name, which other tools may have too.
    assert answer == (id,) if id.source != BUILTINS else id in answer


@pytest.mark.behaviour("ids.shown_is_accepted")
@given(boards())
def test_the_name_that_a_client_sees_finds_that_tool(made: Board) -> None:
    there = directory(made.catalogue, made.policy)
    for id, name in resolve(made.catalogue, made.policy, View()).names.items():
        assert id in _tools(find(reference(name), there, Kind.TOOL))


def test_a_name_that_one_tool_has_and_another_is_seen_by_means_both() -> None:
    made = board([tool(GITHUB, "read"), tool(GITHUB, "dev__read"), tool(DOCS_FILES, "read")])
    names = resolve(made.catalogue, made.policy, View()).names
    assert names[ToolId(GITHUB, "read")] == "dev__read"
    assert found("dev__read", directory(made.catalogue, made.policy)) == (
        ToolId(GITHUB, "dev__read"),
        ToolId(GITHUB, "read"),
    )


def _tools(found: tuple[ToolId, ...] | Unknown) -> tuple[ToolId, ...]:
    assert not isinstance(found, Unknown), str(found)
    return found


@pytest.mark.parametrize("name", ["what?", "get[x]", "*", "a*b", "[", "files.read", "工具", "x" * 90])
def test_a_tool_whose_name_looks_like_a_pattern_or_is_illegal_on_the_wire_can_be_named(name: str) -> None:
    made = board([tool(GITHUB, name), tool(GITHUB, "whatX"), tool(GITHUB, "getx"), tool(DOCS_FILES, name)])
    there = directory(made.catalogue, made.policy)
    id = ToolId(GITHUB, name)
    assert found(str(id), there) == (id,)
    assert found(resolve(made.catalogue, made.policy, View()).names[id], there) == (id,)


@given(texts)
def test_any_text_is_found_or_told_as_unknown(text: str) -> None:
    answer = found(text)
    if isinstance(answer, Unknown):
        assert str(answer).startswith("Unknown tool ")
    assert not isinstance(find_toolset(text, HERE), tuple)


def test_near_matches_in_a_large_pool_are_those_of_a_small_one() -> None:
    crowd = [f"tool_{number}_of_many" for number in range(3000)]
    for wrong, right in [("raed", "read"), ("lsit_items", "list_items"), ("CREATE_ISUE", "create_issue")]:
        assert closest(wrong, [*crowd, right])[0] == right
        assert closest(wrong, [right]) == (right,)
    assert closest("tool_77_of_mnay", crowd)[0] == "tool_77_of_many"


def test_names_that_differ_in_case_only_are_both_near() -> None:
    assert closest("raed", ["Read", "read"]) == ("Read", "read")


def test_a_huge_name_is_cut_before_it_is_compared() -> None:
    assert closest("read" * 500_000, NAMES) == closest("read" * 32, NAMES)
    assert closest("", NAMES) == ()
    assert closest("read", ()) == ()


@pytest.mark.behaviour("ids.shown_is_accepted")
@pytest.mark.parametrize("text", ["dev:read", "github:read", "dev~github:read", "mcp:dev~github:read"])
def test_a_servers_tool_is_meant_by_its_toolset_its_server_or_its_key(text: str) -> None:
    github, other = key("dev~github"), key("docs~notes")
    within = Directory((ToolId(github, "read"), ToolId(other, "read")), frozenset({github.toolset, other.toolset}))
    assert find(reference(text), within, Kind.TOOL) == (ToolId(github, "read"),)
