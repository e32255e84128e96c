"""What is told of calls that a program said and never waited for, so that nobody made them."""

from collections import Counter
from collections.abc import Sized
from dataclasses import replace
from typing import Final

from pegboard.ports.sandbox import Fault, Ran, Unmade

_MOST: Final = 5
_FORGOTTEN: Final = "{}() was called without `await`, so nothing was done. Write `await` before it."
_ALL_ELSE: Final = (
    "Everything else was done: do not run the program again. If what was left out is needed, call that alone."
)


def told(ran: Ran, made: Sized, note: str) -> tuple[Ran, str]:
    """The run and the note as they are answered.

    A program that has made no call has done nothing, so it fails, and can be run again. One that has made others came
    to its end: whoever is told of an error there runs it again, and with it all that it did.
    """
    if not ran.unmade or ran.error is not None:
        return ran, note
    if not made:
        first = ran.unmade[0]
        return replace(ran, error=Fault("RuntimeError", _FORGOTTEN.format(first.function), first.line)), note
    times = Counter(ran.unmade)
    lines = [_line(each, count) for each, count in [*times.items()][:_MOST]]
    more = [f"{len(times) - _MOST} more were left out in the same way."] if len(times) > _MOST else []
    return ran, "\n".join((*([note] if note else []), *lines, *more, _ALL_ELSE))


def _line(unmade: Unmade, times: int) -> str:
    where = "" if unmade.line is None else f"line {unmade.line}: "
    often = "" if times == 1 else f", {times} times,"
    return f"{where}{unmade.function}() was called{often} and never awaited, so it was NOT done."
