"""Which tool a name means that a model wrote: the very same, or the one that differs by prefix or case alone.
Never a guess."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .shapes import ToolShape, tools_by_name

PREFIXES: Final = ("functions.", "function.", "tools.", "tool.", "default_api.", "default_api:", "functions/", "tools/")
"""What chat templates write before names, and models then repeat."""
INDEX: Final = re.compile(r":\d+\Z")
"""`name:0`, as models write that number their calls."""


@dataclass(frozen=True, slots=True)
class MatchedName:
    name: str
    tool: ToolShape | None
    """None: no tool has that name."""
    repairs: tuple[str, ...] = ()


class ToolNameMatcher:
    """The tools of one request by name. A name that fits two of them fits none."""

    def __init__(self, tools: Sequence[ToolShape]) -> None:
        self.tools: Mapping[str, ToolShape] = tools_by_name(tools)
        self._folded_names: dict[str, str | None] | None = None

    def match(self, name: str) -> MatchedName:
        tool = self.tools.get(name)
        if tool is not None:
            return MatchedName(name, tool)
        if not self.tools or not name:
            return MatchedName(name, None)
        for said in _name_variants(name):
            if said in self.tools:
                return self._repaired_match(name, said)
            other = self._names_by_fold().get(_fold(said))
            if other is not None:
                return self._repaired_match(name, other)
        return MatchedName(name, None)

    def _repaired_match(self, name: str, meant: str) -> MatchedName:
        return MatchedName(meant, self.tools[meant], (f"the name {name!r} was read as {meant!r}",))

    def _names_by_fold(self) -> Mapping[str, str | None]:
        if self._folded_names is None:
            self._folded_names = {}
            for name in self.tools:
                key = _fold(name)
                self._folded_names[key] = None if key in self._folded_names else name
        return self._folded_names


def _name_variants(name: str) -> Sequence[str]:
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
