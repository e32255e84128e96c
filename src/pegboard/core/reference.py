"""How people point at tools: by id, by name, by toolset, by server, by pattern; and finding what is meant."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import cached_property, lru_cache
from heapq import nlargest
from typing import Final, TypeAlias, TypeVar, assert_never
from unicodedata import normalize

from .characters import escape_name, remove_hidden
from .ids import (
    BUILTIN,
    BadId,
    LegacyToolId,
    ServerKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
    server_key,
    tool_id,
    toolset_id,
)
from .naming import hashed_name, is_hashed, long_names
from .pattern import Pattern, Patterns, is_pattern, pattern

_LONGEST: Final = 128
_COMPARED: Final = 64

MAX_EDITS: Final = 2
LONG_NAME_LENGTH: Final = 8
"""From so many letters on, two edits still tell which name was meant (ADR 16)."""
_SEPARATORS: Final = str.maketrans("", "", "_-. /:~")


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
    if text == f"toolset:{BUILTIN}":
        # No toolset of people's own can have this id, and it is what they write for the gateway's own tools.
        return OfToolset(BUILTIN)
    if text.startswith("toolset:"):
        id = toolset_id(text.removeprefix("toolset:"))
        return id if isinstance(id, BadId) else OfToolset(id)
    if is_pattern(text):
        return pattern(text)
    if text.startswith("mcp:") and ":" not in text.removeprefix("mcp:"):
        key = server_key(text.removeprefix("mcp:"))
        return key if isinstance(key, BadId) else OfServer(key)
    if ":" in text:
        return _scoped(text)
    return Named(text) if text else BadId(text, "an empty name names no tool")


def _scoped(text: str) -> Reference:
    """A tool id, or the same without its `mcp:`."""
    scope, _, name = text.partition(":")
    key = server_key(scope)
    return ToolId(key, name) if isinstance(key, ServerKey) and name else tool_id(text)


@dataclass(frozen=True)
class Directory:
    """Every tool one may point at here; and every toolset and server, known before their tools are."""

    ids: tuple[ToolId, ...]
    toolsets: frozenset[ToolsetId]
    servers: frozenset[ServerKey] = frozenset()

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
        return _grouped((name, id) for id in self.ids for name in long_names(id))

    @cached_property
    def by_hashed_name(self) -> Mapping[str, tuple[ToolId, ...]]:
        return _grouped((hashed_name(id), id) for id in self.ids)

    def named(self, name: str) -> tuple[ToolId, ...]:
        """By its own name or by a longer one: a client may see one tool's own name on another, and either is meant."""
        own, long = self.by_name.get(name, ()), self.by_long_name.get(name, ())
        found = (*own, *(id for id in long if id not in own)) if own and long else own or long
        return found or (self.by_hashed_name.get(name, ()) if is_hashed(name) else ())

    def by_longer_name(self, name: str) -> tuple[ToolId, ...]:
        """By no tool's own name."""
        long = self.by_long_name.get(name, ())
        return long or (self.by_hashed_name.get(name, ()) if is_hashed(name) else ())

    def printed_as(self, text: str) -> tuple[ToolId, ...]:
        """By a name or id with escapes, as lists print it. For people who look something up, not for calls."""
        if "\\" not in text:
            return ()
        return tuple(id for id in self.ids if text in (escape_name(id.name), escape_name(str(id))))

    @cached_property
    def known(self) -> frozenset[ToolId]:
        return frozenset(self.ids)


