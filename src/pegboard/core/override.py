"""What people change of a tool's appearance and behaviour, by id or pattern; field by field the most specific wins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from .argument import Argument, names
from .confirmation import ConfirmationLevel, ConfirmationMode, ConfirmationSetting
from .ids import BadId, LegacyToolId, ServerKey, ToolId, ToolsetId, tool_id
from .pattern import Pattern, Patterns, is_pattern, pattern
from .server import Origin
from .tool import Json

FIELDS: Final = (
    "renderer",
    "renderer_config",
    "name_override",
    "description_override",
    "requires_confirmation",
    "confirmation",
    "enabled",
    "arguments",
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
    confirmation: ConfirmationMode | None = None
    """How calls are confirmed, where they must be. It does not say that they must."""
    enabled: bool | None = None
    arguments: Mapping[str, Argument] | None = None
    declared: bool = False
    """Written by the operator in a file: the base on which a person's override lies."""
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])
    """Where each field was said, or by whom and when; of single parameters by `arguments.NAME`."""
    manifest: bool = False
    """Brought by the toolset itself: the base of all, on which what a file declares lies as well."""
    assumed: bool = False
    """What the settings assume of an imported toolset whose manifest is silent: every other row is stronger."""
    optional: bool = False
    """Whether it may be about no tool at all. One that restricts and is not optional fails closed (ADR 16)."""

    def fits(self, tool: ToolId) -> bool:
        if tool.toolset != self.toolset:
            return False
        return self.target == tool if isinstance(self.target, ToolId) else self.target.matches(tool)

    @property
    def specificity(self) -> tuple[int, ...]:
        if isinstance(self.target, ToolId):
            return (1, 0, 0, 0)
        return (0, *self.target.specificity)

    @property
    def names_a_tool(self) -> bool:
        """Whether it is about a tool by its id or exact name, so that it must fit it; wildcards may be for many."""
        return isinstance(self.target, ToolId) or not is_pattern(self.target.name)

    @property
    def restricts(self) -> bool:
        """Whether a tool could do more without it."""
        fixed = any(argument.is_fixed for argument in (self.arguments or {}).values())
        confirms = self.requires_confirmation is True or self.confirmation is ConfirmationMode.TICKET
        return self.enabled is False or confirms or fixed

    @property
    def says(self) -> tuple[str, ...]:
        return tuple(name for name in FIELDS if getattr(self, name) is not None)

    def origin(self, name: str) -> Origin | None:
        """Of a field, or of `arguments.NAME`."""
        return self.origins.get(name) or (self.origins.get("arguments") if name.startswith("arguments.") else None)


@dataclass(frozen=True)
class Appearance:
    """The overrides that apply to one tool, merged, and where each field came from."""

    renderer: str | None = None
    renderer_config: Mapping[str, Json] | None = None
    name_override: str | None = None
    description_override: str | None = None
    requires_confirmation: bool | None = None
    confirmation: ConfirmationMode | None = None
    enabled: bool | None = None
    arguments: Mapping[str, Argument] | None = None
    origin: Mapping[str, Override] = field(default_factory=dict[str, Override])
    """By field; of parameters by `arguments.NAME.pin` and so on, because each is decided by itself."""


PLAIN: Final = Appearance()


def target(text: str, toolset: ToolsetId) -> ToolId | Pattern | BadId:
    """What an override of this toolset is about: a tool by its id, or `scope:name` with or without wild characters."""
    text = text.strip()
    if text == f"toolset:{toolset}":
        return Pattern("*", "*")
    if is_pattern(text) or not text.startswith("mcp:") or ":" not in text.removeprefix("mcp:"):
        return pattern(text)
    match tool_id(text):
        case LegacyToolId(server, name):
            # Within one toolset a server's own id is enough.
            return ToolId(ServerKey(toolset, server), name)
        case ToolId(source) if source.toolset != toolset:
            return BadId(text, f"{text!r} is a tool of toolset {source.toolset!r}. Write the override there")
        case found:
            return found


