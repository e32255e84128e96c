"""References to tools by id, name, toolset, server or pattern, and near matches for unknown ones."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import cached_property, lru_cache
from heapq import nlargest
from typing import Final, TypeAlias, TypeVar, assert_never
from unicodedata import normalize

from pegboard.core.model.characters import escape_name, remove_hidden
from pegboard.core.model.ids import (
    BUILTIN,
    BadId,
    LegacyToolId,
    ServerKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
    parse_server_key,
    parse_tool_id,
    parse_toolset_id,
)
from pegboard.core.model.patterns import Pattern, PatternSet, is_pattern, parse_pattern
from pegboard.core.model.wire_names import hashed_name, is_hashed, long_names

_MAX_CHARS: Final = 128
_MAX_COMPARED_CHARS: Final = 64

MAX_EDITS: Final = 2
LONG_NAME_LENGTH: Final = 8
"""From so many letters on, two edits still tell which name was meant (ADR 16)."""
_SEPARATORS: Final = str.maketrans("", "", "_-. /:~")


@dataclass(frozen=True, slots=True)
class NameReference:
    """A tool's own name, or a name a client sees for it."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ToolsetReference:
    toolset: ToolsetId

    def __str__(self) -> str:
        return f"toolset:{self.toolset}"


@dataclass(frozen=True, slots=True)
class ServerReference:
    server: ServerKey

    def __str__(self) -> str:
        return f"mcp:{self.server}"


Reference: TypeAlias = ToolId | LegacyToolId | NameReference | ToolsetReference | ServerReference | Pattern | BadId


K = TypeVar("K")


