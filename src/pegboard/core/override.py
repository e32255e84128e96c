"""What people change of a tool's appearance and behaviour, by id or pattern; field by field the most specific wins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from .ids import ToolId, ToolsetId
from .pattern import Pattern
from .tool import Json

FIELDS: Final = (
    "renderer",
    "renderer_config",
    "name_override",
    "description_override",
    "requires_confirmation",
    "enabled",
)


@dataclass(frozen=True)
class Override:
    """One row. `None` is "does not say": a row that only sets a renderer does not switch a tool on."""

    toolset: ToolsetId
    target: ToolId | Pattern
    renderer: str | None = None
    renderer_config: Mapping[str, Json] | None = None
    name_override: str | None = None
    description_override: str | None = None
    requires_confirmation: bool | None = None
    enabled: bool | None = None
    declared: bool = False
    """Written by the operator in a file: the base on which a person's override lies."""

    def fits(self, tool: ToolId) -> bool:
        if tool.toolset != self.toolset:
            return False
        return self.target == tool if isinstance(self.target, ToolId) else self.target.matches(tool)

    @property
    def specificity(self) -> tuple[int, ...]:
        if isinstance(self.target, ToolId):
            return (1, 0, 0, 0)
        return (0, *self.target.specificity)


@dataclass(frozen=True)
class Appearance:
    """The overrides that apply to one tool, merged, and where each field came from."""

    renderer: str | None = None
    renderer_config: Mapping[str, Json] | None = None
    name_override: str | None = None
    description_override: str | None = None
    requires_confirmation: bool | None = None
    enabled: bool | None = None
    origin: Mapping[str, Override] = field(default_factory=dict[str, Override])


PLAIN: Final = Appearance()


def appearance(tool: ToolId, overrides: Iterable[Override]) -> Appearance:
    """A person's word lies on the declared base; within each, the most specific wins, then the later one."""
    fitting = [(not row.declared, row.specificity, order, row) for order, row in enumerate(overrides) if row.fits(tool)]
    if not fitting:
        return PLAIN
    fitting.sort(key=lambda ranked: ranked[:3])
    origin: dict[str, Override] = {}
    for *_, row in fitting:
        origin |= {name: row for name in FIELDS if getattr(row, name) is not None}

    return Appearance(
        renderer=origin.get("renderer", _SILENT).renderer,
        renderer_config=origin.get("renderer_config", _SILENT).renderer_config,
        name_override=origin.get("name_override", _SILENT).name_override,
        description_override=origin.get("description_override", _SILENT).description_override,
        requires_confirmation=origin.get("requires_confirmation", _SILENT).requires_confirmation,
        enabled=origin.get("enabled", _SILENT).enabled,
        origin=origin,
    )


_SILENT: Final = Override(ToolsetId("builtin"), Pattern("*", "*"))


@dataclass(frozen=True)
class OverrideIndex:
    """Overrides by toolset, so that a tool is held against the rows of its own toolset only."""

    rows: tuple[Override, ...] = ()

    @cached_property
    def _by_toolset(self) -> Mapping[ToolsetId, tuple[Override, ...]]:
        groups: dict[ToolsetId, list[Override]] = {}
        for row in self.rows:
            groups.setdefault(row.toolset, []).append(row)
        return {toolset: tuple(rows) for toolset, rows in groups.items()}

    def for_tool(self, tool: ToolId) -> Appearance:
        rows = self._by_toolset.get(tool.toolset)
        return PLAIN if rows is None else appearance(tool, rows)
