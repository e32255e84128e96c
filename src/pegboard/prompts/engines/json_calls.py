"""The engine of every format that writes JSON behind a marker, or JSON alone: `{"name": …, "arguments": {…}}`, several
of them in a list, or a header with the name and the arguments behind it (`NAME[ARGS]{…}`)."""

import json
import re
from collections.abc import Sequence
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.literal import EXTRA_COMMAS, MISSING_END, TolerantJsonReader, UnreadableError
from pegboard.prompts.marks import is_cut_off, matcher
from pegboard.prompts.repair import MAX_REPAIR_LENGTH, SURPLUS_BRACKETS, RepairedJson, UnrepairableJson
from pegboard.prompts.scanner import CUT_MESSAGE, MAX_HEADER_LENGTH, SPACE, State
from pegboard.prompts.shapes import ToolShape

from .envelope import ARGUMENT_KEYS, KNOWN_KEYS, NAME_KEYS, EnvelopeCall, read_envelope
from .json_opening import CORRECTION, FENCE, FENCE_LEFT_OUT, OpeningScanner
from .json_signs import JsonSyntax as JsonSyntax
from .json_value import parse_arguments

_KEY: Final = re.compile(r'"([^"\\]{0,64})"').match
_MAX_KEY_LENGTH: Final = 66
_MEANINGLESS: Final = matcher(r"[\s,\]>};]*")
SURROUNDINGS_LEFT_OUT: Final = "what stood around the call was left out"


