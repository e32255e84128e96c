"""Outputs that are framed as messages, each with a header that says to whom it goes: thinking, text or a call."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.events import Thinking
from pegboard.prompts.marks import Marks, cut_off, marks, matcher
from pegboard.prompts.repair import Read, Refused, read
from pegboard.prompts.scanner import HEADER_MOST, SPACE, State
from pegboard.prompts.shapes import ToolShape

from .json_calls import JsonScanner, JsonSigns
from .json_value import ValueScanner, ValueSigns, as_arguments
from .tag_signs import Tags
from .tags import TagScanner

MESSAGE: Final = "<|message|>"
RIGHT: Final = "Write the arguments as one JSON object"

_to: Final = re.compile(r"\bto=([^\s<]+)").search
_to_begun: Final = re.compile(r"\s*(?:t(?:o(?:=[^<]*)?)?)?\Z").match
_to_begins: Final = re.compile(r"\s*to=").match
_channel: Final = re.compile(r"<\|channel\|>\s*(\w+)").search
_author: Final = matcher(r"[\w.\-]*")


@dataclass(frozen=True)
class MessageSigns(ValueSigns):
    begins: tuple[str, ...] = ()
    """What a header begins with."""

    @cached_property
    def breaks(self) -> Marks:
        """Where a message ends: at its end, or where the next begins."""
        return marks(self.begins + self.closers)


class HarmonyScanner(ValueScanner):
    """`<|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>`."""

    signs: MessageSigns

    def __init__(self, signs: MessageSigns, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools)
        self.name = ""
        self.state: State = self.in_analysis if in_thinking else self.at_beginning

    def at_beginning(self, text: str, place: int, end: int) -> int:
        """The prompt may have begun the header, so that the output goes on with the recipient."""
        if _to_begins(text, place):
            self.state = self.in_header
        elif not self.final and end - place < HEADER_MOST and _to_begun(text, place):
            return ~place
        else:
            self.state = self.in_text
        return place

    def in_text(self, text: str, place: int, end: int) -> int:
        return self.in_message(text, place, end, thinks=False)

    def in_analysis(self, text: str, place: int, end: int) -> int:
        return self.in_message(text, place, end, thinks=True)

    def in_message(self, text: str, place: int, end: int, *, thinks: bool) -> int:
        found = self.signs.breaks.search(text, place)
        sure = found.start() if found else end if self.final else self.signs.breaks.hold(text, place, end)
        if sure > place:
            if thinks:
                self.events.append(Thinking(text[place:sure]))
            else:
                self.say(text[place:sure])
        if found is None:
            return end if sure == end else ~sure
        if found.group() in self.signs.begins:
            self.state = self.in_header
            return sure
        self.mark(found.group())
        self.state = self.in_text
        return found.end()

    def in_header(self, text: str, place: int, end: int) -> int:
        stop = text.find(MESSAGE, place, place + HEADER_MOST)
        if stop < 0:
            if not self.final and end - place < HEADER_MOST:
                return ~place
            # No header after all: one character on, so that what follows is looked at again.
            self.say(text[place : place + 1])
            self.state = self.in_text
            return place + 1
        behind = stop + len(MESSAGE)
        header = text[place:behind]
        recipient, channel = _to(header), _channel(header)
        if recipient and recipient.group(1) not in ("assistant", "user"):
            self.source = [header]
            self.name = recipient.group(1).removeprefix("functions.")
            self.start(self.name)
            self.state = self.at_body
            return behind
        self.mark(header)
        self.state = self.in_analysis if channel and channel.group(1) == "analysis" else self.in_text
        return behind

    def at_body(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind > place:
            self.source.append(text[place:behind])
            return behind
        word = self.signs.ends.at(text, place, end, self.final)
        if word is None:
            return ~place
        if word:
            self.repaired("nothing was read as no arguments")
            self.done({}, "")
            self.state = self.after
        elif text[place] in '{"':
            self.begin_value(streams=True)
        else:
            self.state = self.in_junk
        return place

    def value_ended(self, raw: str, value: Read | None) -> None:
        found = value or self.load(raw)
        arguments = found.why if isinstance(found, Refused) else as_arguments(found.value)
        if isinstance(arguments, str):
            self.broken(f"The call of {self.name!r} was not made: {arguments}. {RIGHT}.")
            return
        repairs = () if isinstance(found, Refused) else found.repairs
        for repair in (*repairs, *arguments[1]):
            self.repaired(repair)
        self.done(arguments[0], raw)
        self.state = self.after

    def unclosed(self, place: int) -> int:
        raw = "".join(self.parts)
        found = read(raw, whole=True) if self.depth else Refused("it is no JSON")
        if isinstance(found, Refused):
            self.state = self.in_junk
        else:
            self.parts, self.depth = [], 0
            self.value_ended(raw, found)
        return place

    def in_junk(self, text: str, place: int, end: int) -> int:
        """What is no JSON runs to the end of the message."""
        found = self.signs.breaks.search(text, place)
        sure = found.start() if found else end if self.final else self.signs.breaks.hold(text, place, end)
        if sure > place:
            self.source.append(text[place:sure])
        if found is None:
            return end if sure == end else ~sure
        self.broken(f"The call of {self.name!r} was not made: its arguments are no JSON. {RIGHT}.")
        return sure


_tool_header: Final = re.compile(r"to=([\w.\-]{1,128})<\|message\|>").search
_recipient: Final = matcher(r"[\w.\-]{0,128}")


@dataclass(frozen=True)
class FramedTags(Tags):
    frame: str = ""
    """A pattern for the header of a message, whose first group is the recipient."""
    frame_start: str = ""
    message_ends: tuple[str, ...] = ()

    @cached_property
    def match_frame(self) -> "re.Pattern[str]":
        return re.compile(self.frame)

    @cached_property
    def message_marks(self) -> Marks:
        return marks(self.message_ends)

    @cached_property
    def text_marks(self) -> Marks:
        """Where text without a header ends. In a message that has one, the header of another is quoted."""
        return marks((*self.message_ends, self.frame_start))


class FramedTagScanner(TagScanner):
    """Calls as tags count only in a message to a tool: in any other they are quoted."""

    signs: FramedTags

    def __init__(self, signs: FramedTags, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools)
        self.state: State = self.in_own if in_thinking else self.at_frame
        self.unended = False
        """Whether the message before this one, which was thinking, was never ended."""
        self.has_header = in_thinking
        """Whether the message that is read began with a header."""

    def between_messages(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind > place:
            self.mark(text[place:behind])
        else:
            self.state = self.at_frame
        return behind

    def at_frame(self, text: str, place: int, end: int) -> int:
        """At the beginning of a message: its header, or text without one."""
        begins = text.startswith(self.signs.frame_start, place) or _to_begins(text, place)
        if begins:
            behind = self.read_header(text, place, end)
            if behind != place:
                return behind
        elif (
            not self.final
            and end - place < HEADER_MOST
            and (cut_off(self.signs.frame_start, text, place, end) or _to_begun(text, place))
        ):
            return ~place
        self.has_header = False
        self.state = self.in_said
        return place

    def read_header(self, text: str, place: int, end: int) -> int:
        """Behind the header that begins there; the same place if there is none."""
        stop = text.find(MESSAGE, place, place + HEADER_MOST)
        if stop < 0 and not self.final and end - place < HEADER_MOST:
            return ~place
        header = text[place : stop + len(MESSAGE)] if stop >= 0 else ""
        found = self.signs.match_frame.fullmatch(header)
        if found is None:
            return place
        self.mark(header)
        to = found.group(1)
        self.has_header = True
        self.state = self.in_said if to == "user" else self.in_own if to == "self" else self.in_text
        return place + len(header)

    def at_inner_frame(self, text: str, place: int, end: int) -> int:
        """What may be the first header, behind text without one."""
        behind = self.read_header(text, place, end)
        if behind == place:
            behind = place + len(self.signs.frame_start)
            self.say(text[place:behind])
            self.state = self.in_said
        return behind

    def in_said(self, text: str, place: int, end: int) -> int:
        return self.in_message(text, place, end, thinks=False)

    def in_own(self, text: str, place: int, end: int) -> int:
        return self.in_message(text, place, end, thinks=True)

    def in_message(self, text: str, place: int, end: int, *, thinks: bool) -> int:
        ends = self.signs.message_marks if self.has_header else self.signs.text_marks
        found = ends.search(text, place)
        sure = found.start() if found else end if self.final else ends.hold(text, place, end)
        header = _tool_header(text, place, sure) if thinks else None
        if header:
            sure = header.start()
        elif thinks and found is None and not self.final:
            sure = min(sure, _begun_header(text, place, end))
        if sure > place:
            if thinks:
                self.events.append(Thinking(text[place:sure]))
            else:
                self.say(text[place:sure])
        if header:
            self.mark(header.group())
            self.has_header = True
            self.unended = header.group(1) not in ("self", "user")
            self.state = self.in_text if self.unended else self.in_said if header.group(1) == "user" else self.in_own
            return header.end()
        if found is None:
            return end if sure == end else ~sure
        if found.group() == self.signs.frame_start:
            self.state = self.at_inner_frame
            return sure
        self.mark(found.group())
        self.state = self.between_messages
        return found.end()

    def open(self, word: str) -> bool:
        if word not in self.signs.message_ends:
            return super().open(word)
        self.source = []
        self.mark(word)
        self.unended = False
        self.state = self.between_messages
        return False

    def begin(self, name: str) -> None:
        """A tool is named with its toolset before it; one that is a toolset of its own, twice."""
        before, _, last = name.rpartition(".")
        super().begin(
            last if before and name not in self.names.tools and (before == last or last in self.names.tools) else name
        )
        self.lacks = self.unended


def _begun_header(text: str, place: int, end: int) -> int:
    """Where the header of a message may have begun that the end of the text cuts: `end` if there is none."""
    at = text.rfind("to=", max(place, end - HEADER_MOST), end)
    if at >= 0:
        name = _recipient(text, at + 3).end()
        if MESSAGE.startswith(text[name:end]):
            return at
    return next((end - size for size in (2, 1) if text.endswith("to"[:size], place, end)), end)


class InklingScanner(JsonScanner):
    """The author of a message may stand before what it holds: for nobody to read."""

    signs: JsonSigns
    INVOKES: Final = "<|content_invoke_tool_json|>"
    AUTHOR: Final = "<|message_model|>"
    CONTENT: Final = "<|content_"

    unended = False
    """Whether the thinking before the call was never ended."""

    def in_thinking(self, text: str, place: int, end: int) -> int:
        """One end serves messages of every kind, so a call in thinking that is not ended would seem to be thought."""
        at = text.find(self.INVOKES, place)
        stop = self.signs.fences.ends.search(text, place)
        if at < 0 or (stop is not None and stop.start() < at):
            return super().in_thinking(text, place, end)
        if at > place:
            self.events.append(Thinking(text[place:at]))
        self.unended, self.state = True, self.in_text
        return at

    def done(
        self, arguments: Mapping[str, Json], written: str, *, recovered: bool = False, typed: bool = False
    ) -> None:
        super().done(arguments, written, recovered=recovered or self.unended, typed=typed)
        self.unended = False

    def open(self, word: str) -> bool:
        if word != self.AUTHOR:
            return super().open(word)
        self.state = self.at_author
        return False

    def at_author(self, text: str, place: int, end: int) -> int:
        stop = _author(text, place).end()
        rest = text[stop : stop + len(self.CONTENT)]
        if rest != self.CONTENT and self.CONTENT.startswith(rest) and not self.final and end - place < HEADER_MOST:
            return ~place
        named = rest == self.CONTENT and stop - place < HEADER_MOST - len(self.CONTENT)
        if named:
            self.source.append(text[place:stop])
        self.mark(self.taken())
        self.state = self.in_text
        return stop if named else place

    def at_end(self) -> None:
        if self.source and self.state == self.at_author:
            self.mark(self.taken())
        else:
            super().at_end()
