"""How people point at tools: by id, by name, by toolset, by server, by pattern; and finding what is meant."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import cached_property
from typing import TypeAlias, TypeVar, assert_never

from .ids import BUILTIN, BadId, LegacyToolId, ServerKey, ToolId, ToolsetId, server_key, tool_id, toolset_id
from .pattern import Pattern, is_pattern, pattern


@dataclass(frozen=True, slots=True)
class Named:
    """A tool's own name, or a name a client sees for it."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OfToolset:
    toolset: ToolsetId

    def __str__(self) -> str:
        return f"toolset:{self.toolset}"


@dataclass(frozen=True, slots=True)
class OfServer:
    server: ServerKey

    def __str__(self) -> str:
        return f"mcp:{self.server}"


Reference: TypeAlias = ToolId | LegacyToolId | Named | OfToolset | OfServer | Pattern | BadId


K = TypeVar("K")


class Kind(Enum):
    TOOLSET = "toolset"
    ENABLED_TOOL = "enabled tool"
    DISABLED_TOOL = "disabled tool"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A name that means nothing here: what it was, what it was meant as, and what is near."""

    text: str
    kind: Kind
    near: tuple[str, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        hint = f" Did you mean {' or '.join(repr(name) for name in self.near)}?" if self.near else ""
        return f"Unknown {self.kind.value} {self.text!r}.{' ' + self.why if self.why else ''}{hint}"


def reference(text: str) -> Reference:
    text = text.strip()
    if text.startswith("toolset:"):
        id = toolset_id(text.removeprefix("toolset:"))
        return id if isinstance(id, BadId) else OfToolset(id)
    if is_pattern(text):
        return pattern(text)
    if text.startswith("mcp:") and ":" not in text.removeprefix("mcp:"):
        key = server_key(text.removeprefix("mcp:"))
        return key if isinstance(key, BadId) else OfServer(key)
    if ":" in text:
        return tool_id(text)
    return Named(text) if text else BadId(text, "an empty name names no tool")


@dataclass(frozen=True)
class Directory:
    """Every tool one may point at here, and every toolset, known before its tools are."""

    ids: tuple[ToolId, ...]
    toolsets: frozenset[ToolsetId]

    @cached_property
    def by_toolset(self) -> Mapping[ToolsetId, tuple[ToolId, ...]]:
        return _grouped((id.toolset, id) for id in self.ids)

    @cached_property
    def by_server(self) -> Mapping[ServerKey, tuple[ToolId, ...]]:
        return _grouped((id.source, id) for id in self.ids if isinstance(id.source, ServerKey))

    @cached_property
    def by_name(self) -> Mapping[str, tuple[ToolId, ...]]:
        return _grouped((id.name, id) for id in self.ids)

    @cached_property
    def by_long_name(self) -> Mapping[str, tuple[ToolId, ...]]:
        """The longer names a client may see for a tool, so that what an answer shows can be written back."""
        pairs = [(f"{id.toolset}__{id.name}", id) for id in self.ids]
        pairs += [
            (f"{key.toolset}__{key.server}__{id.name}", id)
            for id in self.ids
            if isinstance(key := id.source, ServerKey)
        ]
        return _grouped(pairs)

    @cached_property
    def known(self) -> frozenset[ToolId]:
        return frozenset(self.ids)


def find(wanted: Reference, within: Directory, kind: Kind) -> tuple[ToolId, ...] | Unknown:
    """The tools meant. A pattern that fits nothing is not an error: it speaks of tools that may yet come."""
    match wanted:
        case ToolId():
            if wanted in within.known:
                return (wanted,)
        case LegacyToolId(server, name):
            return _legacy(server, name, within, kind)
        case Named(name):
            if found := within.by_name.get(name) or within.by_long_name.get(name):
                return found
        case OfToolset(toolset):
            if toolset in within.toolsets:
                return within.by_toolset.get(toolset, ())
        case OfServer(key):
            if key in within.by_server:
                return within.by_server[key]
        case Pattern():
            return tuple(id for id in within.ids if wanted.matches(id))
        case BadId(text, why):
            return Unknown(text, kind, (), why[:1].upper() + why[1:] + ".")
        case _:
            assert_never(wanted)
    return Unknown(str(wanted), kind, near(str(wanted), within))


def find_toolset(name: str, within: Directory) -> tuple[ToolId, ...] | Unknown:
    id = ToolsetId(name)
    if id in within.toolsets:
        return within.by_toolset.get(id, ())
    return Unknown(name, Kind.TOOLSET, closest(name, [str(t) for t in within.toolsets if t != BUILTIN]))


def near(text: str, within: Directory) -> tuple[str, ...]:
    """Names like this one: whole ids when an id was written, the tools' own names otherwise."""
    pool = [str(id) for id in within.ids] if ":" in text else [*within.by_name]
    return closest(text, pool)


def closest(text: str, pool: Iterable[str]) -> tuple[str, ...]:
    return tuple(get_close_matches(text[:128], sorted(pool), n=3, cutoff=0.6))


def _legacy(server: str, name: str, within: Directory, kind: Kind) -> tuple[ToolId, ...] | Unknown:
    keys = [key for key in within.by_server if key.server == server]
    text = f"mcp:{server}:{name}"
    if len(keys) > 1:
        candidates = tuple(sorted(f"mcp:{key}:{name}" for key in keys))
        return Unknown(text, kind, candidates, f"{len(keys)} servers have the id {server!r}.")
    if keys and (id := ToolId(keys[0], name)) in within.known:
        return (id,)
    return Unknown(text, kind, near(text, within))


def _grouped(pairs: Iterable[tuple[K, ToolId]]) -> Mapping[K, tuple[ToolId, ...]]:
    groups: dict[K, list[ToolId]] = {}
    for key, id in pairs:
        groups.setdefault(key, []).append(id)
    return {key: tuple(ids) for key, ids in groups.items()}
