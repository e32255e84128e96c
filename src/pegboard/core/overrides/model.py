"""Overrides by id or pattern; field by field the most specific one wins."""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.confirmation import ConfirmationLevel, ConfirmationMode, ConfirmationSetting
from pegboard.core.model.ids import BadId, LegacyToolId, ServerKey, ToolId, ToolsetId, parse_tool_id
from pegboard.core.model.patterns import Pattern, PatternSet, is_pattern, parse_pattern
from pegboard.core.model.server import InstalledBy, Origin
from pegboard.core.model.tool import ToolSpec

# What an override says of single parameters of a tool: pinned, hidden, given a default, or put in other words.

ASPECTS: Final = ("pin", "hide", "default", "description")


@dataclass(frozen=True, slots=True)
class FrozenJson:
    """A value of any kind, null included. Kept as text, because to Python 1 and true are equal and to a server they
    are not; and never shown by accident, because a pinned value may be a secret."""

    text: str = field(repr=False)

    @property
    def value(self) -> Json:
        value: Json = json.loads(self.text)
        return value


def freeze_json(value: Json) -> FrozenJson:
    return FrozenJson(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


@dataclass(frozen=True, slots=True)
class ArgumentOverride:
    """One parameter. `None` is "does not say"; what is pinned is hidden too, and `hide` false shows it again."""

    pin: FrozenJson | None = None
    hide: bool | None = None
    default: FrozenJson | None = None
    description: str | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether callers have no say in it."""
        return self.pin is not None or self.hide is True

    @property
    def members(self) -> JsonObject:
        """What it says, as JSON."""
        said: JsonObject = {} if self.pin is None else {"pin": self.pin.value}
        said |= {} if self.hide is None else {"hide": self.hide}
        said |= {} if self.default is None else {"default": self.default.value}
        return said if self.description is None else {**said, "description": self.description}

    @property
    def aspects_set(self) -> tuple[str, ...]:
        return tuple(aspect for aspect in ASPECTS if getattr(self, aspect) is not None)

    def merge(self, other: "ArgumentOverride", *, stays: bool) -> "ArgumentOverride":
        """With what a stronger override says on top. What `stays` fixed is no other's to loosen."""
        settled = stays and self.is_fixed
        own = settled or (other.pin is None and other.hide is None)
        return ArgumentOverride(
            pin=self.pin if own else other.pin,
            hide=self.hide if own else other.hide,
            default=other.default or self.default,
            description=self.description if other.description is None else other.description,
        )


def merge_arguments(
    known: Mapping[str, ArgumentOverride], said: Mapping[str, ArgumentOverride]
) -> Mapping[str, ArgumentOverride] | None:
    """The parameters that were said now in place of what was said of them before; `None` for none at all."""
    both = {name: argument for name, argument in {**known, **said}.items() if argument.aspects_set}
    return both or None


def normalize_name(name: str) -> str:
    """One text for all names that a careless server takes for the same: other letters' case, other normal forms, signs
    that nobody sees."""
    bare = name.strip()
    if bare.isascii():
        return bare.lower()
    plain = unicodedata.normalize("NFKC", bare)
    seen = "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")
    return unicodedata.normalize("NFKC", seen.casefold()).strip()


def argument_names(rows: Iterable[Mapping[str, ArgumentOverride] | None]) -> frozenset[str]:
    return frozenset(name for row in rows if row is not None for name in row)


OVERRIDE_FIELDS: Final = (
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
    arguments: Mapping[str, ArgumentOverride] | None = None
    is_declared: bool = False
    """Written by the operator in a file: the base on which a person's override lies."""
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])
    """Where each field was said, or by whom and when; of single parameters by `arguments.NAME`."""
    from_manifest: bool = False
    """Brought by the toolset itself: the base of all, on which what a file declares lies as well."""
    is_assumed: bool = False
    """What the settings assume of an imported toolset whose manifest is silent: every other row is stronger."""
    is_optional: bool = False
    """Whether it may be about no tool at all. One that restricts and is not optional fails closed (ADR 16)."""

    def matches(self, tool: ToolId) -> bool:
        if tool.toolset != self.toolset:
            return False
        return self.target == tool if isinstance(self.target, ToolId) else self.target.matches(tool)

    @property
    def specificity(self) -> tuple[int, ...]:
        if isinstance(self.target, ToolId):
            return (1, 0, 0, 0)
        return (0, *self.target.specificity)

    @property
    def is_exact(self) -> bool:
        """Whether it is about a tool by its id or exact name, so that it must fit it; wildcards may be for many."""
        return isinstance(self.target, ToolId) or not is_pattern(self.target.name)

    @property
    def restricts(self) -> bool:
        """Whether a tool could do more without it."""
        fixed = any(argument.is_fixed for argument in (self.arguments or {}).values())
        confirms = self.requires_confirmation is True or self.confirmation is ConfirmationMode.TICKET
        return self.enabled is False or confirms or fixed

    @property
    def fields_set(self) -> tuple[str, ...]:
        return tuple(name for name in OVERRIDE_FIELDS if getattr(self, name) is not None)

    def origin(self, name: str) -> Origin | None:
        """Of a field, or of `arguments.NAME`."""
        return self.origins.get(name) or (self.origins.get("arguments") if name.startswith("arguments.") else None)


