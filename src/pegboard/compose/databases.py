"""The databases of the board: what the file says of each tied to the engine that speaks to it."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from .surroundings import folder_of

if TYPE_CHECKING:
    from pegboard.config.databases import Located
    from pegboard.config.settings import Settings
    from pegboard.core.database import Dialect
    from pegboard.core.database.source import Database
    from pegboard.gateway.gateway import Gateway
    from pegboard.ports import Unresolved
    from pegboard.ports.databases import Engine
    from pegboard.surfaces.cli.link import Tell


@dataclass(frozen=True)
class DeclaredEngines:
    settings: "Settings | None"

    def dialect(self, database: "Database") -> "Dialect | None":
        from pegboard.config.databases import Located, dialect_of

        found = self._located(database)
        return found.dialect if isinstance(found, Located) else dialect_of(database.url)

    def opened(self, database: "Database") -> "Engine":
        from pegboard.core.database import Dialect
        from pegboard.ports import Unresolved
        from pegboard.ports.databases import SourceError

        found = self._located(database)
        if isinstance(found, Unresolved):
            raise SourceError(found.why)
        try:
            # Each driver is loaded where its source is opened, and nowhere else.
            match found.dialect:
                case Dialect.SQLITE:
                    from pegboard.providers.builtin.database.worker.engine import sqlite_engine

                    return sqlite_engine(found.where, database.access, writes=database.writes)
                case Dialect.DUCKDB:
                    from pegboard.providers.builtin.database.worker.engine import duckdb_engine

                    return duckdb_engine(found.where, database.access)
                case Dialect.POSTGRESQL:
                    from pegboard.providers.builtin.database.postgres.engine import PostgresEngine

                    return PostgresEngine(found.where, database.access, writes=database.writes)
                case Dialect.MYSQL:
                    from pegboard.providers.builtin.database.mysql.engine import MysqlEngine

                    return MysqlEngine(found.where, database.access, writes=database.writes)
                case _:
                    assert_never(found.dialect)
        except ImportError as error:
            missing = f"the driver for {found.dialect.title} is not installed ({error.name or error})"
            raise SourceError(f"{missing}. Install it: pip install 'pegboard[databases]'") from error

    def _located(self, database: "Database") -> "Located | Unresolved":
        from pegboard.config.databases import located
        from pegboard.config.references import expander

        folder = folder_of(self.settings)
        return located(database, expander(os.environ, folder), folder, os.environ)


async def tell_of_databases(gateway: "Gateway", tell: "Tell") -> None:
    """Once, when the gateway starts: a database that cannot be asked is better known before somebody asks."""
    toolbox = gateway.databases.toolbox
    if toolbox is None or not toolbox.sources:
        return
    from pegboard.gateway.database.source import check_sources

    for check in await check_sources([*toolbox.sources.values()]):
        id, schema = check.source.database.id, check.schema
        if schema is not None:
            tables = f"{len(schema.tables)} table{'' if len(schema.tables) == 1 else 's'}"
            tell(f"  ● database {id}: {schema.dialect.title}, {tables}")
        else:
            tell(f"  ○ database {id} cannot be asked: {check.away}")
        for finding in check.findings:
            tell(f"! database {id}: {finding.message}")