class ReferenceKind(Enum):
    TOOLSET = "toolset"
    ENABLED_TOOL = "enabled tool"
    DISABLED_TOOL = "disabled tool"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class UnknownReference:
    """A name that means nothing here: what it was, what it was meant as, and what is near."""

    text: str
    kind: ReferenceKind
    suggestions: tuple[str, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        hint = f" Did you mean {' or '.join(repr(name) for name in self.suggestions)}?" if self.suggestions else ""
        return f"Unknown {self.kind.value} {self.text!r}.{' ' + self.why if self.why else ''}{hint}"


def parse_reference(text: str) -> Reference:
    text = text.strip()
    if text == f"toolset:{BUILTIN}":
        # No toolset of people's own can have this id, and it is what they write for the gateway's own tools.
        return ToolsetReference(BUILTIN)
    if text.startswith("toolset:"):
        id = parse_toolset_id(text.removeprefix("toolset:"))
        return id if isinstance(id, BadId) else ToolsetReference(id)
    if is_pattern(text):
        return parse_pattern(text)
    if text.startswith("mcp:") and ":" not in text.removeprefix("mcp:"):
        key = parse_server_key(text.removeprefix("mcp:"))
        return key if isinstance(key, BadId) else ServerReference(key)
    if ":" in text:
        return _parse_scoped(text)
    return NameReference(text) if text else BadId(text, "an empty name names no tool")


def _parse_scoped(text: str) -> Reference:
    """A tool id, or the same without its `mcp:`."""
    scope, _, name = text.partition(":")
    key = parse_server_key(scope)
    return ToolId(key, name) if isinstance(key, ServerKey) and name else parse_tool_id(text)


@dataclass(frozen=True)
class ToolDirectory:
    """Every tool one may point at here; and every toolset and server, known before their tools are."""

    ids: tuple[ToolId, ...]
    toolsets: frozenset[ToolsetId]
    servers: frozenset[ServerKey] = frozenset()

    @cached_property
    def by_toolset(self) -> Mapping[ToolsetId, tuple[ToolId, ...]]:
        return _group_tools((id.toolset, id) for id in self.ids)

    @cached_property
    def by_server(self) -> Mapping[ServerKey, tuple[ToolId, ...]]:
        return _group_tools((id.source, id) for id in self.ids if isinstance(id.source, ServerKey))

    @cached_property
    def by_name(self) -> Mapping[str, tuple[ToolId, ...]]:
        return _group_tools((id.name, id) for id in self.ids)

    @cached_property
    def by_long_name(self) -> Mapping[str, tuple[ToolId, ...]]:
        """The longer names a client may see for a tool, so that what an answer shows can be written back."""
        return _group_tools((name, id) for id in self.ids for name in long_names(id))

    @cached_property
    def by_hashed_name(self) -> Mapping[str, tuple[ToolId, ...]]:
        return _group_tools((hashed_name(id), id) for id in self.ids)

    def find_by_name(self, name: str) -> tuple[ToolId, ...]:
        """By its own name or by a longer one: a client may see one tool's own name on another, and either is meant."""
        own, long = self.by_name.get(name, ()), self.by_long_name.get(name, ())
        found = (*own, *(id for id in long if id not in own)) if own and long else own or long
        return found or (self.by_hashed_name.get(name, ()) if is_hashed(name) else ())

    def find_by_longer_name(self, name: str) -> tuple[ToolId, ...]:
        """By no tool's own name."""
        long = self.by_long_name.get(name, ())
        return long or (self.by_hashed_name.get(name, ()) if is_hashed(name) else ())

    def find_by_printed_form(self, text: str) -> tuple[ToolId, ...]:
        """By a name or id with escapes, as lists print it. For people who look something up, not for calls."""
        if "\\" not in text:
            return ()
        return tuple(id for id in self.ids if text in (escape_name(id.name), escape_name(str(id))))

    @cached_property
    def id_set(self) -> frozenset[ToolId]:
        return frozenset(self.ids)


def find_tools(
    wanted: Reference, within: ToolDirectory, kind: ReferenceKind, *, suggest: bool = True
) -> tuple[ToolId, ...] | UnknownReference:
    """The tools meant. A pattern that fits nothing is not an error: it speaks of tools that may yet come."""
    pool: Iterable[str]
    match wanted:
        case ToolId(source, name):
            if wanted in within.id_set:
                return (wanted,)
            # `scope:name` as people write it in a pattern: the tool of a server by its toolset or its server's id.
            scoped = Pattern(str(source), name) if isinstance(source, ToolsetKey) else None
            if scoped is not None and (found := tuple(filter(scoped.matches, within.by_name.get(name, ())))):
                return found
            # Where the source is right, only the name is compared: each of its tools has the same beginning.
            if of_source := [id.name for id in within.ids if id.source == source]:
                near = closest_names(name, of_source) if suggest else ()
                return UnknownReference(str(wanted), kind, tuple(str(ToolId(source, each)) for each in near))
            pool = map(str, within.ids)
        case LegacyToolId(server, name):
            keys = sorted((key for key in {*within.servers, *within.by_server} if key.server == server), key=str)
            if len(keys) > 1:
                why = f"{len(keys)} servers have the id {server!r}."
                return UnknownReference(str(wanted), kind, tuple(str(ToolId(key, name)) for key in keys), why)
            if keys and (id := ToolId(keys[0], name)) in within.id_set:
                return (id,)
            pool = map(str, within.ids)
        case NameReference(name):
            if found := within.find_by_name(name):
                return found
            pool = within.by_name
        case ToolsetReference(toolset):
            if toolset in within.toolsets:
                return within.by_toolset.get(toolset, ())
            pool = (str(ToolsetReference(toolset)) for toolset in within.toolsets)
        case ServerReference(key):
            if key in within.by_server or key in within.servers:
                return within.by_server.get(key, ())
            pool = (str(ServerReference(key)) for key in {*within.servers, *within.by_server})
        case Pattern(scope, name):
            # A tool's own name may look like a pattern, and the id that an answer shows must mean that tool alone.
            literal = [id for id in within.by_name.get(name, ()) if str(id.source) == scope]
            fitting = PatternSet((wanted,)).matching_indexes
            return tuple(literal) or tuple([id for id in within.ids if fitting(id)])
        case BadId(text, why):
            return UnknownReference(text, kind, (), why[:1].upper() + why[1:] + ".")
        case _:
            assert_never(wanted)
    return UnknownReference(str(wanted), kind, closest_names(str(wanted), pool) if suggest else ())


def find_toolset(name: str, within: ToolDirectory, *, suggest: bool = True) -> ToolsetId | UnknownReference:
    """Toolset ids are lower case, so a name in another case can mean only one."""
    id = ToolsetId(name.strip().lower())
    if id in within.toolsets:
        return id
    return UnknownReference(
        name,
        ReferenceKind.TOOLSET,
        closest_names(name, (t for t in within.toolsets if t != BUILTIN)) if suggest else (),
    )


def closest_names(text: str, pool: Iterable[str]) -> tuple[str, ...]:
    """The few names most like this one, in whatever case it was written."""
    wanted = text[:_MAX_CHARS].casefold()
    names = sorted(pool)
    if len(names) > _MAX_COMPARED_CHARS:
        features = _features(wanted)
        names = nlargest(
            _MAX_COMPARED_CHARS, names, key=lambda name: _similarity(features, _features(name[:_MAX_CHARS].casefold()))
        )
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(name.casefold(), []).append(name)
    return tuple(name for match in get_close_matches(wanted, folded, n=3, cutoff=0.6) for name in folded[match])[:3]


def misspellings(text: str, pool: Iterable[str]) -> tuple[str, ...]:
    """The names of the pool that this text may be a misspelling of, in the pool's order (ADR 16).

    Case and separators aside, those within one edit; if there are none and the text is long, those within two. An edit
    is a letter that is missing, added or replaced, or two neighbours that changed places."""
    distances = edit_distances(text, pool)
    nearest = max(1, min(distances.values(), default=0))
    return tuple(name for name, distance in distances.items() if distance <= nearest)


def edit_distances(text: str, pool: Iterable[str]) -> Mapping[str, int]:
    """How many edits each name of the pool is away, in the pool's order; without those that are too far away."""
    wanted, letters = _letters_of(text[:_MAX_CHARS])
    if not wanted:
        return {}
    bound = MAX_EDITS if len(wanted) >= LONG_NAME_LENGTH else 1
    distances: dict[str, int] = {}
    for name in dict.fromkeys(pool):
        folded, others = _letters_of(name)
        # One edit changes the length by one at most, and takes one letter out of the set and puts another one in.
        if abs(len(folded) - len(wanted)) <= bound and (letters ^ others).bit_count() <= 2 * bound:
            distance = edit_distance(wanted, folded)
            if distance <= bound:
                distances[name] = distance
    return distances


def edit_distance(one: str, other: str) -> int:
    """The fewest single-letter edits and swaps of neighbours that turn one text into the other."""
    start, shorter = 0, min(len(one), len(other))
    while start < shorter and one[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    one, other = one[start : len(one) - end], other[start : len(other) - end]
    before: list[int] = []
    above: list[int] = [*range(len(other) + 1)]
    for row, letter in enumerate(one, 1):
        line: list[int] = [row]
        for column, against in enumerate(other, 1):
            cost = min(above[column] + 1, line[-1] + 1, above[column - 1] + (letter != against))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == against:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, above = above, line
    return above[-1]


def fold_name(name: str) -> str:
    """Without case and hidden characters, and with letters of another width as the ordinary ones."""
    return name.casefold() if name.isascii() else normalize("NFKC", remove_hidden(name)).casefold()


@lru_cache(maxsize=16_384)
def _letters_of(name: str) -> tuple[str, int]:
    """The name without case and separators, and the set of its letters as bits; two letters may share one."""
    folded = fold_name(name).translate(_SEPARATORS)
    bits = 0
    for letter in folded:
        bits |= 1 << (ord(letter) & 63)
    return folded, bits


def _features(text: str) -> set[str]:
    """Characters and neighbouring pairs: cheap to compare, where an exact comparison of all names is not."""
    return {*text, *map(str.__add__, text, text[1:])}


def _similarity(a: set[str], b: set[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b) or 1)


def _group_tools(pairs: Iterable[tuple[K, ToolId]]) -> Mapping[K, tuple[ToolId, ...]]:
    groups: dict[K, list[ToolId]] = {}
    for key, id in pairs:
        groups.setdefault(key, []).append(id)
    return {key: tuple(ids) for key, ids in groups.items()}
