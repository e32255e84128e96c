"""PostgreSQL: read by its own grammar, judged by its catalogue, run in a read-only transaction.

Imported only where such a source is opened.
"""

from pegboard.core.database import Access

from .engine import PostgresEngine

__all__ = ["PostgresEngine", "postgresql_engine"]


def postgresql_engine(url: str, access: Access, *, writes: bool = False, forced: bool = False) -> PostgresEngine:
    """`writes`: rows may be changed through it. `forced`: its operator insists on a role that may do too much, or on
    foreign tables."""
    return PostgresEngine(url, access, writes=writes, forced=forced)
