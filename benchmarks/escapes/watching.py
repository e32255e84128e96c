"""What a process and all that descend from it use, looked at again and again while something runs."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import psutil

_EVERY = 0.03


@dataclass
class Usage:
    """The most that was seen."""

    memory: int = 0
    """Bytes, all together."""
    processes: int = 0
    """Besides the first."""
    threads: int = 0
    """Of one process."""
    seen: set[tuple[int, float]] = field(default_factory=set)
    """All descendants, each with the moment that it began."""

    def reset(self) -> None:
        """Of whom was seen nothing is forgotten."""
        self.memory = self.processes = self.threads = 0

    def look(self, pid: int) -> None:
        try:
            top = psutil.Process(pid)
            family = [top, *top.children(recursive=True)]
        except psutil.Error:
            return
        memory = 0
        for process in family:
            try:
                with process.oneshot():
                    memory += process.memory_info().rss
                    self.threads = max(self.threads, process.num_threads())
                    if process is not top:
                        self.seen.add((process.pid, process.create_time()))
            except psutil.Error:
                continue
        self.memory = max(self.memory, memory)
        self.processes = max(self.processes, len(family) - 1)


def left(seen: set[tuple[int, float]]) -> list[int]:
    """Those that still run."""
    running = []
    for pid, began in seen:
        try:
            process = psutil.Process(pid)
            if process.create_time() == began and process.status() != psutil.STATUS_ZOMBIE:
                running.append(pid)
        except psutil.Error:
            continue
    return running


@asynccontextmanager
async def watched(pid: int, usage: Usage, seen: Callable[[], None] = lambda: None) -> AsyncIterator[None]:
    """`seen` is called after each look."""

    async def look() -> None:
        while True:
            usage.look(pid)
            seen()
            await anyio.sleep(_EVERY)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)
        yield
        usage.look(pid)
        tasks.cancel_scope.cancel()