class JsonScanner(OpeningScanner):
    def __init__(self, signs: JsonSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self._begin(None)

    def _begin(self, name: str | None) -> None:
        """A call, whose name stood in the header or is yet to come."""
        self.has_header = name is not None
        self.name = name or ""
        self.has_started = False
        self.values: dict[str, Json] = {}
        self.faults: list[str] = []
        self.repairs: list[str] = []
        self.key = ""
        self.expects = "key"
        self.written_arguments: str | None = None
        self.inner_quotes = False
        if name:
            self._start_call()

    def _start_call(self) -> None:
        self.start_call(self.name)
        self.has_started = True
        if self.written_arguments:
            self.emit_arguments(self.written_arguments)

    def begin_object(self) -> None:
        self._begin(None)
        self.state = self.in_envelope

    def begin_headed(self, name: str) -> None:
        self._begin(name)
        self.begin_value(streams=True)

    def begin_unreadable(self) -> None:
        self._begin(None)
        self.state = self.in_unreadable

    # -- the keys of the object --------------------------------------------------------------------------------------

    def in_envelope(self, text: str, place: int, end: int) -> int:
        character, awaits = text[place], self.expects
        if character.isspace():
            behind = SPACE(text, place).end()
            self.source.append(text[place:behind])
            return behind
        if awaits == "key" and character == '"':
            return self._in_key(text, place, end)
        if awaits == "value":
            arguments = self.key in ARGUMENT_KEYS
            if self.syntax.name_is_key and character == "{" and not self.values and self._is_name(self.key):
                arguments, self.name = True, self.key
            if arguments and self.name and not self.has_started:
                self._start_call()
            self.begin_value(streams=self.has_started and arguments)
            return place
        if character == "}" and awaits in ("key", "comma"):
            self.source.append(character)
            if awaits == "key" and self.values:
                self.repairs.append(EXTRA_COMMAS)
            self._finish_envelope()
            return place + 1
        if character == ":" and awaits == "colon":
            self.expects = "value"
        elif character == "," and awaits == "comma":
            self.expects = "key"
        else:
            return self.on_unclosed(place)
        self.source.append(character)
        return place + 1

    def _in_key(self, text: str, place: int, end: int) -> int:
        found = _KEY(text, place)
        if found is None:
            waits = end - place <= _MAX_KEY_LENGTH and "\\" not in text[place:] and text.find('"', place + 1) < 0
            return ~place if waits and not self.is_final else self.on_unclosed(place)
        key = found.group(1)
        keyed = self.syntax.name_is_key and key not in KNOWN_KEYS
        if self.is_bare and not self.has_started and key not in KNOWN_KEYS and not keyed:
            self.treat_as_text()
            return place
        self.source.append(found.group())
        self.key, self.expects = key, "colon"
        return found.end()

    def on_value_end(self, raw: str, value: RepairedJson | None) -> None:
        read = value or self.parse_value(raw)
        if self.has_header:
            self.written_arguments = raw
            self._finish_headed(read)
            return
        key = self.key
        if isinstance(read, UnrepairableJson):
            self.faults.append(read.why)
        else:
            self.repairs += read.repairs
            if key in self.values:
                self.faults.append(f"the key {key!r} stands there twice")
            self.values[key] = read.value
            if key in NAME_KEYS and isinstance(read.value, str) and not self.has_started:
                self.name = read.value
                if self.is_bare and not self.is_known_tool(self.name):
                    self.treat_as_text()
                    return
                # A bare object may yet turn out to be something else, up to its arguments.
                if self.name.strip() and (not self.is_bare or self.written_arguments is not None):
                    self._start_call()
        if key in ARGUMENT_KEYS or self.is_streaming:
            self.written_arguments = raw
        self.is_streaming = False
        self.expects = "comma"
        self.state = self.in_envelope

    # -- the end of a call -------------------------------------------------------------------------------------------

    def _finish_headed(self, read: RepairedJson | UnrepairableJson) -> None:
        if not self.name:
            self.break_call("The call was not made: it has no name. Write the name of the tool before its arguments.")
            self.state = self.after_value
            return
        arguments = (
            f"its arguments cannot be read: {read.why}"
            if isinstance(read, UnrepairableJson)
            else parse_arguments(read.value)
        )
        if isinstance(arguments, str):
            self.break_call(
                f"The call of {self.name!r} was not made: {arguments}. Write the arguments as one JSON object."
            )
        else:
            for repair in (*read.repairs, *arguments[1]):  # type: ignore[union-attr]  # refused is a str by now
                self.add_repair(repair)
            self.complete_call(arguments[0], self.written_arguments or "")
            self._withhold_last()
        self.state = self.after_value

    def _finish_envelope(self) -> None:
        calls = (
            self._plain_call()
            or self._calls_by_key()
            or (read_envelope(self.values) if not self.faults else self.faults[0])
        )
        if self.is_bare and not self.has_started and not self._are_bare_calls(calls):
            self.treat_as_text()
            return
        if isinstance(calls, str):
            self.break_call(f"The call was not made: {calls}. {CORRECTION}.")
        elif self._contradicts(calls):
            self.break_call(f"The call was not made: it has two names. {CORRECTION}.")
        else:
            self._emit(calls, tuple(self.repairs))
        self.state = self.after_value

    def _are_bare_calls(self, calls: "list[EnvelopeCall] | str") -> bool:
        """Whether an object that no marker announces is a call: of a known tool, or at least with arguments."""
        if isinstance(calls, str):
            return False
        return all(self.is_known_tool(call.name) for call in calls) and (self.has_tools or not self.name)

    def _contradicts(self, calls: Sequence[EnvelopeCall]) -> bool:
        """Whether another tool was told as started than the one that the whole object means."""
        return self.has_started and calls[0].name != self.name

    def _plain_call(self) -> list[EnvelopeCall] | None:
        """What nearly every call is: a name and an object, and nothing beside."""
        name, arguments = self.values.get("name"), self.values.get("arguments", self.values.get("parameters"))
        if len(self.values) != 2 or self.faults or not isinstance(name, str) or not isinstance(arguments, dict):
            return None
        return [EnvelopeCall(name, arguments)] if name.strip() else None

    def _calls_by_key(self) -> list[EnvelopeCall] | None:
        if not self.syntax.name_is_key or self.faults or not self.values:
            return None
        if not all(map(self._is_name, self.values)):
            return None
        calls = []
        for name, value in self.values.items():
            arguments = parse_arguments(value)
            if isinstance(arguments, str):
                return None
            calls.append(EnvelopeCall(name, *arguments))
        return calls

    def _is_name(self, key: str) -> bool:
        """Whether a key names a tool, where names are keys."""
        return key not in KNOWN_KEYS or key in self.names.tools

    def _emit(self, calls: Sequence[EnvelopeCall], repairs: tuple[str, ...], *, recovered: bool = False) -> None:
        for place, call in enumerate(calls):
            first = place == 0
            written = (
                self.written_arguments
                if first and self.written_arguments is not None
                else json.dumps(call.arguments, ensure_ascii=False)
            )
            if not (first and self.has_started):
                self.start_call(call.name)
                self.emit_arguments(written)
            elif self.written_arguments is None:
                self.emit_arguments(written)
            for repair in (*((FENCE_LEFT_OUT,) if self.wrapper else ()), *repairs, *call.repairs):
                self.add_repair(repair)
            self.complete_call(call.arguments, written, recovered=recovered)
        self.has_started = False
        self._withhold_last()

    def _withhold_last(self) -> None:
        """A bracket too many behind a call is a repair of it, so the call waits for what follows."""
        if self.syntax.surplus_characters and not self.is_bare:
            self.withhold()

    def after_value(self, text: str, place: int, end: int) -> int:
        """Behind one call of a list another may come, with or without the comma."""
        character = text[place]
        if self._withheld_start is not None and not character.isspace():
            self.release(repair=SURPLUS_BRACKETS if character in self.syntax.surplus_characters else "")
        if self.wrapper and (character == "`" or character.isspace()):
            return self._at_fence_end(text, place, end)
        if character == "," and not self.in_list:
            return self._at_comma(text, place, end)
        if self.in_list and character == "]":
            self.in_list = False
        elif character == "{" and (self.in_list or self.is_bare):
            self.state = self.after_opener
            return place
        elif not (
            (self.in_list and character == ",")
            or (character == ";" and self.is_bare)
            or (character in self.syntax.surplus_characters and not self.is_bare)
        ):
            return self.after_call(text, place, end)
        self.emit_markup(character)
        return place + 1

    def _at_fence_end(self, text: str, place: int, end: int) -> int:
        if not self.is_final and is_cut_off(FENCE, text, place, end):
            return ~place
        behind = SPACE(text, place).end()
        if text.startswith(FENCE, place):
            self.wrapper, behind = "", place + len(FENCE)
        if behind == place:
            return self.after_call(text, place, end)
        self.emit_markup(text[place:behind])
        return behind

    def _at_comma(self, text: str, place: int, end: int) -> int:
        """A comma without a list around is markup only if another call follows it at once."""
        behind = SPACE(text, place + 1).end()
        if behind - place > MAX_HEADER_LENGTH:
            return self.after_call(text, place, end)
        follows = self.call_follows(text, behind, end) if behind < end or self.is_final else None
        if follows is None:
            return ~place
        if not follows:
            return self.after_call(text, place, end)
        self.emit_markup(text[place:behind])
        self.state = self.after_opener
        return behind

    def call_follows(self, text: str, place: int, end: int) -> bool | None:
        """Whether another call stands behind a comma; None if more text must come to tell."""
        return self.is_bare and text.startswith("{", place)

    # -- what is no JSON: up to the end marker, then one tolerant pass -------------------------------------------------

    def on_unclosed(self, place: int) -> int:
        if self.is_bare and not self.has_started:
            self.treat_as_text()
        else:
            self.state = self.in_unreadable
        return place

    def in_unreadable(self, text: str, place: int, end: int) -> int:
        found = self.syntax.abort_markers.search(text, place)
        if found is not None:
            if found.start() > place:
                self.source.append(text[place : found.start()])
            self._rescue(closed=True)
            return found.start()
        sure = end if self.is_final else self.syntax.abort_markers.safe_end(text, place, end)
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
        for closes in (
            (False, True) if closed or (self.written_arguments is not None and not self.has_header) else (False,)
        ):
            if start < 0 or len(text) > MAX_REPAIR_LENGTH:
                break
            reader = TolerantJsonReader(text[start:], closes_brackets=closes)
            try:
                value = reader.read_value()
            except UnreadableError as error:
                why = str(error)
                continue
            self.source = [text[: start + reader.position]]
            repairs = [*reader.repairs]
            if reader.missing_brackets:
                repairs.append(MISSING_END.format(missing=reader.missing_brackets))
            if self._accept_rescue(value, tuple(repairs) or (SURROUNDINGS_LEFT_OUT,), recovered=closes and not closed):
                self._continue_after_rescue(reader)
                return
            self.source = [text]
            break
        self.break_call(f"The call was not made: {why}. {CORRECTION}." if closed else CUT_MESSAGE)

    def _continue_after_rescue(self, reader: TolerantJsonReader) -> None:
        """What stood behind a call that was mended: nothing, more calls, or text."""
        text = reader.text
        while True:
            begun = _MEANINGLESS(text, reader.position).end()
            if begun > reader.position:
                self.emit_markup(text[reader.position : begun])
            reader.position = begun
            if not text.startswith("{", begun) or self.has_header:
                self.emit_text(text[begun:])
                return
            self._begin(None)
            reader.repairs = {}
            try:
                value = reader.read_value()
            except UnreadableError as error:
                self.source = [text[begun:]]
                self.break_call(f"The call was not made: {error}. {CORRECTION}.")
                self.state = self.after_value
                return
            self.source = [text[begun : reader.position]]
            if not self._accept_rescue(value, tuple(reader.repairs)):
                self.break_call(f"The call was not made: it is no call. {CORRECTION}.")
                self.state = self.after_value

    def _accept_rescue(self, value: Json, repairs: tuple[str, ...], *, recovered: bool = False) -> bool:
        if self.has_header:
            if not isinstance(value, dict) or not self.name:
                return False
            calls: list[EnvelopeCall] | str = [EnvelopeCall(self.name, value)]
        else:
            calls = read_envelope(value)
        if isinstance(calls, str) or self._contradicts(calls):
            return False
        self.written_arguments = None
        self._emit(calls, repairs, recovered=recovered)
        self.state = self.after_value
        return True

    def _inside_states(self) -> tuple[State, ...]:
        """The states of a call whose object has begun."""
        return self.in_envelope, self.in_value, self.in_brackets, self.behind_quote, self.in_unreadable

    def at_end(self) -> None:
        self.release()
        if self.source and self.state == self.in_unreadable and not self.depth and not self.parts:
            self._rescue(closed=False)
        elif self.source and self.is_bare and not self.has_started:
            self.treat_as_text()
        elif self.source and self.has_header and self.state == self.behind_quote and not self.depth:
            self._end_value(None)
        elif self.source and not self.is_bare and self.state in self._inside_states():
            self._rescue(closed=False)
        else:
            super().at_end()
