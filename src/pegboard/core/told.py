"""What an agent may read of a tool, whatever locks it: law 8 as one function."""

from .policy import Policy
from .rules import is_approved, owner_is_known, server_is_reviewed
from .status import ChangedSinceApproval
from .tool import Tool, ToolSpec


def agent_visible_spec(tool: Tool, policy: Policy) -> ToolSpec | None:
    """The definition that a person accepted, if any did. `None`: nothing of it but its name.

    Of all the reasons for which a tool can be locked, only these speak of what may be read; a tool that is switched off
    and was never approved is withheld all the same.
    """
    if server_is_reviewed(tool, None, policy) is not None or owner_is_known(tool, None, policy) is not None:
        return None
    match is_approved(tool, None, policy):
        case None:
            return tool.spec
        case ChangedSinceApproval(_, approved):
            return approved
        case _:
            return None
