"""Calls as `call:name{key:value}`, with special quotes around strings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pegboard.core.json.values import MAX_TEXT_DEPTH, Json
from pegboard.prompts.events import Matcher, is_cut_off, matcher
from pegboard.prompts.python_literals import LiteralError, PythonLiteralReader, odd_backslashes
from pegboard.prompts.repair import COMMA_MISSING, INNER_QUOTES
from pegboard.prompts.scanner import MAX_HEADER_LENGTH, SPACE, MarkerSyntax, Scanner
from pegboard.prompts.tool_shape import ToolShape
from pegboard.prompts.values import BareWord, resolve_bare_words

CLOSING_BRACKETS: Final = {"{": "}", "[": "]", "(": ")"}
VALUE_STARTS: Final = ":,=[{("
"""Behind one of these a plain quote begins a string; anywhere else it is a letter like others."""

_match_header: Final = re.compile(r"(?:call\s*:)?\s*([\w.\-/:]*[\w])\s*([{(])").match
_match_begun_header: Final = re.compile(r"[\w.\-/:\s]*\Z").match
_match_space: Final = matcher(r"\s*")
_match_word: Final = matcher(r"[^,{}\[\]]*")
"""A bare word runs to what may follow a value; a quote in it is a letter."""
_match_key: Final = re.compile(r"[^:={}\[\](),]{1,256}").match


class BracesError(ValueError):
    """The text is no such object; the message says where and why."""


@dataclass(frozen=True)
class BraceSyntax(MarkerSyntax):
    quote: str = '"'
    """What stands at both ends of a string, inside of which nothing is escaped."""

    @cached_property
    def match_plain(self) -> Matcher:
        firsts = {self.quote[0], *self.end_markers.first_characters}
        return matcher("[^\"'{}\\[\\]()" + re.escape("".join(sorted(firsts))) + "]*")


class BraceScanner(Scanner):
    syntax: BraceSyntax

    def __init__(self, signs: BraceSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.name = ""
        self.written_arguments: list[str] = []
        self.open_brackets: list[str] = []
        self.last_significant = ""
        """The last character that is no white space."""
        self.quote = ""
        self.is_escaped = False
        self.match_plain = signs.match_plain

    def open(self, word: str) -> bool:
        self.state = self.after_opener
        return False

    def after_opener(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind > place:
            self.source.append(text[place:behind])
            return behind
        found = _match_header(text, place, place + MAX_HEADER_LENGTH)
        if found is None:
            if not self.is_final and end - place < MAX_HEADER_LENGTH and _match_begun_header(text, place):
                return ~place
            word = self.syntax.end_markers.match_at(text, place, end, self.is_final)
            if word is None:
                return ~place
            if word:
                self.source.append(word)
                self.break_call("The call is empty. Name the tool and give its arguments.")
                return place + len(word)
            self.treat_as_text()
            return place
        self.source.append(found.group())
        self.name, self.written_arguments = found.group(1), []
        self.open_brackets, self.last_significant = [CLOSING_BRACKETS[found.group(2)]], found.group(2)
        self.start_call(self.name)
        self.state = self.in_arguments
        return found.end()

    def write_arguments(self, said: str) -> None:
        self.source.append(said)
        self.written_arguments.append(said)
        self.emit_arguments(said)

    def in_arguments(self, text: str, place: int, end: int) -> int:
        start, brackets, quote = place, self.open_brackets, self.syntax.quote
        while True:
            at = self.match_plain(text, place).end()
            if at > place:
                self.last_significant = text[place:at].rstrip()[-1:] or self.last_significant
            if at == end:
                self.write_arguments(text[start:] if start else text)
                return end
            found = text[at]
            place = at + 1
            if found in "\"'" and self.last_significant in VALUE_STARTS:
                self.write_arguments(text[start:place])
                self.quote, self.is_escaped = found, False
                self.state = self.in_plain_quotes
                return place
            if found == brackets[-1]:
                brackets.pop()
                if not brackets:
                    if at > start:
                        self.write_arguments(text[start:at])
                    self.source.append(found)
                    self.end_call()
                    return place
            elif found in "{[":
                brackets.append(CLOSING_BRACKETS[found])
            elif text.startswith(quote, at):
                self.write_arguments(text[start : at + len(quote)])
                self.state = self.in_quotes
                return at + len(quote)
            else:
                word = self.syntax.end_markers.match_at(text, at, end, self.is_final)
                cut = not self.is_final and is_cut_off(quote, text, at, end)
                if word is None or cut or word:
                    if at > start:
                        self.write_arguments(text[start:at])
                    if not word:
                        return ~at
                    self.break_call(
                        f"The call of {self.name!r} was not made: its braces are not closed. Write all of it again."
                    )
                    return at
            self.last_significant = found

    def in_quotes(self, text: str, place: int, end: int) -> int:
        quote = self.syntax.quote
        at = text.find(quote, place)
        if at >= 0:
            self.write_arguments(text[place : at + len(quote)])
            self.last_significant = "'"
            self.state = self.in_arguments
            return at + len(quote)
        sure = end
        if not self.is_final and text.find(quote[0], max(place, end - len(quote) + 1)) >= 0:
            for size in range(min(len(quote) - 1, end - place), 0, -1):
                if text.endswith(quote[:size], place, end):
                    sure = end - size
                    break
        if sure > place:
            self.write_arguments(text[place:sure] if place or sure < end else text)
        return end if sure == end else ~sure

    def in_plain_quotes(self, text: str, place: int, end: int) -> int:
        scan = place
        if self.is_escaped:
            scan, self.is_escaped = place + 1, False
        at = text.find(self.quote, scan)
        while at >= 0 and odd_backslashes(text, scan, at):
            scan = at + 1
            at = text.find(self.quote, scan)
        if at < 0:
            self.is_escaped = odd_backslashes(text, scan, end)
            self.write_arguments(text[place:] if place else text)
            return end
        self.write_arguments(text[place : at + 1])
        self.state = self.behind_plain_quotes
        return at + 1

    def behind_plain_quotes(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind > place:
            self.write_arguments(text[place:behind])
            return behind
        if text[place] in ",:=}])":
            self.last_significant = self.quote
            self.state = self.in_arguments
        else:
            self.state = self.in_plain_quotes
        return place

    def end_call(self) -> None:
        raw = "".join(self.written_arguments)
        try:
            members, repairs = BracesReader(raw, self.syntax.quote).read_members()
        except BracesError as error:
            self.break_call(f"The call of {self.name!r} was not made: {error}.")
            return
        tool = self.tool
        schema: Json = dict(tool.parameters) if tool else None
        arguments = resolve_bare_words(members, schema, tool.parameters if tool else {}, no_text=True)
        assert isinstance(arguments, dict)
        for repair in repairs:
            self.add_repair(repair)
        self.complete_call(arguments, raw, typed=True)
        self.state = self.after_call


class BracesReader:
    """A reader of what stands between the braces, in one pass."""

    def __init__(self, text: str, quote: str) -> None:
        self.text, self.quote, self.position, self.end = text, quote, 0, len(text)
        self.repairs: dict[str, None] = {}

    def error(self, what: str) -> BracesError:
        return BracesError(f"{what} at character {self.position}, at {self.text[self.position : self.position + 20]!r}")

    def next_character(self) -> str:
        self.position = _match_space(self.text, self.position).end()
        return self.text[self.position] if self.position < self.end else ""

    def read_members(self, close: str = "", depth: int = 0) -> tuple[dict[str, Json], tuple[str, ...]]:
        """Keys and values up to what closes them, or to the end of the text."""
        found: dict[str, Json] = {}
        while (character := self.next_character()) != close:
            if not character:
                raise self.error("an object that never ends")
            key = self.read_key()
            if self.next_character() not in (":", "="):
                raise self.error("expected ':'")
            if key in found:
                raise self.error(f"{key!r} is given twice")
            self.position += 1
            found[key] = self.read_value(depth + 1)
            self.read_separator(close)
        self.position += len(close)
        return found, tuple(self.repairs)

    def read_key(self) -> str:
        if self.text.startswith(self.quote, self.position) or self.text[self.position] in "\"'":
            return str(self.read_string())
        found = _match_key(self.text, self.position)
        if found is None:
            raise self.error("expected a key")
        self.position = found.end()
        return found.group().strip()

    def read_separator(self, close: str) -> None:
        character = self.next_character()
        if character == ",":
            self.position += 1
        elif character != close:
            if not character:
                raise self.error("an object that never ends")
            self.repairs["a missing comma was added"] = None

    def read_value(self, depth: int) -> Json:
        if depth > MAX_TEXT_DEPTH:
            raise self.error(f"nested more than {MAX_TEXT_DEPTH} deep")
        character = self.next_character()
        if character == "{":
            self.position += 1
            return self.read_members("}", depth)[0]
        if character == "[":
            return self.read_items(depth)
        if self.text.startswith(self.quote, self.position) or (character and character in "\"'"):
            return self.read_string()
        said = _match_word(self.text, self.position).group()
        if not said:
            raise self.error("a value is missing")
        self.position += len(said)
        return BareWord(said.strip())

    def read_items(self, depth: int) -> list[Json]:
        self.position += 1
        found: list[Json] = []
        while (character := self.next_character()) != "]":
            if not character:
                raise self.error("a list that never ends")
            found.append(self.read_value(depth + 1))
            self.read_separator("]")
        self.position += 1
        return found

    def read_string(self) -> str:
        text, quote = self.text, self.quote
        if text.startswith(quote, self.position):
            start = self.position + len(quote)
            found = text.find(quote, start)
            if found < 0:
                raise self.error("a string that never ends")
            self.position = found + len(quote)
            return text[start:found]
        plain = text[self.position]
        start = scan = self.position + 1
        inner = 0
        while True:
            found = text.find(plain, scan)
            if found < 0:
                raise self.error("a string that never ends")
            behind = _match_space(text, found + 1).end()
            if not odd_backslashes(text, scan, found):
                if behind >= self.end or text[behind] in ",:=}])":
                    self.position = found + 1
                    return self.unescape_text(text[start:found])
                if text[behind] in "\"'" and behind > found + 1 and not inner % 2:
                    raise self.error(COMMA_MISSING)
                self.repairs[INNER_QUOTES] = None
                inner += 1
            scan = found + 1

    def unescape_text(self, body: str) -> str:
        reader = PythonLiteralReader(body, is_python=False)
        try:
            said = reader.unescape_text(body, "")
        except LiteralError as error:
            raise BracesError(str(error)) from None
        self.repairs |= reader.repairs
        return said