def find(wanted: Reference, within: Directory, kind: Kind, *, suggest: bool = True) -> tuple[ToolId, ...] | Unknown:
    """The tools meant. A pattern that fits nothing is not an error: it speaks of tools that may yet come."""
    pool: Iterable[str]
    match wanted:
        case ToolId(source, name):
            if wanted in within.known:
                return (wanted,)
            # `scope:name` as people write it in a pattern: the tool of a server by its toolset or its server's id.
            scoped = Pattern(str(source), name) if isinstance(source, ToolsetKey) else None
            if scoped is not None and (found := tuple(filter(scoped.matches, within.by_name.get(name, ())))):
                return found
            # Where the source is right, only the name is compared: each of its tools has the same beginning.
            if of_source := [id.name for id in within.ids if id.source == source]:
                near = closest(name, of_source) if suggest else ()
                return Unknown(str(wanted), kind, tuple(str(ToolId(source, each)) for each in near))
            pool = map(str, within.ids)
        case LegacyToolId(server, name):
            keys = sorted((key for key in {*within.servers, *within.by_server} if key.server == server), key=str)
            if len(keys) > 1:
                why = f"{len(keys)} servers have the id {server!r}."
                return Unknown(str(wanted), kind, tuple(str(ToolId(key, name)) for key in keys), why)
            if keys and (id := ToolId(keys[0], name)) in within.known:
                return (id,)
            pool = map(str, within.ids)
        case Named(name):
            if found := within.named(name):
                return found
            pool = within.by_name
        case OfToolset(toolset):
            if toolset in within.toolsets:
                return within.by_toolset.get(toolset, ())
            pool = (str(OfToolset(toolset)) for toolset in within.toolsets)
        case OfServer(key):
            if key in within.by_server or key in within.servers:
                return within.by_server.get(key, ())
            pool = (str(OfServer(key)) for key in {*within.servers, *within.by_server})
        case Pattern(scope, name):
            # A tool's own name may look like a pattern, and the id that an answer shows must mean that tool alone.
            literal = [id for id in within.by_name.get(name, ()) if str(id.source) == scope]
            fitting = Patterns((wanted,)).fitting
            return tuple(literal) or tuple([id for id in within.ids if fitting(id)])
        case BadId(text, why):
            return Unknown(text, kind, (), why[:1].upper() + why[1:] + ".")
        case _:
            assert_never(wanted)
    return Unknown(str(wanted), kind, closest(str(wanted), pool) if suggest else ())


def find_toolset(name: str, within: Directory, *, suggest: bool = True) -> ToolsetId | Unknown:
    """Toolset ids are lower case, so a name in another case can mean only one."""
    id = ToolsetId(name.strip().lower())
    if id in within.toolsets:
        return id
    return Unknown(name, Kind.TOOLSET, closest(name, (t for t in within.toolsets if t != BUILTIN)) if suggest else ())


def closest(text: str, pool: Iterable[str]) -> tuple[str, ...]:
    """The few names most like this one, in whatever case it was written."""
    wanted = text[:_LONGEST].casefold()
    names = sorted(pool)
    if len(names) > _COMPARED:
        features = _features(wanted)
        names = nlargest(_COMPARED, names, key=lambda name: _overlap(features, _features(name[:_LONGEST].casefold())))
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(name.casefold(), []).append(name)
    return tuple(name for match in get_close_matches(wanted, folded, n=3, cutoff=0.6) for name in folded[match])[:3]


def misspellings(text: str, pool: Iterable[str]) -> tuple[str, ...]:
    """The names of the pool that this text may be a misspelling of, in the pool's order (ADR 16).

    Case and separators aside, those within one edit; if there are none and the text is long, those within two. An edit
    is a letter that is missing, added or replaced, or two neighbours that changed places."""
    distances = distances_of(text, pool)
    nearest = max(1, min(distances.values(), default=0))
    return tuple(name for name, distance in distances.items() if distance <= nearest)


def distances_of(text: str, pool: Iterable[str]) -> Mapping[str, int]:
    """How many edits each name of the pool is away, in the pool's order; without those that are too far away."""
    wanted, letters = _letters_of(text[:_LONGEST])
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


def _overlap(a: set[str], b: set[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b) or 1)


def _grouped(pairs: Iterable[tuple[K, ToolId]]) -> Mapping[K, tuple[ToolId, ...]]:
    groups: dict[K, list[ToolId]] = {}
    for key, id in pairs:
        groups.setdefault(key, []).append(id)
    return {key: tuple(ids) for key, ids in groups.items()}
