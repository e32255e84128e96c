"""SQLAlchemy's connections and transactions for asyncio: each statement is awaited.

`sqlalchemy.ext.asyncio` offers more of the same, but importing it loads the whole ORM: eight megabytes and a tenth of
the time that a gateway takes to start, for nothing that the store uses.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, TypeVarTuple, overload

import anyio
from sqlalchemy import URL, Connection, CursorResult, Dialect, Engine, Executable, create_engine
from sqlalchemy.sql.selectable import TypedReturnsRows
from sqlalchemy.util import greenlet_spawn

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Parameters: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]]
AnyResult: TypeAlias = "CursorResult[*tuple[Any, ...]]"


class AsyncConnection:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def dialect(self) -> Dialect:
        return self._connection.dialect

    @overload
    async def execute(
        self, statement: "TypedReturnsRows[*Ts]", parameters: Parameters | None = None
    ) -> "CursorResult[*Ts]": ...

    @overload
    async def execute(self, statement: Executable, parameters: Parameters | None = None) -> AnyResult: ...

    async def execute(self, statement: Executable, parameters: Parameters | None = None) -> AnyResult:
        """The result is complete: reading its rows waits for nothing."""
        return await greenlet_spawn(self._connection.execute, statement, parameters)

    async def exec_driver_sql(self, statement: str, parameters: Any = None) -> AnyResult:
        """A statement as the driver takes it, with the driver's own placeholders."""
        return await greenlet_spawn(self._connection.exec_driver_sql, statement, parameters)

    async def execution_options(self, **options: Any) -> None:
        """Set for this connection. A level of isolation is told to the database at once."""
        await greenlet_spawn(self._connection.execution_options, **options)

    async def run_sync(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that uses the connection without awaiting, as Alembic does."""
        return await greenlet_spawn(partial(work, self._connection, *args, **kwargs))

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[None]:
        """A transaction: committed at the end of the block, rolled back by an exception."""
        transaction = (await greenlet_spawn(self._connection.begin)).__enter__()
        try:
            yield
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await greenlet_spawn(transaction.__exit__, type(error), error, error.__traceback__)
            raise
        await greenlet_spawn(transaction.__exit__, None, None, None)

    async def close(self) -> None:
        """Back to the pool, whatever is open is rolled back."""
        with anyio.CancelScope(shield=True):
            await greenlet_spawn(self._connection.close)


class AsyncEngine:
    """A pool of connections, for a dialect whose driver is asynchronous."""

    def __init__(self, sync_engine: Engine) -> None:
        assert sync_engine.dialect.is_async, sync_engine.dialect.driver
        self.sync_engine = sync_engine

    @property
    def dialect(self) -> Dialect:
        return self.sync_engine.dialect

    async def connect(self) -> AsyncConnection:
        """Whoever takes a connection closes it."""
        return AsyncConnection(await greenlet_spawn(self.sync_engine.connect))

    @asynccontextmanager
    async def open_connection(self) -> AsyncIterator[AsyncConnection]:
        connection = await self.connect()
        try:
            yield connection
        finally:
            await connection.close()

    async def dispose(self) -> None:
        await greenlet_spawn(self.sync_engine.dispose)


def create_async_engine(
    url: str | URL, *, async_creator: Callable[[], Awaitable[Any]] | None = None, **options: Any
) -> AsyncEngine:
    """`async_creator` makes the driver's own connection; without it, the URL says where to connect."""
    if async_creator is None:
        return AsyncEngine(create_engine(url, **options))

    def create() -> Any:
        dialect = engine.sync_engine.dialect
        assert dialect.dbapi is not None
        return dialect.dbapi.connect(async_creator_fn=async_creator)

    engine = AsyncEngine(create_engine(url, creator=create, **options))
    return engine
