"""MySQL and MariaDB: statements judged by their words, run with the privileges of a login that is checked.
Imported only where such a source is opened.
"""

from .engine import MysqlEngine
from .privileges import MysqlRoleManager

mysql_engine = MysqlEngine
mysql_role_manager = MysqlRoleManager
