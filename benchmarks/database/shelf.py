"""Databases of which only the schemas are there: what a search needs, and no engine."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import anyio.lowlevel

from pegboard.core.database import Checked, Database, Dialect, Limits, Schema, SourceId
from pegboard.core.server import DeclaredAt
from pegboard.ports.databases import Engine, Parameters

T = TypeVar("T")
SHELF = Database(SourceId("shelf"), "", DeclaredAt("", 0))


class SchemaAlone:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    @property
    def dialect(self) -> Dialect:
        return self._schema.dialect

    async def check(self) -> Checked:
        await anyio.lowlevel.checkpoint()
        return Checked("", None)

    async def schema(self) -> Schema:
        await anyio.lowlevel.checkpoint()
        return self._schema

    async def stamp(self) -> str:
        await anyio.lowlevel.checkpoint()
        return str(id(self._schema))

    async def run(self, statement: str, parameters: Parameters, limits: Limits, *, write: bool = False) -> NoReturn:
        raise AssertionError("There are no rows.")

    async def role_script(self, admin_url: str | None, *, apply: bool = False) -> None: ...

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()


@dataclass(frozen=True, eq=False)
class Shelved:
    engine: Engine
    database: Database = SHELF

    async def asked(self, work: Callable[[Engine], Awaitable[T]]) -> T:
        return await work(self.engine)
