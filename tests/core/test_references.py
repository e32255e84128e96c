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

from pegboard.core.decision.resolve import build_directory, resolve
from pegboard.core.model.ids import BUILTIN, ID_RULE, BadId, LegacyToolId, ServerId, ToolId, ToolsetId, is_id
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.references import (
    NameReference,
    Reference,
    ReferenceKind,
    ServerReference,
    ToolDirectory,
    ToolsetReference,
    UnknownReference,
    closest_names,
    find_tools,
    find_toolset,
    parse_reference,
)
from pegboard.core.model.selection import View

READ, WRITE = ToolId(GITHUB, "read"), ToolId(GITHUB, "write")
DEV_READ, DOCS_READ = ToolId(DEV_FILES, "read"), ToolId(DOCS_FILES, "read")
ADD = ToolId(MATH, "add")
LATE = key("dev~late")
HERE = ToolDirectory(
    ids=(READ, WRITE, DEV_READ, DOCS_READ, ADD),
    toolsets=frozenset({*(ToolsetId(id) for id in ("dev", "docs", "math", "empty"))}),
    servers=frozenset({GITHUB, DEV_FILES, DOCS_FILES, LATE}),
)


def found(text: str, within: ToolDirectory = HERE) -> tuple[ToolId, ...] | UnknownReference:
    return find_tools(parse_reference(text), within, ReferenceKind.TOOL)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("read", NameReference("read")),
        ("  read ", NameReference("read")),
        ("dev__read", NameReference("dev__read")),
        ("toolset:dev", ToolsetReference(ToolsetId("dev"))),
        ("toolset:builtin", ToolsetReference(BUILTIN)),
        ("mcp:dev~github", ServerReference(GITHUB)),
        ("mcp:dev~github:read", READ),
        ("mcp:github:read", LegacyToolId(ServerId("github"), "read")),
        ("math:add", ADD),
        ("github:*", Pattern("github", "*")),
        ("read_*", Pattern("*", "read_*")),
        ("[", NameReference("[")),
        ("", BadId("", "an empty name names no tool")),
    ],
)
def test_each_way_to_point_at_tools_is_told_apart(text: str, meant: Reference) -> None:
    assert parse_reference(text) == meant


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
    assert found("mcp:github:raed") == UnknownReference(
        "mcp:github:raed", ReferenceKind.TOOL, ("mcp:dev~github:read", "mcp:dev~github:write")
    )


@pytest.mark.behaviour("ids.legacy_ambiguous_is_error")
def test_the_older_form_is_refused_when_several_servers_have_that_id_and_names_them() -> None:
    assert found("mcp:files:read") == UnknownReference(
        "mcp:files:read",
        ReferenceKind.TOOL,
        ("mcp:dev~files:read", "mcp:docs~files:read"),
        "2 servers have the id 'files'.",
    )
    assert str(found("mcp:files:read")) == (
        "Unknown tool 'mcp:files:read'. 2 servers have the id 'files'. "
        "Did you mean 'mcp:dev~files:read' or 'mcp:docs~files:read'?"
    )


def test_the_older_form_is_as_ambiguous_while_one_of_the_servers_has_not_answered_yet() -> None:
    """Else the same words would mean one tool today and none tomorrow, by which server starts first."""
    starting = ToolDirectory((DEV_READ,), HERE.toolsets, HERE.servers)
    assert isinstance(found("mcp:files:read", starting), UnknownReference)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("raed", UnknownReference("raed", ReferenceKind.TOOL, ("read",))),
        ("READ", UnknownReference("READ", ReferenceKind.TOOL, ("read",))),
        ("toolset:deb", UnknownReference("toolset:deb", ReferenceKind.TOOL, ("toolset:dev",))),
        ("mcp:dev~gihub", UnknownReference("mcp:dev~gihub", ReferenceKind.TOOL, ("mcp:dev~github",))),
        ("math:adds", UnknownReference("math:adds", ReferenceKind.TOOL, ("math:add",))),
        ("zzzzzzzz", UnknownReference("zzzzzzzz", ReferenceKind.TOOL)),
        ("", UnknownReference("", ReferenceKind.TOOL, (), "An empty name names no tool.")),
        (
            "A:b",
            UnknownReference(
                "A:b",
                ReferenceKind.TOOL,
                (),
                f"'A:b' is not a tool id: write it as toolset:tool, with a toolset id of {ID_RULE}.",
            ),
        ),
    ],
)
def test_what_is_not_there_is_told_with_what_is_near(text: str, unknown: UnknownReference) -> None:
    near = unknown.suggestions
    told = found(text)
    assert isinstance(told, UnknownReference)
    assert (told.text, told.why, told.suggestions[: len(near)]) == (unknown.text, unknown.why, near)


def test_a_tool_is_not_near_because_its_server_is() -> None:
    assert found("mcp:dev~github:zzzzzzzz") == UnknownReference("mcp:dev~github:zzzzzzzz", ReferenceKind.TOOL)
    assert found("mcp:dev~github:raed") == UnknownReference(
        "mcp:dev~github:raed", ReferenceKind.TOOL, ("mcp:dev~github:read",)
    )


