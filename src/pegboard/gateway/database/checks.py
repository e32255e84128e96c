"""A check of databases for their operator: whether each answers, as which login, what it shows, and what is wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from pegboard.core.database import Checked, Finding, Schema
from pegboard.ports.databases import SourceError

from .source import Source

LOOK_SECONDS: Final = 30.0
_MAX_UNMATCHED: Final = 5


@dataclass(frozen=True)
class SourceCheck:
    source: Source
    checked: Checked | None = None
    schema: Schema | None = None
    away: str | None = None
    """Why it cannot be asked."""

    @property
    def is_served(self) -> bool:
        return self.away is None

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
