"""How the call of a ticket ended, in a clause that people read."""

from .call import (
    CallCancellation,
    ConfirmationRefusal,
    NeedsInput,
    Outcome,
    ProtocolErrorReply,
    ProviderFailure,
    Refusal,
    ToolFailure,
    ToolSuccess,
)


def describe_end(ended: Outcome | Refusal) -> str:
    match ended:
        case ToolSuccess():
            return "it returned"
        case ToolFailure():
            return "its tool failed"
        case NeedsInput():
            return "its tool asked back"
        case ProviderFailure(_, may_have_run):
            return "it broke off and may have run" if may_have_run else "it broke off and did not run"
        case CallCancellation():
            return "its caller gave it up, and it may have run"
        case ProtocolErrorReply():
            return "its server asked something of the client first"
        case ConfirmationRefusal(ticket=str()):
            return "it waits for another decision"
        case _:
            return "it was refused and did not run"
