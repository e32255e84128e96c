"""Databases of which only the schemas are there: what a search needs, and no engine."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import anyio.lowlevel

from pegboard.core.databases.rows import DatabaseCheck
from pegboard.core.databases.schema import DatabaseSchema
from pegboard.core.model.databases import DatabaseId, DatabaseSettings, Dialect, QueryLimits
from pegboard.core.model.server import DeclaredAt
from pegboard.ports.databases import DatabaseEngine, Parameters

T = TypeVar("T")
SHELF = DatabaseSettings(DatabaseId("shelf"), "", DeclaredAt("", 0))


class SchemaAlone:
    def __init__(self, schema: DatabaseSchema) -> None:
        self._schema = schema

    @property
    def dialect(self) -> Dialect:
        return self._schema.dialect

    async def check(self) -> DatabaseCheck:
        await anyio.lowlevel.checkpoint()
        return DatabaseCheck("", None)

    async def schema(self) -> DatabaseSchema:
        await anyio.lowlevel.checkpoint()
        return self._schema

    async def schema_version(self) -> str:
        await anyio.lowlevel.checkpoint()
        return str(id(self._schema))

    async def run(
        self, statement: str, parameters: Parameters, limits: QueryLimits, *, write: bool = False
    ) -> NoReturn:
        raise AssertionError("There are no rows.")

    async def role_script(self, admin_url: str | None, *, apply: bool = False) -> None: ...

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()


@dataclass(frozen=True, eq=False)
class Shelved:
    engine: DatabaseEngine
    database: DatabaseSettings = SHELF

    async def run_on_engine(self, work: Callable[[DatabaseEngine], Awaitable[T]]) -> T:
        return await work(self.engine)
