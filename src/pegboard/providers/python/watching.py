"""A bell for the files of a toolset: rings when a module or the manifest changed, and has stayed so for a moment."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

POLL_INTERVAL_S: Final = 0.5
"""Seconds between two looks."""
_MAX_FILES: Final = 5_000
_MANIFEST_NAMES: Final = frozenset({"toolset.yaml", "toolset.yml"})

FileStamps: TypeAlias = Mapping[str, tuple[int, int, int]]


async def read_stamps(folder: Path) -> FileStamps:
    return await anyio.to_thread.run_sync(_collect_stamps, folder, abandon_on_cancel=True)


async def wait_for_change(folder: Path, since: FileStamps, interval: float = POLL_INTERVAL_S) -> FileStamps:
    """Waits until the files are others than these, and are the same at two looks running: editors write in steps."""
    former = since
    while True:
        await anyio.sleep(interval)
        now = await read_stamps(folder)
        if now == former != since:
            return now
        former = now


def _collect_stamps(folder: Path) -> FileStamps:
    """Of modules and the manifest only: what a tool writes beside them must not restart it."""
    found: dict[str, tuple[int, int, int]] = {}
    waiting = [str(folder)]
    while waiting and len(found) < _MAX_FILES:
        try:
            entries = [*os.scandir(waiting.pop())]
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith((".", "__pycache__")):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.name.endswith(".py") or entry.name in _MANIFEST_NAMES:
                    status = entry.stat()
                    found[entry.path] = (status.st_ino, status.st_size, status.st_mtime_ns)
            except OSError:
                continue
    return found
