"""A tool over databases, told to each caller as if there were no other databases than those it may ask."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.tool import Tool, ToolSpec

from .source import SourceId


@dataclass(frozen=True, slots=True)
class SourceTold:
    """What whoever may ask a database is told of it."""

    id: SourceId
    dialect: str
    description: str = ""
    writes: bool = False
    rows: int = 0
    """The most that one call may ask for."""


Written: TypeAlias = Callable[[Sequence[SourceTold]], ToolSpec]
"""The tool over just these. Also over none: what is said of it whatever databases there are."""


@dataclass(frozen=True, slots=True)
class OverSources(Tool):
    sources: tuple[SourceTold, ...] = ()
    written: Written | None = field(default=None, repr=False, compare=False)
    _known: dict[tuple[SourceId, ...], "OverSources"] = field(
        default_factory=dict[tuple[SourceId, ...], "OverSources"], init=False, repr=False, compare=False
    )

    @property
    def ids(self) -> tuple[SourceId, ...]:
        return tuple([source.id for source in self.sources])

    def within(self, ids: Collection[SourceId]) -> "OverSources":
        """Over those of its databases alone. One value for one choice, so that what follows from it can be kept."""
        kept = tuple([source for source in self.sources if source.id in ids])
        if len(kept) == len(self.sources) or self.written is None:
            return self
        chosen = tuple([source.id for source in kept])
        known = self._known.get(chosen)
        if known is None:
            spec = self.written(kept)
            known = self._known[chosen] = OverSources(self.id, spec, self.extra, self.checked_there, kept, self.written)
        return known


def over(name: str, written: Written, sources: Sequence[SourceTold]) -> OverSources:
    return OverSources(ToolId(BuiltinKey(), name), written(sources), sources=tuple(sources), written=written)
