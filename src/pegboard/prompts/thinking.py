"""Reasoning that a model writes before its answer: where it begins and ends, and the call that was left in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from .marks import MarkerSet, marker_set

THINK_MARKERS: Final = (("<think>", "</think>"),)


@dataclass(frozen=True)
class ThinkingFences:
    """What opens and closes thinking in a format, and what opens a call, which may be left inside by mistake."""

    pairs: tuple[tuple[str, str], ...] = THINK_MARKERS
    openers: tuple[str, ...] = ()

    @cached_property
    def ends_by_opener(self) -> Mapping[str, str]:
        return dict(self.pairs)

    @cached_property
    def end_markers(self) -> MarkerSet:
        return marker_set(tuple(end for _, end in self.pairs))

    @cached_property
    def call_openers(self) -> MarkerSet:
        return marker_set(self.openers)

    @cached_property
    def held_markers(self) -> MarkerSet:
        """What may be cut by the end of a chunk: an end of thinking, or an opener of a call."""
        return marker_set(self.end_markers.words + self.openers)


@dataclass(slots=True)
class ThinkingDraft:
    """Thinking since the first opener of a call in it. If thinking is never closed, a call at its end may be meant."""

    parts: list[str] = field(default_factory=list)

    def add(self, said: str, calls: MarkerSet) -> None:
        if self.parts:
            self.parts.append(said)
        elif found := calls.search(said):
            self.parts.append(said[found.start() :])

    def clear(self) -> None:
        self.parts = []

    @property
    def text(self) -> str:
        return "".join(self.parts)
