"""The result of `python_execution`, as structured content and as text."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from datetime import datetime
from typing import Final

from pegboard.core.calls.call import ConfirmationRefusal, MissingConfirmation, ToolCall, ToolFailure, ToolSuccess
from pegboard.core.calls.programs import StoredRun
from pegboard.core.calls.tickets import USED_CODE, Ticket, describe_waiting_call, request_decision
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.references import closest_names
from pegboard.core.model.text import Audience
from pegboard.gateway.programs.calls import CallSummary, WaitingCall
from pegboard.ports.sandbox import ProgramFailure, ProgramProblem, RunResult, UnawaitedCall

# What is told of calls that a program said and never waited for, so that nobody made them.

_MAX_SHOWN: Final = 5
_MISSING_AWAIT: Final = "{}() was called without `await`, so nothing was done. Write `await` before it."
_REST_WAS_DONE: Final = (
    "Everything else was done: do not run the program again. If what was left out is needed, call that alone."
)


def with_unawaited_calls(ran: RunResult, made: Sized, note: str) -> tuple[RunResult, str]:
    """The run and the note as they are answered.

    A program that has made no call has done nothing, so it fails, and can be run again. One that has made others came
    to its end: whoever is told of an error there runs it again, and with it all that it did.
    """
    if not ran.unawaited_calls or ran.error is not None:
        return ran, note
    if not made:
        first = ran.unawaited_calls[0]
        return replace(
            ran, error=ProgramFailure("RuntimeError", _MISSING_AWAIT.format(first.function), first.line)
        ), note
    times = Counter(ran.unawaited_calls)
    lines = [_line(each, count) for each, count in [*times.items()][:_MAX_SHOWN]]
    more = [f"{len(times) - _MAX_SHOWN} more were left out in the same way."] if len(times) > _MAX_SHOWN else []
    return ran, "\n".join((*([note] if note else []), *lines, *more, _REST_WAS_DONE))


def _line(unmade: UnawaitedCall, times: int) -> str:
    where = "" if unmade.line is None else f"line {unmade.line}: "
    often = "" if times == 1 else f", {times} times,"
    return f"{where}{unmade.function}() was called{often} and never awaited, so it was NOT done."


_UNDEFINED_IN_CHECK: Final = re.compile(r"The name `(\w+)` is not defined\.")
_UNDEFINED_IN_RUN: Final = re.compile(r"name '(\w+)' is not defined")
_NO_FUNCTION: Final = re.compile(r"`(\w+)` has no function `(\w+)`\.")
NOTHING_RAN = "Nothing of it has run. Correct it, and run it again."


def program_answer(ran: RunResult, made: Mapping[int, CallSummary], note: str = "") -> ToolSuccess | ToolFailure:
    """A program that ends in an error is a tool that failed: whoever wrote it reads why."""
    ran, note = with_unawaited_calls(ran, made, note)
    said: JsonObject = {
        "result": ran.result,
        "stdout": ran.stdout,
        "truncated": ran.truncated,
        "tool_calls": [made[ordinal].to_json() for ordinal in sorted(made)],
        "error": None if ran.error is None else _error_object(ran.error),
    }
    if note:
        said["note"] = note
    body: dict[str, Json] = {
        "content": [{"type": "text", "text": json.dumps(said, ensure_ascii=False, separators=(",", ":"))}],
        "structuredContent": said,
    }
    if ran.error is None:
        return ToolSuccess(json.dumps(body).encode())
    return ToolFailure(json.dumps({**body, "isError": True}).encode())


def program_failure(
    type: str, message: str, made: Mapping[int, CallSummary] | None = None, note: str = "", stdout: str = ""
) -> ToolSuccess | ToolFailure:
    return program_answer(RunResult(stdout=stdout, error=ProgramFailure(type, message)), made or {}, note)


def check_failure(
    complaints: Sequence[ProgramProblem], missing: Sequence[str], modules: Collection[str], note: str = ""
) -> ToolSuccess | ToolFailure:
    """What the type check found, line by line. It was told only of what the program names."""
    told: list[str] = []
    left = dict.fromkeys(missing)
    for each in complaints:
        better = next((words for words in missing if _says_the_same(each.message, words)), None)
        if better is not None:
            left.pop(better, None)
        told.append(f"line {each.line}: {better or _problem_text(each.message, modules)}")
    text = "\n".join((*dict.fromkeys(told), *left, NOTHING_RAN))
    return program_answer(RunResult(error=ProgramFailure("TypeCheckError", text, complaints[0].line)), {}, note)


def _says_the_same(message: str, words: str) -> bool:
    """Whether the words tell the same, by one who knows what else there is."""
    if (found := _NO_FUNCTION.match(message)) is not None:
        return words.startswith(f"{found[1]} has no function {found[2]!r}.")
    found = _UNDEFINED_IN_CHECK.match(message)
    return found is not None and words.startswith(f"{found[1]} has no function")


def _problem_text(message: str, modules: Collection[str]) -> str:
    found = _UNDEFINED_IN_CHECK.fullmatch(message)
    if found is None:
        return message
    near = closest_names(found[1], tuple(modules))
    return f"{message} Did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else message


def with_suggestions(ran: RunResult, missing: Iterable[str], modules: Collection[str] = ()) -> RunResult:
    """With what it may have meant, where it fell over a name that is not there."""
    if ran.error is None or ran.error.type not in ("AttributeError", "NameError", "ImportError"):
        return ran
    words = tuple(missing)
    found = _UNDEFINED_IN_RUN.match(ran.error.message)
    if found is not None and (near := closest_names(found[1], tuple(modules))):
        words = (f"Did you mean {' or '.join(near)}?", *words)
    if not words:
        return ran
    fault = ProgramFailure(
        ran.error.type, "\n".join((ran.error.message, *words)), ran.error.line, ran.error.is_unsupported
    )
    return replace(ran, error=fault)


def _error_object(fault: ProgramFailure) -> JsonObject:
    return {"type": fault.type, "message": fault.message, "line": fault.line}


# What is said of a program that waits for a person.


def waiting_answer(
    waiting: Sequence[WaitingCall], tickets: Sequence[Ticket | None], made: int, call: ToolCall, because: str = ""
) -> ConfirmationRefusal:
    """As of any call that waits, but for what to do next: a program is not to be run again. `because` is why the client
    was not asked, though it could."""
    first = waiting[0]
    names = ", ".join(
        f"{wait.name} (ticket {wait.ticket}{'' if ticket is None else f' until {_time_text(ticket.deadline)}'})"
        for wait, ticket in zip(waiting, tickets, strict=True)
    )
    which = "this call of it" if len(waiting) == 1 else "these calls of it"
    others = "" if len(waiting) == 1 else "\nThe same for each of the others: it goes on as far as it can after each."
    before = made - len(waiting)
    done = f" {_CALLS_BEFORE[before > 1].format(before)} would be made again." if before else ""
    if call.audience is Audience.AGENT:
        wait = describe_waiting_call(first.ticket, call.presentation)
        how = f"{wait}, which waits for the decision, goes on with the program"
    else:
        how = _resume_hint(first.ticket)
    text = (
        f"The program waits. A person must confirm {which} first: {names}.\n"
        f"{request_decision(first.ticket, call.audience)}\n"
        f"Then {how} where it stopped and answers with its result.{others}\n"
        f"Do not run the program again.{done} Do not look for another way to do the same."
    )
    whole = f"{text}\n{because}" if because else text
    return ConfirmationRefusal(first.tool, MissingConfirmation.WAITING, whole, first.ticket)


_CALLS_BEFORE = ("The call that it made before", "The {} calls that it made before")


def _resume_hint(ticket: str) -> str:
    """For the person at the command line."""
    return f"go on with it: pegboard run --ticket {ticket}\nThe program goes on"


def still_waiting_message(ticket: Ticket, call: ToolCall) -> str:
    how = (
        f"{describe_waiting_call(ticket.id, call.presentation)}: the program goes on"
        if call.audience is Audience.AGENT
        else _resume_hint(ticket.id)
    )
    return (
        f"{MissingConfirmation.WAITING.value}: The program waits for ticket {ticket.id} until "
        f"{_time_text(ticket.deadline)}, and "
        f"nobody has decided yet.\n{request_decision(ticket.id, call.audience)}\n"
        f"Then {how} where it stopped. Do not run it again."
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