def appearance(tool: ToolId, overrides: Iterable[Override]) -> Appearance:
    """A person's word lies on what a file declares, and that on what the toolset's manifest says; within each, the most
    specific wins, then the later one. Confirmation is the exception: a ticket wins over all, and a person does not take
    back what the file requires."""
    return OverrideIndex(tuple(overrides)).for_tool(tool)


_SILENT: Final = Override(ToolsetId("builtin"), Pattern("*", "*"))


@dataclass(frozen=True)
class OverrideIndex:
    """Overrides by toolset, so that a tool is held against the rows of its own toolset only."""

    rows: tuple[Override, ...] = ()

    def for_tool(self, tool: ToolId) -> Appearance:
        ranked = self._by_toolset.get(tool.toolset)
        fitting = () if ranked is None else ranked.fitting(tool)
        if not fitting:
            return PLAIN
        origin: dict[str, Override] = {}
        for row in fitting:
            origin |= {name: row for name in row.says if name != "arguments"}
        if "requires_confirmation" in origin:
            origin["requires_confirmation"] = _requiring(fitting)
        if "confirmation" in origin:
            origin["confirmation"] = _strictest(fitting)
        arguments, said = _arguments(fitting)
        return Appearance(
            renderer=origin.get("renderer", _SILENT).renderer,
            renderer_config=origin.get("renderer_config", _SILENT).renderer_config,
            name_override=origin.get("name_override", _SILENT).name_override,
            description_override=origin.get("description_override", _SILENT).description_override,
            requires_confirmation=origin.get("requires_confirmation", _SILENT).requires_confirmation,
            enabled=origin.get("enabled", _SILENT).enabled,
            arguments=arguments or None,
            confirmation=origin.get("confirmation", _SILENT).confirmation,
            origin={**origin, **said},
        )

    def arguments_of(self, tool: ToolId) -> "tuple[Mapping[str, Argument], frozenset[str]] | None":
        """What is said of the tool's parameters, and which of them by its id or exact name; mostly `None`."""
        ranked = self._arguments_by_toolset.get(tool.toolset)
        fitting = () if ranked is None else ranked.fitting(tool)
        if not fitting:
            return None
        return _arguments(fitting)[0], names(row.arguments for row in fitting if row.names_a_tool)

    def hides(self, tool: ToolId) -> bool:
        """Whether `enabled` is false in the end: what `for_tool` says, for the rules that ask nothing else."""
        return self.hider(tool) is not None

    def hider(self, tool: ToolId) -> Override | None:
        """The row by which it is."""
        ranked = self._enabled_by_toolset.get(tool.toolset)
        fitting = () if ranked is None else ranked.fitting(tool)
        return fitting[-1] if fitting and fitting[-1].enabled is False else None

    def confirms(self, tool: ToolId) -> bool:
        """Whether `requires_confirmation` is true in the end."""
        ranked = self._confirming_by_toolset.get(tool.toolset)
        fitting = () if ranked is None else ranked.fitting(tool)
        return bool(fitting) and _requiring(fitting).requires_confirmation is True

    def confirmation_setting(self, tool: ToolId) -> ConfirmationSetting | None:
        """How calls of the tool are confirmed, by the override that sets it; `None` where none does."""
        look = self.for_tool(tool)
        if look.confirmation is None:
            return None
        row = look.origin["confirmation"]
        return ConfirmationSetting(
            ConfirmationLevel.TOOL, str(row.target), look.confirmation, row.origin("confirmation")
        )

    @cached_property
    def _by_toolset(self) -> "Mapping[ToolsetId, _Ranked]":
        return _by_toolset(self.rows)

    @cached_property
    def _enabled_by_toolset(self) -> "Mapping[ToolsetId, _Ranked]":
        return _by_toolset(row for row in self.rows if row.enabled is not None)

    @cached_property
    def _confirming_by_toolset(self) -> "Mapping[ToolsetId, _Ranked]":
        return _by_toolset(row for row in self.rows if row.requires_confirmation is not None)

    @cached_property
    def _arguments_by_toolset(self) -> "Mapping[ToolsetId, _Ranked]":
        return _by_toolset(row for row in self.rows if row.arguments is not None)


