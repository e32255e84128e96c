"""The verdict on a built-in tool that is not on the board."""

import pytest
from tests.core.boards import GITHUB, ME, NOW, board, tool

from pegboard.core.decision.resolve import HiddenTool, OpenTool, resolve
from pegboard.core.decision.visibility import HiddenByGrants, HiddenByNarrowerView
from pegboard.core.model.catalogue import ProviderUp
from pegboard.core.model.selection import Selection, TheseToolsets, View
from pegboard.core.model.settings import PYTHON_ID
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.presentations.builtins import builtin_verdict, describe_closed

BOARD = board([tool(GITHUB, "read")])
PYTHON = Tool(PYTHON_ID, ToolSpec("python_execution"))


@pytest.mark.behaviour("builtins.disabled_everywhere")
def test_grants_of_a_toolset_leave_it_and_no_grant_at_all_takes_it_away() -> None:
    some = BOARD.deciding(grants={ME: frozenset({GITHUB.toolset})})
    none = BOARD.deciding(grants={ME: frozenset()})
    view = View(ME)
    assert isinstance(builtin_verdict(PYTHON, ProviderUp(NOW), some.catalogue, some.policy, view), OpenTool)
    taken = builtin_verdict(PYTHON, ProviderUp(NOW), none.catalogue, none.policy, view)
    assert isinstance(taken, HiddenTool)
    assert isinstance(taken.reason, HiddenByGrants)
    assert describe_closed(taken) == f"it is not in this view: {ME} may not use toolset builtin: it is granted nothing"


@pytest.mark.behaviour("builtins.disabled_everywhere")
@pytest.mark.parametrize("entry", ["python_execution", "toolset:builtin", "*:python_*", "*"])
def test_a_narrowing_that_names_it_takes_it_away_and_is_no_error(entry: str) -> None:
    view = View().narrow(Selection(disabled=(entry,)))
    taken = builtin_verdict(PYTHON, ProviderUp(NOW), BOARD.catalogue, BOARD.policy, view)
    assert isinstance(taken, HiddenTool)
    assert isinstance(taken.reason, HiddenByNarrowerView)
    assert resolve(BOARD.catalogue, BOARD.policy, view).unknown_in_narrowing == ()


def test_toolsets_do_not_choose_it_and_an_unknown_name_is_still_an_error() -> None:
    view = View().narrow(Selection(TheseToolsets(()), disabled=("python_exection",)))
    assert isinstance(builtin_verdict(PYTHON, ProviderUp(NOW), BOARD.catalogue, BOARD.policy, view), OpenTool)
    assert [each.text for each in resolve(BOARD.catalogue, BOARD.policy, view).unknown_in_narrowing] == [
        "python_exection"
    ]
