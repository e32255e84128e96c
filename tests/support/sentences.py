"""The sentences that surfaces pass on, from the functions that make them.

What a sentence says word for word is asserted once, in the tests of the module that makes it. A test of a surface names
the reason and the subject, and compares with what is here.
"""

from collections.abc import Mapping

from tests.core.boards import ME, NOW

from pegboard.core.calls.call import BadArguments, UnknownTool, refusal_text
from pegboard.core.commands.base import Command
from pegboard.core.commands.commands import apply_command
from pegboard.core.decision.status import LockReason, explain_reason, remedy, status_of
from pegboard.core.decision.visibility import HiddenByGrants, explain_hidden
from pegboard.core.model.ids import BuiltinKey, PrincipalId, ToolId, ToolsetId, WireName
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.text import Audience
from pegboard.core.policy.policy import GrantSource, Policy, PrincipalGrants


def locked_verdict(reason: LockReason) -> Mapping[str, object]:
    """A verdict as JSON surfaces show it: locked for this reason and no other."""
    return {
        "verdict": "locked",
        "status": status_of(reason).value,
        "message": explain_reason(reason),
        "remedy": remedy(reason, Audience.OPERATOR),
        "otherReasons": [],
    }


def unknown_tool(name: str, *near: str, found_by: str | None = None, why: str = "") -> str:
    """The refusal of a call; `near` is what may be meant, `found_by` the tool that names others."""
    return refusal_text(UnknownTool(WireName(name), tuple(map(WireName, near)), why), found_by)


def unfit_arguments(tool: ToolId, *problems: str) -> str:
    return refusal_text(BadArguments(tool, problems))


def not_granted(principal: str, toolset: str, *granted: str, by: GrantSource = GrantSource.FILE) -> str:
    """Why a caller does not get a tool of this toolset: it is granted others."""
    limit = PrincipalGrants(PrincipalId(principal), frozenset(map(ToolsetId, granted)), by)
    return explain_hidden(HiddenByGrants(limit, ToolsetId(toolset)))


def rejection(policy: Policy, command: Command) -> str:
    """Why this policy does not take the command. Fails where it does."""
    decided = apply_command(policy, command, ME, NOW)
    assert isinstance(decided, CommandRejection), f"{command} is not rejected"
    return decided.why


def unknown_tool_opening(name: str) -> str:
    """How every refusal of a call by this name begins, whatever it suggests."""
    return unknown_tool(name, "x").partition(" Did you mean ")[0]


def unfit_opening(tool: ToolId | str) -> str:
    """How every refusal of arguments of this tool begins; a plain name is a tool of the gateway's own."""
    id = ToolId(BuiltinKey(), tool) if isinstance(tool, str) else tool
    return unfit_arguments(id, "PROBLEM").partition("PROBLEM")[0]
