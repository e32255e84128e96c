"""A tool over databases, shown to each caller as if there were no databases but those that it may ask."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.tool import Tool, ToolSpec

from .source import SourceId


@dataclass(frozen=True, slots=True)
class ToolDatabase:
    """What a caller sees of a database that it may ask."""

    id: SourceId
    dialect: str
    description: str = ""
    writes: bool = False
    rows: int = 0
    """The most that one call may ask for."""


BuildSpec: TypeAlias = Callable[[Sequence[ToolDatabase]], ToolSpec]
"""The tool over just these. Also over none: what is the same whatever databases there are."""


@dataclass(frozen=True, slots=True)
class DatabaseTool(Tool):
    databases: tuple[ToolDatabase, ...] = ()
    build_spec: BuildSpec | None = field(default=None, repr=False, compare=False)
    _narrowed: dict[tuple[SourceId, ...], "DatabaseTool"] = field(
        default_factory=dict[tuple[SourceId, ...], "DatabaseTool"], init=False, repr=False, compare=False
    )

    @property
    def ids(self) -> tuple[SourceId, ...]:
        return tuple([each.id for each in self.databases])

    def within(self, ids: Collection[SourceId]) -> "DatabaseTool":
        """Over those of its databases alone. One value for one choice, so that what follows from it can be cached."""
        kept = tuple([each for each in self.databases if each.id in ids])
        if len(kept) == len(self.databases) or self.build_spec is None:
            return self
        chosen = tuple([each.id for each in kept])
        if chosen not in self._narrowed:
            spec = self.build_spec(kept)
            self._narrowed[chosen] = DatabaseTool(self.id, spec, self.extra, self.checked_there, kept, self.build_spec)
        return self._narrowed[chosen]


def database_tool(name: str, build_spec: BuildSpec, databases: Sequence[ToolDatabase]) -> DatabaseTool:
    tool_id = ToolId(BuiltinKey(), name)
    return DatabaseTool(tool_id, build_spec(databases), databases=tuple(databases), build_spec=build_spec)
