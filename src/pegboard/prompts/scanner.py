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

from pegboard.core.folded import Json

from .coercion import coerced
from .events import Arguments, Broken, Called, Done, Event, Markup, Started, Text, Thinking, accounted
from .marks import Marks, marks, matcher
from .matching import Matched, Names
from .shapes import ToolShape
from .thinking import THINK, Draft, Fences

SPACE: Final = matcher(r"\s*")
HEADER_MOST: Final = 256
"""Characters between an opener and the value: a name, an id and their markers are shorter."""
CUT: Final = "The output ended inside a call, so nothing was called. Write the whole call again."

State: TypeAlias = Callable[[str, int, int], int]


@dataclass(frozen=True)
class Signs:
    """By what a format tells calls, thinking and text apart."""

    openers: tuple[str, ...] = ()
    closers: tuple[str, ...] = ()
    """What may follow a call, and means nothing wherever else it stands."""
    tails: tuple[str, ...] = ()
    """What may follow a call, and is text wherever else it stands."""
    shown: tuple[str, ...] = ()
    """Closers that are text wherever no call stands before them, because people write of them."""
    strays: tuple[str, ...] = ()
    """What may stand anywhere in text and means nothing."""
    thinking: tuple[tuple[str, str], ...] = THINK
    bare: str = ""
    """Characters that may begin a call without any marker."""
    anywhere: bool = False
    """Such a call may begin inside a line, not only at the beginning of one."""

    @cached_property
    def fences(self) -> Fences:
        return Fences(self.thinking, self.strong)

    @property
    def strong(self) -> tuple[str, ...]:
        """The openers that mean a call wherever they stand."""
        return self.openers

    @cached_property
    def ends(self) -> Marks:
        return marks(self.closers + self.tails)

    @cached_property
    def outgrown(self) -> Marks:
        """Openers that begin as something does which may follow a call: behind one they open the next."""
        return marks(tuple(word for word in self.openers if word.startswith(self.closers + self.tails)))

    @cached_property
    def meaningless(self) -> frozenset[str]:
        return frozenset(self.closers + self.strays)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.marks.words)

    @cached_property
    def marks(self) -> Marks:
        closers = tuple(word for word in self.closers if word not in self.shown)
        return marks(self.openers + tuple(start for start, _ in self.thinking) + closers + self.strays)

    @cached_property
    def find(self) -> Callable[[str, int], re.Match[str] | None]:
        """The next place in text where something may begin."""
        pattern = "|".join(map(re.escape, self.marks.words))
        if self.bare:
            pattern = (pattern + "|" if pattern else "") + "[" + re.escape(self.bare) + "]"
        return re.compile(pattern or r"(?!)").search


@dataclass(slots=True)
class _Opened:
    """The call that is being read."""

    index: int
    matched: Matched
    repairs: list[str] = field(default_factory=list)


