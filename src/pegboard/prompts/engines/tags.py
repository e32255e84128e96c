"""Calls as tags: an opener, a tag with the tool's name, a tag for each argument with its raw text in it.

Raw text ends at its closing tag and nowhere else, so a closing tag counts only where a tag follows that may follow it:
the text itself may then speak of tags.
"""

import re
from collections.abc import Sequence
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.coercion import coerced, read_structure
from pegboard.prompts.marks import cut_off
from pegboard.prompts.scanner import HEADER_MOST, SPACE, State
from pegboard.prompts.shapes import ToolShape

from .json_opening import FENCE, FENCED, LANGUAGE_MOST, match_fence
from .tag_faults import (
    AROUND,
    BAD_TAG,
    DOUBLED,
    EMPTY,
    JUNK,
    NAMELESS,
    NO_CALL,
    NO_END,
    NO_VALUE,
    TWICE,
    UNOPENED,
    WRAPPED,
)
from .tag_signs import Tags
from .tag_values import ANY, ESCAPED, TEXT, TagValueScanner

WAIT: Final = -1
SHOWN: Final = 60
"""Characters of what is wrong that the model is shown."""
WRAPPERS: Final = ("arguments", "parameters", "properties")
"""Arguments that hold all others, where the tool has none of that name."""
_name: Final = re.compile(r"[\w.\-/:]+").match


