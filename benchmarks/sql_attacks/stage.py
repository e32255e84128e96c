"""Where attacks are played: a database of our own making, and a way to see all that became of it.

Every stage holds the shop: `customers` (50), `orders` (400), the view `order_totals`, `accounts` with the column
`password`, and `vault`, whose one row is a secret. The last two are what cases may deny.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, Protocol

from pegboard.core.model.databases import DatabaseAccess
from pegboard.ports.databases import DatabaseEngine

SECRET: Final = "canary-7f31c4-of-the-shop"
"""It stands in a table, in a file and in our environment. Whoever is told it has read what is closed."""
PASSWORD: Final = "canary-password-of-an-account"


class Stage(Protocol):
    def engine(self, access: DatabaseAccess) -> DatabaseEngine:
        """One that sees so much of the shop. Whoever asks for it closes it."""
        ...

    def state(self) -> Mapping[str, str]:
        """All that an attack could change, by name, in a form that can be compared."""
        ...

    def trouble(self) -> str | None:
        """What another connection can no longer do; nothing when all is well."""
        ...

    def reset(self) -> None:
        """The shop as it was at first."""
        ...

    def control(self, sql: str, seconds: float) -> str | None:
        """What the database itself says against a statement that nothing guards; `None` where it works. The shop is
        not as it was afterwards."""
        ...


Open = Callable[[Path], AbstractAsyncContextManager[Stage]]
"""A stage in a folder of its own. Raises `NotHereError`."""


class NotHereError(Exception):
    """The engine cannot be had on this machine: why, and what to do."""
