"""A bell for one file: rings when its content may have changed, however it was changed."""

import hashlib
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from .files import read_bytes
from .problem import FileProblem
from .settings import MAX_SETTINGS_BYTES

CLOSE_CHECKS: Final = 6
"""Looks after a change at which the content itself is compared: two writes can share one tick of the file's clock."""

Stamp: TypeAlias = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """What was seen of the file once. `None` for what is not there or cannot be read."""

    stamp: Stamp | None
    digest: str | None


@dataclass(frozen=True, slots=True)
class WatchState:
    """What was seen last, and how much of it to believe."""

    last: FileSnapshot
    is_missing: bool
    close_checks: int = CLOSE_CHECKS

    def advance(self, now: FileSnapshot) -> tuple["WatchState", bool]:
        """What to remember after this look, and whether it rings."""
        close_looks = max(self.close_checks - 1, 0)
        if now.stamp is None and not self.is_missing:
            # A file that is being replaced may be away for a moment: it is gone when it is gone twice running.
            return WatchState(self.last, True, close_looks), False
        if now == self.last:
            return WatchState(self.last, now.stamp is None, close_looks), False
        return WatchState(now, now.stamp is None), now.digest != self.last.digest


async def file_changes(
    path: Path | str, interval: float = 0.5, *, seen: str | None = None
) -> AsyncGenerator[None, None]:
    """Yields once for each change that is noticed. A bell carries nothing: whoever hears it loads the file again.

    `seen` is the digest of the content that was loaded, so that no change between loading and watching is missed.
    """
    file = Path(path)
    first = await anyio.to_thread.run_sync(take_snapshot, file, None, abandon_on_cancel=True)
    if seen is not None and first.digest != seen:
        yield None
    memory = WatchState(first, first.stamp is None)
    while True:
        await anyio.sleep(interval)
        known = None if memory.close_checks else memory.last
        now = await anyio.to_thread.run_sync(take_snapshot, file, known, abandon_on_cancel=True)
        memory, rings = memory.advance(now)
        if rings:
            yield None


def take_snapshot(file: Path, known: FileSnapshot | None) -> FileSnapshot:
    """With what is known, the content is read only if the stamp differs."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return FileSnapshot(None, None)
    stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    if known is not None and known.stamp == stamp:
        return known
    content = read_bytes(file, MAX_SETTINGS_BYTES)
    return FileSnapshot(stamp, None if isinstance(content, FileProblem) else hashlib.sha256(content).hexdigest())