@dataclass(frozen=True)
class EffectiveOverride:
    """The overrides that apply to one tool, merged, and where each field came from."""

    renderer: str | None = None
    renderer_config: Mapping[str, Json] | None = None
    name_override: str | None = None
    description_override: str | None = None
    requires_confirmation: bool | None = None
    confirmation: ConfirmationMode | None = None
    enabled: bool | None = None
    arguments: Mapping[str, ArgumentOverride] | None = None
    origin: Mapping[str, Override] = field(default_factory=dict[str, Override])
    """By field; of parameters by `arguments.NAME.pin` and so on, because each is decided by itself."""


NO_OVERRIDE: Final = EffectiveOverride()


def parse_target(text: str, toolset: ToolsetId) -> ToolId | Pattern | BadId:
    """What an override of this toolset is about: a tool by its id, or `scope:name` with or without wild characters."""
    text = text.strip()
    if text == f"toolset:{toolset}":
        return Pattern("*", "*")
    if is_pattern(text) or not text.startswith("mcp:") or ":" not in text.removeprefix("mcp:"):
        return parse_pattern(text)
    match parse_tool_id(text):
        case LegacyToolId(server, name):
            # Within one toolset a server's own id is enough.
            return ToolId(ServerKey(toolset, server), name)
        case ToolId(source) if source.toolset != toolset:
            return BadId(text, f"{text!r} is a tool of toolset {source.toolset!r}. Write the override there")
        case found:
            return found


def merge_overrides(tool: ToolId, overrides: Iterable[Override]) -> EffectiveOverride:
    """A person's word lies on what a file declares, and that on what the toolset's manifest says; within each, the most
    specific wins, then the later one. Confirmation is the exception: a ticket wins over all, and a person does not take
    back what the file requires."""
    return OverrideIndex(tuple(overrides)).for_tool(tool)


_EMPTY_OVERRIDE: Final = Override(ToolsetId("builtin"), Pattern("*", "*"))


@dataclass(frozen=True)
class OverrideIndex:
    """Overrides by toolset, so that a tool is held against the rows of its own toolset only."""

    rows: tuple[Override, ...] = ()

    def for_tool(self, tool: ToolId) -> EffectiveOverride:
        ranked = self._by_toolset.get(tool.toolset)
        fitting = () if ranked is None else ranked.rows_for(tool)
        if not fitting:
            return NO_OVERRIDE
        origin: dict[str, Override] = {}
        for row in fitting:
            origin |= {name: row for name in row.fields_set if name != "arguments"}
        if "requires_confirmation" in origin:
            origin["requires_confirmation"] = _requirement_row(fitting)
        if "confirmation" in origin:
            origin["confirmation"] = _strictest_row(fitting)
        arguments, said = _merge_arguments(fitting)
        return EffectiveOverride(
            renderer=origin.get("renderer", _EMPTY_OVERRIDE).renderer,
            renderer_config=origin.get("renderer_config", _EMPTY_OVERRIDE).renderer_config,
            name_override=origin.get("name_override", _EMPTY_OVERRIDE).name_override,
            description_override=origin.get("description_override", _EMPTY_OVERRIDE).description_override,
            requires_confirmation=origin.get("requires_confirmation", _EMPTY_OVERRIDE).requires_confirmation,
            enabled=origin.get("enabled", _EMPTY_OVERRIDE).enabled,
            arguments=arguments or None,
            confirmation=origin.get("confirmation", _EMPTY_OVERRIDE).confirmation,
            origin={**origin, **said},
        )

    def arguments_of(self, tool: ToolId) -> "tuple[Mapping[str, ArgumentOverride], frozenset[str]] | None":
        """What is said of the tool's parameters, and which of them by its id or exact name; mostly `None`."""
        ranked = self._arguments_by_toolset.get(tool.toolset)
        fitting = () if ranked is None else ranked.rows_for(tool)
        if not fitting:
            return None
        return _merge_arguments(fitting)[0], argument_names(row.arguments for row in fitting if row.is_exact)

    def disables(self, tool: ToolId) -> bool:
        """Whether `enabled` is false in the end: what `for_tool` says, for the rules that ask nothing else."""
        return self.disabling_override(tool) is not None

    def disabling_override(self, tool: ToolId) -> Override | None:
        """The row by which it is."""
        ranked = self._enabled_by_toolset.get(tool.toolset)
        fitting = () if ranked is None else ranked.rows_for(tool)
        return fitting[-1] if fitting and fitting[-1].enabled is False else None

    def requires_confirmation(self, tool: ToolId) -> bool:
        """Whether `requires_confirmation` is true in the end."""
        ranked = self._confirming_by_toolset.get(tool.toolset)
        fitting = () if ranked is None else ranked.rows_for(tool)
        return bool(fitting) and _requirement_row(fitting).requires_confirmation is True

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
    def _by_toolset(self) -> "Mapping[ToolsetId, _RankedOverrides]":
        return _by_toolset(self.rows)

    @cached_property
    def _enabled_by_toolset(self) -> "Mapping[ToolsetId, _RankedOverrides]":
        return _by_toolset(row for row in self.rows if row.enabled is not None)

    @cached_property
    def _confirming_by_toolset(self) -> "Mapping[ToolsetId, _RankedOverrides]":
        return _by_toolset(row for row in self.rows if row.requires_confirmation is not None)

    @cached_property
    def _arguments_by_toolset(self) -> "Mapping[ToolsetId, _RankedOverrides]":
        return _by_toolset(row for row in self.rows if row.arguments is not None)


