"""The launch filter: by pattern, the built-ins, servers and tools that one launch is about. It only takes away."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .ids import BUILTIN, BadId, BuiltinKey, SourceKey, ToolId
from .pattern import Pattern, PatternSet, parse_pattern

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

    def allows_builtin(self, name: str) -> bool:
        return self.find_block(ToolId(BuiltinKey(), name)) is None

    def allows_server(self, source: SourceKey) -> bool:
        return self.find_source_block(source) is None

    def allows_tool(self, id: ToolId) -> bool:
        return self.find_block(id) is None


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
