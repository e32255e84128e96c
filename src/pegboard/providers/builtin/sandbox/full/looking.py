"""Whether the process of a program does anything, seen from outside: what it says of that itself is not believed."""

from typing import Final

LOOK_INTERVAL_S: Final = 0.2
"""Seconds between two looks."""
_CPU_TIME_FIELDS: Final = slice(11, 13)
"""Of what follows the name: how much it has computed for itself, and in the kernel."""


class ActivityMonitor:
    def __init__(self, process: int) -> None:
        self._process: Final = process
        self._innermost: int | None = None
        self._previous_times: list[str] | None = None

    def is_idle(self) -> bool:
        """Whether it neither computes nor has since the last look. One that cannot be seen is taken to rest: how much
        it computes is bounded elsewhere."""
        if self._innermost is None:
            self._innermost = innermost_process(self._process)
        try:
            with open(f"/proc/{self._innermost}/stat", encoding="utf-8", errors="replace") as stat:
                told = stat.read().rpartition(")")[2].split()
        except OSError:
            return True
        before, self._previous_times = self._previous_times, told[_CPU_TIME_FIELDS]
        return told[:1] != ["R"] and before == self._previous_times


def innermost_process(process: int) -> int:
    """The last of a line of processes: bubblewrap stands before ours where it is used."""
    while True:
        try:
            with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as children:
                first = children.read().split()
        except OSError:
            return process
        if not first:
            return process
        process = int(first[0])
