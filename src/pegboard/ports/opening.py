"""How the databases that the operator declares become engines."""

from typing import Protocol

from pegboard.core.database import Dialect
from pegboard.core.database.source import DatabaseSettings

from .databases import DatabaseEngine


class EngineFactory(Protocol):
    def dialect(self, database: DatabaseSettings) -> Dialect | None:
        """What it speaks, as far as its address tells; `None` where that refers to nothing now."""
        ...

    def open_engine(self, database: DatabaseSettings) -> DatabaseEngine:
        """Its engine, with the secrets of now. Connects to nothing yet; may load a driver, and so belongs in a thread.
        Raises `SourceError` for an address that is none, or a driver that is not installed."""
        ...
