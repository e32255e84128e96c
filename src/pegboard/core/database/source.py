"""What a database source is called, and which language it speaks."""

from enum import Enum
from typing import NewType

from pegboard.core.ids import ID_RULE, BadId, is_id

SourceId = NewType("SourceId", str)


class Dialect(Enum):
    SQLITE = "sqlite"
    DUCKDB = "duckdb"
    POSTGRESQL = "postgresql"
    MYSQL = "mysql"
    """MariaDB too: one protocol, and one SQL but for details."""

    @property
    def title(self) -> str:
        """As people write it."""
        return {"sqlite": "SQLite", "duckdb": "DuckDB", "postgresql": "PostgreSQL", "mysql": "MySQL"}[self.value]


def source_id(text: str) -> SourceId | BadId:
    if is_id(text):
        return SourceId(text)
    return BadId(text, f"{text!r} cannot name a database source: use {ID_RULE}")
