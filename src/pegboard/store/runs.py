"""Suspended programs in the database, encrypted; each continues once.

What is kept of one takes room until it goes on, or until its tickets have lapsed; and there is only so much of it.
"""

import json
import logging
import os
import secrets
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import anyio.to_thread
from sqlalchemy import ColumnElement, delete, func, insert, select, update

from pegboard.core.calls.programs import StartedRun, StoredRun, SuspendedRun
from pegboard.core.model.ids import CallId, PrincipalId
from pegboard.ports.providers import Clock
from pegboard.ports.stores import RunsUnavailable
from pegboard.processes.cleanup import create_locked, lock_abandoned
from pegboard.store.async_engine import AsyncConnection
from pegboard.store.call_records import from_microseconds, to_microseconds
from pegboard.store.database import StoreDatabase, StoreError
from pegboard.store.schema import run_tickets, runs, tickets
from pegboard.store.secrets import KeyFor, NoKeyError
from pegboard.store.text import index_key as principal_key

MAX_STATE_BYTES: Final = 16 * 1024 * 1024
"""Bytes of the state of one program, before it is made smaller."""
MAX_TOTAL_BYTES: Final = 512 * 1024 * 1024
"""Bytes in the database of all programs that wait, and how many of them may be of one principal."""
MAX_PRINCIPAL_BYTES: Final = 64 * 1024 * 1024
KEPT_AFTER_DEADLINE: Final = timedelta(minutes=5)
"""How long a program is kept behind its last ticket, for whoever comes late to ask what became of it."""
_COMPRESSED_PREFIX: Final = b"zlib\n"
"""What stands before a state that was made smaller. An earlier version kept it as it was, from its signature on."""
_TOO_LARGE_MESSAGE: Final = (
    "what is kept of it meanwhile takes {:,} bytes, and of one program at most {:,} are kept. Hold less in variables "
    "by the time of that call"
)
_PRINCIPAL_FULL_MESSAGE: Final = (
    "other programs of yours wait already, and together with them it would take more than the {:,} bytes that are kept "
    "for one caller. Ask the user to decide about those first (pegboard tickets list), and go on with them"
)
_STORE_FULL_MESSAGE: Final = (
    "so many programs wait already that together with them it would take more than the {:,} bytes that are kept in "
    "all. Ask the user to decide about those first: pegboard tickets list"
)
_WRONG_KEY_MESSAGE: Final = "what was kept of it is damaged, or was kept with another key than this gateway's"
_CLAIMED_MESSAGE: Final = "somebody goes on with it already"


