"""`scope:name` patterns with `*`, `?` and `[…]`, where scope is a toolset id, a server id or a server key."""

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache

from .ids import BadId, ServerKey, ToolId

_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Pattern:
    scope: str
    name: str

    def __str__(self) -> str:
        return f"{self.scope}:{self.name}"

    def matches(self, tool: ToolId) -> bool:
        return self._matches_scope(tool) and _fits(self.name, tool.name)

    def _matches_scope(self, tool: ToolId) -> bool:
        if self.scope == "*" or _fits(self.scope, tool.toolset):
            return True
        key = tool.source
        return isinstance(key, ServerKey) and (_fits(self.scope, key.server) or _fits(self.scope, str(key)))

    @property
    def specificity(self) -> tuple[int, int, int]:
        """Exact scope beats exact name beats more literal characters; compared as a tuple, larger wins."""
        return (
            0 if _WILD.search(self.scope) else 1,
            0 if _WILD.search(self.name) else 1,
            len(_WILD.sub("", self.scope)) + len(_WILD.sub("", self.name)),
        )


def is_pattern(text: str) -> bool:
    return _WILD.search(text) is not None


def pattern(text: str) -> Pattern | BadId:
    """`scope:name`; a bare name stands for `*:name`, and a leading `mcp:` as in a tool id is understood."""
    scope, colon, name = text.removeprefix("mcp:").partition(":")
    if not colon:
        scope, name = "*", scope
    if not scope or not name:
        return BadId(text, f"{text!r} is not a pattern: write scope:name, for example github:* or *:read_*")
    return Pattern(scope, name)


def _fits(glob: str, text: str) -> bool:
    return glob == text if not _WILD.search(glob) else _compiled(glob).match(text) is not None


@lru_cache(maxsize=4096)
def _compiled(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))
