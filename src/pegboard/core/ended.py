"""How the call of a ticket ended, in a clause that people read."""

from .call import (
    Cancelled,
    Demanded,
    NeedsInput,
    NotConfirmed,
    Outcome,
    ProviderFailed,
    Refusal,
    Returned,
    ToolFailed,
)


def how_it_ended(ended: Outcome | Refusal) -> str:
    match ended:
        case Returned():
            return "it returned"
        case ToolFailed():
            return "its tool failed"
        case NeedsInput():
            return "its tool asked back"
        case ProviderFailed(_, may_have_run):
            return "it broke off and may have run" if may_have_run else "it broke off and did not run"
        case Cancelled():
            return "its caller gave it up, and it may have run"
        case Demanded():
            return "its server asked something of the client first"
        case NotConfirmed(ticket=str()):
            return "it waits for another decision"
        case _:
            return "it was refused and did not run"
