"""What can be wrong with a database, in words: what, where, and what to do. Passwords never appear."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Final, Protocol, TypeAlias
from urllib.parse import unquote

import anyio
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from pegboard.ports.audit import StoreUnavailable
from pegboard.store.async_engine import AsyncConnection, AsyncEngine

# What the rest of the store asks of an engine. SQLite and PostgreSQL each answer in a module of their own.


class StoreDatabase(Protocol):
    @property
    def display_url(self) -> str:
        """The URL as it may be shown."""
        ...

    @property
    def start_anew_command(self) -> str:
        """What a person runs to keep this database aside and go on with an empty one."""
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


DescribeError: TypeAlias = Callable[[BaseException], str]
"""One engine's reading of an error: a sentence of what is wrong, and one of what to do."""


class StoreError(StoreUnavailable):
    """The database cannot be used as asked. The message is for people."""


_SCHEME_PATTERN: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_OPTION_PATTERN: Final = re.compile(r"(?P<before>[?&]|(?<![^\s?&]))(?P<name>[^\s=?&]+)(?P<is>\s*=\s*)", re.DOTALL)


def mask_passwords(url: str) -> str:
    """The URL as it may be shown. An unescaped `/`, `@` or `&` in a password must not let half of it through, nor must
    another form than a URL, such as libpq's `host=h password=p`."""
    scheme, slashes, rest = url.partition("://")
    if not slashes or _SCHEME_PATTERN.fullmatch(scheme) is None:
        scheme, slashes, rest = "", "", url
    # In libpq's own form, what stands before an `@` is no user.
    known, at, place = rest.rpartition("@") if slashes or _OPTION_PATTERN.match(rest) is None else ("", "", rest)
    if at:
        user, colon, _ = known.partition(":")
        # Without a scheme, nobody knows where the user ends.
        known = "***" if not slashes else f"{user}:***" if colon else user
    return f"{scheme}{slashes}{_without_passwords(known)}{at}{_without_passwords(place)}"


def _without_passwords(text: str) -> str:
    shown, place = "", 0
    found = [*_OPTION_PATTERN.finditer(text)]
    starts = [*(option.start() for option in found[1:]), len(text)]
    for option, following in zip(found, starts, strict=False):
        if "password" in unquote(option["name"]).lower():
            shown += f"{text[place : option.end()]}***"
            place = following
    return shown + text[place:]


@contextmanager
def translate_errors(explain: DescribeError) -> Iterator[None]:
    """Turns what the driver raises into a `StoreError`. What only a bug of ours can cause stays what it is."""
    try:
        yield
    except (IntegrityError, DataError):
        raise
    except (DBAPIError, PoolTimeout, sqlite3.Error, OSError) as error:
        raise StoreError(explain(error)) from error


def driver_error(error: BaseException) -> BaseException:
    """What the driver itself said, without the statement and its parameters: those may hold secrets."""
    found: BaseException = error
    if isinstance(error, DBAPIError) and error.orig is not None:
        found = error.orig
    return found


def describe_sqlite_error(where: str, error: BaseException) -> str:
    told = driver_error(error)
    said = str(told).rstrip(".")
    code = getattr(told, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
    if isinstance(told, OSError):
        said = told.strerror or said
        return f"{where} cannot be opened: {said}. {_PLACE_HINT}"
    match code:
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_FORMAT:
            return (
                f"{where} is not a readable SQLite database: {said}. Restore it from a backup, or move the file away: "
                f"Pegboard then starts a new one."
            )
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return f"{where} cannot be opened for writing: {said}. {_PLACE_HINT}"
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_TOOBIG:
            return (
                f"{where} could not be written: {said}. Nothing of the change was kept. Free some space on its disk "
                f"and look for disk errors."
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"{where} is held by another process: {said}. Find out which one keeps it open, and stop that one."
        case _:
            return f"{where} failed: {said}. Restore it from a backup, or use another data directory."


_PLACE_HINT: Final = (
    "Check that this user may write to the directory and the file, or choose another place with --data-dir or `store:`."
)


def describe_postgres_error(where: str, error: BaseException) -> str:
    told = driver_error(error)
    state = str(getattr(told, "sqlstate", None) or "")
    said = _first_line(told)
    match state:
        case "28P01" | "28000":
            return f"{where} does not let us in: {said}. Check the user, the password and pg_hba.conf."
        case "3D000":
            return f"{where} names a database that does not exist: {said}. Create it with createdb, or correct the URL."
        case "42501":
            return f"{where} does not allow this user enough: {said}. Grant it CREATE and USAGE on the schema."
        case "42P01" | "42703":
            return f"{where} has lost a table or column of Pegboard: {said}. Restore it from a backup."
        case "25006":
            return f"{where} is read-only: {said}. Point `store:` at the primary, not at a replica."
        case "53100":
            return f"{where} is out of disk space: {said}. Nothing of the change was kept. Free some space there."
        case "53300":
            return f"{where} has no connection left: {said}. Raise max_connections, or run fewer replicas."
        case "55P03" | "57014" | "40001" | "40P01":
            return f"{where} was too busy to answer in time: {said}. Try again; look for long transactions there."
        case _ if not state or state.startswith(("08", "57")):
            return f"{where} cannot be reached: {said}. Check host, port and network, and that PostgreSQL is running."
        case _:
            return f"{where} failed: {said} (SQLSTATE {state}). See the server's log."


def _first_line(error: BaseException) -> str:
    """Drivers put their class before the message and hints after it."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return re.sub(r"^<class '[^']*'>: ", "", text).rstrip(".")


# A task in the background with an owner who ends it.

CANCEL_GRACE_S: Final = 2.0


@asynccontextmanager
async def run_in_background(name: str, work: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Not a task group, because that would wrap every exception of the body in a group. The end is asked for through
    a cancel scope, so that a statement in flight is finished; who does not end in time is cancelled outright."""
    scope = anyio.CancelScope()

    async def run_scoped() -> None:
        with scope:
            await work()

    task = asyncio.create_task(run_scoped(), name=name)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            scope.cancel()
            await asyncio.wait([task], timeout=CANCEL_GRACE_S)
            task.cancel()
            await asyncio.wait([task])
    if not task.cancelled():
        task.result()
