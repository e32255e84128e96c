"""What the functions of a toolset are, found out in a worker of their own: its code runs there, and nowhere else."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegboard.children.lines import LastLines, one_line
from pegboard.core.own import Bounds
from pegboard.core.server import Timeouts
from pegboard.ports.describing import USUAL, CannotDescribe, Described, Entry

from .environments import CannotBuild, Environments
from .process import CannotStart, Run, Setup, WorkerProcess

_LONGEST: Final = 600
_LAST_LINES: Final = 3
_PLACED: Final = re.compile(r"[^\s:]+:\d+: |toolset\.yaml: ")
"""How a problem begins that has a place."""


@dataclass(frozen=True)
class Describer:
    """Bounded in time and memory, as calls are: what a file does when it is imported is its author's idea."""

    environments: Environments
    within: float = Timeouts().start
    """As long as a start may take: what takes longer would be imported, and never run."""

    async def __call__(
        self,
        folder: Path,
        entries: Sequence[Entry],
        requirements: Sequence[str],
        told: Callable[[str], None],
        bounds: Bounds = USUAL,
    ) -> tuple[Described, ...]:
        if not entries:
            return ()
        lines = LastLines()
        try:
            python = await self.environments.python(requirements, folder, told)
            worker = WorkerProcess(lambda chunk: lines.feed(chunk, str), _unsaid)
            setup = Setup("", folder, entries, bounds.memory, python)
            await worker.start(setup, self.within)
        except CannotBuild as problem:
            raise CannotDescribe(one_line(f"requirements: the toolset {problem}", _LONGEST)) from None
        except CannotStart as problem:
            lines.end(str)
            raise CannotDescribe(*(_sentence(one, lines) for one in problem.problems)) from None
        described = tuple(one.described for one in worker.tools)
        await worker.stop()
        return described


def _sentence(problem: str, lines: LastLines) -> str:
    """What has no place is told with the last that was written: that is where whoever mends it begins."""
    text = one_line(problem, _LONGEST)
    if _PLACED.match(text):
        return text
    wrote = [line for line in lines.all() if line.strip()][-_LAST_LINES:]
    return one_line(
        f"the worker {text}. It last wrote: {' / '.join(wrote)}" if wrote else f"the worker {text}", _LONGEST
    )


def _unsaid(run: Run, level: str, message: str) -> None:
    """Nothing is called."""
