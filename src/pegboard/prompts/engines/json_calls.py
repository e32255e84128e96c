"""The engine of every format that writes JSON behind a marker, or JSON alone: `{"name": …, "arguments": {…}}`, several
of them in a list, or a header with the name and the arguments behind it (`NAME[ARGS]{…}`)."""

import json
import re
from collections.abc import Sequence
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.literal import EXTRA_COMMAS, MISSING_END, Reader, UnreadableError
from pegboard.prompts.marks import cut_off, matcher
from pegboard.prompts.repair import LONGEST, TOO_MANY, Read, Refused
from pegboard.prompts.scanner import CUT, HEADER_MOST, SPACE, State
from pegboard.prompts.shapes import ToolShape

from .envelope import ARGUMENTS, KNOWN, NAMES, Wanted, wanted
from .json_opening import FENCE, FENCED, RIGHT, OpeningScanner
from .json_signs import JsonSigns as JsonSigns
from .json_value import as_arguments

_KEY: Final = re.compile(r'"([^"\\]{0,64})"').match
_KEY_MOST: Final = 66
_MEANINGLESS: Final = matcher(r"[\s,\]>};]*")
AROUND: Final = "what stood around the call was left out"


class JsonScanner(OpeningScanner):
    def __init__(self, signs: JsonSigns, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self._begin(None)

    def _begin(self, name: str | None) -> None:
        """A call, whose name stood in the header or is yet to come."""
        self.headed = name is not None
        self.name = name or ""
        self.started = False
        self.values: dict[str, Json] = {}
        self.faults: list[str] = []
        self.repairs: list[str] = []
        self.key = ""
        self.awaits = "key"
        self.written: str | None = None
        self.inner_quotes = False
        if name:
            self._start()

    def _start(self) -> None:
        self.start(self.name)
        self.started = True
        if self.written:
            self.argue(self.written)

    def begin_object(self) -> None:
        self._begin(None)
        self.state = self.in_envelope

    def begin_headed(self, name: str) -> None:
        self._begin(name)
        self.begin_value(streams=True)

    def begin_unread(self) -> None:
        self._begin(None)
        self.state = self.lenient

    # -- the keys of the object --------------------------------------------------------------------------------------

    def in_envelope(self, text: str, place: int, end: int) -> int:
        character, awaits = text[place], self.awaits
        if character.isspace():
            behind = SPACE(text, place).end()
            self.source.append(text[place:behind])
            return behind
        if awaits == "key" and character == '"':
            return self._in_key(text, place, end)
        if awaits == "value":
            arguments = self.key in ARGUMENTS
            if self.signs.keyed and character == "{" and not self.values and self._is_name(self.key):
                arguments, self.name = True, self.key
            if arguments and self.name and not self.started:
                self._start()
            self.begin_value(streams=self.started and arguments)
            return place
        if character == "}" and awaits in ("key", "comma"):
            self.source.append(character)
            if awaits == "key" and self.values:
                self.repairs.append(EXTRA_COMMAS)
            self._envelope_ended()
            return place + 1
        if character == ":" and awaits == "colon":
            self.awaits = "value"
        elif character == "," and awaits == "comma":
            self.awaits = "key"
        else:
            return self.unclosed(place)
        self.source.append(character)
        return place + 1

    def _in_key(self, text: str, place: int, end: int) -> int:
        found = _KEY(text, place)
        if found is None:
            waits = end - place <= _KEY_MOST and "\\" not in text[place:] and text.find('"', place + 1) < 0
            return ~place if waits and not self.final else self.unclosed(place)
        key = found.group(1)
        keyed = self.signs.keyed and key not in KNOWN
        if self.is_bare and not self.started and key not in KNOWN and not keyed:
            self.not_a_call()
            return place
        self.source.append(found.group())
        self.key, self.awaits = key, "colon"
        return found.end()

    def value_ended(self, raw: str, value: Read | None) -> None:
        read = value or self.load(raw)
        if self.headed:
            self.written = raw
            self._headed_ended(read)
            return
        key = self.key
        if isinstance(read, Refused):
            self.faults.append(read.why)
        else:
            self.repairs += read.repairs
            if key in self.values:
                self.faults.append(f"the key {key!r} stands there twice")
            self.values[key] = read.value
            if key in NAMES and isinstance(read.value, str) and not self.started:
                self.name = read.value
                if self.is_bare and not self.known(self.name):
                    self.not_a_call()
                    return
                # A bare object may yet turn out to be something else, up to its arguments.
                if self.name.strip() and (not self.is_bare or self.written is not None):
                    self._start()
        if key in ARGUMENTS or self.streams:
            self.written = raw
        self.streams = False
        self.awaits = "comma"
        self.state = self.in_envelope

    # -- the end of a call -------------------------------------------------------------------------------------------

    def _headed_ended(self, read: Read | Refused) -> None:
        if not self.name:
            self.broken("The call was not made: it has no name. Write the name of the tool before its arguments.")
            self.state = self.after_value
            return
        arguments = (
            f"its arguments cannot be read: {read.why}" if isinstance(read, Refused) else as_arguments(read.value)
        )
        if isinstance(arguments, str):
            self.broken(f"The call of {self.name!r} was not made: {arguments}. Write the arguments as one JSON object.")
        else:
            for repair in (*read.repairs, *arguments[1]):  # type: ignore[union-attr]  # refused is a str by now
                self.repaired(repair)
            self.done(arguments[0], self.written or "")
            self._withhold()
        self.state = self.after_value

    def _envelope_ended(self) -> None:
        calls = self._usual() or self._keyed() or (wanted(self.values) if not self.faults else self.faults[0])
        if self.is_bare and not self.started and not self._bare_calls(calls):
            self.not_a_call()
            return
        if isinstance(calls, str):
            self.broken(f"The call was not made: {calls}. {RIGHT}.")
        elif self._contradicts(calls):
            self.broken(f"The call was not made: it has two names. {RIGHT}.")
        else:
            self._emit(calls, tuple(self.repairs))
        self.state = self.after_value

    def _bare_calls(self, calls: "list[Wanted] | str") -> bool:
        """Whether an object that no marker announces is a call: of a known tool, or at least with arguments."""
        if isinstance(calls, str):
            return False
        return all(self.known(call.name) for call in calls) and (self.known_tools or not self.name)

    def _contradicts(self, calls: Sequence[Wanted]) -> bool:
        """Whether another tool was told as started than the one that the whole object means."""
        return self.started and calls[0].name != self.name

    def _usual(self) -> list[Wanted] | None:
        """What nearly every call is: a name and an object, and nothing beside."""
        name, arguments = self.values.get("name"), self.values.get("arguments", self.values.get("parameters"))
        if len(self.values) != 2 or self.faults or not isinstance(name, str) or not isinstance(arguments, dict):
            return None
        return [Wanted(name, arguments)] if name.strip() else None

    def _keyed(self) -> list[Wanted] | None:
        if not self.signs.keyed or self.faults or not self.values:
            return None
        if not all(map(self._is_name, self.values)):
            return None
        calls = []
        for name, value in self.values.items():
            arguments = as_arguments(value)
            if isinstance(arguments, str):
                return None
            calls.append(Wanted(name, *arguments))
        return calls

    def _is_name(self, key: str) -> bool:
        """Whether a key names a tool, where names are keys."""
        return key not in KNOWN or key in self.names.tools

    def _emit(self, calls: Sequence[Wanted], repairs: tuple[str, ...], *, recovered: bool = False) -> None:
        for place, call in enumerate(calls):
            first = place == 0
            written = (
                self.written if first and self.written is not None else json.dumps(call.arguments, ensure_ascii=False)
            )
            if not (first and self.started):
                self.start(call.name)
                self.argue(written)
            elif self.written is None:
                self.argue(written)
            for repair in (*((FENCED,) if self.wrapper else ()), *repairs, *call.repairs):
                self.repaired(repair)
            self.done(call.arguments, written, recovered=recovered)
        self.started = False
        self._withhold()

    def _withhold(self) -> None:
        """A bracket too many behind a call is a repair of it, so the call waits for what follows."""
        if self.signs.too_much and not self.is_bare:
            self.withhold()

    def after_value(self, text: str, place: int, end: int) -> int:
        """Behind one call of a list another may come, with or without the comma."""
        character = text[place]
        if self._withheld_from is not None and not character.isspace():
            self.release(repair=TOO_MANY if character in self.signs.too_much else "")
        if self.wrapper and (character == "`" or character.isspace()):
            return self._at_fence_end(text, place, end)
        if character == "," and not self.in_list:
            return self._at_comma(text, place, end)
        if self.in_list and character == "]":
            self.in_list = False
        elif character == "{" and (self.in_list or self.is_bare):
            self.state = self.opened
            return place
        elif not (
            (self.in_list and character == ",")
            or (character == ";" and self.is_bare)
            or (character in self.signs.too_much and not self.is_bare)
        ):
            return self.after(text, place, end)
        self.mark(character)
        return place + 1

    def _at_fence_end(self, text: str, place: int, end: int) -> int:
        if not self.final and cut_off(FENCE, text, place, end):
            return ~place
        behind = SPACE(text, place).end()
        if text.startswith(FENCE, place):
            self.wrapper, behind = "", place + len(FENCE)
        if behind == place:
            return self.after(text, place, end)
        self.mark(text[place:behind])
        return behind

    def _at_comma(self, text: str, place: int, end: int) -> int:
        """A comma without a list around is markup only if another call follows it at once."""
        behind = SPACE(text, place + 1).end()
        if behind - place > HEADER_MOST:
            return self.after(text, place, end)
        follows = self.call_follows(text, behind, end) if behind < end or self.final else None
        if follows is None:
            return ~place
        if not follows:
            return self.after(text, place, end)
        self.mark(text[place:behind])
        self.state = self.opened
        return behind

    def call_follows(self, text: str, place: int, end: int) -> bool | None:
        """Whether another call stands behind a comma; None if more text must come to tell."""
        return self.is_bare and text.startswith("{", place)

    # -- what is no JSON: up to the end marker, then one tolerant pass -------------------------------------------------

    def unclosed(self, place: int) -> int:
        if self.is_bare and not self.started:
            self.not_a_call()
        else:
            self.state = self.lenient
        return place

    def lenient(self, text: str, place: int, end: int) -> int:
        found = self.signs.give_up.search(text, place)
        if found is not None:
            if found.start() > place:
                self.source.append(text[place : found.start()])
            self._rescue(closed=True)
            return found.start()
        sure = end if self.final else self.signs.give_up.hold(text, place, end)
        if sure > place:
            self.source.append(text[place:sure])
        return end if sure == end else ~sure

    def _rescue(self, *, closed: bool) -> None:
        """What a tolerant reader makes of the whole of it. Where an end marker follows, brackets that are still open
        are closed. At the end of the output that may mean that it was cut, so such a call is told as recovered."""
        text = "".join(self.source)
        self.source = [text]
        start = text.find("{")
        why = "it is no JSON"
        # At the end of the output only the envelope may lack its end: arguments that are open might go on.
        for closes in (False, True) if closed or (self.written is not None and not self.headed) else (False,):
            if start < 0 or len(text) > LONGEST:
                break
            reader = Reader(text[start:], closes=closes)
            try:
                value = reader.value()
            except UnreadableError as error:
                why = str(error)
                continue
            self.source = [text[: start + reader.place]]
            repairs = [*reader.repairs]
            if reader.missing:
                repairs.append(MISSING_END.format(missing=reader.missing))
            if self._rescued(value, tuple(repairs) or (AROUND,), recovered=closes and not closed):
                self._behind_rescued(reader)
                return
            self.source = [text]
            break
        self.broken(f"The call was not made: {why}. {RIGHT}." if closed else CUT)

    def _behind_rescued(self, reader: Reader) -> None:
        """What stood behind a call that was mended: nothing, more calls, or text."""
        text = reader.text
        while True:
            begun = _MEANINGLESS(text, reader.place).end()
            if begun > reader.place:
                self.mark(text[reader.place : begun])
            reader.place = begun
            if not text.startswith("{", begun) or self.headed:
                self.say(text[begun:])
                return
            self._begin(None)
            reader.repairs = {}
            try:
                value = reader.value()
            except UnreadableError as error:
                self.source = [text[begun:]]
                self.broken(f"The call was not made: {error}. {RIGHT}.")
                self.state = self.after_value
                return
            self.source = [text[begun : reader.place]]
            if not self._rescued(value, tuple(reader.repairs)):
                self.broken(f"The call was not made: it is no call. {RIGHT}.")
                self.state = self.after_value

    def _rescued(self, value: Json, repairs: tuple[str, ...], *, recovered: bool = False) -> bool:
        if self.headed:
            if not isinstance(value, dict) or not self.name:
                return False
            calls: list[Wanted] | str = [Wanted(self.name, value)]
        else:
            calls = wanted(value)
        if isinstance(calls, str) or self._contradicts(calls):
            return False
        self.written = None
        self._emit(calls, repairs, recovered=recovered)
        self.state = self.after_value
        return True

    def _inside(self) -> tuple[State, ...]:
        """The states of a call whose object has begun."""
        return self.in_envelope, self.in_value, self.in_brackets, self.behind_quote, self.lenient

    def at_end(self) -> None:
        self.release()
        if self.source and self.state == self.lenient and not self.depth and not self.parts:
            self._rescue(closed=False)
        elif self.source and self.is_bare and not self.started:
            self.not_a_call()
        elif self.source and self.headed and self.state == self.behind_quote and not self.depth:
            self._end(None)
        elif self.source and not self.is_bare and self.state in self._inside():
            self._rescue(closed=False)
        else:
            super().at_end()
