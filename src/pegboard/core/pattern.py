"""`scope:name` patterns with `*`, `?` and `[…]`, where scope is a toolset id, a server id or a server key."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property, lru_cache
from typing import Final

from .ids import BadId, ServerKey, SourceKey, ToolId

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
