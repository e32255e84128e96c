"""What the rest of the store asks of an engine. SQLite and PostgreSQL each answer in a module of their own."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from .async_engine import AsyncConnection, AsyncEngine


class StoreDatabase(Protocol):
    @property
    def display_url(self) -> str:
        """The URL as it may be shown."""
        ...

    @property
    def engine(self) -> AsyncEngine: ...

    def read_transaction(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """One transaction that sees one moment and writes nothing."""
        ...

    def write_transaction(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """One transaction: committed at the end, rolled back by an exception."""
        ...

    async def lock_for_write(self, connection: AsyncConnection) -> None:
        """From here to the end of the transaction, nobody else who asked for this writes."""
        ...

    async def lock_row_order(self, connection: AsyncConnection) -> None:
        """From here to the end of the transaction, nobody else writes numbered rows: they are seen in order."""
        ...

    async def notify_change(self, connection: AsyncConnection) -> None:
        """Tell whoever listens, once the transaction is committed."""
        ...

    def watch_changes(self) -> AsyncGenerator[None, None]:
        """Yields when the policy may have changed: at once, because something may have been missed before, then on
        every change by any process, this one too. Outlives an outage, and yields once after it."""
        ...
