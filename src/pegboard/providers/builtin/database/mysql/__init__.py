"""MySQL and MariaDB: words taken apart as the server does, read by a parser, run in a read-only transaction.

Imported only where such a source is opened.
"""

from pegboard.core.database import Access
from pegboard.ports.databases import RoleManager

from .engine import MysqlEngine
from .roles import MysqlRoleManager

__all__ = ["MysqlEngine", "mysql_engine", "mysql_role_manager"]


def mysql_engine(url: str, access: Access, *, writes: bool = False, forced: bool = False) -> MysqlEngine:
    """`writes`: rows may be changed through it. `forced`: its operator insists on a user that may do too much."""
    return MysqlEngine(url, access, writes=writes, forced=forced)


def mysql_role_manager(url: str, access: Access, *, writes: bool = False) -> RoleManager:
    return MysqlRoleManager(url, access, writes=writes)
