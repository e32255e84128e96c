"""How far long work has come, for whoever asks while it goes on."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MAX_TRACKED: Final = 100


@dataclass
class ImportStep:
    """What is being done; of how many things how many are done, where they can be counted."""

    message: str = "reading the toolset"
    done_count: int = 0
    total: int = 0
    since: float = field(default_factory=time.monotonic)

    def count(self, done: int, total: int) -> None:
        self.message, self.done_count, self.total = "copying files", done, total

    def update(self, said: str) -> None:
        self.message, self.done_count, self.total = said, 0, 0


class ImportProgress:
    """Work by the names that those who asked for it gave it. What has ended is forgotten."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._steps: dict[str, ImportStep] = {}
        self._now = now

    @contextmanager
    def track(self, name: str | None) -> Iterator[ImportStep]:
        step = ImportStep(since=self._now())
        if name is None or name in self._steps or len(self._steps) >= _MAX_TRACKED:
            yield step
            return
        self._steps[name] = step
        try:
            yield step
        finally:
            del self._steps[name]

    def __getitem__(self, name: str) -> ImportStep | None:
        return self._steps.get(name)


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None
