"""What of a toolset is not open when it is imported, and why."""

from dataclasses import replace

import pytest
from tests.core.boards import ME, NOW, spec
from tests.core.imports import FETCH, ID, KIT, installing, own, own_tool, policy, server

from pegboard.core.commands.commands import apply_command
from pegboard.core.decision.status import LockStatus
from pegboard.core.model.catalogue import Catalogue, Listing, ProviderDown, build_catalogue
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolId
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.tool import Tool
from pegboard.core.policy.policy import DeclaredSettings, Policy, Switch
from pegboard.core.toolsets.report import LockedPart, locked_after_install

ADD, SUM = own_tool("add"), own_tool("sum")
BOTH = installing(own("add", "sum"), server(FETCH), sound=frozenset({ADD, SUM}))


def on_board(declared: DeclaredSettings) -> Policy:
    done = apply_command(Policy(declared, policy().decisions), BOTH, ME, NOW)
    assert isinstance(done, Policy)
    return done


def told(board: Policy, known: Catalogue | None = None) -> list[tuple[str, LockStatus | None]]:
    found = locked_after_install(known or Catalogue(), board, BOTH, View(), NOW)
    return [(str(each.about), each.status) for each in found]


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_nothing_is_told_of_a_toolset_that_is_all_open() -> None:
    assert told(on_board(DeclaredSettings())) == []
    # That it is down, or just starting, is for its health to say.
    down = build_catalogue(
        [Listing(KIT, ProviderDown(NOW, "broke"), (Tool(ADD, spec(ADD, 0)), Tool(SUM, spec(SUM, 0))))]
    )
    assert told(on_board(DeclaredSettings()), down) == []


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_a_selection_that_leaves_it_out_is_told_with_the_edit_that_takes_it_in() -> None:
    board = on_board(DeclaredSettings(selection=Selection(TheseToolsets(("notes",)))))
    found = locked_after_install(Catalogue(), board, BOTH, View(), NOW)
    remedy = "This is operator policy: in pegboard.yaml, add kit to toolsets under selection (now toolsets notes)."
    out = "The board's selection leaves it out."
    assert found == tuple(LockedPart(each, None, out, remedy) for each in (FETCH, ADD, SUM))


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_a_single_tool_that_the_selection_takes_away_is_told_so() -> None:
    (found,) = locked_after_install(
        Catalogue(), on_board(DeclaredSettings(selection=Selection(disabled=("kit:sum",)))), BOTH, View(), NOW
    )
    assert (found.about, found.remedy) == (
        SUM,
        "This is operator policy: in pegboard.yaml, take 'kit:sum' out of disabled_tools under selection "
        "(now toolsets all, minus kit:sum).",
    )


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_a_caller_without_the_grant_is_told_which() -> None:
    found = locked_after_install(
        Catalogue(), on_board(DeclaredSettings(grants={LOCAL_PRINCIPAL: frozenset()})), BOTH, View(), NOW
    )
    assert {each.remedy for each in found} == {
        "This is operator policy: in pegboard.yaml, add kit to what local may use (now nothing)."
    }


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_a_toolset_that_is_off_is_told_with_its_servers() -> None:
    board = on_board(DeclaredSettings())
    off = replace(board, decisions=replace(board.decisions, switches={ID: Switch(False, ME, NOW)}))
    assert told(off) == [(str(each), LockStatus.SERVER_DISABLED) for each in (FETCH, ADD, SUM)]


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_tools_of_servers_are_told_as_soon_as_they_are_known() -> None:
    id = ToolId(FETCH, "get")
    known = build_catalogue([Listing(FETCH, ProviderDown(NOW, "broke"), (Tool(id, spec(id, 0)),))])
    assert told(on_board(DeclaredSettings()), known) == [(str(id), LockStatus.PENDING_APPROVAL)]


@pytest.mark.behaviour("toolsets.import_tells_what_is_not_open")
def test_what_looks_poisoned_is_told_although_it_is_seen_for_the_first_time() -> None:
    board = apply_command(policy(), replace(BOTH, clean_tools=frozenset({ADD})), ME, NOW)
    assert isinstance(board, Policy)
    assert told(board) == [(str(SUM), LockStatus.PENDING_APPROVAL)]
