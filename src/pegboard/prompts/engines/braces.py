"""Calls as `call:name{key:value}` with a quote of their own around strings, and bare words that the schema explains."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.literal import INNER_QUOTES, NO_COMMA
from pegboard.prompts.marks import Match, cut_off, matcher
from pegboard.prompts.python_literals import LiteralError, Reader, odd_backslashes
from pegboard.prompts.scanner import HEADER_MOST, SPACE, Scanner, Signs
from pegboard.prompts.shapes import ToolShape
from pegboard.prompts.typed import Bare, settled

DEEPEST: Final = 100
CLOSING: Final = {"{": "}", "[": "]", "(": ")"}
STARTS: Final = ":,=[{("
"""Behind one of these a plain quote begins a string; anywhere else it is a letter like others."""

_header: Final = re.compile(r"(?:call\s*:)?\s*([\w.\-/:]*[\w])\s*([{(])").match
_begun: Final = re.compile(r"[\w.\-/:\s]*\Z").match
_space: Final = matcher(r"\s*")
_word: Final = matcher(r"[^,{}\[\]]*")
"""A bare word runs to what may follow a value; a quote in it is a letter."""
_key: Final = re.compile(r"[^:={}\[\](),]{1,256}").match


class BracesError(ValueError):
    """The text is no such object; the message says where and why."""


@dataclass(frozen=True)
class BraceSigns(Signs):
    quote: str = '"'
    """What stands at both ends of a string, inside of which nothing is escaped."""

    @cached_property
    def stop(self) -> Match:
        firsts = {self.quote[0], *self.ends.firsts}
        return matcher("[^\"'{}\\[\\]()" + re.escape("".join(sorted(firsts))) + "]*")


class BraceScanner(Scanner):
    signs: BraceSigns

    def __init__(self, signs: BraceSigns, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.name = ""
        self.written: list[str] = []
        self.open_brackets: list[str] = []
        self.last = ""
        """The last character that is no white space."""
        self.quote = ""
        self.is_escaped = False
        self.stop = signs.stop

    def open(self, word: str) -> bool:
        self.state = self.opened
        return False

    def opened(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind > place:
            self.source.append(text[place:behind])
            return behind
        found = _header(text, place, place + HEADER_MOST)
        if found is None:
            if not self.final and end - place < HEADER_MOST and _begun(text, place):
                return ~place
            word = self.signs.ends.at(text, place, end, self.final)
            if word is None:
                return ~place
            if word:
                self.source.append(word)
                self.broken("The call is empty. Name the tool and give its arguments.")
                return place + len(word)
            self.not_a_call()
            return place
        self.source.append(found.group())
        self.name, self.written = found.group(1), []
        self.open_brackets, self.last = [CLOSING[found.group(2)]], found.group(2)
        self.start(self.name)
        self.state = self.in_arguments
        return found.end()

    def write(self, said: str) -> None:
        self.source.append(said)
        self.written.append(said)
        self.argue(said)

    def in_arguments(self, text: str, place: int, end: int) -> int:
        start, brackets, quote = place, self.open_brackets, self.signs.quote
        while True:
            at = self.stop(text, place).end()
            if at > place:
                self.last = text[place:at].rstrip()[-1:] or self.last
            if at == end:
                self.write(text[start:] if start else text)
                return end
            found = text[at]
            place = at + 1
            if found in "\"'" and self.last in STARTS:
                self.write(text[start:place])
                self.quote, self.is_escaped = found, False
                self.state = self.in_plain_quotes
                return place
            if found == brackets[-1]:
                brackets.pop()
                if not brackets:
                    if at > start:
                        self.write(text[start:at])
                    self.source.append(found)
                    self.end_call()
                    return place
            elif found in "{[":
                brackets.append(CLOSING[found])
            elif text.startswith(quote, at):
                self.write(text[start : at + len(quote)])
                self.state = self.in_quotes
                return at + len(quote)
            else:
                word = self.signs.ends.at(text, at, end, self.final)
                cut = not self.final and cut_off(quote, text, at, end)
                if word is None or cut or word:
                    if at > start:
                        self.write(text[start:at])
                    if not word:
                        return ~at
                    self.broken(
                        f"The call of {self.name!r} was not made: its braces are not closed. Write all of it again."
                    )
                    return at
            self.last = found

    def in_quotes(self, text: str, place: int, end: int) -> int:
        quote = self.signs.quote
        at = text.find(quote, place)
        if at >= 0:
            self.write(text[place : at + len(quote)])
            self.last = "'"
            self.state = self.in_arguments
            return at + len(quote)
        sure = end
        if not self.final and text.find(quote[0], max(place, end - len(quote) + 1)) >= 0:
            for size in range(min(len(quote) - 1, end - place), 0, -1):
                if text.endswith(quote[:size], place, end):
                    sure = end - size
                    break
        if sure > place:
            self.write(text[place:sure] if place or sure < end else text)
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
            self.write(text[place:] if place else text)
            return end
        self.write(text[place : at + 1])
        self.state = self.behind_plain_quotes
        return at + 1

    def behind_plain_quotes(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind > place:
            self.write(text[place:behind])
            return behind
        if text[place] in ",:=}])":
            self.last = self.quote
            self.state = self.in_arguments
        else:
            self.state = self.in_plain_quotes
        return place

    def end_call(self) -> None:
        raw = "".join(self.written)
        try:
            members, repairs = Braces(raw, self.signs.quote).members()
        except BracesError as error:
            self.broken(f"The call of {self.name!r} was not made: {error}.")
            return
        tool = self.tool
        schema: Json = dict(tool.parameters) if tool else None
        arguments = settled(members, schema, tool.parameters if tool else {}, no_text=True)
        assert isinstance(arguments, dict)
        for repair in repairs:
            self.repaired(repair)
        self.done(arguments, raw, typed=True)
        self.state = self.after


class Braces:
    """A reader of what stands between the braces, in one pass."""

    def __init__(self, text: str, quote: str) -> None:
        self.text, self.quote, self.at, self.end = text, quote, 0, len(text)
        self.repairs: dict[str, None] = {}

    def error(self, what: str) -> BracesError:
        return BracesError(f"{what} at character {self.at}, at {self.text[self.at : self.at + 20]!r}")

    def next(self) -> str:
        self.at = _space(self.text, self.at).end()
        return self.text[self.at] if self.at < self.end else ""

    def members(self, close: str = "", depth: int = 0) -> tuple[dict[str, Json], tuple[str, ...]]:
        """Keys and values up to what closes them, or to the end of the text."""
        found: dict[str, Json] = {}
        while (character := self.next()) != close:
            if not character:
                raise self.error("an object that never ends")
            key = self.key()
            if self.next() not in (":", "="):
                raise self.error("expected ':'")
            if key in found:
                raise self.error(f"{key!r} is given twice")
            self.at += 1
            found[key] = self.value(depth + 1)
            self.separator(close)
        self.at += len(close)
        return found, tuple(self.repairs)

    def key(self) -> str:
        if self.text.startswith(self.quote, self.at) or self.text[self.at] in "\"'":
            return str(self.string())
        found = _key(self.text, self.at)
        if found is None:
            raise self.error("expected a key")
        self.at = found.end()
        return found.group().strip()

    def separator(self, close: str) -> None:
        character = self.next()
        if character == ",":
            self.at += 1
        elif character != close:
            if not character:
                raise self.error("an object that never ends")
            self.repairs["a missing comma was added"] = None

    def value(self, depth: int) -> Json:
        if depth > DEEPEST:
            raise self.error(f"nested more than {DEEPEST} deep")
        character = self.next()
        if character == "{":
            self.at += 1
            return self.members("}", depth)[0]
        if character == "[":
            return self.items(depth)
        if self.text.startswith(self.quote, self.at) or (character and character in "\"'"):
            return self.string()
        said = _word(self.text, self.at).group()
        if not said:
            raise self.error("a value is missing")
        self.at += len(said)
        return Bare(said.strip())

    def items(self, depth: int) -> list[Json]:
        self.at += 1
        found: list[Json] = []
        while (character := self.next()) != "]":
            if not character:
                raise self.error("a list that never ends")
            found.append(self.value(depth + 1))
            self.separator("]")
        self.at += 1
        return found

    def string(self) -> str:
        text, quote = self.text, self.quote
        if text.startswith(quote, self.at):
            start = self.at + len(quote)
            found = text.find(quote, start)
            if found < 0:
                raise self.error("a string that never ends")
            self.at = found + len(quote)
            return text[start:found]
        plain = text[self.at]
        start = scan = self.at + 1
        inner = 0
        while True:
            found = text.find(plain, scan)
            if found < 0:
                raise self.error("a string that never ends")
            behind = _space(text, found + 1).end()
            if not odd_backslashes(text, scan, found):
                if behind >= self.end or text[behind] in ",:=}])":
                    self.at = found + 1
                    return self.text_of(text[start:found])
                if text[behind] in "\"'" and behind > found + 1 and not inner % 2:
                    raise self.error(NO_COMMA)
                self.repairs[INNER_QUOTES] = None
                inner += 1
            scan = found + 1

    def text_of(self, body: str) -> str:
        reader = Reader(body, is_python=False)
        try:
            said = reader.text_of(body, "")
        except LiteralError as error:
            raise BracesError(str(error)) from None
        self.repairs |= reader.repairs
        return said
