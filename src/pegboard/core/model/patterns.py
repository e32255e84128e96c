"""Patterns `scope:name`, and the launch filter."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property, lru_cache
from typing import Final

from pegboard.core.model.ids import BUILTIN, BadId, BuiltinKey, ServerKey, SourceKey, ToolId

# `scope:name` patterns with `*`, `?` and `[…]`, where scope is a toolset id, a server id or a server key.

MAX_PATTERN_CHARS: Final = 512
"""Longer than any id. Translating a glob takes time by the square of its length, and agents may send patterns."""

# Possessive, as `fnmatch` reads a class: it must not give back the "]" that stands first in it.
_WILD: Final = re.compile(r"\*|\?|\[!?+\]?+[^\]]*+\]")


@dataclass(frozen=True, slots=True)
class Pattern:
    scope: str
    name: str

    def __str__(self) -> str:
        return f"{self.scope}:{self.name}"

    def matches(self, tool: ToolId) -> bool:
        return self.matches_source(tool.source) and _glob_matcher(self.name)(tool.name)

    def matches_source(self, source: SourceKey) -> bool:
        if self.scope == "*":
            return True
        fits = _glob_matcher(self.scope)
        return fits(source.toolset) or (isinstance(source, ServerKey) and (fits(source.server) or fits(str(source))))

    @property
    def specificity(self) -> tuple[int, int, int]:
        """Exact scope beats exact name beats more literal characters; compared as a tuple, larger wins."""
        return (
            0 if is_pattern(self.scope) else 1,
            0 if is_pattern(self.name) else 1,
            len(_WILD.sub("", self.scope)) + len(_WILD.sub("", self.name)),
        )


def is_pattern(text: str) -> bool:
    return _WILD.search(text[:MAX_PATTERN_CHARS]) is not None


def parse_pattern(text: str) -> Pattern | BadId:
    """`scope:name`; a bare name stands for `*:name`. After `mcp:`, as in a tool id, the scope is one of servers."""
    if len(text) > MAX_PATTERN_CHARS:
        return BadId(
            text[:MAX_PATTERN_CHARS],
            f"a pattern of {len(text)} characters is too long: use at most {MAX_PATTERN_CHARS}",
        )
    scope, colon, name = text.removeprefix("mcp:").partition(":")
    if text.startswith("mcp:"):
        scope, name = "*~*" if scope == "*" else scope, name if colon else "*"
    elif not colon:
        scope, name = "*", scope
    if not scope or not name:
        return BadId(text, f"{text!r} is not a pattern: write scope:name, for example github:* or *:read_*")
    return Pattern(scope, name)


def matches_glob(glob: str, text: str) -> bool:
    return _glob_matcher(glob)(text)


@dataclass(frozen=True)
class PatternSet:
    """Many patterns held against many tools. Most tools fit none, and one search in their name tells so."""

    patterns: tuple[Pattern, ...]

    def matching_indexes(self, tool: ToolId) -> tuple[int, ...]:
        """The places of those that fit, in their order."""
        names = self._by_source.get(tool.source)
        if names is None:
            names = self._by_source[tool.source] = _GlobSet(
                tuple(
                    (place, each.name) for place, each in enumerate(self.patterns) if each.matches_source(tool.source)
                )
            )
        return names.matching_indexes(tool.name)

    @cached_property
    def _by_source(self) -> "dict[SourceKey, _GlobSet]":
        """Filled as sources are met: which scopes fit is the same for all tools of one source."""
        return {}


@dataclass(frozen=True)
class _GlobSet:
    globs: tuple[tuple[int, str], ...]

    def matching_indexes(self, name: str) -> tuple[int, ...]:
        if self._prefilter is not None and self._prefilter.search(name) is None:
            return ()
        return tuple([place for place, literal, fits in self._matchers if literal in name and fits(name)])

    @cached_property
    def _matchers(self) -> tuple[tuple[int, str, Callable[[str], bool]], ...]:
        return tuple((place, _longest_literal(glob), _glob_matcher(glob)) for place, glob in self.globs)

    @cached_property
    def _prefilter(self) -> re.Pattern[str] | None:
        """What fits a glob holds its longest literal, so one search for all the literals passes no name over."""
        literals = {literal for _, literal, _ in self._matchers}
        return None if "" in literals or not literals else re.compile("|".join(map(re.escape, sorted(literals))))


def _longest_literal(glob: str) -> str:
    return max(_WILD.split(glob), key=len)


@lru_cache(maxsize=4096)
def _glob_matcher(glob: str) -> Callable[[str], bool]:
    if not is_pattern(glob):
        return lambda text: text == glob
    match = re.compile(translate(glob)).match
    return lambda text: match(text) is not None


LAUNCH_KINDS: Final = ("builtins", "servers", "tools")
LAUNCH_MEMBERS: Final = tuple(f"{way}_{kind}" for kind in LAUNCH_KINDS for way in ("allow", "deny"))
"""By these names the parts of a filter are written."""


@dataclass(frozen=True, slots=True)
class LaunchBlock:
    """Why the filter takes something away, as a clause."""

    kind: str
    """One of `KINDS`: the part of the filter that does."""
    by: str | None
    """The pattern that denies it; `None` where none of those allowed fits it."""

    def __str__(self) -> str:
        if self.by is not None:
            return f"the launch filter denies it: {self.by!r} under deny_{self.kind}"
        return f"the launch filter allows others: nothing under allow_{self.kind} fits it"


@dataclass(frozen=True)
class Allowance:
    """With `allow`, only what fits one of those patterns, so that none of them allows nothing. What fits one under
    `deny` never."""

    allow: tuple[Pattern, ...] | None = None
    deny: tuple[Pattern, ...] = ()

    @property
    def is_limited(self) -> bool:
        return self.allow is not None or bool(self.deny)

    def find_block(self, id: ToolId, kind: str) -> LaunchBlock | None:
        if self.deny and (denying := self._deny_patterns.matching_indexes(id)):
            return LaunchBlock(kind, _pattern_text(self.deny[denying[0]], kind))
        if self.allow is not None and not self._allow_patterns.matching_indexes(id):
            return LaunchBlock(kind, None)
        return None

    @cached_property
    def _deny_patterns(self) -> PatternSet:
        return PatternSet(self.deny)

    @cached_property
    def _allow_patterns(self) -> PatternSet:
        return PatternSet(self.allow or ())


ALLOW_ANYTHING: Final = Allowance()


@dataclass(frozen=True)
class LaunchFilter:
    """Three questions of which a tool must pass all that are asked of it: a built-in the first, any other tool the
    second with what it comes from and the third with itself."""

    builtins: Allowance = ALLOW_ANYTHING
    servers: Allowance = ALLOW_ANYTHING
    """By what tools come from: a server's key, its id alone, or a toolset's id."""
    tools: Allowance = ALLOW_ANYTHING

    @property
    def is_limited(self) -> bool:
        return self.builtins.is_limited or self.servers.is_limited or self.tools.is_limited

    def find_block(self, id: ToolId) -> LaunchBlock | None:
        if isinstance(id.source, BuiltinKey):
            return self.builtins.find_block(id, "builtins") if self.builtins.is_limited else None
        if self.servers.is_limited and (barred := self.find_source_block(id.source)) is not None:
            return barred
        return self.tools.find_block(id, "tools") if self.tools.is_limited else None

    def find_source_block(self, source: SourceKey) -> LaunchBlock | None:
        if source not in self._by_source:
            self._by_source[source] = self.servers.find_block(ToolId(source, "*"), "servers")
        return self._by_source[source]

    @cached_property
    def _by_source(self) -> dict[SourceKey, LaunchBlock | None]:
        """Filled as sources are met: the answer is the same for all tools of one."""
        return {}


NO_FILTER: Final = LaunchFilter()


def find_launch_block(filters: Iterable[LaunchFilter], id: ToolId) -> LaunchBlock | None:
    """The first reason of any of them."""
    return next((barred for each in filters if (barred := each.find_block(id)) is not None), None)


def parse_launch_pattern(kind: str, text: str) -> Pattern | BadId:
    """A pattern as people write it for one of `KINDS`: a built-in's name, a server or toolset, or `scope:name`."""
    text = text.strip()
    if kind == "tools":
        return parse_pattern(text)
    if kind == "builtins":
        read = parse_pattern(f"{BUILTIN}:{text}")
        what = "a built-in's name such as tool_search or *_sql"
    else:
        text = text.removeprefix("mcp:").removeprefix("toolset:")
        read = parse_pattern(f"{text}:*")
        what = "a server or toolset such as github, dev~github or db-*"
    if isinstance(read, BadId) or not text or ":" in text:
        return BadId(text, f"{text!r} is not a pattern for {kind}: write {what}")
    return read


