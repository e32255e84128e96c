"""Wire names: the shortest legal form that one tool alone means, the same in every process and for ever."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import BUILTINS, DEV_FILES, DOCS_FILES, GITHUB, MATH, SOURCES, key, texts

from pegboard.core.model.ids import ToolId, WireName
from pegboard.core.model.wire_names import assign_wire_names, hashed_name, is_hashed, long_names

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
hostile_names = st.one_of(
    st.sampled_from(["read", "dev__read", "docs__read", "dev__files__read", "dev__github__read", "a.b", "a/b", "工具"]),
    st.integers(60, 70).map(lambda length: "x" * length),
    texts,
)
hostile_ids = st.builds(ToolId, st.sampled_from(SOURCES), hostile_names)


def names(*ids: ToolId) -> dict[str, str]:
    return {str(id): name for id, name in assign_wire_names(ids, {}).items()}


@pytest.mark.behaviour("naming.own_name_when_unique")
def test_a_name_that_is_legal_and_unique_is_kept() -> None:
    assert names(ToolId(GITHUB, "create_issue"), ToolId(BUILTINS, "tool_search"), ToolId(MATH, "Add-2")) == {
        "mcp:dev~github:create_issue": "create_issue",
        "tool_search": "tool_search",
        "math:Add-2": "Add-2",
    }


@pytest.mark.behaviour("naming.toolset_prefix", "naming.server_prefix")
def test_a_clash_is_told_apart_by_toolset_and_within_one_by_server() -> None:
    assert names(
        ToolId(GITHUB, "read"), ToolId(DEV_FILES, "read"), ToolId(DOCS_FILES, "read"), ToolId(MATH, "read")
    ) == {
        "mcp:dev~github:read": "dev__github__read",
        "mcp:dev~files:read": "dev__files__read",
        "mcp:docs~files:read": "docs__read",
        "math:read": "math__read",
    }


@pytest.mark.behaviour("naming.legal")
def test_what_is_illegal_on_the_wire_is_replaced_and_what_then_clashes_is_hashed() -> None:
    assert names(
        ToolId(GITHUB, "files.read"), ToolId(DOCS_FILES, "工具"), ToolId(DOCS_FILES, "道具"), ToolId(MATH, "")
    ) == {
        "mcp:dev~github:files.read": "dev__files_read",
        "mcp:docs~files:工具": "docs__files_____b42a2ead8e",
        "mcp:docs~files:道具": "docs__files_____763497d16c",
        "math:": "math__",
    }


@pytest.mark.behaviour("naming.shortened_by_stable_hash")
def test_what_is_too_long_is_shortened_with_a_hash_that_is_the_same_in_every_process() -> None:
    assert names(ToolId(GITHUB, "x" * 64), ToolId(GITHUB, "y" * 65), ToolId(key("a" * 64 + "~" + "b" * 64), "z")) == {
        f"mcp:dev~github:{'x' * 64}": "x" * 64,
        f"mcp:dev~github:{'y' * 65}": "dev__github__yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy_b4e608c10b",
        f"mcp:{'a' * 64}~{'b' * 64}:z": "z",
    }


def test_a_tool_called_like_another_ones_longer_name_takes_nothing_from_it() -> None:
    """`dev__read` is a name in the namespace of `dev`: a server of another toolset cannot have it, nor block it."""
    assert names(ToolId(DOCS_FILES, "dev__read"), ToolId(GITHUB, "read"), ToolId(DOCS_FILES, "read")) == {
        "mcp:docs~files:dev__read": "docs__dev__read",
        "mcp:dev~github:read": "dev__read",
        "mcp:docs~files:read": "docs__read",
    }


@pytest.mark.behaviour("naming.unique")
def test_a_server_that_works_out_the_hash_of_another_tools_name_does_not_get_that_name_too() -> None:
    victim = ToolId(GITHUB, "v" * 70)
    hashed = hashed_name(victim)
    thief = ToolId(DOCS_FILES, hashed)
    given = assign_wire_names([thief, victim], {})
    assert given[victim] == hashed
    assert given[thief] != hashed
    assert LEGAL.fullmatch(given[thief])


@pytest.mark.behaviour("naming.never_moves")
def test_a_name_that_was_another_tools_is_not_given_again() -> None:
    was, newcomer = ToolId(GITHUB, "read"), ToolId(DOCS_FILES, "read")
    held = {name: id for id, name in assign_wire_names([was], {}).items()}
    assert assign_wire_names([newcomer], held) == {newcomer: "docs__read"}
    assert assign_wire_names([was, newcomer], held) == {was: "dev__read", newcomer: "docs__read"}
    assert assign_wire_names([was], held) == {was: "read"}


def test_a_held_hashed_name_is_not_given_to_another_tool() -> None:
    long = ToolId(GITHUB, "v" * 70)
    hashed = WireName(hashed_name(long))
    assert assign_wire_names([long], {hashed: ToolId(MATH, "other")})[long] != hashed


@pytest.mark.behaviour("naming.legal", "naming.unique", "naming.same_view_same_names")
@given(st.lists(hostile_ids, unique=True, max_size=10))
def test_names_are_legal_unique_and_the_same_in_any_order(ids: list[ToolId]) -> None:
    given = assign_wire_names(ids, {})
    assert [*given] == ids
    assert all(LEGAL.fullmatch(name) for name in given.values())
    assert len({*given.values()}) == len(ids)
    shuffled = sorted(ids, key=lambda id: hash((id, 1)))
    assert assign_wire_names(shuffled, {}) == given


@pytest.mark.behaviour("naming.never_moves")
@given(st.lists(hostile_ids, unique=True, max_size=8), st.lists(hostile_ids, unique=True, max_size=8))
def test_whatever_comes_and_goes_a_name_keeps_its_owner_or_has_none(before: list[ToolId], after: list[ToolId]) -> None:
    held = {name: id for id, name in assign_wire_names(before, {}).items()}
    for id, name in assign_wire_names(after, held).items():
        assert held.get(name, id) == id


@pytest.mark.behaviour("naming.locked_tools_rename_nothing", "naming.unique", "naming.legal")
@given(
    st.lists(hostile_ids, unique=True, max_size=10),
    st.sets(hostile_ids, max_size=8),
    st.lists(hostile_ids, unique=True, max_size=6),
)
def test_locked_tools_get_what_open_ones_and_held_names_leave(
    ids: list[ToolId], locked: set[ToolId], before: list[ToolId]
) -> None:
    held = {name: id for id, name in assign_wire_names(before, {}).items()}
    named = assign_wire_names([*ids, *(id for id in locked if id not in ids)], held, locked=locked)
    unlocked = [id for id in ids if id not in locked]
    assert {id: named[id] for id in unlocked} == assign_wire_names(unlocked, held)
    assert all(LEGAL.fullmatch(name) for name in named.values())
    assert len({*named.values()}) == len(named)
    assert all(held.get(name, id) == id for id, name in named.items())


@pytest.mark.behaviour("naming.locked_tools_rename_nothing")
def test_what_two_open_tools_want_and_none_gets_is_not_given_to_a_locked_one() -> None:
    one, two, locked = ToolId(GITHUB, "read"), ToolId(DOCS_FILES, "read"), ToolId(MATH, "read")
    assert assign_wire_names([locked, one, two], {}, locked={locked}) == {
        locked: "math__read",
        one: "dev__read",
        two: "docs__read",
    }


@given(hostile_ids)
def test_a_tool_alone_is_seen_by_its_own_name_or_one_of_its_longer_ones(id: ToolId) -> None:
    name = assign_wire_names([id], {})[id]
    assert name in (id.name, *long_names(id), hashed_name(id))
    assert is_hashed(hashed_name(id))


def test_the_name_of_a_lone_surrogate_does_not_crash() -> None:
    assert LEGAL.fullmatch(assign_wire_names([ToolId(GITHUB, "\ud800" * 80)], {})[ToolId(GITHUB, "\ud800" * 80)])
