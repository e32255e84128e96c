"""Whether the process of a program does anything, seen from outside: what it says of that itself is not believed."""

from typing import Final

EACH: Final = 0.2
"""Seconds between two looks."""
_USED: Final = slice(11, 13)
"""Of what follows the name: how much it has computed for itself, and in the kernel."""


class Looks:
    def __init__(self, process: int) -> None:
        self._process: Final = process
        self._innermost: int | None = None
        self._before: list[str] | None = None

    def rests(self) -> bool:
        """Whether it neither computes nor has since the last look. One that cannot be seen is taken to rest: how much
        it computes is bounded elsewhere."""
        if self._innermost is None:
            self._innermost = innermost(self._process)
        try:
            with open(f"/proc/{self._innermost}/stat", encoding="utf-8", errors="replace") as stat:
                told = stat.read().rpartition(")")[2].split()
        except OSError:
            return True
        before, self._before = self._before, told[_USED]
        return told[:1] != ["R"] and before == self._before


def innermost(process: int) -> int:
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
