"""Describes the functions of a toolset, in a worker process."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegboard.core.model.server import Timeouts
from pegboard.core.model.tool import ToolsetLimits
from pegboard.ports.providers import DEFAULT_BOUNDS, DescribedTool, FunctionEntry, ToolDescriptionError, ignore
from pegboard.processes.output import LogTail, one_line
from pegboard.providers.python.environments import EnvironmentBuildError, Environments
from pegboard.providers.python.process import PythonWorkerProcess, PythonWorkerSetup, WorkerStartError

_MAX_PROBLEM_CHARS: Final = 600
_MAX_LOG_LINES: Final = 3
_HAS_LOCATION: Final = re.compile(r"[^\s:]+:\d+: |toolset\.yaml: ")
"""How a problem begins that has a place."""


@dataclass(frozen=True)
class Describer:
    """Bounded in time and memory, as calls are: what a file does when it is imported is its author's idea."""

    environments: Environments
    start_timeout: float = Timeouts().start
    """As long as a start may take: what takes longer would be imported, and never run."""

    async def __call__(
        self,
        folder: Path,
        entries: Sequence[FunctionEntry],
        requirements: Sequence[str],
        told: Callable[[str], None],
        bounds: ToolsetLimits = DEFAULT_BOUNDS,
    ) -> tuple[DescribedTool, ...]:
        if not entries:
            return ()
        lines = LogTail()
        try:
            python = await self.environments.interpreter(requirements, folder, told)
            worker = PythonWorkerProcess(lambda chunk: lines.feed(chunk, str), ignore)
            setup = PythonWorkerSetup("", folder, entries, bounds.memory, python)
            await worker.start(setup, self.start_timeout)
        except EnvironmentBuildError as problem:
            raise ToolDescriptionError(one_line(f"requirements: the toolset {problem}", _MAX_PROBLEM_CHARS)) from None
        except WorkerStartError as problem:
            lines.finish(str)
            raise ToolDescriptionError(*(_describe_problem(one, lines) for one in problem.problems)) from None
        described = tuple(one.details for one in worker.tools)
        await worker.stop()
        return described


def _describe_problem(problem: str, lines: LogTail) -> str:
    """What has no place is told with the last that was written: that is where whoever mends it begins."""
    text = one_line(problem, _MAX_PROBLEM_CHARS)
    if _HAS_LOCATION.match(text):
        return text
    wrote = [line for line in lines.tail() if line.strip()][-_MAX_LOG_LINES:]
    return one_line(
        f"the worker {text}. It last wrote: {' / '.join(wrote)}" if wrote else f"the worker {text}", _MAX_PROBLEM_CHARS
    )
