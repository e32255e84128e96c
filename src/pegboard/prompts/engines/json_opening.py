"""What stands before a call in JSON: an opener, attributes of its tag, a list, a header with the name."""

import re
from collections.abc import Sequence
from typing import Final

from pegboard.prompts.scanner import CUT, HEADER_MOST, SPACE
from pegboard.prompts.shapes import ToolShape

from .json_signs import JsonSigns
from .json_value import ValueScanner

RIGHT: Final = 'Write {"name": …, "arguments": {…}} as JSON'
FENCE: Final = "```"
FENCED: Final = "the code fence around the call was left out"
LANGUAGE_MOST: Final = 24
match_fence: Final = re.compile(r"```[ \t]*\w{0,16}[ \t]*\r?\n").match


class OpeningScanner(ValueScanner):
    signs: JsonSigns

    def __init__(self, signs: JsonSigns, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.in_list = False
        self.is_bare = False
        """No marker stood before it, or one that other text has too."""
        self.wrapper = ""
        """The code fence that was opened between the marker and the call."""

    def open(self, word: str) -> bool:
        self.in_list, self.wrapper = False, ""
        self.is_bare = word in self.signs.weak
        self.state = self.in_attributes if word.endswith(" ") else self.opened
        if self.is_bare and not self.line_is_blank:
            self.not_a_call()
        return False

    def open_bare(self, character: str) -> None:
        self.in_list, self.is_bare, self.wrapper = False, True, ""
        self.state = self.opened

    def in_attributes(self, text: str, place: int, end: int) -> int:
        """The rest of an opening tag that models decorate."""
        at = text.find(">", place, place + HEADER_MOST)
        if at < 0 and end - place < HEADER_MOST and not self.final:
            return ~place
        if at < 0 or "{" in text[place:at]:
            self.not_a_call()
            return place
        self.source.append(text[place : at + 1])
        self.state = self.opened
        return at + 1

    def opened(self, text: str, place: int, end: int) -> int:
        """Behind an opener, or at a bare bracket: white space, then a list, an object or a header."""
        behind = SPACE(text, place).end()
        if behind > place:
            self.source.append(text[place:behind])
            return behind
        character = text[place]
        headed = self.signs.heads is not None and not self.is_bare and not self.in_list
        if headed and character not in "{[":
            self.state = self.in_header
            return place
        if character == "`" and not self.is_bare and not self.wrapper and not self.in_list:
            return self.at_fence(text, place, end)
        if character == "[" and self.signs.lists and not self.in_list:
            self.in_list = True
            self.source.append(character)
            return place + 1
        if character == "{":
            self.source.append(character)
            self.begin_object()
            return place + 1
        if character == "]" and self.in_list:
            self.source.append(character)
            self.not_a_call()
            return place + 1
        word = self.signs.ends.at(text, place, end, self.final)
        if word is None:
            return ~place
        if word and not self.is_bare:
            self.source.append(word)
            self.broken(f"The call is empty. {RIGHT}.")
            return place + len(word)
        self.not_a_call()
        return place

    def at_fence(self, text: str, place: int, end: int) -> int:
        """A code fence behind the marker: what is in it is the call."""
        found = match_fence(text, place, place + LANGUAGE_MOST)
        if found is None and not self.final and end - place < LANGUAGE_MOST and "\n" not in text[place:end]:
            return ~place
        if found is None:
            self.not_a_call()
            return place
        self.source.append(found.group())
        self.wrapper = FENCE
        return found.end()

    def in_header(self, text: str, place: int, end: int) -> int:
        heads = self.signs.heads
        assert heads is not None
        at = text.find("{", place, place + HEADER_MOST)
        if at < 0:
            if end - place < HEADER_MOST and not self.final:
                return ~place
            if end - place < HEADER_MOST:
                self.source.append(text[place:])
                self.broken(CUT)
                return end
            return self.unheaded(place)
        if text[at - 1] == '"':
            at -= 1  # The arguments stand in a string.
        found = heads.match(text[place:at])
        name = self.named(found) if found is not None else None
        if not name:
            return self.unheaded(place)
        self.source.append(text[place:at])
        self.begin_headed(name)
        return at

    def named(self, header: "re.Match[str]") -> str | None:
        """The name in a header, None if it is none after all."""
        return header.group(1)

    def begin_headed(self, name: str) -> None:
        """The arguments of a call stand next, whose name is known."""
        raise NotImplementedError

    def begin_object(self) -> None:
        """The keys of an object stand next."""
        raise NotImplementedError

    def begin_unread(self) -> None:
        """What stands next is no call as it should be, up to an end marker."""
        raise NotImplementedError

    def unheaded(self, place: int) -> int:
        """Behind an opener stands no header. Up to an end marker it is a broken call; where there are none, text."""
        if self.signs.ends.words:
            self.begin_unread()
        else:
            self.not_a_call()
        return place
