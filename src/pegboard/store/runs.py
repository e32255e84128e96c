"""Suspended programs in the database: kept encrypted, and gone on with once, whoever else is at it.

What is kept of one takes room until it goes on, or until its tickets have lapsed; and there is only so much of it.
"""

import secrets
import zlib
from datetime import datetime, timedelta
from typing import Final

import anyio.to_thread
from sqlalchemy import ColumnElement, delete, func, insert, select, update

from pegboard.core.ids import CallId, PrincipalId
from pegboard.core.suspended import FoundRun, KeptRun
from pegboard.ports import RunsAway

from .async_engine import AsyncConnection
from .calls import microseconds, moment
from .database import Database
from .errors import StoreError
from .schema import run_tickets, runs, tickets
from .secrets import KeyFor, NoKeyError
from .text import key as principal_key

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of the state of one program, before it is made smaller."""
MOST: Final = 512 * 1024 * 1024
"""Bytes in the database of all programs that wait, and how many of them may be of one principal."""
MOST_OF_ONE: Final = 64 * 1024 * 1024
LATER: Final = timedelta(minutes=5)
"""How long a program is kept behind its last ticket, for whoever comes late to ask what became of it."""
_SMALLER: Final = b"zlib\n"
"""What stands before a state that was made smaller. An earlier version kept it as it was, from its signature on."""
_TOO_LARGE: Final = (
    "what is kept of it meanwhile takes {:,} bytes, and of one program at most {:,} are kept. Hold less in variables "
    "by the time of that call"
)
_FULL_OF_ONE: Final = (
    "other programs of yours wait already, and together with them it would take more than the {:,} bytes that are kept "
    "for one caller. Ask the user to decide about those first (pegboard tickets list), and go on with them"
)
_FULL: Final = (
    "so many programs wait already that together with them it would take more than the {:,} bytes that are kept in "
    "all. Ask the user to decide about those first: pegboard tickets list"
)
_ANOTHER_KEY: Final = "what was kept of it is damaged, or was kept with another key than this gateway's"
_CLAIMED: Final = "somebody goes on with it already"


class StoredRuns:
    def __init__(self, database: Database, key: KeyFor, *, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._database = database
        self._key = key
        self._most = most
        self._most_of_one = most_of_one

    async def keep(self, run: KeptRun, now: datetime) -> None:
        if len(run.state) > LARGEST:
            raise RunsAway(_TOO_LARGE.format(len(run.state), LARGEST))
        mark = secrets.token_hex(16)
        try:
            # Megabytes of it would hold up everybody else.
            text = await anyio.to_thread.run_sync(_sealed, run.state, _name(run.id, mark), self._key(True))
            async with self._database.writing() as connection:
                await self._database.alone(connection)
                await _tidy(connection, now)
                await _forget(connection, run.id)
                await self._have_room(connection, run.principal, len(text))
                row = {
                    "id": run.id,
                    "mark": mark,
                    "kept_at": microseconds(now),
                    "until": await _until(connection, run, now),
                    "sealed": text,
                    "principal": principal_key(run.principal),
                    "size": len(text),
                }
                await connection.execute(insert(runs), row)
                await connection.execute(delete(run_tickets).where(run_tickets.c.ticket.in_(run.tickets)))
                rows = [{"ticket": ticket, "run_id": run.id} for ticket in dict.fromkeys(run.tickets)]
                if rows:
                    await connection.execute(insert(run_tickets), rows)
        except (NoKeyError, StoreError) as error:
            raise RunsAway(str(error)) from error

    async def _have_room(self, connection: AsyncConnection, principal: PrincipalId, size: int) -> None:
        taken = select(func.coalesce(func.sum(runs.c.size), 0))
        own = (await connection.execute(taken.where(runs.c.principal == principal_key(principal)))).scalar_one()
        if own + size > self._most_of_one:
            raise RunsAway(_FULL_OF_ONE.format(self._most_of_one))
        if (await connection.execute(taken)).scalar_one() + size > self._most:
            raise RunsAway(_FULL.format(self._most))

    async def waiting_for(self, ticket: str, now: datetime) -> FoundRun | None:
        found = (
            select(runs)
            .join(run_tickets, run_tickets.c.run_id == runs.c.id)
            .where(run_tickets.c.ticket == ticket, runs.c.until >= microseconds(now))
        )
        try:
            async with self._database.reading() as connection:
                row = (await connection.execute(found)).one_or_none()
        except StoreError as error:
            raise RunsAway(str(error)) from error
        if row is None:
            return None
        id = CallId(row.id)
        if row.sealed is None:
            claimed = None if row.claimed_at is None else moment(row.claimed_at)
            return FoundRun(id, row.mark, None, _CLAIMED, claimed)
        try:
            state = await anyio.to_thread.run_sync(_opened, row.sealed, _name(id, row.mark), self._key(False))
            return FoundRun(id, row.mark, state)
        except NoKeyError as error:
            return FoundRun(id, row.mark, None, str(error))
        except ValueError:
            return FoundRun(id, row.mark, None, _ANOTHER_KEY)

    async def claim(self, found: FoundRun, now: datetime) -> bool:
        """By its mark, so that nobody goes on with a state which another has gone on with meanwhile."""
        free = update(runs).where(runs.c.id == found.id, runs.c.mark == found.mark, runs.c.sealed.is_not(None))
        try:
            async with self._database.writing() as connection:
                taken = await connection.execute(free.values(sealed=None, size=0, claimed_at=microseconds(now)))
                return taken.rowcount == 1
        except StoreError as error:
            raise RunsAway(str(error)) from error

    async def end(self, id: CallId) -> None:
        try:
            async with self._database.writing() as connection:
                await _forget(connection, id)
        except StoreError as error:
            raise RunsAway(str(error)) from error


async def _forget(connection: AsyncConnection, id: CallId) -> None:
    await connection.execute(delete(run_tickets).where(run_tickets.c.run_id == id))
    await connection.execute(delete(runs).where(runs.c.id == id))


async def forget_lapsed(database: Database, now: datetime) -> None:
    """What nobody can go on with any more, though no other program is kept that would need its room."""
    async with database.reading() as connection:
        if (await connection.execute(select(runs.c.id).where(_lapsed(now)).limit(1))).first() is None:
            return
    async with database.writing() as connection:
        await database.alone(connection)
        await _tidy(connection, now)


async def _tidy(connection: AsyncConnection, now: datetime) -> None:
    old = select(runs.c.id).where(_lapsed(now))
    await connection.execute(delete(run_tickets).where(run_tickets.c.run_id.in_(old)))
    await connection.execute(delete(runs).where(_lapsed(now)))


def _lapsed(now: datetime) -> ColumnElement[bool]:
    return runs.c.until < microseconds(now)


async def _until(connection: AsyncConnection, run: KeptRun, now: datetime) -> int:
    """Little longer than its tickets stand, as far as they are known here."""
    last = select(func.max(tickets.c.deadline)).where(tickets.c.id.in_(run.tickets))
    deadline = (await connection.execute(last)).scalar()
    until = microseconds(run.until)
    return until if deadline is None else min(until, later(max(deadline, microseconds(now))))


def later(deadline: int) -> int:
    """Until when a program is kept whose last ticket stands until then."""
    return deadline + LATER // timedelta(microseconds=1)


def _sealed(state: bytes, name: str, key: bytes) -> str:
    from .sealing import sealed

    return sealed(_SMALLER + zlib.compress(state, 1), name, key)


def _opened(text: str, name: str, key: bytes) -> bytes:
    """Raises `ValueError`. Nothing is made larger again before it is known to be what was sealed here."""
    from .sealing import opened

    state = opened(text, name, key)
    if not state.startswith(_SMALLER):
        return state
    larger = zlib.decompressobj()
    try:
        whole = larger.decompress(state[len(_SMALLER) :], LARGEST + 1)
    except zlib.error as error:
        raise ValueError("This is not what was made smaller.") from error
    if not larger.eof or len(whole) > LARGEST:
        raise ValueError("This is more than was ever kept.")
    return whole


def _name(id: CallId, mark: str) -> str:
    return f"run {id} {mark}"
