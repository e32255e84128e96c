"""What is told of calls that a program said and never waited for, so that nobody made them."""

from collections import Counter
from collections.abc import Sized
from dataclasses import replace
from typing import Final

from pegboard.ports.sandbox import ProgramFailure, RunResult, UnawaitedCall

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
