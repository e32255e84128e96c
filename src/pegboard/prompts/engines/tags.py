"""Calls as tags: an opener, a tag with the tool's name, a tag for each argument with its raw text in it.

Raw text ends at its closing tag and nowhere else, so a closing tag counts only where a tag follows that may follow it:
the text itself may then speak of tags.
"""

import re
from collections.abc import Sequence
from typing import Final

from pegboard.prompts.marks import cut_off
from pegboard.prompts.scanner import HEADER_MOST, SPACE, State
from pegboard.prompts.shapes import ToolShape

from .tag_faults import BAD_TAG, EMPTY, JUNK, NAMELESS, NO_CALL, NO_END, TWICE
from .tag_signs import Tags
from .tag_values import ANY, ESCAPED, TEXT, TagValueScanner

WAIT: Final = -1
SHOWN: Final = 60
"""Characters of what is wrong that the model is shown."""
_name: Final = re.compile(r"[\w.\-/:]+").match


class TagScanner(TagValueScanner):
    signs: Tags

    def __init__(self, signs: Tags, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.in_block = False
        self.name = ""
        """Of the call whose name was read and that has not started yet."""

    # -- the tag of a call -------------------------------------------------------------------------------------------

    def open(self, word: str) -> bool:
        self.in_block = word != self.signs.call_start
        self.state = self.at_block if self.in_block else self.at_call
        return not self.in_block

    def at_block(self, text: str, place: int, end: int) -> int:
        """Behind the opener of a block."""
        behind = self.spaced(text, place, end)
        if behind != place:
            return behind
        word = self.signs.ends.at(text, place, end, self.final)
        if word is None:
            return ~place
        if word:
            self.source.append(word)
            self.broken(EMPTY)
            return place + len(word)
        if text[place] in "{[":
            self.begin_value(streams=False)
        else:
            self.state = self.at_call if self.signs.call_start else self.at_name
        return place

    def at_call(self, text: str, place: int, end: int) -> int:
        """The tag runs from what it begins with to the first end of a tag: whoever waits and whoever reads agree."""
        start = self.signs.call_start
        if not text.startswith(start, place):
            if cut_off(start, text, place, end):
                return self.cut(text, place, end)
            self.not_a_call()
            return place
        stop = self.tag(text, place, end, start, self.signs.tag_end)
        if stop == WAIT:
            return ~place
        found = self.signs.match_call(text[place:stop]) if stop > 0 else None
        if found is None and not self.in_block:
            self.source.append(start)
            self.not_a_call()
            return place + len(start)
        if found is None:
            self.state = self.skipping(self.bad_tag(text, place, stop))
            return place
        self.source.append(found.group())
        self.begin(found["name"].strip())
        if not self.name:
            self.state = self.skipping(NAMELESS)
            return stop
        self.start(self.name)
        self.state = self.at_key
        return stop

    def at_name(self, text: str, place: int, end: int) -> int:
        """A name without a tag: it starts a call only when an argument or the end of the call follows."""
        found = _name(text, place)
        stop = found.end() if found else place
        if stop == end and end - place < HEADER_MOST:
            return self.cut(text, place, end)
        if found is None or stop - place >= HEADER_MOST:
            word = self.signs.body.at(text, place, end, self.final)
            if word is None:
                return ~place
            if word == self.signs.key_start:
                self.state = self.skipping(NAMELESS)
            else:
                self.not_a_call()
            return place
        self.begin(found.group())
        self.source.append(self.name)
        self.state = self.behind_name
        return stop

    def behind_name(self, text: str, place: int, end: int) -> int:
        behind = self.spaced(text, place, end)
        if behind != place:
            return behind
        word = self.signs.body.at(text, place, end, self.final)
        if word is None:
            return ~place
        if word in (self.signs.key_start, self.signs.call_close):
            self.start(self.name)
            self.state = self.at_key
        else:
            self.not_a_call()
        return place

    def begin(self, name: str) -> None:
        self.name, self.arguments, self.written, self.unsure = name, {}, [], {}

    # -- arguments ---------------------------------------------------------------------------------------------------

    def at_key(self, text: str, place: int, end: int) -> int:
        """Between arguments."""
        behind = self.spaced(text, place, end)
        if behind != place:
            return behind
        word = self.signs.body.at(text, place, end, self.final)
        if word is None:
            return ~place
        if word == self.signs.call_close:
            self.source.append(word)
            self.end_call()
            return place + len(word)
        if word == self.signs.key_start:
            return self.at_key_tag(text, place, end)
        if word and word == self.signs.block_close:
            self.repaired(NO_END)
            self.end_call()
        elif word and self.arguments:
            self.repaired(NO_END)
            self.end_call(recovered=True)
        elif word:
            self.broken(NO_CALL.format(why="another one begins inside of it"))
        elif text[place] == "{" and not self.arguments:
            self.begin_value(streams=True)
        else:
            self.state = self.skipping(JUNK)
        return place

    def at_key_tag(self, text: str, place: int, end: int) -> int:
        stop = self.tag(text, place, end, self.signs.key_start, self.signs.key_end or self.signs.tag_end)
        if stop == WAIT:
            return ~place
        found = self.signs.match_key(text[place:stop]) if stop > 0 else None
        if found is None:
            self.state = self.skipping(self.bad_tag(text, place, stop))
            return place
        groups = found.groupdict()
        self.key = (groups.get("key") or "").strip()
        is_text = groups.get("text")
        self.kind = groups.get("kind") or (None if is_text is None else TEXT if is_text == "true" else ANY)
        if self.key in self.arguments or not self.key:
            self.state = self.skipping(TWICE.format(key=self.key) if self.key else BAD_TAG.format(tag=found.group()))
            return place
        self.ends = self.signs.value_ends(self.key)
        self.first = self.ends.firsts if len(self.ends.firsts) == 1 else ""
        self.begin_raw()
        self.write(found.group())
        return stop

    # -- the end of a call -------------------------------------------------------------------------------------------

    def end_call(self, *, recovered: bool = False) -> None:
        properties = self.tool.properties if self.tool else {}
        if self.unsure and properties:
            self.part(properties)
        inner = self.arguments.get("arguments")
        if len(self.arguments) == 1 and isinstance(inner, dict) and properties and "arguments" not in properties:
            self.arguments = inner
            self.repaired("the arguments were wrapped in an argument of their own")
        self.done(self.arguments, "".join(self.written), recovered=recovered, typed=True)
        self.state = self.behind_call

    def behind_call(self, text: str, place: int, end: int) -> int:
        """More calls may follow in the same block."""
        behind = SPACE(text, place).end()
        if behind > place:
            self.mark(text[place:behind])
            return behind
        start = self.signs.call_start
        self.state = self.after
        if start and self.in_block:
            if text.startswith(start, place):
                self.state = self.at_call
            elif not self.final and cut_off(start, text, place, end):
                self.state = self.behind_call
                return ~place
        return place

    def at_end(self) -> None:
        if self.state == self.behind_raw:
            if self.close == self.signs.call_close or self.is_inner():
                self.source.append(self.close + "".join(self.gap))
            else:
                self.end_raw()
        # Every argument is closed and the call is not: whoever runs it decides about that.
        if self.source and self.state == self.at_key and self.arguments:
            self.repaired(NO_END)
            self.end_call(recovered=True)
            return
        super().at_end()

    # -- JSON where tags should be -----------------------------------------------------------------------------------

    instead_of = "tags"
    right = "Write it with tags, as the format has it"

    def unclosed(self, place: int) -> int:
        self.state = self.skipping(NO_CALL.format(why="it is neither tags nor JSON"))
        return place

    # -- what the states share ---------------------------------------------------------------------------------------

    def spaced(self, text: str, place: int, end: int) -> int:
        """Over white space between tags, also where it was escaped once too often; the same place if there is none."""
        behind = SPACE(text, place).end()
        if behind == place and text[place] == "\\":
            if place + 1 == end and not self.final:
                return ~place
            behind = place + 2 if text[place : place + 2] in ESCAPED else place
        if behind > place:
            self.source.append(text[place:behind])
        return behind

    def cut(self, text: str, place: int, end: int) -> int:
        """What may yet become more waits for it. At the end of the output it never does, and the call is broken."""
        if not self.final:
            return ~place
        self.source.append(text[place:end])
        return end

    def tag(self, text: str, place: int, end: int, start: str, close: str) -> int:
        """Where the tag at a place ends; WAIT if it may still, 0 if it does not."""
        stop = text.find(close, place + len(start), place + HEADER_MOST)
        if stop >= 0:
            return stop + len(close)
        return WAIT if end - place < HEADER_MOST and not self.final else 0

    def bad_tag(self, text: str, place: int, stop: int) -> str:
        """Told by the tag alone, whatever else has come behind it by now."""
        return BAD_TAG.format(tag=text[place : min(stop, place + SHOWN) if stop > 0 else place + SHOWN])

    def skipping(self, why: str) -> State:
        """What is no call runs to the next end of one, so that it is told of once."""
        self.why = why
        return self.in_junk

    def in_junk(self, text: str, place: int, end: int) -> int:
        found = self.signs.ends.search(text, place)
        if found is not None:
            self.source.append(text[place : found.end()])
            self.broken(self.why)
            return found.end()
        sure = end if self.final else self.signs.ends.hold(text, place, end)
        if sure > place:
            self.source.append(text[place:sure])
        return end if sure == end else ~sure
