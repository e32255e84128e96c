"""Queries that people keep, with the tools that they should find."""

from collections.abc import Sequence
from typing import Protocol

from pegboard.core.evaluation import SavedQuery


class QueryStore(Protocol):
    """By name. Raises `StoreAway`."""

    async def all(self) -> Sequence[SavedQuery]:
        """By name, no more than `MOST_QUERIES`."""
        ...

    async def save(self, query: SavedQuery) -> bool:
        """In place of one of the same name; false when there are `MOST_QUERIES` others already."""
        ...

    async def delete(self, name: str) -> bool:
        """Whether there was one."""
        ...
