"""Calls as tags: an opener, a tag with the tool's name, a tag for each argument with its raw text in it.

Raw text ends at its closing tag and nowhere else, so a closing tag counts only where a tag follows that may follow it:
the text itself may then speak of tags.
"""

import re
from collections.abc import Sequence
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.coercion import coerce_arguments, read_structure
from pegboard.prompts.marks import is_cut_off
from pegboard.prompts.scanner import MAX_HEADER_LENGTH, SPACE, State
from pegboard.prompts.shapes import ToolShape

from .json_opening import FENCE, FENCE_LEFT_OUT, MAX_LANGUAGE_LENGTH, match_fence
from .tag_faults import (
    ARGUMENT_REPEATED,
    ARGUMENTS_WRAPPED,
    BAD_TAG,
    CALL_REJECTED,
    CALL_TAG_MISSING,
    EMPTY_CALL,
    OPENING_TAG_MISSING,
    TAG_REPEATED,
    TAGS_LEFT_OUT,
    TEXT_BETWEEN_ARGUMENTS,
    TOOL_NAME_MISSING,
    VALUE_MISSING,
)
from .tag_signs import TagSyntax
from .tag_values import ESCAPED_SPACES, JSON_TYPE, TEXT_TYPE, TagValueScanner

WAIT: Final = -1
MAX_SHOWN_LENGTH: Final = 60
"""Characters of what is wrong that the model is shown."""
WRAPPER_ARGUMENTS: Final = ("arguments", "parameters", "properties")
"""Arguments that hold all others, where the tool has none of that name."""
_match_name: Final = re.compile(r"[\w.\-/:]+").match


