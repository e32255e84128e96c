"""Reasoning that a model writes before its answer: where it begins and ends, and the call that was left in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from .marks import Marks, marks

THINK: Final = (("<think>", "</think>"),)


@dataclass(frozen=True)
class Fences:
    """What opens and closes thinking in a format, and what opens a call, which may be left inside by mistake."""

    pairs: tuple[tuple[str, str], ...] = THINK
    openers: tuple[str, ...] = ()

    @cached_property
    def opening(self) -> Mapping[str, str]:
        return dict(self.pairs)

    @cached_property
    def ends(self) -> Marks:
        return marks(tuple(end for _, end in self.pairs))

    @cached_property
    def calls(self) -> Marks:
        return marks(self.openers)

    @cached_property
    def held(self) -> Marks:
        """What may be cut by the end of a chunk: an end of thinking, or an opener of a call."""
        return marks(self.ends.words + self.openers)


@dataclass(slots=True)
class Draft:
    """Thinking since the first opener of a call in it. If thinking is never closed, a call at its end may be meant."""

    parts: list[str] = field(default_factory=list)

    def add(self, said: str, calls: Marks) -> None:
        if self.parts:
            self.parts.append(said)
        elif found := calls.search(said):
            self.parts.append(said[found.start() :])

    def clear(self) -> None:
        self.parts = []

    @property
    def text(self) -> str:
        return "".join(self.parts)