class SqlRunStore:
    def __init__(
        self,
        database: StoreDatabase,
        key: KeyFor,
        *,
        most: int = MAX_TOTAL_BYTES,
        most_of_one: int = MAX_PRINCIPAL_BYTES,
    ) -> None:
        self._database = database
        self._key = key
        self._max_total_bytes = most
        self._max_principal_bytes = most_of_one

    async def save(self, run: SuspendedRun, now: datetime) -> None:
        if len(run.state) > MAX_STATE_BYTES:
            raise RunsUnavailable(_TOO_LARGE_MESSAGE.format(len(run.state), MAX_STATE_BYTES))
        mark = secrets.token_hex(16)
        try:
            # Megabytes of it would hold up everybody else.
            text = await anyio.to_thread.run_sync(
                _encrypt_state, run.state, _secret_name(run.id, mark), self._key(True)
            )
            async with self._database.write_transaction() as connection:
                await self._database.lock_for_write(connection)
                await _delete_expired(connection, now)
                await _delete_run(connection, run.id)
                await self._check_room(connection, run.principal, len(text))
                row = {
                    "id": run.id,
                    "mark": mark,
                    "kept_at": to_microseconds(now),
                    "until": await _expiry_of(connection, run, now),
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
            raise RunsUnavailable(str(error)) from error

    async def _check_room(self, connection: AsyncConnection, principal: PrincipalId, size: int) -> None:
        taken = select(func.coalesce(func.sum(runs.c.size), 0))
        own = (await connection.execute(taken.where(runs.c.principal == principal_key(principal)))).scalar_one()
        if own + size > self._max_principal_bytes:
            raise RunsUnavailable(_PRINCIPAL_FULL_MESSAGE.format(self._max_principal_bytes))
        if (await connection.execute(taken)).scalar_one() + size > self._max_total_bytes:
            raise RunsUnavailable(_STORE_FULL_MESSAGE.format(self._max_total_bytes))

    async def find_waiting(self, ticket: str, now: datetime) -> StoredRun | None:
        found = (
            select(runs)
            .join(run_tickets, run_tickets.c.run_id == runs.c.id)
            .where(run_tickets.c.ticket == ticket, runs.c.until >= to_microseconds(now))
        )
        try:
            async with self._database.read_transaction() as connection:
                row = (await connection.execute(found)).one_or_none()
        except StoreError as error:
            raise RunsUnavailable(str(error)) from error
        if row is None:
            return None
        id = CallId(row.id)
        if row.sealed is None:
            claimed = None if row.claimed_at is None else from_microseconds(row.claimed_at)
            return StoredRun(id, row.mark, None, _CLAIMED_MESSAGE, claimed)
        try:
            state = await anyio.to_thread.run_sync(
                _decrypt_state, row.sealed, _secret_name(id, row.mark), self._key(False)
            )
            return StoredRun(id, row.mark, state)
        except NoKeyError as error:
            return StoredRun(id, row.mark, None, str(error))
        except ValueError:
            return StoredRun(id, row.mark, None, _WRONG_KEY_MESSAGE)

    async def claim(self, found: StoredRun, now: datetime) -> bool:
        """By its mark, so that nobody goes on with a state which another has gone on with meanwhile."""
        free = update(runs).where(runs.c.id == found.id, runs.c.mark == found.mark, runs.c.sealed.is_not(None))
        try:
            async with self._database.write_transaction() as connection:
                taken = await connection.execute(free.values(sealed=None, size=0, claimed_at=to_microseconds(now)))
                return taken.rowcount == 1
        except StoreError as error:
            raise RunsUnavailable(str(error)) from error

    async def end(self, id: CallId) -> None:
        try:
            async with self._database.write_transaction() as connection:
                await _delete_run(connection, id)
        except StoreError as error:
            raise RunsUnavailable(str(error)) from error


async def _delete_run(connection: AsyncConnection, id: CallId) -> None:
    await connection.execute(delete(run_tickets).where(run_tickets.c.run_id == id))
    await connection.execute(delete(runs).where(runs.c.id == id))


async def delete_expired_runs(database: StoreDatabase, now: datetime) -> None:
    """What nobody can go on with any more, though no other program is kept that would need its room."""
    async with database.read_transaction() as connection:
        if (await connection.execute(select(runs.c.id).where(_is_expired(now)).limit(1))).first() is None:
            return
    async with database.write_transaction() as connection:
        await database.lock_for_write(connection)
        await _delete_expired(connection, now)


async def _delete_expired(connection: AsyncConnection, now: datetime) -> None:
    old = select(runs.c.id).where(_is_expired(now))
    await connection.execute(delete(run_tickets).where(run_tickets.c.run_id.in_(old)))
    await connection.execute(delete(runs).where(_is_expired(now)))


def _is_expired(now: datetime) -> ColumnElement[bool]:
    return runs.c.until < to_microseconds(now)


async def _expiry_of(connection: AsyncConnection, run: SuspendedRun, now: datetime) -> int:
    """Little longer than its tickets stand, as far as they are known here."""
    last = select(func.max(tickets.c.deadline)).where(tickets.c.id.in_(run.tickets))
    deadline = (await connection.execute(last)).scalar()
    until = to_microseconds(run.until)
    return until if deadline is None else min(until, run_expiry(max(deadline, to_microseconds(now))))


def run_expiry(deadline: int) -> int:
    """Until when a program is kept whose last ticket stands until then."""
    return deadline + KEPT_AFTER_DEADLINE // timedelta(microseconds=1)


def _encrypt_state(state: bytes, name: str, key: bytes) -> str:
    from pegboard.store.encryption import encrypt

    return encrypt(_COMPRESSED_PREFIX + zlib.compress(state, 1), name, key)


def _decrypt_state(text: str, name: str, key: bytes) -> bytes:
    """Raises `ValueError`. Nothing is made larger again before it is known to be what was sealed here."""
    from pegboard.store.encryption import decrypt

    state = decrypt(text, name, key)
    if not state.startswith(_COMPRESSED_PREFIX):
        return state
    larger = zlib.decompressobj()
    try:
        whole = larger.decompress(state[len(_COMPRESSED_PREFIX) :], MAX_STATE_BYTES + 1)
    except zlib.error as error:
        raise ValueError("This is not what was made smaller.") from error
    if not larger.eof or len(whole) > MAX_STATE_BYTES:
        raise ValueError("This is more than was ever kept.")
    return whole


def _secret_name(id: CallId, mark: str) -> str:
    return f"run {id} {mark}"


# Programs that have begun, in a file of the process that runs them: what is left when it is killed is found later.
#
# A line is written before a program can do anything, and the system has it then, whatever becomes of this process.
# The
# file says nothing of the program itself.

log = logging.getLogger(__name__)

PROGRAMS_FOLDER: Final = "programs"
_FILE_SUFFIX: Final = ".begun"
RECORDED_AFTER: Final = timedelta(seconds=10)
"""After which the record of a program that has ended is in the store for certain."""
_MAX_FILE_BYTES: Final = 4 << 20
"""Bytes of a file of ours. A program's line has two hundred, and there are few at a time."""


class ActiveProgramLog:
    """Those of this process. Never fails: a program is run all the same where no line can be written."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._folder: Final = directory / PROGRAMS_FOLDER
        self._clock: Final = clock
        self._path: Path | None = None
        self._descriptor = -1
        self._active: set[CallId] = set()
        self._last_end: datetime | None = None

    def begin(self, begun: StartedRun) -> None:
        try:
            if self._descriptor < 0:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._path, self._descriptor = create_locked(self._make_file)
            elif self._can_truncate():
                os.ftruncate(self._descriptor, 0)
                os.lseek(self._descriptor, 0, os.SEEK_SET)
            self._write(_program_members(begun))
        except OSError as error:
            log.warning("Should this gateway be killed, nobody will know of program %s: %s", begun.id, error)
        self._active.add(begun.id)

    def end(self, id: CallId) -> None:
        """Its record is on its way."""
        self._active.discard(id)
        self._last_end = self._clock()
        with suppress(OSError):
            self._write({"end": id, "at": self._last_end.isoformat()})

    def close(self) -> None:
        """Every record is written."""
        if self._descriptor >= 0 and self._path is not None:
            os.close(self._descriptor)
            self._descriptor = -1
            self._path.unlink(missing_ok=True)

    def _make_file(self) -> Path:
        path = self._folder / f"{secrets.token_hex(8)}{_FILE_SUFFIX}"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return path

    def _can_truncate(self) -> bool:
        return not self._active and (self._last_end is None or self._clock() - self._last_end > RECORDED_AFTER)

    def _write(self, line: object) -> None:
        if self._descriptor >= 0:
            os.write(self._descriptor, json.dumps(line, separators=(",", ":")).encode() + b"\n")


@contextmanager
def abandoned_programs(directory: Path) -> Iterator[Sequence[StartedRun]]:
    """What processes that are no more had begun, and may not have recorded. Their files go when the block ends well."""
    found: list[StartedRun] = []
    files: list[Path] = []
    with ExitStack() as ours:
        for path in sorted((directory / PROGRAMS_FOLDER).glob(f"*{_FILE_SUFFIX}")):
            descriptor = ours.enter_context(lock_abandoned(path))
            if descriptor is not None:
                files.append(path)
                with open(descriptor, "rb", closefd=False) as lines:
                    found += _unfinished_programs(lines.read(_MAX_FILE_BYTES))
        yield found
    for path in files:
        # Whoever came by at the same time may have been quicker.
        path.unlink(missing_ok=True)


def _unfinished_programs(text: bytes) -> list[StartedRun]:
    begun: dict[str, StartedRun] = {}
    ended: dict[str, datetime] = {}
    latest: datetime | None = None
    for line in text.splitlines():
        # The last line may be half a line.
        with suppress(ValueError, KeyError, TypeError):
            said = json.loads(line)
            at = datetime.fromisoformat(said["at"])
            latest = at if latest is None else max(latest, at)
            if "end" in said:
                ended[said["end"]] = at
            else:
                begun[said["id"]] = _parse_program(said, at)
    return [
        each for id, each in begun.items() if id not in ended or latest is None or latest - ended[id] <= RECORDED_AFTER
    ]


def _program_members(begun: StartedRun) -> dict[str, str | int | None]:
    return {
        "id": begun.id,
        "at": begun.at.isoformat(),
        "principal": begun.principal,
        "client": begun.client,
        "parent": begun.parent,
        "presentation": begun.presentation,
        "version": begun.policy_version,
    }


def _parse_program(said: "dict[str, str]", at: datetime) -> StartedRun:
    parent = said["parent"]
    return StartedRun(
        CallId(said["id"]),
        at,
        PrincipalId(said["principal"]),
        str(said["client"]),
        None if parent is None else CallId(parent),
        str(said["presentation"]),
        int(said["version"]),
    )
