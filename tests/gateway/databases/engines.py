"""Engines in the hands of a test: our own port in memory, and houses with databases."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import anyio.from_thread
from tests.core.boards import key
from tests.support.doubles import Providers, named
from tests.support.house import PATIENCE, House, declared, opened

from pegboard.core.databases.rows import DatabaseCheck, QueryAnswer, QueryRows, ResultColumn, StatementRefusal
from pegboard.core.databases.schema import DatabaseSchema, DatabaseTable, TableColumn, TableName
from pegboard.core.json.values import Json
from pegboard.core.model.databases import DatabaseId, DatabaseSettings, Dialect, QueryLimits
from pegboard.core.model.server import DeclaredAt
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.ports.databases import DatabaseEngine, Parameters, RoleScript, SourceError
from pegboard.ports.stores import TicketStore

GITHUB = key("dev~github")
AT = DeclaredAt("pegboard.yaml", 3)
CHECKED = DatabaseCheck("SQLite 3", None)
ONE = QueryRows((ResultColumn("n", "INTEGER"),), ((1,),), None, 0.5)
SCHEMA = DatabaseSchema(
    Dialect.SQLITE,
    (
        DatabaseTable(
            TableName("main", "orders"), (TableColumn("id", "INTEGER", is_nullable=False), TableColumn("city", "TEXT"))
        ),
    ),
    default_schema="main",
)
WRITES = StatementRefusal("it would change the database", "Ask for what is there.", is_write=True)


@dataclass
class ScriptedLogin:
    """The login of a server's database."""

    script: RoleScript | None
    """`None`: the database is a file."""
    applied_as: list[str | None] = field(default_factory=list[str | None])
    outage: str | None = None


@dataclass
class ScriptedEngine:
    """Reads anything but what begins with `write`, and that only when it is told to."""

    database: DatabaseSettings
    dialect: Dialect = Dialect.SQLITE
    checked: DatabaseCheck = CHECKED
    known: DatabaseSchema = SCHEMA
    answers: dict[str, QueryAnswer] = field(default_factory=dict[str, QueryAnswer])
    ran: list[tuple[str, Parameters, QueryLimits, bool]] = field(
        default_factory=list[tuple[str, Parameters, QueryLimits, bool]]
    )
    began: anyio.Event = field(default_factory=anyio.Event)
    held: anyio.Event | None = None
    """Until it is set, a statement runs."""
    given_up: int = 0
    checks: int = 0
    login: ScriptedLogin = field(default_factory=lambda: ScriptedLogin(None))
    closed: anyio.Event = field(default_factory=anyio.Event)

    async def check(self) -> DatabaseCheck:
        self.checks += 1
        return self.checked

    async def schema(self) -> DatabaseSchema:
        return self.known

    async def schema_version(self) -> str:
        return str(hash(self.known))

    async def run(
        self, statement: str, parameters: Parameters, limits: QueryLimits, *, write: bool = False
    ) -> QueryAnswer:
        self.ran.append((statement, parameters, limits, write))
        self.began.set()
        if self.held is not None:
            try:
                await self.held.wait()
            except anyio.get_cancelled_exc_class():
                self.given_up += 1
                raise
        if statement.startswith("write"):
            return QueryRows((), (), None, 0.1, affected_rows=3) if write and self.database.writes else WRITES
        return self.answers.get(statement, ONE)

    async def role_script(self, admin_url: str | None, *, apply: bool = False) -> RoleScript | None:
        if self.login.outage is not None:
            raise SourceError(self.login.outage)
        self.login.applied_as += [admin_url] if apply else []
        return self.login.script

    async def aclose(self) -> None:
        self.closed.set()


class ScriptedEngines:
    """Opens engines as the gateway asks for them, and keeps all it opened by their ids, the latest last."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes
        self.made: list[ScriptedEngine] = []
        self.first = anyio.Event()
        """Set when one was opened."""
        self.away: str | None = None

    def dialect(self, database: DatabaseSettings) -> Dialect | None:
        return Dialect.SQLITE

    def open_engine(self, database: DatabaseSettings) -> DatabaseEngine:
        if self.away is not None:
            raise SourceError(self.away)
        engine = ScriptedEngine(database, **self.changes)
        self.made.append(engine)
        anyio.from_thread.run_sync(self.first.set)
        return engine


def database(id: str, **changes: Any) -> DatabaseSettings:
    return DatabaseSettings(DatabaseId(id), f"sqlite:///{id}.db", AT, **changes)


def declaring(*databases: DatabaseSettings, board: DeclaredSettings | None = None) -> DeclaredSettings:
    return replace(board or declared(GITHUB), databases={each.id: each for each in databases})


@asynccontextmanager
async def housing(
    board: DeclaredSettings, engines: ScriptedEngines, tickets: TicketStore | None = None
) -> AsyncIterator[House]:
    providers = Providers({GITHUB: named(GITHUB, "search")})
    async with opened(board, providers, tickets=tickets, engines=engines) as house:
        with anyio.fail_after(PATIENCE):
            yield house


def asks(sql: str, source: str = "shop", **more: Json) -> Mapping[str, Json]:
    return {"source": source, "sql": sql, **more}
