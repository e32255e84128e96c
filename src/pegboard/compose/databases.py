"""The databases of the board: what the file says of each tied to the engine that speaks to it."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from .surroundings import reference_folder

if TYPE_CHECKING:
    from pegboard.config.databases import DatabaseLocation
    from pegboard.config.settings import Settings
    from pegboard.core.database import Dialect
    from pegboard.core.database.source import DatabaseSettings
    from pegboard.gateway.gateway import Gateway
    from pegboard.ports import UnresolvedReference
    from pegboard.ports.databases import DatabaseEngine
    from pegboard.surfaces.cli.link import Printer


@dataclass(frozen=True)
class DeclaredEngineFactory:
    settings: "Settings | None"

    def dialect(self, database: "DatabaseSettings") -> "Dialect | None":
        from pegboard.config.databases import DatabaseLocation, dialect_of

        found = self._locate(database)
        return found.dialect if isinstance(found, DatabaseLocation) else dialect_of(database.url)

    def open_engine(self, database: "DatabaseSettings") -> "DatabaseEngine":
        from pegboard.core.database import Dialect
        from pegboard.ports import UnresolvedReference
        from pegboard.ports.databases import SourceError

        found = self._locate(database)
        if isinstance(found, UnresolvedReference):
            raise SourceError(found.why)
        try:
            # Each driver is loaded where its source is opened, and nowhere else.
            match found.dialect:
                case Dialect.SQLITE:
                    from pegboard.providers.builtin.database.worker.engine import sqlite_engine

                    return sqlite_engine(found.location, database.access, writes=database.writes)
                case Dialect.DUCKDB:
                    from pegboard.providers.builtin.database.worker.engine import duckdb_engine

                    return duckdb_engine(found.location, database.access)
                case Dialect.POSTGRESQL:
                    from pegboard.providers.builtin.database.postgres.engine import PostgresEngine

                    return PostgresEngine(found.location, database.access, writes=database.writes)
                case Dialect.MYSQL:
                    from pegboard.providers.builtin.database.mysql.engine import MysqlEngine

                    return MysqlEngine(found.location, database.access, writes=database.writes)
                case _:
                    assert_never(found.dialect)
        except ImportError as error:
            missing = f"the driver for {found.dialect.title} is not installed ({error.name or error})"
            raise SourceError(f"{missing}. Install it: pip install 'pegboard[databases]'") from error

    def _locate(self, database: "DatabaseSettings") -> "DatabaseLocation | UnresolvedReference":
        from pegboard.config.databases import locate_database
        from pegboard.config.references import expander

        folder = reference_folder(self.settings)
        return locate_database(database, expander(os.environ, folder), folder, os.environ)


async def report_databases(gateway: "Gateway", tell: "Printer") -> None:
    """Once, when the gateway starts: a database that cannot be asked is better known before somebody asks."""
    toolbox = gateway.databases.toolbox
    if toolbox is None or not toolbox.sources:
        return
    from pegboard.gateway.database.source import run_database_checks

    for check in await run_database_checks([*toolbox.sources.values()]):
        id, schema = check.source.database.id, check.schema
        if schema is not None:
            tables = f"{len(schema.tables)} table{'' if len(schema.tables) == 1 else 's'}"
            tell(f"  ● database {id}: {schema.dialect.title}, {tables}")
        else:
            tell(f"  ○ database {id} cannot be asked: {check.problem}")
        for finding in check.findings:
            tell(f"! database {id}: {finding.message}")
