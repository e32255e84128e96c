"""What is said of a program that waits for a person."""

from collections.abc import Sequence
from datetime import datetime

from pegboard.core.call import ConfirmationRefusal, MissingConfirmation
from pegboard.core.suspended import StoredRun
from pegboard.core.ticket import USED_CODE, Ticket, describe_waiting_call

from .nested import WaitingCall


def waiting_answer(
    waiting: Sequence[WaitingCall], tickets: Sequence[Ticket | None], made: int, presentation: str, because: str = ""
) -> ConfirmationRefusal:
    """As of any call that waits, but for what to do next: a program is not to be run again. `because` is why the client
    was not asked, though it could."""
    first = waiting[0]
    names = ", ".join(
        f"{wait.name} (ticket {wait.ticket}{'' if ticket is None else f' until {_time_text(ticket.deadline)}'})"
        for wait, ticket in zip(waiting, tickets, strict=True)
    )
    which = "this call of it" if len(waiting) == 1 else "these calls of it"
    shown = f"pegboard tickets show {first.ticket}"
    decide = f"pegboard tickets allow {first.ticket} or pegboard tickets deny {first.ticket}"
    others = "" if len(waiting) == 1 else "\nThe same for each of the others: it goes on as far as it can after each."
    before = made - len(waiting)
    done = f" {_CALLS_BEFORE[before > 1].format(before)} would be made again." if before else ""
    text = (
        f"The program waits. A person must confirm {which} first: {names}.\n"
        f"Ask the user to look at it and decide: {shown}, then {decide}\n"
        f"Then {describe_waiting_call(first.ticket, presentation)}, which waits for the decision, goes on with the "
        "program "
        f"where it stopped and answers with its result.{others}\n"
        f"Do not run the program again.{done} Do not look for another way to do the same."
    )
    whole = f"{text}\n{because}" if because else text
    return ConfirmationRefusal(first.tool, MissingConfirmation.WAITING, whole, first.ticket)


_CALLS_BEFORE = ("The call that it made before", "The {} calls that it made before")


def still_waiting_message(ticket: Ticket, presentation: str) -> str:
    return (
        f"{MissingConfirmation.WAITING.value}: The program waits for ticket {ticket.id} until "
        f"{_time_text(ticket.deadline)}, and "
        f"nobody has decided yet.\nAsk the user to look at it and decide: pegboard tickets show {ticket.id}, then "
        f"pegboard tickets allow {ticket.id} or pegboard tickets deny {ticket.id}\n"
        f"Then {describe_waiting_call(ticket.id, presentation)}: the program goes on where it stopped. Do not run "
        "it again."
    )


def running_message(since: datetime | None, ticket: Ticket) -> str:
    when = "" if since is None else f" since {_time_text(since)}"
    return (
        f"{USED_CODE}: The program that waited for ticket {ticket.id} goes on already{when}, and whoever asked "
        "first gets "
        "its answer. If nobody does, the gateway ended midway: check what it did before you run it again."
    )


def unreadable_message(found: StoredRun, ticket: Ticket) -> str:
    return (
        f"{MissingConfirmation.UNASKED.value}: The program that waits for ticket {ticket.id} cannot go on here: "
        f"{found.why.rstrip('.')}. The call has not run. Run the program again."
    )


def too_narrow_message(ticket: Ticket, name: str) -> str:
    return (
        f"{MissingConfirmation.UNASKED.value}: The program that waits for ticket {ticket.id} does not go on here: "
        "this request "
        f"is narrowed to tools without {name}, which it waits for. Nothing has run, and the decision stays. Ask again "
        "by the request that ran the program, without that narrowing."
    )


def other_caller_message(ticket: Ticket) -> str:
    return (
        f"{MissingConfirmation.UNASKED.value}: What was kept of the program that waits for ticket {ticket.id} is "
        "not what this "
        "gateway kept, or is another caller's. It does not go on, and the call has not run. Run the program anew."
    )


def _time_text(at: datetime) -> str:
    return f"{at:%H:%M:%S} {at.tzname() or ''}".rstrip()
