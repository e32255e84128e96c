"""PostgreSQL: the server enforces what may be read, by the privileges of a login; statements are limited here.
Imported only where such a source is opened.
"""

from pegboard.core.database import Access
from pegboard.ports.databases import RoleManager

from .engine import PostgresEngine
from .roles import PostgresRoleManager

__all__ = ["PostgresEngine", "postgresql_engine", "postgresql_role_manager"]


def postgresql_engine(url: str, access: Access, *, writes: bool = False, forced: bool = False) -> PostgresEngine:
    """`forced` changes nothing here: whoever asks the engine decides by what `check` finds."""
    return PostgresEngine(url, access, writes=writes)


def postgresql_role_manager(url: str, access: Access, *, writes: bool = False) -> RoleManager:
    return PostgresRoleManager(url, access, writes=writes)
