"""Files and folders in a place that processes share: held by the one that made them for as long as it lives.

The system lets go of them when it dies, however it dies: whoever comes by later can tell what is left behind from what
is in use.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_MAX_ATTEMPTS: Final = 10


def create_locked(make: Callable[[], Path]) -> tuple[Path, int]:
    """What `make` made, a new one each time, and the descriptor that holds it until it is closed. Raises `OSError`."""
    for _ in range(_MAX_ATTEMPTS):
        path = make()
        descriptor = os.open(path, _open_flags(path))
        # Somebody who clears away may have come by before it was held.
        if _try_lock(descriptor) and _is_same_file(path, descriptor):
            return path, descriptor
        os.close(descriptor)
    raise OSError(f"{path}: somebody takes it away as soon as it is there")


@contextmanager
def lock_abandoned(path: Path) -> Iterator[int | None]:
    """A descriptor of it while nobody else holds it, and `None` where somebody does, or where it is not ours."""
    try:
        descriptor = os.open(path, _open_flags(path) | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        yield None
        return
    try:
        ours = os.name != "posix" or os.fstat(descriptor).st_uid == os.getuid()
        yield descriptor if ours and _try_lock(descriptor) and _is_same_file(path, descriptor) else None
    finally:
        os.close(descriptor)


def _open_flags(path: Path) -> int:
    return os.O_RDONLY if path.is_dir() else os.O_RDWR


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except OSError:
        return False


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