class TagScanner(TagValueScanner):
    syntax: TagSyntax

    def __init__(self, signs: TagSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.in_block = False
        self.name = ""
        """Of the call whose name was read and that has not started yet."""
        self.is_incomplete = False
        """Whether the model left out a part of the call, so that it runs only where the settings say so."""
        self.in_fence = False

    # -- the tag of a call -------------------------------------------------------------------------------------------

    def open(self, word: str) -> bool:
        self.in_block = word != self.syntax.call_start
        self.in_fence = False
        self.state = self.at_block if self.in_block else self.at_call
        return not self.in_block

    def at_block(self, text: str, place: int, end: int) -> int:
        """Behind the opener of a block."""
        behind = self.skip_space(text, place, end)
        if behind != place:
            return behind
        word = self.syntax.end_markers.match_at(text, place, end, self.is_final)
        if word is None:
            return ~place
        if word:
            self.source.append(word)
            self.break_call(EMPTY_CALL)
            return place + len(word)
        if text[place] in "{[":
            self.begin_value(streams=False)
        elif text[place] == "`" and not self.in_fence:
            return self.at_fence(text, place, end)
        else:
            self.state = self.at_call if self.syntax.call_start else self.at_name
        return place

    def at_fence(self, text: str, place: int, end: int) -> int:
        """A code fence where a call should begin: what is in it is the call."""
        found = match_fence(text, place, place + MAX_LANGUAGE_LENGTH)
        if found is None and not self.is_final and end - place < MAX_LANGUAGE_LENGTH and "\n" not in text[place:end]:
            return ~place
        if found is None:
            self.treat_as_text()
            return place
        self.source.append(found.group())
        self.in_fence = True
        return found.end()

    def at_call(self, text: str, place: int, end: int) -> int:
        """The tag runs from what it begins with to the first end of a tag: whoever waits and whoever reads agree."""
        start = self.syntax.call_start
        if not text.startswith(start, place):
            if is_cut_off(start, text, place, end):
                return self.wait_or_consume(text, place, end)
            self.treat_as_text()
            return place
        stop = self.find_tag_end(text, place, end, start, self.syntax.tag_end)
        if stop == WAIT:
            return ~place
        found = self.syntax.match_call(text[place:stop]) if stop > 0 else None
        if found is None and not self.in_block:
            self.source.append(start)
            self.treat_as_text()
            return place + len(start)
        if found is None:
            self.state = self.skip_call(self.bad_tag_message(text, place, stop))
            return place
        self.source.append(found.group())
        self.begin_call(found["name"].strip())
        if not self.name:
            self.state = self.skip_call(TOOL_NAME_MISSING)
            return stop
        self.start_call(self.name)
        self.state = self.at_key
        return stop

    def at_name(self, text: str, place: int, end: int) -> int:
        """A name without a tag: it starts a call only when an argument or the end of the call follows."""
        found = _match_name(text, place)
        stop = found.end() if found else place
        if stop == end and end - place < MAX_HEADER_LENGTH:
            return self.wait_or_consume(text, place, end)
        if found is None or stop - place >= MAX_HEADER_LENGTH:
            word = self.syntax.argument_markers.match_at(text, place, end, self.is_final)
            if word is None:
                return ~place
            if word == self.syntax.key_start:
                self.state = self.skip_call(TOOL_NAME_MISSING)
            else:
                self.treat_as_text()
            return place
        self.begin_call(found.group())
        self.source.append(self.name)
        self.state = self.behind_name
        return stop

    def behind_name(self, text: str, place: int, end: int) -> int:
        behind = self.skip_space(text, place, end)
        if behind != place:
            return behind
        word = self.syntax.argument_markers.match_at(text, place, end, self.is_final)
        if word is None:
            return ~place
        if word in (self.syntax.key_start, self.syntax.call_close):
            self.start_call(self.name)
            self.state = self.at_key
        elif text[place] == "{" and self.is_known_tool(self.name):
            self.start_call(self.name)
            self.begin_value(streams=True)
        elif text[place] == "(" and self.has_tools and self.is_known_tool(self.name):
            self.state = self.skip_call(CALL_REJECTED.format(why="it is written as Python"))
        else:
            self.treat_as_text()
        return place

    def begin_call(self, name: str) -> None:
        self.name, self.arguments, self.written_arguments, self.ambiguous, self.is_incomplete = name, {}, [], {}, False

    # -- arguments ---------------------------------------------------------------------------------------------------

    def at_key(self, text: str, place: int, end: int) -> int:
        """Between arguments."""
        behind = self.skip_space(text, place, end)
        if behind != place:
            return behind
        word = self.syntax.argument_markers.match_at(text, place, end, self.is_final)
        if word is None:
            return ~place
        if word == self.syntax.call_close:
            self.source.append(word)
            self.end_call()
            return place + len(word)
        if word == self.syntax.key_start:
            return self.at_name_tag(text, place, end) if self.syntax.key_close else self.at_key_tag(text, place, end)
        if word and word in self.syntax.between:
            self.source.append(word)
            self.add_repair(TAGS_LEFT_OUT)
            return place + len(word)
        if word and word == self.syntax.block_close:
            self.add_repair(CALL_TAG_MISSING)
            self.end_call()
        elif word and self.arguments:
            self.add_repair(CALL_TAG_MISSING)
            self.end_call(recovered=True)
        elif word:
            self.break_call(CALL_REJECTED.format(why="another one begins inside of it"))
        elif text[place] == "{" and not self.arguments:
            self.begin_value(streams=True)
        else:
            self.state = self.skip_call(TEXT_BETWEEN_ARGUMENTS)
        return place

    def at_key_tag(self, text: str, place: int, end: int) -> int:
        stop = self.find_tag_end(text, place, end, self.syntax.key_start, self.syntax.tag_end)
        if stop == WAIT:
            return ~place
        found = self.syntax.match_key(text[place:stop]) if stop > 0 else None
        if found is None:
            self.state = self.skip_call(self.bad_tag_message(text, place, stop))
            return place
        groups = found.groupdict()
        is_text = groups.get("text")
        self.kind = groups.get("kind") or (None if is_text is None else TEXT_TYPE if is_text == "true" else JSON_TYPE)
        if not self.begin_argument((groups.get("key") or "").strip(), found.group()):
            return place
        self.begin_raw()
        self.write_arguments(found.group())
        return stop

    def at_name_tag(self, text: str, place: int, end: int) -> int:
        """The name of an argument, whose value has a tag of its own."""
        stop = self.find_tag_end(text, place, end, self.syntax.key_start, self.syntax.key_close)
        if stop == WAIT:
            return ~place
        found = self.syntax.match_name(text[place:stop]) if stop > 0 else None
        if found is None:
            self.state = self.skip_call(self.bad_tag_message(text, place, stop))
            return place
        if not self.begin_argument(found["key"].strip(), found.group()):
            return place
        if found["twice"]:
            self.add_repair(TAG_REPEATED)
        self.write_arguments(found.group())
        self.state = self.at_value
        return stop

    def begin_argument(self, key: str, tag: str) -> bool:
        """Whether an argument of that name may begin. If not, the call is broken."""
        if key in self.arguments or not key:
            self.state = self.skip_call(ARGUMENT_REPEATED.format(key=key) if key else BAD_TAG.format(tag=tag))
            return False
        self.key = key
        self.end_markers = self.syntax.value_ends(key)
        self.end_character = self.end_markers.first_characters if len(self.end_markers.first_characters) == 1 else ""
        return True

    def at_value(self, text: str, place: int, end: int) -> int:
        """Between the name of an argument and its value."""
        behind = self.end_of_space(text, place, end)
        if behind != place:
            if behind > place:
                self.write_arguments(text[place:behind])
            return behind
        word = self.syntax.after_key.match_at(text, place, end, self.is_final)
        if word is None:
            return ~place
        if word == self.syntax.value_start:
            self.begin_raw()
            self.write_arguments(word)
            return place + len(word)
        if word == self.syntax.key_close:
            self.add_repair(TAG_REPEATED)
            self.write_arguments(word)
            return place + len(word)
        if word:
            # Nothing is made up for it. Without it the call may do more than the model meant.
            self.add_repair(VALUE_MISSING.format(key=self.key))
            self.is_incomplete = True
            self.state = self.at_key
        else:
            self.add_repair(OPENING_TAG_MISSING)
            self.begin_raw()
        return place

    # -- the end of a call -------------------------------------------------------------------------------------------

    def end_call(self, *, recovered: bool = False) -> None:
        properties = self.tool.properties if self.tool else {}
        if self.ambiguous and properties:
            self.split_unclosed(properties)
        if len(self.arguments) == 1 and properties:
            ((key, inner),) = self.arguments.items()
            if key in WRAPPER_ARGUMENTS and key not in properties:
                self.unwrap(inner)
        self.complete_call(
            self.arguments, "".join(self.written_arguments), recovered=recovered or self.is_incomplete, typed=True
        )
        self.state = self.behind_call

    def unwrap(self, inner: Json) -> None:
        read = read_structure(inner.strip(), (dict,)) if isinstance(inner, str) else (inner, ())
        if read is None or not isinstance(read[0], dict):
            return
        self.arguments, repairs = coerce_arguments(read[0], self.tool) if self.tool else (read[0], ())  # type: ignore[assignment]
        for repair in (ARGUMENTS_WRAPPED, *read[1], *repairs):
            self.add_repair(repair)

    def behind_call(self, text: str, place: int, end: int) -> int:
        """More calls may follow in the same block."""
        behind = SPACE(text, place).end()
        if behind > place:
            self.emit_markup(text[place:behind])
            return behind
        start = self.syntax.call_start
        self.state = self.after_call
        if start and self.in_block:
            if text.startswith(start, place):
                self.state = self.at_call
            elif not self.is_final and is_cut_off(start, text, place, end):
                self.state = self.behind_call
                return ~place
        return place

    def at_end(self) -> None:
        if self.state == self.behind_raw:
            if self.closes_inner_tag():
                self.source.append(self.closing_tag + "".join(self.gap_parts))
            elif self.closing_tag == self.syntax.call_close:
                # The value may have spoken of that tag, and the output been cut right behind it.
                self.is_incomplete = True
                self.end_raw()
                return
            else:
                self.end_raw()
        # Every argument is closed and the call is not: whoever runs it decides about that.
        if self.source and self.state == self.at_key and self.arguments:
            self.add_repair(CALL_TAG_MISSING)
            self.end_call(recovered=True)
            return
        super().at_end()

    # -- JSON where tags should be -----------------------------------------------------------------------------------

    expected_syntax = "tags"
    correction = "Write it with tags, as the format has it"

    def after_json(self, text: str, place: int, end: int) -> int:
        if self.in_fence:
            behind = SPACE(text, place).end()
            if behind > place:
                self.emit_markup(text[place:behind])
                return behind
            if not self.is_final and is_cut_off(FENCE, text, place, end):
                return ~place
            self.in_fence = False
            if text.startswith(FENCE, place):
                self.emit_markup(FENCE)
                return place + len(FENCE)
        return super().after_json(text, place, end)

    def json_repairs(self) -> tuple[str, ...]:
        return (FENCE_LEFT_OUT,) if self.in_fence else ()

    def on_no_json(self, place: int) -> int:
        self.state = self.skip_call(CALL_REJECTED.format(why="it is neither tags nor JSON"))
        return place

    # -- what the states share ---------------------------------------------------------------------------------------

    def skip_space(self, text: str, place: int, end: int) -> int:
        """Over white space between tags, also where it was escaped once too often; the same place if there is none."""
        behind = self.end_of_space(text, place, end)
        if behind > place:
            self.source.append(text[place:behind])
        return behind

    def end_of_space(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind == place and text[place] == "\\":
            if place + 1 == end and not self.is_final:
                return ~place
            behind = place + 2 if text[place : place + 2] in ESCAPED_SPACES else place
        return behind

    def wait_or_consume(self, text: str, place: int, end: int) -> int:
        """What may yet become more waits for it. At the end of the output it never does, and the call is broken."""
        if not self.is_final:
            return ~place
        self.source.append(text[place:end])
        return end

    def find_tag_end(self, text: str, place: int, end: int, start: str, close: str) -> int:
        """Where the tag at a place ends; WAIT if it may still, 0 if it does not."""
        stop = text.find(close, place + len(start), place + MAX_HEADER_LENGTH)
        if stop >= 0:
            return stop + len(close)
        return WAIT if end - place < MAX_HEADER_LENGTH and not self.is_final else 0

    def bad_tag_message(self, text: str, place: int, stop: int) -> str:
        """Told by the tag alone, whatever else has come behind it by now."""
        return BAD_TAG.format(
            tag=text[place : min(stop, place + MAX_SHOWN_LENGTH) if stop > 0 else place + MAX_SHOWN_LENGTH]
        )

    def skip_call(self, why: str) -> State:
        """What is no call runs to the next end of one, so that it is told of once."""
        self.skip_reason = why
        return self.in_junk

    def in_junk(self, text: str, place: int, end: int) -> int:
        found = self.syntax.end_markers.search(text, place)
        if found is not None:
            self.source.append(text[place : found.end()])
            self.break_call(self.skip_reason)
            return found.end()
        sure = end if self.is_final else self.syntax.end_markers.safe_end(text, place, end)
        if sure > place:
            self.source.append(text[place:sure])
        return end if sure == end else ~sure
