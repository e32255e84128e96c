"""DuckDB as an engine."""

from typing import Final

from pegboard.core.database import Access, Dialect
from pegboard.providers.builtin.database.worker.engine import WorkerEngine
from pegboard.providers.builtin.database.worker.frames import Setup

_MEMORY: Final = 1536 * 1024 * 1024
"""Of addresses; what it can fill of them is less by half."""
_IDLE: Final = 5.0
"""Seconds: while a file is open here, no other process can open it to write."""


def duckdb_engine(path: str, access: Access) -> WorkerEngine:
    """Nothing is opened before it is asked. It only reads: DuckDB has one process write a file, and that is another."""
    return WorkerEngine(Dialect.DUCKDB, Setup("duckdb", path, access, False, _MEMORY, 0), _IDLE)
