"""A look at databases for their operator: whether each answers, as whom, what it shows, and what is the matter."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from pegboard.core.database import Checked, Finding, Schema
from pegboard.ports.databases import SourceAway

from .source import Source

LOOK_SECONDS: Final = 30.0
_MOST_VAIN: Final = 5


@dataclass(frozen=True)
class Looked:
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
        vain = [str(pattern) for pattern in access.vain(self.schema.names()) if pattern in access.allow]
        if vain:
            told = ", ".join(vain[:_MOST_VAIN])
            yield Finding(
                f"No readable table matches these patterns of allow: {told}. Correct them at "
                f"{self.source.database.origin}, or grant the login SELECT on the tables."
            )


async def looked_at(sources: Sequence[Source]) -> list[Looked]:
    """All at once, each for as long as a look may take."""
    found: dict[int, Looked] = {}

    async def look(place: int, source: Source) -> None:
        found[place] = await _looked(source)

    async with anyio.create_task_group() as tasks:
        for place, source in enumerate(sources):
            tasks.start_soon(look, place, source, name=f"a look at database {source.database.id}")
    return [found[place] for place in range(len(sources))]


async def _looked(source: Source) -> Looked:
    checked: Checked | None = None
    with anyio.move_on_after(LOOK_SECONDS):
        try:
            checked = await source.check()
            schema = await source.asked(lambda engine: engine.schema())
        except SourceAway as error:
            return Looked(source, checked, away=str(error))
        return Looked(source, checked, schema)
    return Looked(source, checked, away=f"it did not tell what it has within {LOOK_SECONDS:g} seconds.")