def test_a_toolset_is_found_in_any_case_and_a_missing_one_told_without_the_built_ins() -> None:
    with_builtin = ToolDirectory((), frozenset({*HERE.toolsets, ToolsetId("builtin")}))
    assert find_toolset(" Dev ", with_builtin) == "dev"
    assert find_toolset("builtim", with_builtin) == UnknownReference("builtim", ReferenceKind.TOOLSET)
    assert find_toolset("dosc", with_builtin) == UnknownReference("dosc", ReferenceKind.TOOLSET, ("docs",))


@pytest.mark.behaviour("ids.shown_is_accepted")
@given(boards(), ids)
def test_the_id_that_an_answer_shows_finds_that_tool_and_no_other(made: Board, id: ToolId) -> None:
    assume(id.source != BUILTINS or is_id(id.name))
    there = build_directory(made.catalogue, made.policy)
    with_it = ToolDirectory(tuple({*there.ids, id}), there.toolsets, there.servers)
    answer = _tools(find_tools(parse_reference(str(id)), with_it, ReferenceKind.TOOL))
    # The id of a built-in is a bare name, which other tools may have too.
    assert answer == (id,) if id.source != BUILTINS else id in answer


@pytest.mark.behaviour("ids.shown_is_accepted")
@given(boards())
def test_the_name_that_a_client_sees_finds_that_tool(made: Board) -> None:
    there = build_directory(made.catalogue, made.policy)
    for id, name in resolve(made.catalogue, made.policy, View()).names.items():
        assert id in _tools(find_tools(parse_reference(name), there, ReferenceKind.TOOL))


def test_a_name_that_one_tool_has_and_another_is_seen_by_means_both() -> None:
    made = board([tool(GITHUB, "read"), tool(GITHUB, "dev__read"), tool(DOCS_FILES, "read")])
    names = resolve(made.catalogue, made.policy, View()).names
    assert names[ToolId(GITHUB, "read")] == "dev__read"
    assert found("dev__read", build_directory(made.catalogue, made.policy)) == (
        ToolId(GITHUB, "dev__read"),
        ToolId(GITHUB, "read"),
    )


def _tools(found: tuple[ToolId, ...] | UnknownReference) -> tuple[ToolId, ...]:
    assert not isinstance(found, UnknownReference), str(found)
    return found


@pytest.mark.parametrize("name", ["what?", "get[x]", "*", "a*b", "[", "files.read", "工具", "x" * 90])
def test_a_tool_whose_name_looks_like_a_pattern_or_is_illegal_on_the_wire_can_be_named(name: str) -> None:
    made = board([tool(GITHUB, name), tool(GITHUB, "whatX"), tool(GITHUB, "getx"), tool(DOCS_FILES, name)])
    there = build_directory(made.catalogue, made.policy)
    id = ToolId(GITHUB, name)
    assert found(str(id), there) == (id,)
    assert found(resolve(made.catalogue, made.policy, View()).names[id], there) == (id,)


@given(texts)
def test_any_text_is_found_or_told_as_unknown(text: str) -> None:
    answer = found(text)
    if isinstance(answer, UnknownReference):
        assert str(answer).startswith("Unknown tool ")
    assert not isinstance(find_toolset(text, HERE), tuple)


def test_near_matches_in_a_large_pool_are_those_of_a_small_one() -> None:
    crowd = [f"tool_{number}_of_many" for number in range(3000)]
    for wrong, right in [("raed", "read"), ("lsit_items", "list_items"), ("CREATE_ISUE", "create_issue")]:
        assert closest_names(wrong, [*crowd, right])[0] == right
        assert closest_names(wrong, [right]) == (right,)
    assert closest_names("tool_77_of_mnay", crowd)[0] == "tool_77_of_many"


def test_names_that_differ_in_case_only_are_both_near() -> None:
    assert closest_names("raed", ["Read", "read"]) == ("Read", "read")


def test_a_huge_name_is_cut_before_it_is_compared() -> None:
    assert closest_names("read" * 500_000, NAMES) == closest_names("read" * 32, NAMES)
    assert closest_names("", NAMES) == ()
    assert closest_names("read", ()) == ()


@pytest.mark.behaviour("ids.shown_is_accepted")
@pytest.mark.parametrize("text", ["dev:read", "github:read", "dev~github:read", "mcp:dev~github:read"])
def test_a_servers_tool_is_meant_by_its_toolset_its_server_or_its_key(text: str) -> None:
    github, other = key("dev~github"), key("docs~notes")
    within = ToolDirectory((ToolId(github, "read"), ToolId(other, "read")), frozenset({github.toolset, other.toolset}))
    assert find_tools(parse_reference(text), within, ReferenceKind.TOOL) == (ToolId(github, "read"),)
