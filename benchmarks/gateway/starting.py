"""Many slow stdio servers under one Pegboard: do they start side by side, or one after the other?"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.gateway.boards import SIGNED_IN, write_board
from benchmarks.gateway.client import AnswerError
from benchmarks.gateway.contenders import pegboard
from benchmarks.gateway.field import first_list
from benchmarks.gateway.program import Program, free_port
from benchmarks.gateway.target import StdioUpstream
from benchmarks.gateway.wire import Endpoint

TOOLS = 2


@dataclass(frozen=True, slots=True)
class Started:
    """Seconds from starting Pegboard to a complete list, medians: with the slowest server alone, and with all."""

    servers: int
    slowest_pause: float
    sum_of_pauses: float
    slowest_alone: float
    all_together: float
    problem: str = ""


async def started(pauses: Sequence[float], folder: Path, *, rounds: int) -> Started:
    """Each server waits for its pause before it says a word, as one does that loads or downloads something."""
    print(f"measuring the start of {len(pauses)} stdio servers …", file=sys.stderr, flush=True)
    slowest, total = max(pauses), sum(pauses)
    try:
        # The first start of all reads every file from the disk, which is no matter of how many servers there are.
        await _seconds([0.0], folder, "warming")
        alone, together = [], []
        for number in range(rounds):
            alone.append(await _seconds([slowest], folder, f"alone-{number}"))
            together.append(await _seconds(pauses, folder, f"together-{number}"))
    except AnswerError as problem:
        return Started(len(pauses), slowest, total, 0.0, 0.0, str(problem))
    return Started(len(pauses), slowest, total, median(alone), median(together))


async def _seconds(pauses: Sequence[float], folder: Path, name: str) -> float:
    upstreams = {f"s{number}": _server(pause) for number, pause in enumerate(pauses)}
    port = free_port()
    command = pegboard(write_board(folder, upstreams), port, folder / name)
    begun = time.perf_counter()
    program = Program(command, core=None, log=folder / f"{name}.log")
    try:
        await first_list(program, Endpoint("127.0.0.1", port, "/mcp", SIGNED_IN), TOOLS * len(pauses))
        return time.perf_counter() - begun
    finally:
        program.stop()


def _server(pause: float) -> StdioUpstream:
    arguments = ("-m", "benchmarks.gateway.upstream.stdio", "--tools", str(TOOLS), "--pause", f"{pause:g}")
    return StdioUpstream(sys.executable, arguments)


def pauses_of(servers: int, slowest: float) -> tuple[float, ...]:
    """From somewhat over a quarter of the slowest up to it, in even steps, the slowest last."""
    return tuple(slowest * (0.25 + 0.75 * (number + 1) / servers) for number in range(servers))
