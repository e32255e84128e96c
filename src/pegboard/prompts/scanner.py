"""The one linear scanner that every format shares: text, thinking, and how much of a marker to hold back.

An engine adds states. A state is a method (text, place, end) -> new place, or `~place` to keep `text[place:]` until
more comes. Every state consumes what it can, so what is held is never longer than a marker or a header: values go to a
list of parts. Whoever hands a character over without consuming it says `not_a_call`, which never opens there again.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, TypeAlias

from pegboard.core.json.values import Json
from pegboard.prompts.events import (
    Arguments,
    BrokenCallEvent,
    CallDoneEvent,
    CallStartedEvent,
    MarkerSet,
    Markup,
    OutputEvent,
    ParsedCall,
    TextEvent,
    ThinkingEvent,
    marker_set,
    matcher,
    source_text,
)
from pegboard.prompts.tool_shape import ToolShape, tools_by_name
from pegboard.prompts.values import coerce_arguments

# Reasoning that a model writes before its answer: where it begins and ends, and the call that was left in it.

THINK_MARKERS: Final = (("<think>", "</think>"),)


@dataclass(frozen=True)
class ThinkingFences:
    """What opens and closes thinking in a format, and what opens a call, which may be left inside by mistake."""

    pairs: tuple[tuple[str, str], ...] = THINK_MARKERS
    openers: tuple[str, ...] = ()

    @cached_property
    def ends_by_opener(self) -> Mapping[str, str]:
        return dict(self.pairs)

    @cached_property
    def end_markers(self) -> MarkerSet:
        return marker_set(tuple(end for _, end in self.pairs))

    @cached_property
    def call_openers(self) -> MarkerSet:
        return marker_set(self.openers)

    @cached_property
    def held_markers(self) -> MarkerSet:
        """What may be cut by the end of a chunk: an end of thinking, or an opener of a call."""
        return marker_set(self.end_markers.words + self.openers)


@dataclass(slots=True)
class ThinkingDraft:
    """Thinking since the first opener of a call in it. If thinking is never closed, a call at its end may be meant."""

    parts: list[str] = field(default_factory=list)

    def add(self, said: str, calls: MarkerSet) -> None:
        if self.parts:
            self.parts.append(said)
        elif found := calls.search(said):
            self.parts.append(said[found.start() :])

    def clear(self) -> None:
        self.parts = []

    @property
    def text(self) -> str:
        return "".join(self.parts)


# Which tool a name means that a model wrote: the very same, or the one that differs by prefix or case alone.
# Never a guess.

PREFIXES: Final = ("functions.", "function.", "tools.", "tool.", "default_api.", "default_api:", "functions/", "tools/")
"""What chat templates write before names, and models then repeat."""
INDEX: Final = re.compile(r":\d+\Z")
"""`name:0`, as models write that number their calls."""


@dataclass(frozen=True, slots=True)
class MatchedName:
    name: str
    tool: ToolShape | None
    """None: no tool has that name."""
    repairs: tuple[str, ...] = ()


class ToolNameMatcher:
    """The tools of one request by name. A name that fits two of them fits none."""

    def __init__(self, tools: Sequence[ToolShape]) -> None:
        self.tools: Mapping[str, ToolShape] = tools_by_name(tools)
        self._folded_names: dict[str, str | None] | None = None

    def match(self, name: str) -> MatchedName:
        tool = self.tools.get(name)
        if tool is not None:
            return MatchedName(name, tool)
        if not self.tools or not name:
            return MatchedName(name, None)
        for said in _name_variants(name):
            if said in self.tools:
                return self._repaired_match(name, said)
            other = self._names_by_fold().get(_fold(said))
            if other is not None:
                return self._repaired_match(name, other)
        return MatchedName(name, None)

    def _repaired_match(self, name: str, meant: str) -> MatchedName:
        return MatchedName(meant, self.tools[meant], (f"the name {name!r} was read as {meant!r}",))

    def _names_by_fold(self) -> Mapping[str, str | None]:
        if self._folded_names is None:
            self._folded_names = {}
            for name in self.tools:
                key = _fold(name)
                self._folded_names[key] = None if key in self._folded_names else name
        return self._folded_names


def _name_variants(name: str) -> Sequence[str]:
    """The name itself first, then without what models write around it."""
    bare = name.strip()
    said = [bare]
    for prefix in PREFIXES:
        if bare.startswith(prefix) and len(bare) > len(prefix):
            said.append(bare[len(prefix) :])
            break
    unnumbered = INDEX.sub("", said[-1])
    if unnumbered and unnumbered != said[-1]:
        said.append(unnumbered)
    return said


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_")


SPACE: Final = matcher(r"\s*")
MAX_HEADER_LENGTH: Final = 256
"""Characters between an opener and the value: a name, an id and their markers are shorter."""
CUT_MESSAGE: Final = "The output ended inside a call, so nothing was called. Write the whole call again."

State: TypeAlias = Callable[[str, int, int], int]


@dataclass(frozen=True)
class MarkerSyntax:
    """By what a format tells calls, thinking and text apart."""

    openers: tuple[str, ...] = ()
    closers: tuple[str, ...] = ()
    """What may follow a call, and means nothing wherever else it stands."""
    tails: tuple[str, ...] = ()
    """What may follow a call, and is text wherever else it stands."""
    text_closers: tuple[str, ...] = ()
    """Closers that are text wherever no call stands before them, because people write of them."""
    stray_markers: tuple[str, ...] = ()
    """What may stand anywhere in text and means nothing."""
    thinking_markers: tuple[tuple[str, str], ...] = THINK_MARKERS
    bare_openers: str = ""
    """Characters that may begin a call without any marker."""
    allows_inline: bool = False
    """Such a call may begin inside a line, not only at the beginning of one."""

    @cached_property
    def thinking_fences(self) -> ThinkingFences:
        return ThinkingFences(self.thinking_markers, self.strong_openers)

    @property
    def strong_openers(self) -> tuple[str, ...]:
        """The openers that mean a call wherever they stand."""
        return self.openers

    @cached_property
    def end_markers(self) -> MarkerSet:
        return marker_set(self.closers + self.tails)

    @cached_property
    def longer_openers(self) -> MarkerSet:
        """Openers that begin as something does which may follow a call: behind one they open the next."""
        return marker_set(tuple(word for word in self.openers if word.startswith(self.closers + self.tails)))

    @cached_property
    def meaningless_markers(self) -> frozenset[str]:
        return frozenset(self.closers + self.stray_markers)

    @cached_property
    def marker_words(self) -> frozenset[str]:
        return frozenset(self.markers.words)

    @cached_property
    def markers(self) -> MarkerSet:
        closers = tuple(word for word in self.closers if word not in self.text_closers)
        return marker_set(
            self.openers + tuple(start for start, _ in self.thinking_markers) + closers + self.stray_markers
        )

    @cached_property
    def find(self) -> Callable[[str, int], re.Match[str] | None]:
        """The next place in text where something may begin."""
        pattern = "|".join(map(re.escape, self.markers.words))
        if self.bare_openers:
            pattern = (pattern + "|" if pattern else "") + "[" + re.escape(self.bare_openers) + "]"
        return re.compile(pattern or r"(?!)").search


@dataclass(slots=True)
class _CallInProgress:
    """The call that is being read."""

    index: int
    match: MatchedName
    repairs: list[str] = field(default_factory=list)


class Scanner:
    """Base of the engines. They override `open`, `open_bare`, `at_end`, and call `start`, `argue`, `done`, `broken`."""

    def __init__(self, syntax: MarkerSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        self.syntax = syntax
        self.names = ToolNameMatcher(tools)
        self.has_tools = bool(self.names.tools)
        self.is_final = False
        self.source: list[str] = []
        """All that was read of the call that is open."""
        self.events: list[OutputEvent] = []
        self.state: State = self.in_thinking if in_thinking else self.in_text
        self.last_text_character = ""
        """The last character of text."""
        self._held_text = ""
        self._draft = ThinkingDraft()
        self.line_is_blank = True
        self._opening_forbidden = False
        self._call_count = 0
        self._call: _CallInProgress | None = None
        self.index = -1
        """Of the call that was started last."""
        self._recovers = True
        self._withheld_events: list[OutputEvent] = []
        self._withheld_start: int | None = None
        """From where on in `events` nothing is told yet, because what follows a call may show that it was misread."""

    # -- what whoever scans calls ------------------------------------------------------------------------------------

    def feed(self, text: str) -> list[OutputEvent]:
        """What more of the output tells."""
        out: list[OutputEvent] = []
        self.events = out
        if self._withheld_start is not None:
            self._withheld_start = 0
        buffer = self._held_text + text if self._held_text else text
        place, end = 0, len(buffer)
        while place < end:
            place = self.state(buffer, place, end)
            if place < 0:
                break
        self._held_text = buffer[~place:] if place < 0 else ""
        if self._withheld_start is not None:
            self._withheld_events += out[self._withheld_start :]
            del out[self._withheld_start :]
            self._withheld_start = len(out)
        return out

    def finish(self) -> list[OutputEvent]:
        """What the end of the output tells. Nothing may be fed after it."""
        self.is_final = True
        out = self.feed("")
        if self._held_text:
            self.source.append(self._held_text)
            self._held_text = ""
        self.at_end()
        if self._draft.parts:
            self._recover()
        self.state = self.in_text
        return out

    @property
    def held_length(self) -> int:
        """Characters that wait for more to come."""
        return len(self._held_text)

    # -- shared states -----------------------------------------------------------------------------------------------

    def in_text(self, text: str, place: int, end: int) -> int:
        found = self.syntax.find(text, place)
        if found is None:
            sure = end if self.is_final else self.safe_end(text, place, end)
            self.emit_text(text[place:sure])
            return end if sure == end else ~sure
        at, word = found.start(), found.group()
        if not self.is_final and (
            self.syntax.markers.match_at(text, at, end, False) is None
            if word not in self.syntax.marker_words
            else self.syntax.markers.may_continue(word, text, at, end)
        ):
            # A bracket may become a marker that begins with one, and a marker a longer one.
            sure = self.earliest_call_start(text, place, at)
            self.emit_text(text[place:sure])
            return ~sure
        if at > place:
            self.emit_text(text[place : self.call_start(text, place, at) if word in self.syntax.openers else at])
        if word in self.syntax.thinking_fences.ends_by_opener:
            self.emit_markup(word)
            self.state = self.in_thinking
        elif word in self.syntax.openers:
            self.source = [word]
            if self.open(word):
                self.source = []
                return at
        elif word in self.syntax.meaningless_markers:
            self.emit_markup(word)
        elif not self._opening_forbidden and (self.line_is_blank or self.syntax.allows_inline):
            self.source = []
            self.open_bare(word)
            return at
        else:
            self._opening_forbidden = False
            self.emit_text(word)
        return found.end()

    def in_thinking(self, text: str, place: int, end: int) -> int:
        fences = self.syntax.thinking_fences
        found = fences.end_markers.search(text, place)
        if found is None:
            sure = end if self.is_final else fences.held_markers.safe_end(text, place, end)
            if sure > place:
                said = text[place:sure]
                self.events.append(ThinkingEvent(said))
                if fences.openers:
                    self._draft.add(said, fences.call_openers)
            return end if sure == end else ~sure
        if found.start() > place:
            self.events.append(ThinkingEvent(text[place : found.start()]))
        self._draft.clear()
        self.emit_markup(found.group())
        self.state = self.in_text
        self.line_is_blank = True
        return found.end()

    def after_call(self, text: str, place: int, end: int) -> int:
        """Behind a call white space and end markers are markup; anything else is text again."""
        if text[place].isspace():
            behind = SPACE(text, place).end()
            self.emit_markup(text[place:behind])
            return behind
        word = self.syntax.end_markers.match_at(text, place, end, self.is_final)
        opener = (
            self.syntax.longer_openers.match_at(text, place, end, self.is_final)
            if self.syntax.longer_openers.words
            else ""
        )
        if word is None or opener is None:
            return ~place
        if word and len(opener) <= len(word):
            self.emit_markup(word)
            return place + len(word)
        self.line_is_blank = True
        self.state = self.in_text
        return place

    def safe_end(self, text: str, place: int, end: int) -> int:
        """How far text is surely text, although more will come."""
        return self.syntax.markers.safe_end(text, place, end)

    def earliest_call_start(self, text: str, place: int, at: int) -> int:
        """From where text may belong to a call, if an opener should stand behind it."""
        return at

    def call_start(self, text: str, place: int, at: int) -> int:
        """From where text before an opener does belong to the call."""
        return at

    # -- what states say ---------------------------------------------------------------------------------------------

    def emit_text(self, text: str) -> None:
        if text:
            self.events.append(TextEvent(text))
            self.last_text_character = text[-1]
            line = text.rfind("\n")
            tail = text[line + 1 :]
            self.line_is_blank = (line >= 0 or self.line_is_blank) and (not tail or tail.isspace())

    def emit_markup(self, raw: str) -> None:
        self.events.append(Markup(raw))

    def is_known_tool(self, name: str) -> bool:
        """A scanner that was told of no tools at all takes every name."""
        return not self.has_tools or self.names.match(name).tool is not None

    def start_call(self, name: str) -> None:
        """A call begins: its name is matched with the tools once, here."""
        self._call = call = _CallInProgress(self._call_count, self.names.match(name))
        self._call_count += 1
        self.index = call.index
        self.events.append(CallStartedEvent(call.index, call.match.name))

    @property
    def call_is_open(self) -> bool:
        return self._call is not None

    @property
    def tool(self) -> ToolShape | None:
        """What the call that is open is a call of."""
        return self._call.match.tool if self._call else None

    def emit_arguments(self, text: str) -> None:
        if self._call is not None:
            self.events.append(Arguments(self._call.index, text))

    def add_repair(self, what: str) -> None:
        """Something of the open call had to be bent; told once, however often."""
        if self._call is not None and what not in self._call.repairs:
            self._call.repairs.append(what)

    def complete_call(
        self, arguments: Mapping[str, Json], written: str, *, recovered: bool = False, typed: bool = False
    ) -> None:
        """The open call is complete. `typed`: the engine has read the arguments by the schema already, though not what
        objects and arrays among them hold."""
        call = self._call
        assert call is not None
        tool, repairs = call.match.tool, (*call.match.repairs, *call.repairs)
        if tool is not None:
            arguments, bent = coerce_arguments(arguments, tool, only_inner=typed)
            repairs += bent
        self._call = None
        done = ParsedCall(call.match.name, arguments, self.take_source(), written, repairs, recovered)
        self.events.append(CallDoneEvent(call.index, done))

    def break_call(self, why: str) -> None:
        self._call = None
        self.events.append(BrokenCallEvent(self.take_source(), why))
        self.state = self.after_call

    def treat_as_text(self) -> None:
        """What was read is text after all. Where nothing was read, nothing may open at that character again."""
        read = self.take_source()
        self._call = None
        self._opening_forbidden = not read
        self.emit_text(read)
        self.state = self.in_text

    @property
    def is_withholding(self) -> bool:
        return self._withheld_start is not None

    def withhold(self) -> None:
        """Tell the last event, and those that follow, only when `release` is called."""
        if self._withheld_start is None:
            self._withheld_start = len(self.events) - 1

    def release(self, *, recovered: bool = False, repair: str = "") -> None:
        """Tell what was withheld. `recovered`: its calls run only where the settings say so. `repair`: of the last."""
        start = self._withheld_start
        if start is None:
            return
        self._withheld_start = None
        if self._withheld_events:
            self.events[start:start] = self._withheld_events
            self._withheld_events = []
        if not recovered and not repair:
            return
        for place in reversed(range(start, len(self.events))):
            event = self.events[place]
            if isinstance(event, CallDoneEvent):
                repairs = (*event.call.repairs, repair) if repair else event.call.repairs
                call = replace(event.call, recovered=recovered or event.call.recovered, repairs=repairs)
                self.events[place], repair = replace(event, call=call), ""

    def revoke(self) -> None:
        """What was withheld is no call: all of it goes back to the text of the call that is open."""
        start = self._withheld_start
        if start is not None:
            self.source.insert(0, source_text([*self._withheld_events, *self.events[start:]]))
            del self.events[start:]
            self._withheld_events, self._withheld_start = [], None

    def take_source(self) -> str:
        read = "".join(self.source)
        self.source = []
        return read

    # -- what engines add --------------------------------------------------------------------------------------------

    def open(self, word: str) -> bool:
        """An opener was read. True: the engine wants to read it itself."""
        raise NotImplementedError

    def open_bare(self, character: str) -> None:
        """A character that may begin a call stands next, not yet read."""
        raise NotImplementedError

    def at_end(self) -> None:
        if self.source:
            self.break_call(CUT_MESSAGE)

    # -- thinking that was never closed ------------------------------------------------------------------------------

    def _recover(self) -> None:
        """If it ends in nothing but complete calls they are told, as recovered. Their text was told as thinking."""
        if not self._recovers:
            return
        inner = type(self)(self.syntax, tuple(self.names.tools.values()))
        inner._recovers = False  # Thinking in thinking in thinking would otherwise be read as often as it is deep.
        events = inner.feed(self._draft.text) + inner.finish()
        if any(
            isinstance(event, BrokenCallEvent) or (isinstance(event, TextEvent) and event.text.strip())
            for event in events
        ):
            return
        for event in events:
            if isinstance(event, CallDoneEvent):
                call = replace(event.call, raw="", recovered=True)
                self.events += [CallStartedEvent(self._call_count, call.name), CallDoneEvent(self._call_count, call)]
                self._call_count += 1


@dataclass(frozen=True)
class ParsedOutput:
    """A whole output, read."""

    events: tuple[OutputEvent, ...]
    text: str
    thinking: str
    calls: tuple[ParsedCall, ...]
    broken_calls: tuple[BrokenCallEvent, ...]


def collect_output(events: Sequence[OutputEvent]) -> ParsedOutput:
    return ParsedOutput(
        tuple(events),
        "".join(event.text for event in events if isinstance(event, TextEvent)),
        "".join(event.text for event in events if isinstance(event, ThinkingEvent)),
        tuple(event.call for event in events if isinstance(event, CallDoneEvent)),
        tuple(event for event in events if isinstance(event, BrokenCallEvent)),
    )