@dataclass(frozen=True)
class _RankedOverrides:
    """The rows of one toolset, the weakest first."""

    by_pattern: tuple[Override, ...]
    exact: Mapping[ToolId, tuple[Override, ...]]

    def rows_for(self, tool: ToolId) -> tuple[Override, ...]:
        exact = self.exact.get(tool, ())
        places = self._patterns.matching_indexes(tool)
        if not places:
            return exact
        patterned = tuple([self.by_pattern[place] for place in places])
        return tuple(sorted((*patterned, *exact), key=_rank)) if exact else patterned

    @cached_property
    def _patterns(self) -> PatternSet:
        return PatternSet(tuple(row.target for row in self.by_pattern if isinstance(row.target, Pattern)))


def _requirement_row(rows: Iterable[Override]) -> Override:
    """Which of these, the weakest first, says whether calls must be confirmed. One says it at least. What a file
    requires is the operator's, and no person's override loosens it."""
    said = [row for row in rows if row.requires_confirmation is not None]
    declared = next((row for row in reversed(said) if row.is_declared and not row.is_assumed), None)
    is_loosened = declared is not None and declared.requires_confirmation and not said[-1].requires_confirmation
    return declared if declared is not None and is_loosened else said[-1]


def _strictest_row(rows: Iterable[Override]) -> Override:
    """Which of these, the weakest first, says how calls are confirmed. One says it at least."""
    said = [row for row in rows if row.confirmation is not None]
    return next((row for row in reversed(said) if row.confirmation is ConfirmationMode.TICKET), said[-1])


def _merge_arguments(rows: Iterable[Override]) -> tuple[Mapping[str, ArgumentOverride], Mapping[str, Override]]:
    """Merged, the weakest first. What a file pins or hides is the operator's, and no person's override loosens it."""
    merged: dict[str, ArgumentOverride] = {}
    origin: dict[str, Override] = {}
    settled: set[str] = set()
    for row in rows:
        for name, said in (row.arguments or {}).items():
            stays = name in settled and not row.is_declared
            merged[name] = merged.get(name, _EMPTY_ARGUMENT).merge(said, stays=stays)
            if row.is_declared:
                settled = settled | {name} if merged[name].is_fixed else settled - {name}
            told = (aspect for aspect in said.aspects_set if not (stays and aspect in ("pin", "hide")))
            origin |= {f"arguments.{name}.{aspect}": row for aspect in told}
    kept = {f"arguments.{name}.{aspect}" for name, argument in merged.items() for aspect in argument.aspects_set}
    return merged, {place: row for place, row in origin.items() if place in kept}


_EMPTY_ARGUMENT: Final = ArgumentOverride()


def _by_toolset(rows: Iterable[Override]) -> Mapping[ToolsetId, _RankedOverrides]:
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
        toolset: _RankedOverrides(tuple(patterned.get(toolset, ())), exact.get(toolset, {}))
        for toolset in patterned.keys() | exact.keys()
    }


