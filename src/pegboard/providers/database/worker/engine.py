"""The engines of SQLite and DuckDB: requests are handed to worker processes, and a lost worker becomes an answer."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import anyio

from pegboard.core.databases.rows import (
    DatabaseCheck,
    DatabaseFinding,
    FindingSeverity,
    QueryAnswer,
    QueryRows,
    StatementFailure,
    StatementFault,
    StatementRefusal,
)
from pegboard.core.databases.schema import DatabaseSchema
from pegboard.core.model.databases import DatabaseAccess, Dialect, QueryLimits
from pegboard.ports.databases import Parameters, SourceError
from pegboard.providers.database.common import is_unicode
from pegboard.providers.database.worker.frames import RunStatement, WorkerRequest, WorkerSetup
from pegboard.providers.database.worker.process import DatabaseWorkerProcess, WorkerGoneError, start_database_worker
from pegboard.providers.database.worker.session import bad_parameters, out_of_time

MAX_WORKERS: Final = 4
"""Of one source at once: more statements wait for their turn."""
_MAX_STATEMENT_LENGTH: Final = 100_000
_GRACE_S: Final = 2.0
"""For a worker to end a statement by itself; then it is killed."""
_SCHEMA_TIMEOUT_S: Final = 60.0
_NO_WORKER: Final = StatementFailure(
    "The worker that ran the statement ended, most likely because it needed more memory than it may use. "
    "Read fewer rows or shorter values.",
    fault=StatementFault.MEMORY,
)
_MIB: Final = 1024 * 1024
_READER_FILE_BYTES: Final = 16 * _MIB
"""The index of a write-ahead log is the one file that a reader of SQLite may have to write."""

T = TypeVar("T")


class WorkerEngine:
    """An engine that opens nothing until the first request."""

    def __init__(self, setup: WorkerSetup, idle_seconds: float) -> None:
        self._setup = setup
        self._pool = _Pool(setup, idle_seconds)

    @property
    def dialect(self) -> Dialect:
        return self._setup.dialect

    async def check(self) -> DatabaseCheck:
        try:
            return await self._request(WorkerRequest.CHECK, DatabaseCheck)
        except SourceError as error:
            return DatabaseCheck("", None, (DatabaseFinding(str(error), FindingSeverity.REFUSED_UNLESS_FORCED),))

    async def schema(self) -> DatabaseSchema:
        return await self._request(WorkerRequest.SCHEMA, DatabaseSchema)

    async def schema_version(self) -> str:
        return await self._request(WorkerRequest.STAMP, str)

    async def _request(self, request: WorkerRequest, expected: type[T]) -> T:
        try:
            async with self._pool.worker() as worker:
                response = await worker.request(request, timeout=_SCHEMA_TIMEOUT_S)
        except TimeoutError:
            words = f"{self.dialect.title} did not return its schema within {_SCHEMA_TIMEOUT_S:g} s."
            raise SourceError(words) from None
        except WorkerGoneError:
            raise SourceError(f"The worker of {self.dialect.title} ended before it answered.") from None
        if isinstance(response, StatementFailure):
            raise SourceError(response.message)
        assert isinstance(response, expected)
        return response

    async def run(
        self, statement: str, parameters: Parameters, limits: QueryLimits, *, write: bool = False
    ) -> QueryAnswer:
        problem = _problem_with_statement(statement) or _problem_with_value(parameters)
        if problem is not None:
            return problem
        values = dict(parameters) if isinstance(parameters, Mapping) else [*parameters]
        run = RunStatement(statement, values, limits, write)
        try:
            with anyio.fail_after(limits.seconds + _SCHEMA_TIMEOUT_S) as waiting:
                async with self._pool.worker() as worker:
                    waiting.deadline = float("inf")
                    response = await worker.request(run, timeout=limits.seconds, grace=_GRACE_S, undoes=write)
        except TimeoutError:
            if waiting.cancel_called:
                return StatementFailure(
                    f"{MAX_WORKERS} other statements run on this source. Try again.", fault=StatementFault.BUSY
                )
            return out_of_time(limits.seconds)
        except WorkerGoneError:
            return _NO_WORKER
        except SourceError as error:
            return StatementFailure(str(error), fault=StatementFault.UNAVAILABLE)
        assert isinstance(response, QueryRows | StatementRefusal | StatementFailure)
        return response

    async def role_script(self, admin_url: str | None, *, apply: bool = False) -> None:
        """Files have no logins."""

    async def aclose(self) -> None:
        await self._pool.aclose()


def sqlite_engine(path: str, access: DatabaseAccess, *, writes: bool = False) -> WorkerEngine:
    file_bytes = 1 << 50 if writes else _READER_FILE_BYTES
    return WorkerEngine(WorkerSetup(Dialect.SQLITE, path, access, writes, 768 * _MIB, file_bytes), idle_seconds=60.0)


def duckdb_engine(path: str, access: DatabaseAccess) -> WorkerEngine:
    """It only reads: DuckDB has one process write a file, and while a file is open here, no other can open it to write.
    Its memory is addresses; what it can fill of them is less by half."""
    return WorkerEngine(WorkerSetup(Dialect.DUCKDB, path, access, False, 1536 * _MIB, 0), idle_seconds=5.0)


def _problem_with_statement(statement: str) -> StatementRefusal | None:
    if len(statement) > _MAX_STATEMENT_LENGTH:
        return StatementRefusal(
            f"The statement has {len(statement):,} characters; at most {_MAX_STATEMENT_LENGTH:,} are read.",
            "Send values as parameters, or ask in several statements.",
        )
    if "\0" in statement or not is_unicode(statement):
        return StatementRefusal(
            "The statement holds a NUL or half of a surrogate pair, which is no text.", "Leave the character out."
        )
    return None


def _problem_with_value(value: object) -> StatementFailure | None:
    """Of one parameter, or of all that a collection holds."""
    match value:
        case str() if not is_unicode(value):
            return bad_parameters("A parameter holds half of a surrogate pair, which is no text.")
        case int() if not -(2**63) <= value < 2**63:
            words = "A parameter is an integer of more than 64 bits. Send it as text, and cast it in the statement."
            return bad_parameters(words)
        case Mapping():
            return _problem_with_value([*value, *value.values()])
        case list() | tuple():
            return next((problem for each in value if (problem := _problem_with_value(each)) is not None), None)
        case _:
            return None


class _Pool:
    """The workers of one source: started on demand, a few at a time, and ended after a while without use, which closes
    the database."""

    def __init__(self, setup: WorkerSetup, idle_seconds: float) -> None:
        self._setup = setup
        self._idle_seconds = idle_seconds
        self._slots = anyio.Semaphore(MAX_WORKERS)
        self._idle: dict[DatabaseWorkerProcess, asyncio.TimerHandle] = {}
        self._busy: set[DatabaseWorkerProcess] = set()
        self._is_closed = False

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[DatabaseWorkerProcess]:
        """It returns to the pool unless it is gone. Raises `SourceError`."""
        async with self._slots:
            if self._is_closed:
                raise SourceError("The source was closed.")
            worker = await self._take()
            self._busy.add(worker)
            try:
                yield worker
            finally:
                self._put_back(worker)

    async def _take(self) -> DatabaseWorkerProcess:
        # The one that was used last, so that the others can end.
        while self._idle:
            worker, timer = self._idle.popitem()
            timer.cancel()
            if not worker.is_gone:
                return worker
        worker = await start_database_worker(self._setup)
        # This opens the database: the time for a large schema is not taken from the first statement.
        await worker.request(WorkerRequest.STAMP, timeout=_SCHEMA_TIMEOUT_S)
        return worker

    def _put_back(self, worker: DatabaseWorkerProcess) -> None:
        self._busy.discard(worker)
        if self._is_closed:
            worker.kill()
        elif not worker.is_gone:
            loop = asyncio.get_running_loop()
            self._idle[worker] = loop.call_later(self._idle_seconds, self._end_idle, worker)

    def _end_idle(self, worker: DatabaseWorkerProcess) -> None:
        del self._idle[worker]
        worker.kill()

    async def aclose(self) -> None:
        self._is_closed = True
        idle, self._idle = self._idle, {}
        for timer in idle.values():
            timer.cancel()
        with anyio.CancelScope(shield=True):
            for worker in (*idle, *self._busy):
                await worker.end()
