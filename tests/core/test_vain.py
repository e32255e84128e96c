"""Entries of a server's own lists that fit none of its tools: told with what was probably meant."""

from dataclasses import replace

import pytest
from tests.core.boards import GITHUB, NOW, board, server, tool

from pegboard.core.catalogue import Down, Listing, catalogue
from pegboard.core.policy import Declared, Policy
from pegboard.core.resolve import Locked, judge
from pegboard.core.server import AllButTools, EveryTool, OnlyTools, ToolLimit
from pegboard.core.vain import in_vain

READ, WRITE = tool(GITHUB, "read_file"), tool(GITHUB, "write_file")
HUNG = board([READ, WRITE])


def limited(limit: ToolLimit) -> Policy:
    declared = HUNG.policy.declared
    return replace(
        HUNG.policy,
        declared=replace(declared, servers={**declared.servers, GITHUB: replace(server(GITHUB), limit=limit)}),
    )


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (EveryTool(), []),
        (OnlyTools(("read_file", "write_*")), []),
        (AllButTools(("github:write_file", "mcp:dev~github:read_file")), []),
        (OnlyTools(("read_fiel",)), [("enabled_tools", "read_fiel", ("read_file", "write_file"))]),
        (
            AllButTools(("Write_File", "nope_*")),
            [("disabled_tools", "Write_File", ("write_file", "read_file")), ("disabled_tools", "nope_*", ())],
        ),
    ],
)
def test_an_entry_that_fits_no_tool_is_told_with_what_is_near(
    limit: ToolLimit, told: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    found = [(one.key, one.text, one.near) for one in in_vain(HUNG.catalogue, limited(limit))]
    assert found == told


def test_of_a_server_that_is_down_nobody_knows_what_it_would_list() -> None:
    away = catalogue([Listing(GITHUB, Down(NOW, "gone"), (READ, WRITE))])
    assert list(in_vain(away, limited(OnlyTools(("read_fiel",))))) == []


@pytest.mark.parametrize(
    "entry", ["write_file", "write_*", "dev:write_file", "github:write_*", "mcp:dev~github:write_file"]
)
def test_an_entry_with_a_scope_locks_what_it_names(entry: str) -> None:
    verdicts = judge(HUNG.catalogue.listings[GITHUB], limited(AllButTools((entry,))))
    assert {id.name for id, verdict in verdicts.items() if isinstance(verdict, Locked)} == {"write_file"}


def test_nothing_declared_is_nothing_in_vain() -> None:
    assert list(in_vain(HUNG.catalogue, Policy(Declared()))) == []
