"""What the outcome of a record is from afar; and what is told where several tools are decided on at once."""

import pytest
from tests.core.boards import GITHUB, MATH

from pegboard.core.activity import OUTCOMES, Told, told, told_by_owner
from pegboard.core.commands import Approve, ApproveSeveral, ThrowSwitch
from pegboard.core.ids import ToolId
from pegboard.core.outcomes import outcome_state
from pegboard.core.settling import ThrowSeveral
from pegboard.core.tool import ToolSpec

READ, WRITE, ADD = ToolId(GITHUB, "read"), ToolId(GITHUB, "write"), ToolId(MATH, "add")
SPEC = ToolSpec("read")


@pytest.mark.behaviour("rest.outcome_states")
def test_every_outcome_has_one_of_the_states_of_the_wall() -> None:
    assert {outcome: outcome_state(outcome).value for outcome in OUTCOMES} == {
        "returned": "open",
        "tool_failed": "broken",
        "needs_input": "wants",
        "demanded": "wants",
        "provider_failed": "broken",
        "cancelled": "locked",
        "unknown_tool": "locked",
        "bad_arguments": "locked",
        "server_disabled": "locked",
        "server_quarantined": "wants",
        "disabled_by_config": "locked",
        "disabled_by_user": "locked",
        "pending_approval": "wants",
        "server_unavailable": "broken",
        "disabled_unknown": "broken",
        "confirmation_required": "wants",
        "confirmation_denied": "locked",
        "confirmation_unanswered": "locked",
        "confirmation_unavailable": "locked",
        "done": "open",
        "rejected": "locked",
        "stale": "locked",
        "not_saved": "broken",
        "waits": "wants",
        "broken": "broken",
    }


@pytest.mark.behaviour("audit.several_by_owner")
def test_what_is_decided_of_tools_of_several_servers_is_told_of_each_server() -> None:
    assert told_by_owner(ThrowSeveral((READ, ADD, WRITE), on=False, note="noisy")) == (
        Told("switch", "dev~github", f"2 tools switched off: noisy ({READ}, {WRITE})"),
        Told("switch", "math", f"1 tool switched off: noisy ({ADD})"),
    )
    both = ApproveSeveral(tuple(Approve(tool, SPEC, SPEC.fingerprint) for tool in (ADD, READ)))
    assert [each.about for each in told_by_owner(both)] == ["math", "dev~github"]
    one = ThrowSwitch(READ, on=True)
    assert told_by_owner(one) == (told(one),)
