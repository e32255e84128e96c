"""MySQL and MariaDB: statements judged by their words, run with the privileges of a login that is checked.

Imported only where such a source is opened.
"""

from pegboard.core.database import Access
from pegboard.ports.databases import RoleManager

from .engine import MysqlEngine
from .roles import MysqlRoleManager

__all__ = ["MysqlEngine", "mysql_engine", "mysql_role_manager"]


def mysql_engine(url: str, access: Access, *, writes: bool = False, forced: bool = False) -> MysqlEngine:
    """`writes`: rows may be changed through it. `forced` is for whoever acts on its check."""
    del forced
    return MysqlEngine(url, access, writes=writes)


def mysql_role_manager(url: str, access: Access, *, writes: bool = False) -> RoleManager:
    return MysqlRoleManager(url, access, writes=writes)