def allowance(kind: str, allow: Iterable[str] | None, deny: Iterable[str] = ()) -> Allowance | BadId:
    """From texts; the first that is no pattern, where one is none."""
    read: list[tuple[Pattern, ...] | None] = []
    for texts in (allow, deny):
        patterns = None if texts is None else [parse_launch_pattern(kind, text) for text in texts]
        for each in patterns or ():
            if isinstance(each, BadId):
                return each
        read.append(None if patterns is None else tuple(each for each in patterns if isinstance(each, Pattern)))
    return Allowance(read[0], read[1] or ())


def parse_launch_filter(said: Mapping[str, Sequence[str] | None]) -> LaunchFilter | BadId:
    """From texts by `allow_KIND` and `deny_KIND`, as people and clients write them; others are passed over."""
    made: dict[str, Allowance] = {}
    for kind in LAUNCH_KINDS:
        read = allowance(kind, said.get(f"allow_{kind}"), said.get(f"deny_{kind}") or ())
        if isinstance(read, BadId):
            return read
        made[kind] = read
    return LaunchFilter(made["builtins"], made["servers"], made["tools"])


def _pattern_text(pattern: Pattern, kind: str) -> str:
    return {"builtins": pattern.name, "servers": pattern.scope}.get(kind, str(pattern))
