"""PostgreSQL: the server enforces what may be read, by the privileges of a login; statements are limited here.
Imported only where such a source is opened.
"""

from .engine import PostgresEngine
from .privileges import PostgresRoleManager

postgresql_engine = PostgresEngine
postgresql_role_manager = PostgresRoleManager
