"""PostgreSQL: one database for many replicas."""

import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import anyio
from sqlalchemy import text

from pegboard.store.async_engine import AsyncConnection, AsyncEngine, create_async_engine
from pegboard.store.database import StoreError, describe_postgres_error, mask_passwords, translate_errors
from pegboard.store.schema import declare_postgresql_indexes

log = logging.getLogger(__name__)

NOTIFY_CHANNEL: Final = "pegboard_policy"
_LOCK_ID: Final = 0x_7065_6762_6F61_7264
"""Any number that no other program is likely to lock: "pegboard" in ASCII."""

# Options that libpq understands and asyncpg would send to the server as settings, which then refuses the connection.
_LIBPQ_ONLY_OPTIONS: Final = frozenset(
    {
        "channel_binding",
        "client_encoding",
        "connect_timeout",
        "fallback_application_name",
        "gssdelegation",
        "gssencmode",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "load_balance_hosts",
        "require_auth",
        "requirepeer",
        "sslcompression",
        "sslsni",
        "tcp_user_timeout",
    }
)


class PostgresDatabase:
    def __init__(
        self,
        url: str,
        *,
        patience: float = 10.0,
        command_timeout: float = 60.0,
        pulse: float = 30.0,
        backoff: tuple[float, float] = (0.5, 30.0),
    ) -> None:
        self.display_url = mask_passwords(url)
        self._dsn = asyncpg_url(url)
        self._timeout_s = patience
        self._command_timeout = command_timeout
        self._check_interval_s = pulse
        self._backoff = backoff
        self.explain = partial(describe_postgres_error, self.display_url)
        _load_asyncpg(self.display_url)
        self.engine: AsyncEngine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=self._connect,
            pool_timeout=patience,
            # A server that was restarted leaves dead connections behind; find out before a decision depends on one.
            pool_pre_ping=True,
        )
        declare_postgresql_indexes()

    @property
    def start_anew_command(self) -> str:
        return "createdb --encoding=UTF8 pegboard_new, and name that database under `store:`"

    async def prepare(self) -> None:
        async with self.read_transaction() as connection:
            encoding = (await connection.execute(text("SHOW server_encoding"))).scalar_one()
        if encoding != "UTF8":
            raise StoreError(
                f"{self.display_url} stores text as {encoding}, which cannot hold every tool's description. "
                f"Use a database created with: createdb --encoding=UTF8"
            )

    async def _connect(self) -> Any:
        """asyncpg reads the URL itself, so every option that it knows works as people write it."""
        asyncpg = _load_asyncpg(self.display_url)
        try:
            with translate_errors(self.explain):
                return await asyncpg.connect(self._dsn, timeout=self._timeout_s, command_timeout=self._command_timeout)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
            raise StoreError(self.explain(error)) from error
        except ValueError as error:
            raise StoreError(invalid_url_message(self.display_url)) from error

    @asynccontextmanager
    async def read_transaction(self) -> AsyncIterator[AsyncConnection]:
        async with self._transaction(isolation_level="REPEATABLE READ", postgresql_readonly=True) as connection:
            yield connection

    @asynccontextmanager
    async def write_transaction(self) -> AsyncIterator[AsyncConnection]:
        async with self._transaction(isolation_level="READ COMMITTED") as connection:
            yield connection

    @asynccontextmanager
    async def _transaction(self, **options: Any) -> AsyncIterator[AsyncConnection]:
        # As for SQLite: statements are short and have a deadline, and cutting one off leaves a connection in doubt.
        with translate_errors(self.explain), anyio.CancelScope(shield=True):
            async with self.engine.open_connection() as connection:
                await connection.execution_options(**options)
                async with connection.begin():
                    yield connection

    async def lock_for_write(self, connection: AsyncConnection) -> None:
        await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK_ID})

    async def lock_row_order(self, connection: AsyncConnection) -> None:
        await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK_ID + 1})

    async def notify_change(self, connection: AsyncConnection) -> None:
        await connection.execute(text("SELECT pg_notify(:channel, '')"), {"channel": NOTIFY_CHANNEL})

    async def watch_changes(self) -> AsyncGenerator[None, None]:
        shortest, longest = self._backoff
        pause = 0.0
        while True:
            try:
                async with aclosing(self._listen()) as heard:
                    async for _ in heard:
                        pause = 0.0
                        yield
            except StoreError as error:
                if not pause:
                    log.warning("Changes of policy by other processes are not heard: %s", error)
            pause = min(max(pause * 2, shortest), longest)
            await anyio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads replicas, guards nothing

    async def _listen(self) -> AsyncGenerator[None, None]:
        """Until the connection dies. The first ring is for what came before anyone listened."""
        asyncpg = _load_asyncpg(self.display_url)
        connection = await self._connect()
        something = anyio.Event()

        def wake(*_: object) -> None:
            something.set()

        try:
            connection.add_termination_listener(wake)
            await connection.add_listener(NOTIFY_CHANNEL, wake)
            yield
            while True:
                with anyio.move_on_after(self._check_interval_s):
                    await something.wait()
                if connection.is_closed():
                    raise StoreError(f"{self.display_url} closed the connection that listens.")
                if something.is_set():
                    something = anyio.Event()
                    yield
                else:
                    # A network that drops a connection in silence is found out only by using it.
                    await connection.execute("SELECT 1", timeout=self._timeout_s)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            raise StoreError(self.explain(error)) from error
        finally:
            connection.terminate()


def invalid_url_message(url: str) -> str:
    """The cause is not quoted: what is left of a URL after a wrong split may be part of the password."""
    return (
        f"{mask_passwords(url)} is not a PostgreSQL URL. Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and "
        f"percent-encode characters such as @ : / # ? in the password."
    )


def asyncpg_url(url: str) -> str:
    """The URL without what asyncpg would misread."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise StoreError(invalid_url_message(url)) from error
    options = [(name, value) for name, value in parse_qsl(parts.query) if name not in _LIBPQ_ONLY_OPTIONS]
    return urlunsplit(parts._replace(scheme="postgresql", query=urlencode(options)))


def _load_asyncpg(where: str) -> Any:
    try:
        import asyncpg
    except ImportError as error:
        raise StoreError(
            f"{where} needs the PostgreSQL driver, which is not installed. Run: pip install 'pegboard[postgres]'"
        ) from error
    return asyncpg
