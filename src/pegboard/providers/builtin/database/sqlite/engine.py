"""SQLite as an engine."""

from typing import Final

from pegboard.core.database import Access, Dialect
from pegboard.providers.builtin.database.worker.engine import WorkerEngine
from pegboard.providers.builtin.database.worker.frames import Setup

_MIB: Final = 1024 * 1024
_MEMORY: Final = 768 * _MIB
_IDLE: Final = 60.0
_LOG: Final = 16 * _MIB
"""The index of a write-ahead log is the one file that a reader may have to write."""
_ENDLESS: Final = 1 << 50


def sqlite_engine(path: str, access: Access, *, writes: bool = False) -> WorkerEngine:
    """Nothing is opened before it is asked."""
    setup = Setup("sqlite", path, access, writes, _MEMORY, _ENDLESS if writes else _LOG)
    return WorkerEngine(Dialect.SQLITE, setup, _IDLE)
