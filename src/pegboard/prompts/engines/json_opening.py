"""What stands before a call in JSON: an opener, attributes of its tag, a list, a header with the name."""

import re
from collections.abc import Sequence
from typing import Final

from pegboard.prompts.scanner import CUT_MESSAGE, MAX_HEADER_LENGTH, SPACE
from pegboard.prompts.shapes import ToolShape

from .json_signs import JsonSyntax
from .json_value import ValueScanner

CORRECTION: Final = 'Write {"name": …, "arguments": {…}} as JSON'
FENCE: Final = "```"
FENCE_LEFT_OUT: Final = "the code fence around the call was left out"
MAX_LANGUAGE_LENGTH: Final = 24
match_fence: Final = re.compile(r"```[ \t]*\w{0,16}[ \t]*\r?\n").match


class OpeningScanner(ValueScanner):
    syntax: JsonSyntax

    def __init__(self, signs: JsonSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.in_list = False
        self.is_bare = False
        """No marker stood before it, or one that other text has too."""
        self.wrapper = ""
        """The code fence that was opened between the marker and the call."""

    def open(self, word: str) -> bool:
        self.in_list, self.wrapper = False, ""
        self.is_bare = word in self.syntax.weak_openers
        self.state = self.in_attributes if word.endswith(" ") else self.after_opener
        if self.is_bare and not self.line_is_blank:
            self.treat_as_text()
        return False

    def open_bare(self, character: str) -> None:
        self.in_list, self.is_bare, self.wrapper = False, True, ""
        self.state = self.after_opener

    def in_attributes(self, text: str, place: int, end: int) -> int:
        """The rest of an opening tag that models decorate."""
        at = text.find(">", place, place + MAX_HEADER_LENGTH)
        if at < 0 and end - place < MAX_HEADER_LENGTH and not self.is_final:
            return ~place
        if at < 0 or "{" in text[place:at]:
            self.treat_as_text()
            return place
        self.source.append(text[place : at + 1])
        self.state = self.after_opener
        return at + 1

    def after_opener(self, text: str, place: int, end: int) -> int:
        """Behind an opener, or at a bare bracket: white space, then a list, an object or a header."""
        behind = SPACE(text, place).end()
        if behind > place:
            self.source.append(text[place:behind])
            return behind
        character = text[place]
        headed = self.syntax.header_pattern is not None and not self.is_bare and not self.in_list
        if headed and character not in "{[":
            self.state = self.in_header
            return place
        if character == "`" and not self.is_bare and not self.wrapper and not self.in_list:
            return self.at_fence(text, place, end)
        if character == "[" and self.syntax.allows_lists and not self.in_list:
            self.in_list = True
            self.source.append(character)
            return place + 1
        if character == "{":
            self.source.append(character)
            self.begin_object()
            return place + 1
        if character == "]" and self.in_list:
            self.source.append(character)
            self.treat_as_text()
            return place + 1
        word = self.syntax.end_markers.match_at(text, place, end, self.is_final)
        if word is None:
            return ~place
        if word and not self.is_bare:
            self.source.append(word)
            self.break_call(f"The call is empty. {CORRECTION}.")
            return place + len(word)
        self.treat_as_text()
        return place

    def at_fence(self, text: str, place: int, end: int) -> int:
        """A code fence behind the marker: what is in it is the call."""
        found = match_fence(text, place, place + MAX_LANGUAGE_LENGTH)
        if found is None and not self.is_final and end - place < MAX_LANGUAGE_LENGTH and "\n" not in text[place:end]:
            return ~place
        if found is None:
            self.treat_as_text()
            return place
        self.source.append(found.group())
        self.wrapper = FENCE
        return found.end()

    def in_header(self, text: str, place: int, end: int) -> int:
        heads = self.syntax.header_pattern
        assert heads is not None
        at = text.find("{", place, place + MAX_HEADER_LENGTH)
        if at < 0:
            if end - place < MAX_HEADER_LENGTH and not self.is_final:
                return ~place
            if end - place < MAX_HEADER_LENGTH:
                self.source.append(text[place:])
                self.break_call(CUT_MESSAGE)
                return end
            return self.on_missing_header(place)
        if text[at - 1] == '"':
            at -= 1  # The arguments stand in a string.
        found = heads.match(text[place:at])
        name = self.header_name(found) if found is not None else None
        if not name:
            return self.on_missing_header(place)
        self.source.append(text[place:at])
        self.begin_headed(name)
        return at

    def header_name(self, header: "re.Match[str]") -> str | None:
        """The name in a header, None if it is none after all."""
        return header.group(1)

    def begin_headed(self, name: str) -> None:
        """The arguments of a call stand next, whose name is known."""
        raise NotImplementedError

    def begin_object(self) -> None:
        """The keys of an object stand next."""
        raise NotImplementedError

    def begin_unreadable(self) -> None:
        """What stands next is no call as it should be, up to an end marker."""
        raise NotImplementedError

    def on_missing_header(self, place: int) -> int:
        """Behind an opener stands no header. Up to an end marker it is a broken call; where there are none, text."""
        if self.syntax.end_markers.words:
            self.begin_unreadable()
        else:
            self.treat_as_text()
        return place
