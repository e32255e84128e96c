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
from .problem import Problem
from .settings import MAX_BYTES

CLOSE_LOOKS: Final = 6
"""Looks after a change at which the content itself is compared: two writes can share one tick of the file's clock."""

Stamp: TypeAlias = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Look:
    """`None` for what is not there or cannot be read."""

    stamp: Stamp | None
    digest: str | None


async def changes(path: Path | str, interval: float = 0.5, *, seen: str | None = None) -> AsyncGenerator[None, None]:
    """Yields once for each change that is noticed. A bell carries nothing: whoever hears it loads the file again.

    `seen` is the digest of the content that was loaded, so that no change between loading and watching is missed.
    A file that is replaced may be away for a moment, so that it is gone is told only when it is gone twice running.
    """
    file = Path(path)
    before = await _look(file, None)
    if seen is not None and before.digest != seen:
        yield None
    close_looks = CLOSE_LOOKS
    away = before.stamp is None
    while True:
        await anyio.sleep(interval)
        now = await _look(file, None if close_looks else before)
        close_looks = max(close_looks - 1, 0)
        if now.stamp is None and not away:
            away = True
            continue
        away = now.stamp is None
        if now == before:
            continue
        changed = now.digest != before.digest
        before, close_looks = now, CLOSE_LOOKS
        if changed:
            yield None


async def _look(file: Path, before: _Look | None) -> _Look:
    """With `before`, the content is read only if the stamp differs."""
    return await anyio.to_thread.run_sync(_look_now, file, before, abandon_on_cancel=True)


def _look_now(file: Path, before: _Look | None) -> _Look:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return _Look(None, None)
    stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    if before is not None and before.stamp == stamp:
        return before
    content = read_bytes(file, MAX_BYTES)
    return _Look(stamp, None if isinstance(content, Problem) else hashlib.sha256(content).hexdigest())
