"""One JSON value of any size in any chunks: strings and brackets are followed, each character once, then it is read.

Where a whole sound value lies in the buffer the C decoder finds its end directly; the states find the same end.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pegboard.core.json.values import MAX_JSON_DEPTH, Json
from pegboard.prompts.events import Arguments, MarkerSet, Matcher, marker_set, matcher
from pegboard.prompts.repair import (
    INNER_QUOTES,
    MAX_LINE_COMMENT,
    RepairedJson,
    UnrepairableJson,
    match_line_comment,
    odd_backslashes,
    read_json,
    read_json_at,
)
from pegboard.prompts.scanner import SPACE, MarkerSyntax, Scanner
from pegboard.prompts.tool_shape import ToolShape

_ATOM: Final = matcher(r"[^,}\]\s]*")
_MIN_DECODE_LENGTH: Final = 48
"""Characters from which asking the decoder beats the states even where the value is cut."""


@dataclass(frozen=True)
class ValueSyntax(MarkerSyntax):
    @cached_property
    def match_plain(self) -> Matcher:
        """Everything that means nothing inside brackets and outside of strings."""
        firsts = "".join(character for character in self.end_markers.first_characters if character not in "[]{}'\"")
        return matcher("[^\"'{}\\[\\]" + re.escape(firsts) + "]*")

    @cached_property
    def abort_markers(self) -> MarkerSet:
        """Where a value that is no JSON ends at the latest."""
        return marker_set(self.end_markers.words + self.strong_openers)


class ValueScanner(Scanner):
    """Engines call `begin_value` and are told by `value_ended`, or by `unclosed` where an end marker cuts the value."""

    syntax: ValueSyntax

    def __init__(self, signs: ValueSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.parts: list[str] = []
        self.depth = 0
        self.is_streaming = False
        """Whether what is read are the arguments of a call that has started."""
        self.inner_quotes = False
        self._match_plain = signs.match_plain
        self._is_escaped = False
        self._quote = '"'
        self._has_inner_quote = False
        """Whether the string that is read has a quote in it that is not escaped."""
        self._is_too_deep = False
        self._undecodable: str | None = None

    def begin_value(self, *, streams: bool) -> None:
        self.parts = []
        self.depth = 0
        self.is_streaming = streams and self.call_is_open
        self._is_too_deep = False
        self.state = self.in_value

    def on_value_end(self, raw: str, value: RepairedJson | None) -> None:
        """`value` where the decoder has read it already."""
        raise NotImplementedError

    def on_unclosed(self, place: int) -> int:
        """The value is no JSON so far, or an end marker stands where it goes on. Returns the place to go on from."""
        raise NotImplementedError

    def parse_value(self, raw: str) -> RepairedJson | UnrepairableJson:
        if self._is_too_deep:
            return UnrepairableJson(f"it is nested deeper than {MAX_JSON_DEPTH} levels")
        found = read_json(raw)
        if self.inner_quotes and isinstance(found, RepairedJson) and not found.repairs:
            return RepairedJson(found.value, (INNER_QUOTES,))
        return found

    def append_text(self, text: str) -> None:
        self.source.append(text)
        self.parts.append(text)
        if self.is_streaming:
            # What `argue` does, without the way there: this runs once for each chunk of an argument.
            self.events.append(Arguments(self.index, text))

    # -- states ------------------------------------------------------------------------------------------------------

    def in_value(self, text: str, place: int, end: int) -> int:
        character = text[place]
        if character in "{[":
            # One failure a buffer: each costs the way to it, and from the beginning at that.
            if end - place > _MIN_DECODE_LENGTH and self._undecodable is not text:
                found = read_json_at(text, place)
                if found is not None:
                    value, behind = found
                    self.append_text(text[place:behind])
                    self._end_value(RepairedJson(value))
                    return behind
                self._undecodable = text
            self.append_text(character)
            self.depth = 1
            self.state = self.in_brackets
            return place + 1
        if character in "\"'":
            self.append_text(character)
            self._quote, self._is_escaped, self._has_inner_quote = character, False, False
            self.state = self.in_string
            return place + 1
        self.state = self.in_atom
        return place

    def in_atom(self, text: str, place: int, end: int) -> int:
        behind = _ATOM(text, place).end()
        if behind > place:
            self.append_text(text[place:behind])
        elif not self.parts:
            return self.on_unclosed(place)
        if behind < end:
            self._end_value(None)
        return behind

    def in_brackets(self, text: str, place: int, end: int) -> int:
        start, depth, stop = place, self.depth, self._match_plain
        while True:
            at = stop(text, place).end()
            if at == end:
                self.depth = depth
                self.append_text(text[start:])
                return end
            character = text[at]
            place = at + 1
            if character == '"' or character == "'":
                self.depth, self._quote, self._is_escaped, self._has_inner_quote = depth, character, False, False
                self.append_text(text[start:place])
                self.state = self.in_string
                return place
            if character == "{" or character == "[":
                depth += 1
                if depth > MAX_JSON_DEPTH:
                    self._is_too_deep = True
            elif character == "}" or character == "]":
                depth -= 1
                if not depth:
                    self.depth = 0
                    self.append_text(text[start:place])
                    self._end_value(None)
                    return place
            else:
                word = self.syntax.end_markers.match_at(text, at, end, self.is_final)
                if word is None or word:
                    self.depth = depth
                    if at > start:
                        self.append_text(text[start:at])
                    return ~at if word is None else self.on_unclosed(at)

    def in_string(self, text: str, place: int, end: int) -> int:
        scan = place
        if self._is_escaped:
            scan, self._is_escaped = place + 1, False
        at = text.find(self._quote, scan)
        while at >= 0 and odd_backslashes(text, scan, at):
            scan = at + 1
            at = text.find(self._quote, scan)
        if at < 0:
            self._is_escaped = text[end - 1] == "\\" and odd_backslashes(text, scan, end)
            # What `take` does, without the way there: most chunks of a long output end here.
            said = text[place:] if place else text
            self.source.append(said)
            self.parts.append(said)
            if self.is_streaming:
                self.events.append(Arguments(self.index, said))
            return end
        self.append_text(text[place : at + 1])
        self.state = self.behind_quote
        return at + 1

    def behind_quote(self, text: str, place: int, end: int) -> int:
        """A quote ends the string only if something structural follows; else it was one that nobody escaped."""
        character = text[place]
        if character in ",:}]":
            if self.depth:
                self.state = self.in_brackets
            else:
                self._end_value(None)
            return place
        if character.isspace():
            behind = SPACE(text, place).end()
            self.append_text(text[place:behind])
            return behind
        word = self.syntax.end_markers.match_at(text, place, end, self.is_final)
        if word is None:
            return ~place
        if word and not self.depth:
            self._end_value(None)
            return place
        if word:
            return self.on_unclosed(place)
        if character == "/" and self.depth:
            if place + 1 == end and not self.is_final:
                return ~place
            if text.startswith("/*", place):
                self.state = self.in_brackets
                return place
            if text.startswith("//", place) and not self._has_inner_quote:
                comment = match_line_comment(text, place)
                if comment:
                    self.append_text(comment.group())
                    self.state = self.in_brackets
                    return comment.end()
                if not self.is_final and end - place <= MAX_LINE_COMMENT:
                    return ~place
        self.inner_quotes = self._has_inner_quote = True
        self.state = self.in_string
        return place

    def _end_value(self, value: RepairedJson | None) -> None:
        raw = "".join(self.parts)
        self.parts = []
        self.on_value_end(raw, value)


def parse_arguments(value: Json) -> tuple[dict[str, Json], tuple[str, ...]] | str:
    """The arguments that a value is and what was bent for it, or in a clause why it is none."""
    if value is None:
        return {}, ()
    if isinstance(value, str):
        if not value.strip():
            return {}, ("an empty string was read as no arguments",)
        inner = read_json(value)
        if isinstance(inner, UnrepairableJson) or not isinstance(inner.value, dict):
            return "its arguments are a string and no JSON object"
        return inner.value, ("arguments in a string were read once more", *inner.repairs)
    if isinstance(value, dict):
        return value, ()
    return "its arguments are no JSON object"
