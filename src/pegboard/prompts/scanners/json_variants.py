"""Scanners of JSON formats with habits of their own: Mistral, Functionary, Kimi and Llama."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from pegboard.prompts.scanner import MAX_HEADER_LENGTH, SPACE
from pegboard.prompts.scanners.json_calls import JsonScanner, JsonSyntax
from pegboard.prompts.tool_shape import ToolShape

# Mistral, all generations: `[TOOL_CALLS]` with a JSON array (before v11), or with a name, `[ARGS]` and the arguments.
#
# Seen in the wild as well: no `[ARGS]`, an id between, the name before the marker, a comma between two calls, and the
# array, or name and arguments, alone where a server swallowed the marker.

MISTRAL_MARKER, MISTRAL_ARGUMENTS = "[TOOL_CALLS]", "[ARGS]"
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
        begins = (
            self.earliest_call_start(text, place, at)
            if text.startswith((MISTRAL_MARKER, MISTRAL_ARGUMENTS), at)
            else at
        )
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
        if word != MISTRAL_ARGUMENTS:
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
        if not self.is_final and end - place < len(MISTRAL_ARGUMENTS) and MISTRAL_ARGUMENTS.startswith(text[place:]):
            return ~place
        if text.startswith(MISTRAL_ARGUMENTS, place):
            self.source.append(MISTRAL_ARGUMENTS)
            self.state = self.at_named_arguments
            return place + len(MISTRAL_ARGUMENTS)
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


# Functionary: `<function=NAME>{…}</function>`; 3.2 writes `>>>NAME`, a line break and the arguments, and `>>>all`
# before text. The prompt ends in `>>>`, so an output begins as if it stood there.

FUNCTIONARY_ARROWS: Final = ">>>"
_ALL: Final = "all\n"
_NAME: Final = re.compile(r"([\w.\-]+)\n\s*\Z")
_PART: Final = re.compile(r"[\w.\-]+(?:\n\s*)?\Z")


class FunctionaryScanner(JsonScanner):
    def __init__(self, signs: JsonSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        if not in_thinking:
            self.state = self.at_name

    def open(self, word: str) -> bool:
        super().open(word)
        if word == FUNCTIONARY_ARROWS:
            self.state = self.at_name
        return False

    def at_name(self, text: str, place: int, end: int) -> int:
        """Behind the arrows, and at the beginning: a name and a line break, then an object; or `all` and text."""
        if text.startswith(_ALL, place):
            self.emit_markup(self.take_source() + _ALL)
            self.state = self.in_text
            return place + len(_ALL)
        at = text.find("{", place, place + MAX_HEADER_LENGTH)
        head = text[place : at if at >= 0 else place + MAX_HEADER_LENGTH]
        found = _NAME.match(head) if at >= 0 else None
        if found is not None and self.is_known_tool(found.group(1)):
            self.source.append(head)
            self.in_list = self.is_bare = False
            self.begin_headed(found.group(1))
            return at
        if at < 0 and len(head) < MAX_HEADER_LENGTH and not self.is_final and _PART.match(head):
            return ~place
        self.treat_as_text()
        self._opening_forbidden = False
        return place


# Kimi K2: the id of the call, which holds the name, between markers, then the arguments as JSON.


class KimiScanner(JsonScanner):
    def header_name(self, header: re.Match[str]) -> str | None:
        """`functions.NAME:INDEX` is an id. Without an index it is one only if there is such a tool."""
        name: str = header.group(1)
        numbered = header.group(2) is not None and not name.isdigit()
        return name if numbered or self.names.match(name).tool is not None else None


# Llama 3 in JSON.

_PYTHON: Final = re.compile(r"([\w\-]+)(?:\.call)?\(").match
_PYTHON_BEGUN: Final = re.compile(r"[\w.\-]+\Z").match


class LlamaScanner(JsonScanner):
    """A known tool that is called as Python behind the marker, as Llama 3.1 calls those it was trained with, is told as
    a call that is none: other Python behind the marker is meant for an interpreter, and is text."""

    def after_opener(self, text: str, place: int, end: int) -> int:
        if self.is_bare or self.in_list:
            return super().after_opener(text, place, end)
        found = _PYTHON(text, place)
        if found is None and not self.is_final and end - place < MAX_HEADER_LENGTH and _PYTHON_BEGUN(text, place):
            return ~place
        if found is not None and self.has_tools and self.is_known_tool(found.group(1)):
            self.begin_unreadable()
            return place
        return super().after_opener(text, place, end)
