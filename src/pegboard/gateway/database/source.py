"""One database in use: opened when somebody first asks it, checked for its operator, left when the operator says so."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from pegboard.core.database import Checked, Database, Dialect, Finding, Schema
from pegboard.core.database.source import ToolDatabase
from pegboard.ports.databases import Engine, RoleScript, SourceError
from pegboard.ports.opening import Engines

log = logging.getLogger(__name__)

T = TypeVar("T")

CHECK_SECONDS: Final = 20.0
CHECK_INTERVAL_S: Final = 60.0
"""For so long a check of what the login of a source may do is relied on; then the next call repeats it."""
CLOSE_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 30.0
_MAX_UNMATCHED: Final = 5
MOST_AT_ONCE: Final = 16
"""Questions to one source at a time; more wait their turn."""


class Source:
    """Whatever runs in it ends when it is left: with `SourceError`, whose words go to whoever asked."""

    def __init__(self, database: Database, engines: Engines) -> None:
        self.database: Final = database
        self.dialect: Final[Dialect | None] = engines.dialect(database)
        self._engines = engines
        self._engine: Engine | None = None
        self._checked_at: float | None = None
        """On the monotonic clock; nothing until a check has passed."""
        self._lost: list[Engine] = []
        """Opened once and not used any more, until somebody closes them."""
        self._opening = anyio.Lock()
        self._turns = anyio.Semaphore(MOST_AT_ONCE)
        self._running: set[anyio.CancelScope] = set()
        self._left = ""

    @property
    def told(self) -> ToolDatabase:
        """What callers are told of it."""
        known, dialect = self.database, "unknown" if self.dialect is None else self.dialect.title
        return ToolDatabase(known.id, dialect, known.description, known.writes, known.limits.rows)

    async def asked(self, work: Callable[[Engine], Awaitable[T]]) -> T:
        """What comes of it. Raises `SourceError` where the source cannot be opened, is not served, or is left."""
        return await self._while_here(lambda: self._served(work))

    async def check(self) -> Checked:
        """What an operator should know of it now. Raises `SourceError` where it cannot be opened."""
        return await self._while_here(self._looked_at)

    async def role_script(self, admin_url: str | None, *, apply: bool) -> RoleScript | None:
        """As the engine has it, also of a source that is refused for what its login may do."""
        async with self._opening:
            engine = await self._opened()
        return await engine.role_script(admin_url, apply=apply)

    def away(self) -> None:
        """It was not reached: the next who asks opens it anew, with the secrets of then."""
        if self._engine is not None:
            self._lost.append(self._engine)
            self._engine = None

    def leave(self, why: str) -> None:
        self._left = why
        self.away()
        for scope in tuple(self._running):
            scope.cancel()

    @property
    def has_lost(self) -> bool:
        return bool(self._lost)

    async def close_lost(self) -> None:
        lost, self._lost = self._lost, []
        for engine in lost:
            await self._closed(engine)

    async def _while_here(self, work: Callable[[], Awaitable[T]]) -> T:
        if self._left:
            raise SourceError(self._left)
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                return await work()
            finally:
                self._running.discard(scope)
        raise SourceError(self._left)

    async def _served(self, work: Callable[[Engine], Awaitable[T]]) -> T:
        async with self._turns:
            async with self._opening:
                engine = await self._opened()
                if self._checked_at is None or monotonic() - self._checked_at >= CHECK_INTERVAL_S:
                    refusal = self._refusal(await self._checked(engine))
                    if refusal is not None:
                        self.away()
                        raise SourceError(refusal)
                    self._checked_at = monotonic()
            return await work(engine)

    async def _looked_at(self) -> Checked:
        async with self._opening:
            checked = await self._checked(await self._opened())
            if self._refusal(checked) is None:
                self._checked_at = monotonic()
            else:
                self.away()
            return checked

    def _refusal(self, checked: Checked) -> str | None:
        """Why the source is not served, as agents are told: without the names of what is closed."""
        is_forced = self.database.force and bool(checked.version)
        refusing = [each for each in checked.findings if each.severity.refuses(is_forced=is_forced)]
        if any(each.statements for each in refusing):
            id = self.database.id
            return (
                "its login may do more in the database than this board allows. Its operator runs "
                f"'pegboard db check {id}' for the details and 'pegboard db role {id}' for the statements that fix it."
            )
        return " ".join(each.message for each in refusing) or None

    async def _opened(self) -> Engine:
        if self._engine is None:
            self._checked_at = None
            self._engine = await anyio.to_thread.run_sync(self._engines.opened, self.database)
        return self._engine

    async def _checked(self, engine: Engine) -> Checked:
        with anyio.move_on_after(CHECK_SECONDS):
            return await engine.check()
        self.away()
        raise SourceError(f"it did not answer within {CHECK_SECONDS:g} seconds. See whether it runs, and try again.")

    async def _closed(self, engine: Engine) -> None:
        try:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True) as closing:
                await engine.aclose()
        except Exception:  # its end is supervised here: it must keep neither the others nor the gateway from ending
            log.exception("Database %s broke while it was closed", self.database.id)
        else:
            if closing.cancelled_caught:
                log.error("Database %s was not closed within %g seconds", self.database.id, CLOSE_SECONDS)


@dataclass(frozen=True)
class SourceCheck:
    """What an operator should know of a database: whether it answers, as which login, what it shows, what is wrong."""

    source: Source
    checked: Checked | None = None
    schema: Schema | None = None
    away: str | None = None
    """Why it cannot be asked."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What its operator should know though it is served, or though it is not."""
        checked = () if self.checked is None else self.checked.findings
        return (*(each for each in checked if each.message != self.away), *self._unmatched_patterns())

    def _unmatched_patterns(self) -> Iterator[Finding]:
        if self.schema is None:
            return
        access = self.source.database.access
        vain = [str(pattern) for pattern in access.unmatched_patterns(self.schema.names()) if pattern in access.allow]
        if vain:
            told = ", ".join(vain[:_MAX_UNMATCHED])
            yield Finding(
                f"No readable table matches these patterns of allow: {told}. Correct them at "
                f"{self.source.database.origin}, or grant the login SELECT on the tables."
            )


async def check_sources(sources: Sequence[Source]) -> list[SourceCheck]:
    """All at once, each for as long as a look may take."""
    found: dict[int, SourceCheck] = {}

    async def look(place: int, source: Source) -> None:
        found[place] = await _check(source)

    async with anyio.create_task_group() as tasks:
        for place, source in enumerate(sources):
            tasks.start_soon(look, place, source, name=f"a check of database {source.database.id}")
    return [found[place] for place in range(len(sources))]


async def _check(source: Source) -> SourceCheck:
    checked: Checked | None = None
    with anyio.move_on_after(LOOK_SECONDS):
        try:
            checked = await source.check()
            schema = await source.asked(lambda engine: engine.schema())
        except SourceError as error:
            return SourceCheck(source, checked, away=str(error))
        return SourceCheck(source, checked, schema)
    return SourceCheck(source, checked, away=f"it did not tell what it has within {LOOK_SECONDS:g} seconds.")
