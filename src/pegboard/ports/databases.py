"""Database engines for `execute_sql` and `search_schemas`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from pegboard.core.databases.rows import DatabaseCheck, QueryAnswer
from pegboard.core.databases.schema import DatabaseSchema
from pegboard.core.json.values import Json
from pegboard.core.model.databases import DatabaseSettings, Dialect, QueryLimits

Parameters: TypeAlias = Sequence[Json] | Mapping[str, Json]
"""By place or by name; an empty sequence for none."""


class SourceError(Exception):
    """Why a source cannot be reached or opened, and what to do."""


@dataclass(frozen=True, slots=True)
class RoleScript:
    """SQL that gives a source a login with exactly the privileges that its board allows."""

    role: str
    """The login that the source connects with, as its URL names it."""
    statements: tuple[str, ...]
    """To be run in this order by an administrator. The password is a placeholder."""


class DatabaseEngine(Protocol):
    """Guard, access and limits are inside: an engine that was made with an `DatabaseAccess` shows nothing beyond it.

    `run` answers with a value for whatever a statement or a database does. To cancel the task is to stop the statement,
    on the server too. All may be called at the same time.
    """

    @property
    def dialect(self) -> Dialect: ...

    async def check(self) -> DatabaseCheck:
        """Never raises for what is wrong with the source: that is what it finds."""
        ...

    async def schema(self) -> DatabaseSchema:
        """All that is open. Raises `SourceError`."""
        ...

    async def schema_version(self) -> str:
        """Another text after each change of the schema, and cheap. Raises `SourceError`."""
        ...

    async def run(
        self, statement: str, parameters: Parameters, limits: QueryLimits, *, write: bool = False
    ) -> QueryAnswer:
        """One statement. With `write`, one that changes rows, in a transaction of its own that ends with it."""
        ...

    async def role_script(self, admin_url: str | None, *, apply: bool = False) -> RoleScript | None:
        """What creates or repairs the login of a source on a server that has privileges; `None` for a file. Reads the
        catalog as the administrator, or else as the login itself. With `apply` it is run as the administrator, with the
        password of the source's URL: all of it or, where the server can undo, nothing. Raises `SourceError`, in words
        without a password."""
        ...

    async def aclose(self) -> None: ...


# How the databases that the operator declares become engines.


class EngineFactory(Protocol):
    def dialect(self, database: DatabaseSettings) -> Dialect | None:
        """What it speaks, as far as its address tells; `None` where that refers to nothing now."""
        ...

    def open_engine(self, database: DatabaseSettings) -> DatabaseEngine:
        """Its engine, with the secrets of now. Connects to nothing yet; may load a driver, and so belongs in a thread.
        Raises `SourceError` for an address that is none, or a driver that is not installed."""
        ...
