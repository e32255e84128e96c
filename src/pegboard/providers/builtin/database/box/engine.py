"""An engine that runs in a worker: what is asked of it is handed over, and whatever becomes of the worker is told."""

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
    Limits,
    Refused,
    Rows,
    Schema,
    FindingSeverity,
)
from pegboard.ports.databases import Parameters, SourceAway

from .frames import Ask, Away, Run, Setup
from .pool import MOST, Pool
from .words import out_of_time, unbindable, unfit
from .worker import WorkerGone

T = TypeVar("T")

_GRACE: Final = 2.0
"""Seconds that a worker has to end a statement by itself; then it is killed."""
_LOOK: Final = 60.0
"""Seconds to read a schema, however large."""
_GONE: Final = (
    "The worker that ran the statement ended, most likely because it needed more memory than it may use. "
    "Read fewer rows or shorter values."
)
_BROKEN: Final = "The worker that ran the statement failed. The gateway's log says how; the statement may be at fault."


class BoxedEngine:
    def __init__(self, dialect: Dialect, setup: Setup, idle: float) -> None:
        self._dialect = dialect
        self._pool = Pool(setup, idle)

    @property
    def dialect(self) -> Dialect:
        return self._dialect

    async def check(self) -> Checked:
        try:
            return await self._looked(Ask.CHECK, Checked)
        except SourceAway as away:
            return Checked("", None, (Finding(str(away), FindingSeverity.REFUSED_UNLESS_FORCED),))

    async def schema(self) -> Schema:
        return await self._looked(Ask.SCHEMA, Schema)

    async def stamp(self) -> str:
        return await self._looked(Ask.STAMP, str)

    async def _looked(self, what: Ask, kind: type[T]) -> T:
        try:
            async with self._pool.worker() as worker:
                said = await worker.ask(what, within=_LOOK)
        except TimeoutError:
            raise SourceAway(f"{self._dialect.title} did not tell its schema within {_LOOK:g} s.") from None
        except WorkerGone:
            raise SourceAway(f"The worker of {self._dialect.title} ended before it answered.") from None
        if isinstance(said, Away):
            raise SourceAway(said.why)
        if isinstance(said, Failed):
            raise SourceAway(said.words)
        assert isinstance(said, kind)
        return said

    async def run(self, statement: str, parameters: Parameters, limits: Limits, *, write: bool = False) -> Answer:
        if (refused := unfit(statement)) is not None:
            return refused
        if (why := unbindable(parameters)) is not None:
            return Failed(why, fault=Fault.PARAMETERS)
        names = dict(parameters) if isinstance(parameters, Mapping) else None
        places = None if isinstance(parameters, Mapping) else [*parameters]
        asked = Run(statement, places, names, limits, write)
        try:
            with anyio.fail_after(limits.seconds + _LOOK) as waiting:
                async with self._pool.worker() as worker:
                    waiting.deadline = float("inf")
                    said = await worker.ask(Ask.RUN, asked, within=limits.seconds, grace=_GRACE, gently=write)
        except TimeoutError:
            if waiting.cancel_called:
                return Failed(f"{MOST} other statements run on this source. Try again.", fault=Fault.BUSY)
            return out_of_time(limits.seconds)
        except WorkerGone as gone:
            return Failed(_BROKEN) if gone.by_itself else Failed(_GONE, fault=Fault.MEMORY)
        except SourceAway as away:
            return Failed(str(away), fault=Fault.AWAY)
        if isinstance(said, Away):
            return Failed(said.why, fault=Fault.AWAY)
        assert isinstance(said, Rows | Refused | Failed)
        return said

    async def aclose(self) -> None:
        await self._pool.aclose()
