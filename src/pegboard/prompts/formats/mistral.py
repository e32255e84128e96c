"""Mistral, all generations: `[TOOL_CALLS]` with a JSON array (before v11), or with a name, `[ARGS]` and the arguments.

Seen in the wild as well: no `[ARGS]`, an id between, the name before the marker, a comma between two calls, and the
array, or name and arguments, alone where a server swallowed the marker.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats.base import JsonFormat, headed_call
from pegboard.prompts.scanner import MAX_HEADER_LENGTH, SPACE
from pegboard.prompts.scanners.json_calls import JsonScanner, JsonSyntax
from pegboard.prompts.tool_shape import ToolShape

MARKER, ARGUMENTS = "[TOOL_CALLS]", "[ARGS]"
_WORD: Final = re.compile(r"[\w.\-]+\Z")
_MAX_WORD_LENGTH: Final = 128
_NEXT: Final = re.compile(r"([\w.\-/]+)\s*(?:\[CALL_ID\]\s*\w*\s*)?(?:\[ARGS\])?\s*\{").match
_NEXT_BEGUN: Final = re.compile(r"[\w.\-/]*\s*(?:\[[A-Z_]*(?:\]\s*\w*\s*)?){0,2}\Z").match


class MistralScanner(JsonScanner):
    def __init__(self, signs: JsonSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self._sorted_names = sorted(self.names.tools)
        self._name_before = ""
        """The name of a tool that stood right before the marker: of that tool, if no other name comes."""

    # -- the name before the marker ----------------------------------------------------------------------------------

    def safe_end(self, text: str, place: int, end: int) -> int:
        sure = super().safe_end(text, place, end)
        word = self._word(text, place, sure)
        if (
            word
            and (at := bisect_left(self._sorted_names, word)) < len(self._sorted_names)
            and self._sorted_names[at].startswith(word)
        ):
            return sure - len(word)
        return sure

    def earliest_call_start(self, text: str, place: int, at: int) -> int:
        word = self._word(text, place, at)
        return at - len(word) if word in self.names.tools else at

    def call_start(self, text: str, place: int, at: int) -> int:
        begins = self.earliest_call_start(text, place, at) if text.startswith((MARKER, ARGUMENTS), at) else at
        self._name_before = text[begins:at]
        return begins

    def _word(self, text: str, place: int, end: int) -> str:
        """The word that ends there, "" if it began before the place."""
        found = _WORD.search(text[max(place, end - _MAX_WORD_LENGTH) : end]) if self._sorted_names else None
        if found is None:
            return ""
        word = found.group()
        goes_on = end - len(word) == place and self.last_text_character and _WORD.search(self.last_text_character)
        return "" if goes_on or len(word) == _MAX_WORD_LENGTH else word

    def _emit_name_before(self) -> None:
        """The word before the marker was text after all."""
        if self._name_before:
            before, self._name_before = self._name_before, ""
            self.emit_text(before)

    # -- the name and its arguments without the marker ----------------------------------------------------------------

    def open(self, word: str) -> bool:
        if word != ARGUMENTS:
            return super().open(word)
        self.in_list = self.is_bare = False
        self.state = self.at_named_arguments
        if not self._name_before:
            self.treat_as_text()
        return False

    def call_follows(self, text: str, place: int, end: int) -> bool | None:
        if not self.has_header:
            return super().call_follows(text, place, end)
        found = _NEXT(text, place)
        if found is not None:
            return self.is_known_tool(found.group(1))
        waits = not self.is_final and end - place < MAX_HEADER_LENGTH and _NEXT_BEGUN(text, place) is not None
        return None if waits else False

    # -- behind the marker -------------------------------------------------------------------------------------------

    def after_opener(self, text: str, place: int, end: int) -> int:
        if self.is_bare or self.in_list:
            return super().after_opener(text, place, end)
        behind = SPACE(text, place).end()
        if behind > place:
            self.source.append(text[place:behind])
            return behind
        if not self.is_final and end - place < len(ARGUMENTS) and ARGUMENTS.startswith(text[place:]):
            return ~place
        if text.startswith(ARGUMENTS, place):
            self.source.append(ARGUMENTS)
            self.state = self.at_named_arguments
            return place + len(ARGUMENTS)
        if text[place] == "{" and self._name_before:
            self.state = self.at_named_arguments
            return place
        self._emit_name_before()
        return super().after_opener(text, place, end)

    def at_named_arguments(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind > place:
            self.source.append(text[place:behind])
            return behind
        name, self._name_before = self._name_before, ""
        self.source.insert(0, name)
        if text[place] != "{":
            self.treat_as_text()
            return place
        self.begin_headed(name)
        self.add_repair("the name stood before the marker")
        return place

    def on_missing_header(self, place: int) -> int:
        """What stands behind the marker may still hold a bare array."""
        self.treat_as_text()
        return place

    def at_end(self) -> None:
        if self._name_before:
            self.source.insert(0, self._name_before)
            self._name_before = ""
        super().at_end()


class MistralFormat(JsonFormat):
    def call_text(self, call: ParsedCall) -> str:
        return headed_call(call.name, call.arguments, ARGUMENTS)


FORMAT: Final = MistralFormat(
    name="mistral",
    syntax=JsonSyntax(
        openers=(MARKER, ARGUMENTS),
        closers=("</s>",),
        thinking_markers=(("[THINK]", "[/THINK]"), ("<think>", "</think>")),
        bare_openers="{[",
        allows_inline=True,
        header=r"([\w.\-/]+)\s*(?:\[CALL_ID\]\s*\w*\s*)?(?:\[ARGS\])?",
    ),
    around_each=(MARKER, ""),
    between="",
    tools_around=("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    tools_as_list=True,
    result_around=("[TOOL_RESULTS]{name}[TOOL_CONTENT]", "[/TOOL_RESULTS]"),
    scanner_type=MistralScanner,
)
