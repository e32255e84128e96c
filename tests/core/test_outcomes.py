"""What the outcome of a record is from afar; and what is told where several tools are decided on at once."""

import pytest
from tests.core.boards import GITHUB, MATH

from pegboard.core.calls.activity import OUTCOMES
from pegboard.core.commands.base import DecisionSummary
from pegboard.core.commands.commands import ApproveTool, ApproveTools, SetSwitch, SetToolSwitches
from pegboard.core.explain.states import outcome_state
from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import ToolSpec

READ, WRITE, ADD = ToolId(GITHUB, "read"), ToolId(GITHUB, "write"), ToolId(MATH, "add")
SPEC = ToolSpec("read")


@pytest.mark.behaviour("rest.outcome_states")
def test_every_outcome_has_one_of_the_states_of_the_wall() -> None:
    assert {outcome: outcome_state(outcome).value for outcome in OUTCOMES} == {
        "returned": "open",
        "tool_failed": "broken",
        "needs_input": "needs_action",
        "demanded": "needs_action",
        "provider_failed": "broken",
        "cancelled": "locked",
        "unknown_tool": "locked",
        "bad_arguments": "locked",
        "server_disabled": "locked",
        "server_quarantined": "needs_action",
        "disabled_by_config": "locked",
        "disabled_by_user": "locked",
        "pending_approval": "needs_action",
        "server_unavailable": "broken",
        "disabled_unknown": "broken",
        "confirmation_required": "needs_action",
        "confirmation_denied": "locked",
        "confirmation_unanswered": "locked",
        "confirmation_unavailable": "locked",
        "done": "open",
        "rejected": "locked",
        "stale": "locked",
        "not_saved": "broken",
        "waits": "needs_action",
        "broken": "broken",
    }


@pytest.mark.behaviour("audit.several_by_owner")
def test_what_is_decided_of_tools_of_several_servers_is_told_of_each_server() -> None:
    assert SetToolSwitches((READ, ADD, WRITE), enabled=False, note="noisy").describe_by_owner() == (
        DecisionSummary("switch", "dev~github", f"2 tools switched off: noisy ({READ}, {WRITE})"),
        DecisionSummary("switch", "math", f"1 tool switched off: noisy ({ADD})"),
    )
    both = ApproveTools(tuple(ApproveTool(tool, SPEC, SPEC.fingerprint) for tool in (ADD, READ)))
    assert [each.about for each in both.describe_by_owner()] == ["math", "dev~github"]
    one = SetSwitch(READ, enabled=True)
    assert one.describe_by_owner() == (one.describe(),)
