"""Which tool a name means that a model wrote: the very same, or the one that differs by prefix or case alone.
Never a guess."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .shapes import ToolShape, by_name

PREFIXES: Final = ("functions.", "function.", "tools.", "tool.", "default_api.", "default_api:", "functions/", "tools/")
"""What chat templates write before names, and models then repeat."""
INDEX: Final = re.compile(r":\d+\Z")
"""`name:0`, as models write that number their calls."""


@dataclass(frozen=True, slots=True)
class Matched:
    name: str
    tool: ToolShape | None
    """None: no tool has that name."""
    repairs: tuple[str, ...] = ()


class Names:
    """The tools of one request by name. A name that fits two of them fits none."""

    def __init__(self, tools: Sequence[ToolShape]) -> None:
        self.tools: Mapping[str, ToolShape] = by_name(tools)
        self._folded: dict[str, str | None] | None = None

    def match(self, name: str) -> Matched:
        tool = self.tools.get(name)
        if tool is not None:
            return Matched(name, tool)
        if not self.tools or not name:
            return Matched(name, None)
        for said in _without_prefix(name):
            if said in self.tools:
                return self._bent(name, said)
            other = self._by_fold().get(_fold(said))
            if other is not None:
                return self._bent(name, other)
        return Matched(name, None)

    def _bent(self, name: str, meant: str) -> Matched:
        return Matched(meant, self.tools[meant], (f"the name {name!r} was read as {meant!r}",))

    def _by_fold(self) -> Mapping[str, str | None]:
        if self._folded is None:
            self._folded = {}
            for name in self.tools:
                key = _fold(name)
                self._folded[key] = None if key in self._folded else name
        return self._folded


def _without_prefix(name: str) -> Sequence[str]:
    """The name itself first, then without what models write around it."""
    bare = name.strip()
    said = [bare]
    for prefix in PREFIXES:
        if bare.startswith(prefix) and len(bare) > len(prefix):
            said.append(bare[len(prefix) :])
            break
    unnumbered = INDEX.sub("", said[-1])
    if unnumbered and unnumbered != said[-1]:
        said.append(unnumbered)
    return said


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_")
