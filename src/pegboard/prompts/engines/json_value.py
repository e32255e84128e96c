"""One JSON value of any size in any chunks: strings and brackets are followed, each character once, then it is read.

Where a whole sound value lies in the buffer the C decoder finds its end directly; the states find the same end.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.events import Arguments
from pegboard.prompts.literal import DEEPEST, INNER_QUOTES, MAX_LINE_COMMENT, match_line_comment, odd_backslashes
from pegboard.prompts.marks import Marks, Match, marks, matcher
from pegboard.prompts.repair import Read, Refused, read, read_at
from pegboard.prompts.scanner import SPACE, Scanner, Signs
from pegboard.prompts.shapes import ToolShape

_ATOM: Final = matcher(r"[^,}\]\s]*")
_WORTH: Final = 48
"""Characters from which asking the decoder beats the states even where the value is cut."""


@dataclass(frozen=True)
class ValueSigns(Signs):
    @cached_property
    def stop(self) -> Match:
        """Everything that means nothing inside brackets and outside of strings."""
        firsts = "".join(character for character in self.ends.firsts if character not in "[]{}'\"")
        return matcher("[^\"'{}\\[\\]" + re.escape(firsts) + "]*")

    @cached_property
    def give_up(self) -> Marks:
        """Where a value that is no JSON ends at the latest."""
        return marks(self.ends.words + self.strong)


class ValueScanner(Scanner):
    """Engines call `begin_value` and are told by `value_ended`, or by `unclosed` where an end marker cuts the value."""

    signs: ValueSigns

    def __init__(self, signs: ValueSigns, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.parts: list[str] = []
        self.depth = 0
        self.streams = False
        """Whether what is read are the arguments of a call that has started."""
        self.inner_quotes = False
        self._stop = signs.stop
        self._escaped = False
        self._quote = '"'
        self._is_bent = False
        """Whether the string that is read has a quote in it that is not escaped."""
        self._deep = False
        self._refused: str | None = None

    def begin_value(self, *, streams: bool) -> None:
        self.parts = []
        self.depth = 0
        self.streams = streams and self.call_is_open
        self._deep = False
        self.state = self.in_value

    def value_ended(self, raw: str, value: Read | None) -> None:
        """`value` where the decoder has read it already."""
        raise NotImplementedError

    def unclosed(self, place: int) -> int:
        """The value is no JSON so far, or an end marker stands where it goes on. Returns the place to go on from."""
        raise NotImplementedError

    def load(self, raw: str) -> Read | Refused:
        if self._deep:
            return Refused(f"it is nested deeper than {DEEPEST} levels")
        found = read(raw)
        if self.inner_quotes and isinstance(found, Read) and not found.repairs:
            return Read(found.value, (INNER_QUOTES,))
        return found

    def take(self, text: str) -> None:
        self.source.append(text)
        self.parts.append(text)
        if self.streams:
            # What `argue` does, without the way there: this runs once for each chunk of an argument.
            self.events.append(Arguments(self.index, text))

    # -- states ------------------------------------------------------------------------------------------------------

    def in_value(self, text: str, place: int, end: int) -> int:
        character = text[place]
        if character in "{[":
            # One failure a buffer: each costs the way to it, and from the beginning at that.
            if end - place > _WORTH and self._refused is not text:
                found = read_at(text, place)
                if found is not None:
                    value, behind = found
                    self.take(text[place:behind])
                    self._end(Read(value))
                    return behind
                self._refused = text
            self.take(character)
            self.depth = 1
            self.state = self.in_brackets
            return place + 1
        if character in "\"'":
            self.take(character)
            self._quote, self._escaped, self._is_bent = character, False, False
            self.state = self.in_string
            return place + 1
        self.state = self.in_atom
        return place

    def in_atom(self, text: str, place: int, end: int) -> int:
        behind = _ATOM(text, place).end()
        if behind > place:
            self.take(text[place:behind])
        elif not self.parts:
            return self.unclosed(place)
        if behind < end:
            self._end(None)
        return behind

    def in_brackets(self, text: str, place: int, end: int) -> int:
        start, depth, stop = place, self.depth, self._stop
        while True:
            at = stop(text, place).end()
            if at == end:
                self.depth = depth
                self.take(text[start:])
                return end
            character = text[at]
            place = at + 1
            if character == '"' or character == "'":
                self.depth, self._quote, self._escaped, self._is_bent = depth, character, False, False
                self.take(text[start:place])
                self.state = self.in_string
                return place
            if character == "{" or character == "[":
                depth += 1
                if depth > DEEPEST:
                    self._deep = True
            elif character == "}" or character == "]":
                depth -= 1
                if not depth:
                    self.depth = 0
                    self.take(text[start:place])
                    self._end(None)
                    return place
            else:
                word = self.signs.ends.at(text, at, end, self.final)
                if word is None or word:
                    self.depth = depth
                    if at > start:
                        self.take(text[start:at])
                    return ~at if word is None else self.unclosed(at)

    def in_string(self, text: str, place: int, end: int) -> int:
        scan = place
        if self._escaped:
            scan, self._escaped = place + 1, False
        at = text.find(self._quote, scan)
        while at >= 0 and odd_backslashes(text, scan, at):
            scan = at + 1
            at = text.find(self._quote, scan)
        if at < 0:
            self._escaped = text[end - 1] == "\\" and odd_backslashes(text, scan, end)
            # What `take` does, without the way there: most chunks of a long output end here.
            said = text[place:] if place else text
            self.source.append(said)
            self.parts.append(said)
            if self.streams:
                self.events.append(Arguments(self.index, said))
            return end
        self.take(text[place : at + 1])
        self.state = self.behind_quote
        return at + 1

    def behind_quote(self, text: str, place: int, end: int) -> int:
        """A quote ends the string only if something structural follows; else it was one that nobody escaped."""
        character = text[place]
        if character in ",:}]":
            if self.depth:
                self.state = self.in_brackets
            else:
                self._end(None)
            return place
        if character.isspace():
            behind = SPACE(text, place).end()
            self.take(text[place:behind])
            return behind
        word = self.signs.ends.at(text, place, end, self.final)
        if word is None:
            return ~place
        if word and not self.depth:
            self._end(None)
            return place
        if word:
            return self.unclosed(place)
        if character == "/" and self.depth:
            if place + 1 == end and not self.final:
                return ~place
            if text.startswith("/*", place):
                self.state = self.in_brackets
                return place
            if text.startswith("//", place) and not self._is_bent:
                comment = match_line_comment(text, place)
                if comment:
                    self.take(comment.group())
                    self.state = self.in_brackets
                    return comment.end()
                if not self.final and end - place <= MAX_LINE_COMMENT:
                    return ~place
        self.inner_quotes = self._is_bent = True
        self.state = self.in_string
        return place

    def _end(self, value: Read | None) -> None:
        raw = "".join(self.parts)
        self.parts = []
        self.value_ended(raw, value)


def as_arguments(value: Json) -> tuple[dict[str, Json], tuple[str, ...]] | str:
    """The arguments that a value is and what was bent for it, or in a clause why it is none."""
    if value is None:
        return {}, ()
    if isinstance(value, str):
        if not value.strip():
            return {}, ("an empty string was read as no arguments",)
        inner = read(value)
        if isinstance(inner, Refused) or not isinstance(inner.value, dict):
            return "its arguments are a string and no JSON object"
        return inner.value, ("arguments in a string were read once more", *inner.repairs)
    if isinstance(value, dict):
        return value, ()
    return "its arguments are no JSON object"
