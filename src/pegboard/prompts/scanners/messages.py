"""Outputs that consist of messages with headers: thinking, text or a call."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pegboard.core.json.values import Json
from pegboard.prompts.events import MarkerSet, ThinkingEvent, is_cut_off, marker_set, matcher
from pegboard.prompts.repair import RepairedJson, UnrepairableJson, read_json
from pegboard.prompts.scanner import MAX_HEADER_LENGTH, SPACE, State
from pegboard.prompts.scanners.json_calls import JsonScanner, JsonSyntax
from pegboard.prompts.scanners.json_value import ValueScanner, ValueSyntax, parse_arguments
from pegboard.prompts.scanners.tags import TagScanner, TagSyntax
from pegboard.prompts.tool_shape import ToolShape

MESSAGE_MARKER: Final = "<|message|>"
CORRECTION: Final = "Write the arguments as one JSON object"

_search_recipient: Final = re.compile(r"\bto=([^\s<]+)").search
_match_begun_recipient: Final = re.compile(r"\s*(?:t(?:o(?:=[^<]*)?)?)?\Z").match
_match_recipient: Final = re.compile(r"\s*to=").match
_search_channel: Final = re.compile(r"<\|channel\|>\s*(\w+)").search
_match_author: Final = matcher(r"[\w.\-]*")


@dataclass(frozen=True)
class MessageSyntax(ValueSyntax):
    header_markers: tuple[str, ...] = ()
    """What a header begins with."""

    @cached_property
    def message_breaks(self) -> MarkerSet:
        """Where a message ends: at its end, or where the next begins."""
        return marker_set(self.header_markers + self.closers)


class HarmonyScanner(ValueScanner):
    """`<|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>`."""

    syntax: MessageSyntax

    def __init__(self, signs: MessageSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools)
        self.name = ""
        self.state: State = self.in_analysis if in_thinking else self.at_beginning

    def at_beginning(self, text: str, place: int, end: int) -> int:
        """The prompt may have begun the header, so that the output goes on with the recipient."""
        if _match_recipient(text, place):
            self.state = self.in_header
        elif not self.is_final and end - place < MAX_HEADER_LENGTH and _match_begun_recipient(text, place):
            return ~place
        else:
            self.state = self.in_text
        return place

    def in_text(self, text: str, place: int, end: int) -> int:
        return self.in_message(text, place, end, thinks=False)

    def in_analysis(self, text: str, place: int, end: int) -> int:
        return self.in_message(text, place, end, thinks=True)

    def in_message(self, text: str, place: int, end: int, *, thinks: bool) -> int:
        found = self.syntax.message_breaks.search(text, place)
        sure = (
            found.start() if found else end if self.is_final else self.syntax.message_breaks.safe_end(text, place, end)
        )
        if sure > place:
            if thinks:
                self.events.append(ThinkingEvent(text[place:sure]))
            else:
                self.emit_text(text[place:sure])
        if found is None:
            return end if sure == end else ~sure
        if found.group() in self.syntax.header_markers:
            self.state = self.in_header
            return sure
        self.emit_markup(found.group())
        self.state = self.in_text
        return found.end()

    def in_header(self, text: str, place: int, end: int) -> int:
        stop = text.find(MESSAGE_MARKER, place, place + MAX_HEADER_LENGTH)
        if stop < 0:
            if not self.is_final and end - place < MAX_HEADER_LENGTH:
                return ~place
            # No header after all: one character on, so that what follows is looked at again.
            self.emit_text(text[place : place + 1])
            self.state = self.in_text
            return place + 1
        behind = stop + len(MESSAGE_MARKER)
        header = text[place:behind]
        recipient, channel = _search_recipient(header), _search_channel(header)
        if recipient and recipient.group(1) not in ("assistant", "user"):
            self.source = [header]
            self.name = recipient.group(1).removeprefix("functions.")
            self.start_call(self.name)
            self.state = self.at_body
            return behind
        self.emit_markup(header)
        self.state = self.in_analysis if channel and channel.group(1) == "analysis" else self.in_text
        return behind

    def at_body(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind > place:
            self.source.append(text[place:behind])
            return behind
        word = self.syntax.end_markers.match_at(text, place, end, self.is_final)
        if word is None:
            return ~place
        if word:
            self.add_repair("nothing was read as no arguments")
            self.complete_call({}, "")
            self.state = self.after_call
        elif text[place] in '{"':
            self.begin_value(streams=True)
        else:
            self.state = self.in_junk
        return place

    def on_value_end(self, raw: str, value: RepairedJson | None) -> None:
        found = value or self.parse_value(raw)
        arguments = found.why if isinstance(found, UnrepairableJson) else parse_arguments(found.value)
        if isinstance(arguments, str):
            self.break_call(f"The call of {self.name!r} was not made: {arguments}. {CORRECTION}.")
            return
        repairs = () if isinstance(found, UnrepairableJson) else found.repairs
        for repair in (*repairs, *arguments[1]):
            self.add_repair(repair)
        self.complete_call(arguments[0], raw)
        self.state = self.after_call

    def on_unclosed(self, place: int) -> int:
        raw = "".join(self.parts)
        found = read_json(raw, whole=True) if self.depth else UnrepairableJson("it is no JSON")
        if isinstance(found, UnrepairableJson):
            self.state = self.in_junk
        else:
            self.parts, self.depth = [], 0
            self.on_value_end(raw, found)
        return place

    def in_junk(self, text: str, place: int, end: int) -> int:
        """What is no JSON runs to the end of the message."""
        found = self.syntax.message_breaks.search(text, place)
        sure = (
            found.start() if found else end if self.is_final else self.syntax.message_breaks.safe_end(text, place, end)
        )
        if sure > place:
            self.source.append(text[place:sure])
        if found is None:
            return end if sure == end else ~sure
        self.break_call(f"The call of {self.name!r} was not made: its arguments are no JSON. {CORRECTION}.")
        return sure


_search_tool_header: Final = re.compile(r"to=([\w.\-]{1,128})<\|message\|>").search
_match_recipient_name: Final = matcher(r"[\w.\-]{0,128}")


@dataclass(frozen=True)
class FramedTagSyntax(TagSyntax):
    header: str = ""
    """A pattern for the header of a message, whose first group is the recipient."""
    header_start: str = ""
    message_ends: tuple[str, ...] = ()

    @cached_property
    def header_pattern(self) -> "re.Pattern[str]":
        return re.compile(self.header)

    @cached_property
    def message_markers(self) -> MarkerSet:
        return marker_set(self.message_ends)

    @cached_property
    def text_markers(self) -> MarkerSet:
        """Where text without a header ends. In a message that has one, the header of another is quoted."""
        return marker_set((*self.message_ends, self.header_start))


class FramedTagScanner(TagScanner):
    """Calls as tags count only in a message to a tool: in any other they are quoted."""

    syntax: FramedTagSyntax

    def __init__(self, signs: FramedTagSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools)
        self.state: State = self.in_thoughts if in_thinking else self.at_header
        self.thinking_unended = False
        """Whether the message before this one, which was thinking, was never ended."""
        self.has_header = in_thinking
        """Whether the message that is read began with a header."""

    def between_messages(self, text: str, place: int, end: int) -> int:
        behind = SPACE(text, place).end()
        if behind > place:
            self.emit_markup(text[place:behind])
        else:
            self.state = self.at_header
        return behind

    def at_header(self, text: str, place: int, end: int) -> int:
        """At the beginning of a message: its header, or text without one."""
        begins = text.startswith(self.syntax.header_start, place) or _match_recipient(text, place)
        if begins:
            behind = self.read_header(text, place, end)
            if behind != place:
                return behind
        elif (
            not self.is_final
            and end - place < MAX_HEADER_LENGTH
            and (is_cut_off(self.syntax.header_start, text, place, end) or _match_begun_recipient(text, place))
        ):
            return ~place
        self.has_header = False
        self.state = self.in_answer
        return place

    def read_header(self, text: str, place: int, end: int) -> int:
        """Behind the header that begins there; the same place if there is none."""
        stop = text.find(MESSAGE_MARKER, place, place + MAX_HEADER_LENGTH)
        if stop < 0 and not self.is_final and end - place < MAX_HEADER_LENGTH:
            return ~place
        header = text[place : stop + len(MESSAGE_MARKER)] if stop >= 0 else ""
        found = self.syntax.header_pattern.fullmatch(header)
        if found is None:
            return place
        self.emit_markup(header)
        to = found.group(1)
        self.has_header = True
        self.state = self.in_answer if to == "user" else self.in_thoughts if to == "self" else self.in_text
        return place + len(header)

    def at_inner_header(self, text: str, place: int, end: int) -> int:
        """What may be the first header, behind text without one."""
        behind = self.read_header(text, place, end)
        if behind == place:
            behind = place + len(self.syntax.header_start)
            self.emit_text(text[place:behind])
            self.state = self.in_answer
        return behind

    def in_answer(self, text: str, place: int, end: int) -> int:
        return self.in_message(text, place, end, thinks=False)

    def in_thoughts(self, text: str, place: int, end: int) -> int:
        return self.in_message(text, place, end, thinks=True)

    def in_message(self, text: str, place: int, end: int, *, thinks: bool) -> int:
        ends = self.syntax.message_markers if self.has_header else self.syntax.text_markers
        found = ends.search(text, place)
        sure = found.start() if found else end if self.is_final else ends.safe_end(text, place, end)
        header = _search_tool_header(text, place, sure) if thinks else None
        if header:
            sure = header.start()
        elif thinks and found is None and not self.is_final:
            sure = min(sure, _find_begun_header(text, place, end))
        if sure > place:
            if thinks:
                self.events.append(ThinkingEvent(text[place:sure]))
            else:
                self.emit_text(text[place:sure])
        if header:
            self.emit_markup(header.group())
            self.has_header = True
            self.thinking_unended = header.group(1) not in ("self", "user")
            self.state = (
                self.in_text
                if self.thinking_unended
                else self.in_answer
                if header.group(1) == "user"
                else self.in_thoughts
            )
            return header.end()
        if found is None:
            return end if sure == end else ~sure
        if found.group() == self.syntax.header_start:
            self.state = self.at_inner_header
            return sure
        self.emit_markup(found.group())
        self.state = self.between_messages
        return found.end()

    def open(self, word: str) -> bool:
        if word not in self.syntax.message_ends:
            return super().open(word)
        self.source = []
        self.emit_markup(word)
        self.thinking_unended = False
        self.state = self.between_messages
        return False

    def begin_call(self, name: str) -> None:
        """A tool is named with its toolset before it; one that is a toolset of its own, twice."""
        before, _, last = name.rpartition(".")
        super().begin_call(
            last if before and name not in self.names.tools and (before == last or last in self.names.tools) else name
        )
        self.is_incomplete = self.thinking_unended


def _find_begun_header(text: str, place: int, end: int) -> int:
    """Where the header of a message may have begun that the end of the text cuts: `end` if there is none."""
    at = text.rfind("to=", max(place, end - MAX_HEADER_LENGTH), end)
    if at >= 0:
        name = _match_recipient_name(text, at + 3).end()
        if MESSAGE_MARKER.startswith(text[name:end]):
            return at
    return next((end - size for size in (2, 1) if text.endswith("to"[:size], place, end)), end)


class InklingScanner(JsonScanner):
    """The author of a message may stand before what it holds: for nobody to read."""

    syntax: JsonSyntax
    INVOKE_MARKER: Final = "<|content_invoke_tool_json|>"
    AUTHOR_MARKER: Final = "<|message_model|>"
    CONTENT_MARKER: Final = "<|content_"

    thinking_unended = False
    """Whether the thinking before the call was never ended."""

    def in_thinking(self, text: str, place: int, end: int) -> int:
        """One end serves messages of every kind, so a call in thinking that is not ended would seem to be thought."""
        at = text.find(self.INVOKE_MARKER, place)
        stop = self.syntax.thinking_fences.end_markers.search(text, place)
        if at < 0 or (stop is not None and stop.start() < at):
            return super().in_thinking(text, place, end)
        if at > place:
            self.events.append(ThinkingEvent(text[place:at]))
        self.thinking_unended, self.state = True, self.in_text
        return at

    def complete_call(
        self, arguments: Mapping[str, Json], written: str, *, recovered: bool = False, typed: bool = False
    ) -> None:
        super().complete_call(arguments, written, recovered=recovered or self.thinking_unended, typed=typed)
        self.thinking_unended = False

    def open(self, word: str) -> bool:
        if word != self.AUTHOR_MARKER:
            return super().open(word)
        self.state = self.at_author
        return False

    def at_author(self, text: str, place: int, end: int) -> int:
        stop = _match_author(text, place).end()
        rest = text[stop : stop + len(self.CONTENT_MARKER)]
        if (
            rest != self.CONTENT_MARKER
            and self.CONTENT_MARKER.startswith(rest)
            and not self.is_final
            and end - place < MAX_HEADER_LENGTH
        ):
            return ~place
        named = rest == self.CONTENT_MARKER and stop - place < MAX_HEADER_LENGTH - len(self.CONTENT_MARKER)
        if named:
            self.source.append(text[place:stop])
        self.emit_markup(self.take_source())
        self.state = self.in_text
        return stop if named else place

    def at_end(self) -> None:
        if self.source and self.state == self.at_author:
            self.emit_markup(self.take_source())
        else:
            super().at_end()
