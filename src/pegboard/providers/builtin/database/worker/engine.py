"""An engine that runs in worker processes: requests are handed over, and a lost worker becomes an answer."""

from collections.abc import Mapping
from typing import Final, TypeVar

import anyio

from pegboard.core.database import (
    Answer,
    Checked,
    Dialect,
    Failed,
    Fault,
    Finding,
    FindingSeverity,
    Limits,
    Refused,
    Rows,
    Schema,
)
from pegboard.ports.databases import Parameters, SourceAway

from .errors import out_of_time
from .frames import RequestKind, Run, Setup, Unavailable
from .pool import MAX_WORKERS, Pool
from .process import WorkerGoneError

T = TypeVar("T")

_MAX_STATEMENT_LENGTH: Final = 100_000
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**63 - 1
_GRACE_S: Final = 2.0
"""For a worker to end a statement by itself; then it is killed."""
_SCHEMA_TIMEOUT_S: Final = 60.0
_NO_WORKER: Final = Failed(
    "The worker that ran the statement ended, most likely because it needed more memory than it may use. "
    "Read fewer rows or shorter values.",
    fault=Fault.MEMORY,
)
_BROKEN: Final = Failed(
    "The worker that ran the statement failed. The gateway's log says how; the statement may be at fault."
)


class WorkerEngine:
    def __init__(self, dialect: Dialect, setup: Setup, idle_seconds: float) -> None:
        """Opens nothing until the first request."""
        self._dialect = dialect
        self._pool = Pool(setup, idle_seconds)

    @property
    def dialect(self) -> Dialect:
        return self._dialect

    async def check(self) -> Checked:
        try:
            return await self._request(RequestKind.CHECK, Checked)
        except SourceAway as error:
            return Checked("", None, (Finding(str(error), FindingSeverity.REFUSED_UNLESS_FORCED),))

    async def schema(self) -> Schema:
        return await self._request(RequestKind.SCHEMA, Schema)

    async def stamp(self) -> str:
        return await self._request(RequestKind.STAMP, str)

    async def _request(self, kind: RequestKind, expected: type[T]) -> T:
        try:
            async with self._pool.worker() as worker:
                response = await worker.request(kind, timeout=_SCHEMA_TIMEOUT_S)
        except TimeoutError:
            words = f"{self._dialect.title} did not return its schema within {_SCHEMA_TIMEOUT_S:g} s."
            raise SourceAway(words) from None
        except WorkerGoneError:
            raise SourceAway(f"The worker of {self._dialect.title} ended before it answered.") from None
        if isinstance(response, Unavailable):
            raise SourceAway(response.why)
        if isinstance(response, Failed):
            raise SourceAway(response.words)
        assert isinstance(response, expected)
        return response

    async def run(self, statement: str, parameters: Parameters, limits: Limits, *, write: bool = False) -> Answer:
        problem = _problem_with_statement(statement) or _problem_with_value(parameters)
        if problem is not None:
            return problem
        values = None if isinstance(parameters, Mapping) else [*parameters]
        run = Run(statement, values, dict(parameters) if isinstance(parameters, Mapping) else None, limits, write)
        try:
            with anyio.fail_after(limits.seconds + _SCHEMA_TIMEOUT_S) as waiting:
                async with self._pool.worker() as worker:
                    waiting.deadline = float("inf")
                    response = await worker.request(
                        RequestKind.RUN, run, timeout=limits.seconds, grace=_GRACE_S, undoes=write
                    )
        except TimeoutError:
            if waiting.cancel_called:
                return Failed(f"{MAX_WORKERS} other statements run on this source. Try again.", fault=Fault.BUSY)
            return out_of_time(limits.seconds)
        except WorkerGoneError as error:
            return _BROKEN if error.is_crash else _NO_WORKER
        except SourceAway as error:
            return Failed(str(error), fault=Fault.AWAY)
        if isinstance(response, Unavailable):
            return Failed(response.why, fault=Fault.AWAY)
        assert isinstance(response, Rows | Refused | Failed)
        return response

    async def aclose(self) -> None:
        await self._pool.aclose()


def _problem_with_statement(statement: str) -> Refused | None:
    if len(statement) > _MAX_STATEMENT_LENGTH:
        return Refused(
            f"The statement has {len(statement):,} characters; at most {_MAX_STATEMENT_LENGTH:,} are read.",
            "Send values as parameters, or ask in several statements.",
        )
    if "\0" in statement or not _is_text(statement):
        return Refused(
            "The statement holds a NUL or half of a surrogate pair, which is no text.", "Leave the character out."
        )
    return None


def _problem_with_value(value: object) -> Failed | None:
    """Of one parameter, or of all that a collection holds."""
    match value:
        case str() if not _is_text(value):
            words = "A parameter holds half of a surrogate pair, which is no text."
        case int() if not _MIN_INTEGER <= value <= _MAX_INTEGER:
            words = "A parameter is an integer of more than 64 bits. Send it as text, and cast it in the statement."
        case Mapping():
            return _problem_with_value([each for pair in value.items() for each in pair])
        case list() | tuple():
            return next((problem for each in value if (problem := _problem_with_value(each)) is not None), None)
        case _:
            return None
    return Failed(words, fault=Fault.PARAMETERS)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