def _rank(row: Override) -> tuple[bool, bool, bool, tuple[int, ...]]:
    return not row.is_assumed, not row.from_manifest, not row.is_declared, row.specificity


# One person's edit of one override: some fields said, some cleared, and whose word each of them now is.

ARGUMENT_PREFIX: Final = "arguments."


@dataclass(frozen=True)
class OverrideEdit:
    """`said` names the place and holds only what is new; `cleared` are fields, or `arguments.NAME` for a parameter."""

    changes: Override
    cleared_fields: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NothingToClear:
    """What was to be cleared was not said."""

    fields: tuple[str, ...]


def apply_edit(known: Override | None, edit: OverrideEdit, by: InstalledBy) -> Override | NothingToClear:
    """The row as it is from now on; it may say nothing any more."""
    row = known or Override(edit.changes.toolset, edit.changes.target)
    if vain := tuple(sorted(name for name in edit.cleared_fields if not _is_set(row, name))):
        return NothingToClear(vain)
    row = without_fields(row, edit.cleared_fields)
    said = edit.changes
    arguments = row.arguments if said.arguments is None else merge_arguments(row.arguments or {}, said.arguments)
    fields = {name: getattr(said, name) for name in said.fields_set if name != "arguments"}
    origins = {**row.origins, **dict.fromkeys(_set_places(said), by)}
    return replace(row, **fields, arguments=arguments, origins=origins)


def without_fields(row: Override, cleared: frozenset[str]) -> Override:
    """The row with these fields unsaid, and nobody's word any more."""
    parameters = {name.removeprefix(ARGUMENT_PREFIX) for name in cleared if name.startswith(ARGUMENT_PREFIX)}
    arguments = {name: said for name, said in (row.arguments or {}).items() if name not in parameters}
    whole = "arguments" in cleared
    kept = {name: getattr(row, name) for name in row.fields_set if name not in cleared and name != "arguments"}
    return Override(
        row.toolset,
        row.target,
        **kept,
        arguments=None if whole else arguments or None,
        is_declared=row.is_declared,
        origins={
            name: by
            for name, by in row.origins.items()
            if name not in cleared and not (whole and name.startswith(ARGUMENT_PREFIX))
        },
    )


def _is_set(row: Override, name: str) -> bool:
    if name.startswith(ARGUMENT_PREFIX):
        return name.removeprefix(ARGUMENT_PREFIX) in (row.arguments or {})
    return name in row.fields_set


def _set_places(said: Override) -> Iterator[str]:
    yield from (name for name in said.fields_set if name != "arguments")
    yield from (f"{ARGUMENT_PREFIX}{name}" for name in said.arguments or {})


# A tool as the manifest of its toolset has models read it: whoever scans its words must scan these too, because
# they
# come from the same hands.

NO_OVERRIDES: Final = OverrideIndex()


def with_manifest_texts(id: ToolId, spec: ToolSpec, manifest: OverrideIndex) -> ToolSpec:
    """The same spec where the manifest says nothing that a model reads."""
    said = manifest.for_tool(id)
    return _with_texts(spec, said.name_override, said.description_override, said.arguments or {})


def override_texts(row: Override) -> ToolSpec:
    """What one override has models read, whatever tools it fits."""
    return _with_texts(ToolSpec("tool", None, "", {}), row.name_override, row.description_override, row.arguments or {})


def _with_texts(
    spec: ToolSpec, name: str | None, description: str | None, arguments: Mapping[str, ArgumentOverride]
) -> ToolSpec:
    told = {key: words for key, argument in arguments.items() if (words := _argument_texts(argument))}
    if name is None and description is None and not told:
        return spec
    known = spec.input_schema.get("properties")
    properties: dict[str, Json] = {**known} if isinstance(known, Mapping) else {}
    for key, words in told.items():
        own = properties.get(key)
        properties[key] = {**own, **words} if isinstance(own, Mapping) else words
    return replace(
        spec,
        title=spec.title if name is None else name,
        description=spec.description if description is None else description,
        input_schema={**spec.input_schema, "properties": properties} if told else spec.input_schema,
    )


def _argument_texts(argument: ArgumentOverride) -> dict[str, Json]:
    """A pinned value is shown to nobody."""
    said: dict[str, Json] = {}
    if argument.description is not None:
        said["description"] = argument.description
    if argument.default is not None and isinstance(argument.default.value, str):
        said["default"] = argument.default.value
    return said
