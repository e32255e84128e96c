"""What the rest of the store asks of an engine. SQLite and PostgreSQL each answer in a module of their own."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from .async_engine import AsyncConnection, AsyncEngine


class Database(Protocol):
    @property
    def where(self) -> str:
        """The URL as it may be shown."""
        ...

    @property
    def engine(self) -> AsyncEngine: ...

    def reading(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """One transaction that sees one moment and writes nothing."""
        ...

    def writing(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """One transaction: committed at the end, rolled back by an exception."""
        ...

    async def alone(self, connection: AsyncConnection) -> None:
        """From here to the end of the transaction, nobody else who asked for this writes."""
        ...

    async def in_order(self, connection: AsyncConnection) -> None:
        """From here to the end of the transaction, nobody else writes numbered rows: they are seen in order."""
        ...

    async def ring(self, connection: AsyncConnection) -> None:
        """Tell whoever listens, once the transaction is committed."""
        ...

    def rings(self) -> AsyncGenerator[None, None]:
        """Yields when the policy may have changed: at once, because something may have been missed before, then on
        every change by any process, this one too. Outlives an outage, and yields once after it."""
        ...