@dataclass(frozen=True)
class _Ranked:
    """The rows of one toolset, the weakest first."""

    patterned: tuple[Override, ...]
    exact: Mapping[ToolId, tuple[Override, ...]]

    def fitting(self, tool: ToolId) -> tuple[Override, ...]:
        exact = self.exact.get(tool, ())
        places = self._patterns.fitting(tool)
        if not places:
            return exact
        patterned = tuple([self.patterned[place] for place in places])
        return tuple(sorted((*patterned, *exact), key=_rank)) if exact else patterned

    @cached_property
    def _patterns(self) -> Patterns:
        return Patterns(tuple(row.target for row in self.patterned if isinstance(row.target, Pattern)))


def _requiring(rows: Iterable[Override]) -> Override:
    """Which of these, the weakest first, says whether calls must be confirmed. One says it at least. What a file
    requires is the operator's, and no person's override loosens it."""
    said = [row for row in rows if row.requires_confirmation is not None]
    declared = next((row for row in reversed(said) if row.declared and not row.assumed), None)
    is_loosened = declared is not None and declared.requires_confirmation and not said[-1].requires_confirmation
    return declared if declared is not None and is_loosened else said[-1]


def _strictest(rows: Iterable[Override]) -> Override:
    """Which of these, the weakest first, says how calls are confirmed. One says it at least."""
    said = [row for row in rows if row.confirmation is not None]
    return next((row for row in reversed(said) if row.confirmation is ConfirmationMode.TICKET), said[-1])


def _arguments(rows: Iterable[Override]) -> tuple[Mapping[str, Argument], Mapping[str, Override]]:
    """Merged, the weakest first. What a file pins or hides is the operator's, and no person's override loosens it."""
    merged: dict[str, Argument] = {}
    origin: dict[str, Override] = {}
    settled: set[str] = set()
    for row in rows:
        for name, said in (row.arguments or {}).items():
            stays = name in settled and not row.declared
            merged[name] = merged.get(name, _UNSAID).under(said, stays=stays)
            if row.declared:
                settled = settled | {name} if merged[name].is_fixed else settled - {name}
            told = (aspect for aspect in said.says if not (stays and aspect in ("pin", "hide")))
            origin |= {f"arguments.{name}.{aspect}": row for aspect in told}
    kept = {f"arguments.{name}.{aspect}" for name, argument in merged.items() for aspect in argument.says}
    return merged, {place: row for place, row in origin.items() if place in kept}


_UNSAID: Final = Argument()


def _by_toolset(rows: Iterable[Override]) -> Mapping[ToolsetId, _Ranked]:
    patterned: dict[ToolsetId, list[Override]] = {}
    exact: dict[ToolsetId, dict[ToolId, tuple[Override, ...]]] = {}
    # The sort is stable, so among equals the later row stays the stronger.
    for row in sorted(rows, key=_rank):
        if isinstance(row.target, Pattern):
            patterned.setdefault(row.toolset, []).append(row)
        elif row.target.toolset == row.toolset:
            of_tool = exact.setdefault(row.toolset, {})
            of_tool[row.target] = (*of_tool.get(row.target, ()), row)
    return {
        toolset: _Ranked(tuple(patterned.get(toolset, ())), exact.get(toolset, {}))
        for toolset in patterned.keys() | exact.keys()
    }


def _rank(row: Override) -> tuple[bool, bool, bool, tuple[int, ...]]:
    return not row.assumed, not row.manifest, not row.declared, row.specificity
