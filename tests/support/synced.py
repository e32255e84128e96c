"""Which files a program has put on the disk for good: what only a loss of power would show."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest


class SyncedFiles:
    """The size that each file had when it was synced last; a file keeps its entry when it is renamed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._sizes: dict[int, int] = {}
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self._sync)

    def _sync(self, descriptor: int) -> None:
        self._fsync(descriptor)
        state = os.fstat(descriptor)
        self._sizes[state.st_ino] = state.st_size

    def hold_whole(self, paths: Iterable[Path]) -> bool:
        states = [path.stat() for path in paths]
        return bool(states) and all(self._sizes.get(state.st_ino) == state.st_size for state in states)