class TagScanner(TagValueScanner):
    signs: Tags

    def __init__(self, signs: Tags, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.in_block = False
        self.name = ""
        """Of the call whose name was read and that has not started yet."""
        self.lacks = False
        """Whether the model left out a part of the call, so that it runs only where the settings say so."""
        self.fenced = False

    # -- the tag of a call -------------------------------------------------------------------------------------------

    def open(self, word: str) -> bool:
        self.in_block = word != self.signs.call_start
        self.fenced = False
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
        elif text[place] == "`" and not self.fenced:
            return self.at_fence(text, place, end)
        else:
            self.state = self.at_call if self.signs.call_start else self.at_name
        return place

    def at_fence(self, text: str, place: int, end: int) -> int:
        """A code fence where a call should begin: what is in it is the call."""
        found = match_fence(text, place, place + LANGUAGE_MOST)
        if found is None and not self.final and end - place < LANGUAGE_MOST and "\n" not in text[place:end]:
            return ~place
        if found is None:
            self.not_a_call()
            return place
        self.source.append(found.group())
        self.fenced = True
        return found.end()

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
        elif text[place] == "{" and self.known(self.name):
            self.start(self.name)
            self.begin_value(streams=True)
        elif text[place] == "(" and self.known_tools and self.known(self.name):
            self.state = self.skipping(NO_CALL.format(why="it is written as Python"))
        else:
            self.not_a_call()
        return place

    def begin(self, name: str) -> None:
        self.name, self.arguments, self.written, self.unsure, self.lacks = name, {}, [], {}, False

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
            return self.at_name_tag(text, place, end) if self.signs.key_close else self.at_key_tag(text, place, end)
        if word and word in self.signs.between:
            self.source.append(word)
            self.repaired(AROUND)
            return place + len(word)
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
        stop = self.tag(text, place, end, self.signs.key_start, self.signs.tag_end)
        if stop == WAIT:
            return ~place
        found = self.signs.match_key(text[place:stop]) if stop > 0 else None
        if found is None:
            self.state = self.skipping(self.bad_tag(text, place, stop))
            return place
        groups = found.groupdict()
        is_text = groups.get("text")
        self.kind = groups.get("kind") or (None if is_text is None else TEXT if is_text == "true" else ANY)
        if not self.named((groups.get("key") or "").strip(), found.group()):
            return place
        self.begin_raw()
        self.write(found.group())
        return stop

    def at_name_tag(self, text: str, place: int, end: int) -> int:
        """The name of an argument, whose value has a tag of its own."""
        stop = self.tag(text, place, end, self.signs.key_start, self.signs.key_close)
        if stop == WAIT:
            return ~place
        found = self.signs.match_name(text[place:stop]) if stop > 0 else None
        if found is None:
            self.state = self.skipping(self.bad_tag(text, place, stop))
            return place
        if not self.named(found["key"].strip(), found.group()):
            return place
        if found["twice"]:
            self.repaired(DOUBLED)
        self.write(found.group())
        self.state = self.at_value
        return stop

    def named(self, key: str, tag: str) -> bool:
        """Whether an argument of that name may begin. If not, the call is broken."""
        if key in self.arguments or not key:
            self.state = self.skipping(TWICE.format(key=key) if key else BAD_TAG.format(tag=tag))
            return False
        self.key = key
        self.ends = self.signs.value_ends(key)
        self.first = self.ends.firsts if len(self.ends.firsts) == 1 else ""
        return True

    def at_value(self, text: str, place: int, end: int) -> int:
        """Between the name of an argument and its value."""
        behind = self.over_space(text, place, end)
        if behind != place:
            if behind > place:
                self.write(text[place:behind])
            return behind
        word = self.signs.behind_key.at(text, place, end, self.final)
        if word is None:
            return ~place
        if word == self.signs.value_start:
            self.begin_raw()
            self.write(word)
            return place + len(word)
        if word == self.signs.key_close:
            self.repaired(DOUBLED)
            self.write(word)
            return place + len(word)
        if word:
            # Nothing is made up for it. Without it the call may do more than the model meant.
            self.repaired(NO_VALUE.format(key=self.key))
            self.lacks = True
            self.state = self.at_key
        else:
            self.repaired(UNOPENED)
            self.begin_raw()
        return place

    # -- the end of a call -------------------------------------------------------------------------------------------

    def end_call(self, *, recovered: bool = False) -> None:
        properties = self.tool.properties if self.tool else {}
        if self.unsure and properties:
            self.part(properties)
        if len(self.arguments) == 1 and properties:
            ((key, inner),) = self.arguments.items()
            if key in WRAPPERS and key not in properties:
                self.unwrap(inner)
        self.done(self.arguments, "".join(self.written), recovered=recovered or self.lacks, typed=True)
        self.state = self.behind_call

    def unwrap(self, inner: Json) -> None:
        read = read_structure(inner.strip(), (dict,)) if isinstance(inner, str) else (inner, ())
        if read is None or not isinstance(read[0], dict):
            return
        self.arguments, repairs = coerced(read[0], self.tool) if self.tool else (read[0], ())  # type: ignore[assignment]
        for repair in (WRAPPED, *read[1], *repairs):
            self.repaired(repair)

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
            if self.is_inner():
                self.source.append(self.close + "".join(self.gap))
            elif self.close == self.signs.call_close:
                # The value may have spoken of that tag, and the output been cut right behind it.
                self.lacks = True
                self.end_raw()
                return
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

    def behind_json(self, text: str, place: int, end: int) -> int:
        if self.fenced:
            behind = SPACE(text, place).end()
            if behind > place:
                self.mark(text[place:behind])
                return behind
            if not self.final and cut_off(FENCE, text, place, end):
                return ~place
            self.fenced = False
            if text.startswith(FENCE, place):
                self.mark(FENCE)
                return place + len(FENCE)
        return super().behind_json(text, place, end)

    def json_repairs(self) -> tuple[str, ...]:
        return (FENCED,) if self.fenced else ()

    def no_json(self, place: int) -> int:
        self.state = self.skipping(NO_CALL.format(why="it is neither tags nor JSON"))
        return place

    # -- what the states share ---------------------------------------------------------------------------------------

    def spaced(self, text: str, place: int, end: int) -> int:
        """Over white space between tags, also where it was escaped once too often; the same place if there is none."""
        behind = self.over_space(text, place, end)
        if behind > place:
            self.source.append(text[place:behind])
        return behind

    def over_space(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind == place and text[place] == "\\":
            if place + 1 == end and not self.final:
                return ~place
            behind = place + 2 if text[place : place + 2] in ESCAPED else place
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