class Scanner:
    """Base of the engines. They override `open`, `open_bare`, `at_end`, and call `start`, `argue`, `done`, `broken`."""

    def __init__(self, signs: Signs, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        self.signs = signs
        self.names = Names(tools)
        self.known_tools = bool(self.names.tools)
        self.final = False
        self.source: list[str] = []
        """All that was read of the call that is open."""
        self.events: list[Event] = []
        self.state: State = self.in_thinking if in_thinking else self.in_text
        self.said = ""
        """The last character of text."""
        self._held = ""
        self._draft = Draft()
        self.line_is_blank = True
        self._forbidden = False
        self._count = 0
        self._call: _Opened | None = None
        self.index = -1
        """Of the call that was started last."""
        self._recovers = True
        self._withheld: list[Event] = []
        self._withheld_from: int | None = None
        """From where on in `events` nothing is told yet, because what follows a call may show that it was misread."""

    # -- what whoever scans calls ------------------------------------------------------------------------------------

    def feed(self, text: str) -> list[Event]:
        """What more of the output tells."""
        out: list[Event] = []
        self.events = out
        if self._withheld_from is not None:
            self._withheld_from = 0
        buffer = self._held + text if self._held else text
        place, end = 0, len(buffer)
        while place < end:
            place = self.state(buffer, place, end)
            if place < 0:
                break
        self._held = buffer[~place:] if place < 0 else ""
        if self._withheld_from is not None:
            self._withheld += out[self._withheld_from :]
            del out[self._withheld_from :]
            self._withheld_from = len(out)
        return out

    def finish(self) -> list[Event]:
        """What the end of the output tells. Nothing may be fed after it."""
        self.final = True
        out = self.feed("")
        if self._held:
            self.source.append(self._held)
            self._held = ""
        self.at_end()
        if self._draft.parts:
            self._recover()
        self.state = self.in_text
        return out

    @property
    def held(self) -> int:
        """Characters that wait for more to come."""
        return len(self._held)

    # -- shared states -----------------------------------------------------------------------------------------------

    def in_text(self, text: str, place: int, end: int) -> int:
        found = self.signs.find(text, place)
        if found is None:
            sure = end if self.final else self.hold(text, place, end)
            self.say(text[place:sure])
            return end if sure == end else ~sure
        at, word = found.start(), found.group()
        if not self.final and (
            self.signs.marks.at(text, at, end, False) is None
            if word not in self.signs.words
            else self.signs.marks.goes_on(word, text, at, end)
        ):
            # A bracket may become a marker that begins with one, and a marker a longer one.
            sure = self.before(text, place, at)
            self.say(text[place:sure])
            return ~sure
        if at > place:
            self.say(text[place : self.reach_back(text, place, at) if word in self.signs.openers else at])
        if word in self.signs.fences.opening:
            self.mark(word)
            self.state = self.in_thinking
        elif word in self.signs.openers:
            self.source = [word]
            if self.open(word):
                self.source = []
                return at
        elif word in self.signs.meaningless:
            self.mark(word)
        elif not self._forbidden and (self.line_is_blank or self.signs.anywhere):
            self.source = []
            self.open_bare(word)
            return at
        else:
            self._forbidden = False
            self.say(word)
        return found.end()

    def in_thinking(self, text: str, place: int, end: int) -> int:
        fences = self.signs.fences
        found = fences.ends.search(text, place)
        if found is None:
            sure = end if self.final else fences.held.hold(text, place, end)
            if sure > place:
                said = text[place:sure]
                self.events.append(Thinking(said))
                if fences.openers:
                    self._draft.add(said, fences.calls)
            return end if sure == end else ~sure
        if found.start() > place:
            self.events.append(Thinking(text[place : found.start()]))
        self._draft.clear()
        self.mark(found.group())
        self.state = self.in_text
        self.line_is_blank = True
        return found.end()

    def after(self, text: str, place: int, end: int) -> int:
        """Behind a call white space and end markers are markup; anything else is text again."""
        if text[place].isspace():
            behind = SPACE(text, place).end()
            self.mark(text[place:behind])
            return behind
        word = self.signs.ends.at(text, place, end, self.final)
        opener = self.signs.outgrown.at(text, place, end, self.final) if self.signs.outgrown.words else ""
        if word is None or opener is None:
            return ~place
        if word and len(opener) <= len(word):
            self.mark(word)
            return place + len(word)
        self.line_is_blank = True
        self.state = self.in_text
        return place

    def hold(self, text: str, place: int, end: int) -> int:
        """How far text is surely text, although more will come."""
        return self.signs.marks.hold(text, place, end)

    def before(self, text: str, place: int, at: int) -> int:
        """From where text may belong to a call, if an opener should stand behind it."""
        return at

    def reach_back(self, text: str, place: int, at: int) -> int:
        """From where text before an opener does belong to the call."""
        return at

    # -- what states say ---------------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        if text:
            self.events.append(Text(text))
            self.said = text[-1]
            line = text.rfind("\n")
            tail = text[line + 1 :]
            self.line_is_blank = (line >= 0 or self.line_is_blank) and (not tail or tail.isspace())

    def mark(self, raw: str) -> None:
        self.events.append(Markup(raw))

    def known(self, name: str) -> bool:
        """A scanner that was told of no tools at all takes every name."""
        return not self.known_tools or self.names.match(name).tool is not None

    def start(self, name: str) -> None:
        """A call begins: its name is matched with the tools once, here."""
        self._call = call = _Opened(self._count, self.names.match(name))
        self._count += 1
        self.index = call.index
        self.events.append(Started(call.index, call.matched.name))

    @property
    def call_is_open(self) -> bool:
        return self._call is not None

    @property
    def tool(self) -> ToolShape | None:
        """What the call that is open is a call of."""
        return self._call.matched.tool if self._call else None

    def argue(self, text: str) -> None:
        if self._call is not None:
            self.events.append(Arguments(self._call.index, text))

    def repaired(self, what: str) -> None:
        """Something of the open call had to be bent; told once, however often."""
        if self._call is not None and what not in self._call.repairs:
            self._call.repairs.append(what)

    def done(
        self, arguments: Mapping[str, Json], written: str, *, recovered: bool = False, typed: bool = False
    ) -> None:
        """The open call is complete. `typed`: the engine has read the arguments by the schema already, though not what
        objects and arrays among them hold."""
        call = self._call
        assert call is not None
        tool, repairs = call.matched.tool, (*call.matched.repairs, *call.repairs)
        if tool is not None:
            arguments, bent = coerced(arguments, tool, only_inner=typed)
            repairs += bent
        self._call = None
        done = Called(call.matched.name, arguments, self.taken(), written, repairs, recovered)
        self.events.append(Done(call.index, done))

    def broken(self, why: str) -> None:
        self._call = None
        self.events.append(Broken(self.taken(), why))
        self.state = self.after

    def not_a_call(self) -> None:
        """What was read is text after all. Where nothing was read, nothing may open at that character again."""
        read = self.taken()
        self._call = None
        self._forbidden = not read
        self.say(read)
        self.state = self.in_text

    @property
    def is_withholding(self) -> bool:
        return self._withheld_from is not None

    def withhold(self) -> None:
        """Tell the last event, and those that follow, only when `release` is called."""
        if self._withheld_from is None:
            self._withheld_from = len(self.events) - 1

    def release(self, *, recovered: bool = False, repair: str = "") -> None:
        """Tell what was withheld. `recovered`: its calls run only where the settings say so. `repair`: of the last."""
        start = self._withheld_from
        if start is None:
            return
        self._withheld_from = None
        if self._withheld:
            self.events[start:start] = self._withheld
            self._withheld = []
        if not recovered and not repair:
            return
        for place in reversed(range(start, len(self.events))):
            event = self.events[place]
            if isinstance(event, Done):
                repairs = (*event.call.repairs, repair) if repair else event.call.repairs
                call = replace(event.call, recovered=recovered or event.call.recovered, repairs=repairs)
                self.events[place], repair = replace(event, call=call), ""

    def revoke(self) -> None:
        """What was withheld is no call: all of it goes back to the text of the call that is open."""
        start = self._withheld_from
        if start is not None:
            self.source.insert(0, accounted([*self._withheld, *self.events[start:]]))
            del self.events[start:]
            self._withheld, self._withheld_from = [], None

    def taken(self) -> str:
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
            self.broken(CUT)

    # -- thinking that was never closed ------------------------------------------------------------------------------

    def _recover(self) -> None:
        """If it ends in nothing but complete calls they are told, as recovered. Their text was told as thinking."""
        if not self._recovers:
            return
        inner = type(self)(self.signs, tuple(self.names.tools.values()))
        inner._recovers = False  # Thinking in thinking in thinking would otherwise be read as often as it is deep.
        events = inner.feed(self._draft.text) + inner.finish()
        if any(isinstance(event, Broken) or (isinstance(event, Text) and event.text.strip()) for event in events):
            return
        for event in events:
            if isinstance(event, Done):
                call = replace(event.call, raw="", recovered=True)
                self.events += [Started(self._count, call.name), Done(self._count, call)]
                self._count += 1


@dataclass(frozen=True)
class Parsed:
    """A whole output, read."""

    events: tuple[Event, ...]
    text: str
    thinking: str
    calls: tuple[Called, ...]
    broken: tuple[Broken, ...]


def parsed(events: Sequence[Event]) -> Parsed:
    return Parsed(
        tuple(events),
        "".join(event.text for event in events if isinstance(event, Text)),
        "".join(event.text for event in events if isinstance(event, Thinking)),
        tuple(event.call for event in events if isinstance(event, Done)),
        tuple(event for event in events if isinstance(event, Broken)),
    )
