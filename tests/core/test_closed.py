"""What of a toolset is not open when it is imported, and why."""

from dataclasses import replace

import pytest
from tests.core.boards import ME, NOW, spec
from tests.core.imports import FETCH, ID, KIT, installing, own, own_tool, policy, server

from pegboard.core.catalogue import Catalogue, Down, Listing, catalogue
from pegboard.core.closed import Closed, closed
from pegboard.core.commands import apply
from pegboard.core.ids import LOCAL, ToolId
from pegboard.core.policy import Declared, Policy, Switch
from pegboard.core.selection import Selection, TheseToolsets
from pegboard.core.status import Status
from pegboard.core.tool import Tool
from pegboard.core.view import View

ADD, SUM = own_tool("add"), own_tool("sum")
BOTH = installing(own("add", "sum"), server(FETCH), sound=frozenset({ADD, SUM}))


def on_board(declared: Declared) -> Policy:
    done = apply(Policy(declared, policy().decided), BOTH, ME, NOW)
    assert isinstance(done, Policy)
    return done


def told(board: Policy, known: Catalogue | None = None) -> list[tuple[str, Status | None]]:
    found = closed(known or Catalogue(), board, BOTH, View(), NOW)
    return [(str(each.about), each.status) for each in found]


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_nothing_is_told_of_a_toolset_that_is_all_open() -> None:
    assert told(on_board(Declared())) == []
    # That it is down, or just starting, is for its health to say.
    down = catalogue([Listing(KIT, Down(NOW, "broke"), (Tool(ADD, spec(ADD, 0)), Tool(SUM, spec(SUM, 0))))])
    assert told(on_board(Declared()), down) == []


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_a_selection_that_leaves_it_out_is_told_with_the_edit_that_takes_it_in() -> None:
    board = on_board(Declared(selection=Selection(TheseToolsets(("notes",)))))
    found = closed(Catalogue(), board, BOTH, View(), NOW)
    remedy = "This is operator policy: in pegboard.yaml, add kit to toolsets under selection (now toolsets notes)."
    out = "The board's selection leaves it out."
    assert found == tuple(Closed(each, None, out, remedy) for each in (FETCH, ADD, SUM))


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_a_single_tool_that_the_selection_takes_away_is_told_so() -> None:
    (found,) = closed(Catalogue(), on_board(Declared(selection=Selection(disabled=("kit:sum",)))), BOTH, View(), NOW)
    assert (found.about, found.remedy) == (
        SUM,
        "This is operator policy: in pegboard.yaml, take 'kit:sum' out of disabled_tools under selection "
        "(now toolsets all, minus kit:sum).",
    )


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_a_caller_without_the_grant_is_told_which() -> None:
    found = closed(Catalogue(), on_board(Declared(grants={LOCAL: frozenset()})), BOTH, View(), NOW)
    assert {each.remedy for each in found} == {
        "This is operator policy: in pegboard.yaml, add kit to what local may use (now nothing)."
    }


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_a_toolset_that_is_off_is_told_with_its_servers() -> None:
    board = on_board(Declared())
    off = replace(board, decided=replace(board.decided, switches={ID: Switch(False, ME, NOW)}))
    assert told(off) == [(str(each), Status.SERVER_DISABLED) for each in (FETCH, ADD, SUM)]


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_tools_of_servers_are_told_as_soon_as_they_are_known() -> None:
    id = ToolId(FETCH, "get")
    known = catalogue([Listing(FETCH, Down(NOW, "broke"), (Tool(id, spec(id, 0)),))])
    assert told(on_board(Declared()), known) == [(str(id), Status.PENDING_APPROVAL)]


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_what_looks_poisoned_is_told_although_it_is_seen_for_the_first_time() -> None:
    board = apply(policy(), replace(BOTH, sound=frozenset({ADD})), ME, NOW)
    assert isinstance(board, Policy)
    assert told(board) == [(str(SUM), Status.PENDING_APPROVAL)]
