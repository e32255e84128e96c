"""Mistral, all generations: `[TOOL_CALLS]` with a JSON array (before v11), or with a name, `[ARGS]` and the arguments.

Seen in the wild as well: no `[ARGS]`, an id between, the name before the marker, a comma between two calls, and the
array, or name and arguments, alone where a server swallowed the marker."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from pegboard.prompts.engines.json_calls import JsonScanner
from pegboard.prompts.engines.json_signs import JsonSigns
from pegboard.prompts.events import Called
from pegboard.prompts.scanner import HEADER_MOST, SPACE
from pegboard.prompts.shapes import ToolShape

from .marked import Marked, headed

MARKER, ARGUMENTS = "[TOOL_CALLS]", "[ARGS]"
_WORD: Final = re.compile(r"[\w.\-]+\Z")
_WORD_MOST: Final = 128
_NEXT: Final = re.compile(r"([\w.\-/]+)\s*(?:\[CALL_ID\]\s*\w*\s*)?(?:\[ARGS\])?\s*\{").match
_NEXT_BEGUN: Final = re.compile(r"[\w.\-/]*\s*(?:\[[A-Z_]*(?:\]\s*\w*\s*)?){0,2}\Z").match


class MistralScanner(JsonScanner):
    def __init__(self, signs: JsonSigns, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self._sorted = sorted(self.names.tools)
        self._before = ""
        """The name of a tool that stood right before the marker: of that tool, if no other name comes."""

    # -- the name before the marker ----------------------------------------------------------------------------------

    def hold(self, text: str, place: int, end: int) -> int:
        sure = super().hold(text, place, end)
        word = self._word(text, place, sure)
        if word and (at := bisect_left(self._sorted, word)) < len(self._sorted) and self._sorted[at].startswith(word):
            return sure - len(word)
        return sure

    def before(self, text: str, place: int, at: int) -> int:
        word = self._word(text, place, at)
        return at - len(word) if word in self.names.tools else at

    def reach_back(self, text: str, place: int, at: int) -> int:
        begins = self.before(text, place, at) if text.startswith((MARKER, ARGUMENTS), at) else at
        self._before = text[begins:at]
        return begins

    def _word(self, text: str, place: int, end: int) -> str:
        """The word that ends there, "" if it began before the place."""
        found = _WORD.search(text[max(place, end - _WORD_MOST) : end]) if self._sorted else None
        if found is None:
            return ""
        word = found.group()
        goes_on = end - len(word) == place and self.said and _WORD.search(self.said)
        return "" if goes_on or len(word) == _WORD_MOST else word

    def _text_before(self) -> None:
        """The word before the marker was text after all."""
        if self._before:
            before, self._before = self._before, ""
            self.say(before)

    # -- the name and its arguments without the marker ----------------------------------------------------------------

    def open(self, word: str) -> bool:
        if word != ARGUMENTS:
            return super().open(word)
        self.in_list = self.is_bare = False
        self.state = self.nameless
        if not self._before:
            self.not_a_call()
        return False

    def call_follows(self, text: str, place: int, end: int) -> bool | None:
        if not self.headed:
            return super().call_follows(text, place, end)
        found = _NEXT(text, place)
        if found is not None:
            return self.known(found.group(1))
        waits = not self.final and end - place < HEADER_MOST and _NEXT_BEGUN(text, place) is not None
        return None if waits else False

    # -- behind the marker -------------------------------------------------------------------------------------------

    def opened(self, text: str, place: int, end: int) -> int:
        if self.is_bare or self.in_list:
            return super().opened(text, place, end)
        behind = SPACE(text, place).end()
        if behind > place:
            self.source.append(text[place:behind])
            return behind
        if not self.final and end - place < len(ARGUMENTS) and ARGUMENTS.startswith(text[place:]):
            return ~place
        if text.startswith(ARGUMENTS, place):
            self.source.append(ARGUMENTS)
            self.state = self.nameless
            return place + len(ARGUMENTS)
        if text[place] == "{" and self._before:
            self.state = self.nameless
            return place
        self._text_before()
        return super().opened(text, place, end)

    def nameless(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind > place:
            self.source.append(text[place:behind])
            return behind
        name, self._before = self._before, ""
        self.source.insert(0, name)
        if text[place] != "{":
            self.not_a_call()
            return place
        self.begin_headed(name)
        self.repaired("the name stood before the marker")
        return place

    def unheaded(self, place: int) -> int:
        """What stands behind the marker may still hold a bare array."""
        self.not_a_call()
        return place

    def at_end(self) -> None:
        if self._before:
            self.source.insert(0, self._before)
            self._before = ""
        super().at_end()


class Mistral(Marked):
    def call_text(self, call: Called) -> str:
        return headed(call.name, call.arguments, ARGUMENTS)


FORMAT: Final = Mistral(
    name="mistral",
    signs=JsonSigns(
        openers=(MARKER, ARGUMENTS),
        closers=("</s>",),
        thinking=(("[THINK]", "[/THINK]"), ("<think>", "</think>")),
        bare="{[",
        anywhere=True,
        header=r"([\w.\-/]+)\s*(?:\[CALL_ID\]\s*\w*\s*)?(?:\[ARGS\])?",
    ),
    around_each=(MARKER, ""),
    between="",
    tools_around=("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    tools_listed=True,
    result_around=("[TOOL_RESULTS]{name}[TOOL_CONTENT]", "[/TOOL_RESULTS]"),
    scanner_type=MistralScanner,
)
