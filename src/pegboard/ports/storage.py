"""How the store is: what an operator wants to know of the database behind the board."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias


@dataclass(frozen=True)
class Storage:
    engine: str
    version: str
    """Of the engine."""
    revision: str
    """Of the tables."""
    size: int
    """Bytes, all that belongs to the database."""
    calls: int
    """Rows of activity."""
    oldest: datetime | None
    keep_days: float | None
    keep_rows: int | None
    arguments: bool
    results: bool
    """Whether arguments and results of calls are recorded."""


StorageProbe: TypeAlias = Callable[[], Awaitable[Storage]]
"""Raises `StoreAway`, in words that may be shown."""
