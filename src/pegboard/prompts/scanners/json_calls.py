"""The engine of every format that writes JSON behind a marker, or JSON alone: `{"name": …, "arguments": {…}}`, several
of them in a list, or a header with the name and the arguments behind it (`NAME[ARGS]{…}`).
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

from pegboard.core.json.values import Json
from pegboard.prompts.events import is_cut_off, matcher
from pegboard.prompts.repair import (
    EXTRA_COMMAS,
    MAX_REPAIR_LENGTH,
    MISSING_END,
    SURPLUS_BRACKETS,
    RepairedJson,
    TolerantJsonReader,
    UnreadableError,
    UnrepairableJson,
    read_json,
)
from pegboard.prompts.scanner import CUT_MESSAGE, MAX_HEADER_LENGTH, SPACE, State
from pegboard.prompts.scanners.json_value import ValueScanner, ValueSyntax, parse_arguments
from pegboard.prompts.tool_shape import ToolShape

# By what a format that writes JSON tells its calls apart.


@dataclass(frozen=True)
class JsonSyntax(ValueSyntax):
    header: str | None = None
    """What stands between an opener and the arguments: a pattern whose first group is the name. None: the object
    has it."""
    weak_openers: tuple[str, ...] = ()
    """Openers that count only before a call of a known tool, at the beginning of a line: a fence of Markdown."""
    allows_lists: bool = True
    """Whether an array of calls may stand where a call does."""
    name_is_key: bool = False
    """An object of one key is a call too: the key is the name, its value the arguments."""

    @property
    def strong_openers(self) -> tuple[str, ...]:
        return tuple(word for word in self.openers if word not in self.weak_openers)

    @cached_property
    def surplus_characters(self) -> str:
        """What models write once too often behind a call, where an end marker is to come."""
        firsts = {word[0] for word in self.openers}
        return "".join(character for character in "}>" if character not in firsts) if self.end_markers.words else ""

    @cached_property
    def header_pattern(self) -> "re.Pattern[str] | None":
        return re.compile(self.header + r"\s*\Z") if self.header else None


# What stands before a call in JSON: an opener, attributes of its tag, a list, a header with the name.

CORRECTION: Final = 'Write {"name": …, "arguments": {…}} as JSON'
FENCE: Final = "```"
FENCE_LEFT_OUT: Final = "the code fence around the call was left out"
MAX_LANGUAGE_LENGTH: Final = 24
match_fence: Final = re.compile(r"```[ \t]*\w{0,16}[ \t]*\r?\n").match


class OpeningScanner(ValueScanner):
    syntax: JsonSyntax

    def __init__(self, signs: JsonSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.in_list = False
        self.is_bare = False
        """No marker stood before it, or one that other text has too."""
        self.wrapper = ""
        """The code fence that was opened between the marker and the call."""

    def open(self, word: str) -> bool:
        self.in_list, self.wrapper = False, ""
        self.is_bare = word in self.syntax.weak_openers
        self.state = self.in_attributes if word.endswith(" ") else self.after_opener
        if self.is_bare and not self.line_is_blank:
            self.treat_as_text()
        return False

    def open_bare(self, character: str) -> None:
        self.in_list, self.is_bare, self.wrapper = False, True, ""
        self.state = self.after_opener

    def in_attributes(self, text: str, place: int, end: int) -> int:
        """The rest of an opening tag that models decorate."""
        at = text.find(">", place, place + MAX_HEADER_LENGTH)
        if at < 0 and end - place < MAX_HEADER_LENGTH and not self.is_final:
            return ~place
        if at < 0 or "{" in text[place:at]:
            self.treat_as_text()
            return place
        self.source.append(text[place : at + 1])
        self.state = self.after_opener
        return at + 1

    def after_opener(self, text: str, place: int, end: int) -> int:
        """Behind an opener, or at a bare bracket: white space, then a list, an object or a header."""
        behind = SPACE(text, place).end()
        if behind > place:
            self.source.append(text[place:behind])
            return behind
        character = text[place]
        headed = self.syntax.header_pattern is not None and not self.is_bare and not self.in_list
        if headed and character not in "{[":
            self.state = self.in_header
            return place
        if character == "`" and not self.is_bare and not self.wrapper and not self.in_list:
            return self.at_fence(text, place, end)
        if character == "[" and self.syntax.allows_lists and not self.in_list:
            self.in_list = True
            self.source.append(character)
            return place + 1
        if character == "{":
            self.source.append(character)
            self.begin_object()
            return place + 1
        if character == "]" and self.in_list:
            self.source.append(character)
            self.treat_as_text()
            return place + 1
        word = self.syntax.end_markers.match_at(text, place, end, self.is_final)
        if word is None:
            return ~place
        if word and not self.is_bare:
            self.source.append(word)
            self.break_call(f"The call is empty. {CORRECTION}.")
            return place + len(word)
        self.treat_as_text()
        return place

    def at_fence(self, text: str, place: int, end: int) -> int:
        """A code fence behind the marker: what is in it is the call."""
        found = match_fence(text, place, place + MAX_LANGUAGE_LENGTH)
        if found is None and not self.is_final and end - place < MAX_LANGUAGE_LENGTH and "\n" not in text[place:end]:
            return ~place
        if found is None:
            self.treat_as_text()
            return place
        self.source.append(found.group())
        self.wrapper = FENCE
        return found.end()

    def in_header(self, text: str, place: int, end: int) -> int:
        heads = self.syntax.header_pattern
        assert heads is not None
        at = text.find("{", place, place + MAX_HEADER_LENGTH)
        if at < 0:
            if end - place < MAX_HEADER_LENGTH and not self.is_final:
                return ~place
            if end - place < MAX_HEADER_LENGTH:
                self.source.append(text[place:])
                self.break_call(CUT_MESSAGE)
                return end
            return self.on_missing_header(place)
        if text[at - 1] == '"':
            at -= 1  # The arguments stand in a string.
        found = heads.match(text[place:at])
        name = self.header_name(found) if found is not None else None
        if not name:
            return self.on_missing_header(place)
        self.source.append(text[place:at])
        self.begin_headed(name)
        return at

    def header_name(self, header: "re.Match[str]") -> str | None:
        """The name in a header, None if it is none after all."""
        return header.group(1)

    def begin_headed(self, name: str) -> None:
        """The arguments of a call stand next, whose name is known."""
        raise NotImplementedError

    def begin_object(self) -> None:
        """The keys of an object stand next."""
        raise NotImplementedError

    def begin_unreadable(self) -> None:
        """What stands next is no call as it should be, up to an end marker."""
        raise NotImplementedError

    def on_missing_header(self, place: int) -> int:
        """Behind an opener stands no header. Up to an end marker it is a broken call; where there are none, text."""
        if self.syntax.end_markers.words:
            self.begin_unreadable()
        else:
            self.treat_as_text()
        return place


# The object that a call is written as: by which keys models name the tool and its arguments, and what wraps it.

NAME_KEYS: Final = ("name", "tool_name", "toolName", "function_name", "tool", "function", "action", "recipient_name")
ARGUMENT_KEYS: Final = (
    "arguments",
    "parameters",
    "args",
    "params",
    "tool_args",
    "tool_input",
    "tool_parameters",
    "input",
    "action_input",
    "kwargs",
)
WRAPPER_KEYS: Final = (
    "tool_calls",
    "toolCalls",
    "tool_call",
    "toolCall",
    "function_call",
    "functionCall",
    "function",
    "tool_uses",
)
IGNORED_KEYS: Final = ("type", "id", "tool_call_id", "call_id", "index", "thought", "thoughts", "description")
KNOWN_KEYS: Final = frozenset(NAME_KEYS + ARGUMENT_KEYS + WRAPPER_KEYS + IGNORED_KEYS)


@dataclass(frozen=True, slots=True)
class EnvelopeCall:
    """A call as an object tells it."""

    name: str
    arguments: dict[str, Json]
    repairs: tuple[str, ...] = ()


def read_envelope(value: Json, depth: int = 0) -> list[EnvelopeCall] | str:
    """The calls that a value is, or in a clause why it is none."""
    if isinstance(value, list):
        calls: list[EnvelopeCall] = []
        for one in value:
            inner = read_envelope(one, depth + 1) if depth < 4 else "it is wrapped too often"
            if isinstance(inner, str):
                return inner
            calls += inner
        return calls or "the list of calls is empty"
    if not isinstance(value, dict):
        return "it is no JSON object"
    for key in WRAPPER_KEYS:
        inside = value.get(key)
        if isinstance(inside, dict | list) and not (key == "function" and "name" in value):
            return read_envelope(inside, depth + 1) if depth < 4 else "it is wrapped too often"
    name = next((name for key in NAME_KEYS if isinstance(name := value.get(key), str)), "")
    if not name.strip():
        return "it has no name"
    keys = [key for key in ARGUMENT_KEYS if key in value]
    if len(keys) > 1:
        # {"arguments": …, "parameters": …}: whichever ran, the other could have been meant.
        same = [value[key] for key in keys]
        if any(one != same[0] for one in same):
            return f"it has both {keys[0]!r} and {keys[1]!r}"
    unknown = sorted(value.keys() - KNOWN_KEYS)
    if unknown:
        # An argument that was written beside the others must not get lost.
        return f'{unknown[0]!r} is no key of a call. Put the arguments under "{keys[0] if keys else "arguments"}"'
    read = parse_arguments(value[keys[0]]) if keys else ({}, ())
    if isinstance(read, str):
        return read
    return [EnvelopeCall(name, read[0], read[1])]


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


# Calls as JSON where a format writes something else: some models do, so it is read, and told as a repair.


class JsonFallbackScanner(ValueScanner):
    """Engines go to `begin_value` where JSON begins, and on from `behind_json`."""

    expected_syntax: ClassVar[str]
    """What the format writes."""
    correction: ClassVar[str]
    """For the model: how to write it."""

    def on_value_end(self, raw: str, value: RepairedJson | None) -> None:
        found = value or self.parse_value(raw)
        if self.call_is_open:
            self.on_arguments_end(raw, found)
            return
        calls = found.why if isinstance(found, UnrepairableJson) else read_envelope(found.value)
        if isinstance(calls, str):
            self.break_call(f"The call was not made: {calls}. {self.correction}.")
            return
        repairs = () if isinstance(found, UnrepairableJson) else found.repairs
        for call in calls:
            said = json.dumps(call.arguments, ensure_ascii=False)
            self.start_call(call.name)
            self.emit_arguments(said)
            instead = f"the call was written as JSON, not as {self.expected_syntax}"
            for repair in (instead, *self.json_repairs(), *repairs, *call.repairs):
                self.add_repair(repair)
            self.complete_call(call.arguments, said)
        self.state = self.after_json

    def on_arguments_end(self, raw: str, found: RepairedJson | UnrepairableJson) -> None:
        """The name was written as the format has it, and the arguments as one object."""
        arguments = found.why if isinstance(found, UnrepairableJson) else parse_arguments(found.value)
        if isinstance(arguments, str):
            self.break_call(f"The call was not made: {arguments}. {self.correction}.")
            return
        repairs = () if isinstance(found, UnrepairableJson) else found.repairs
        for repair in (f"the arguments were written as JSON, not as {self.expected_syntax}", *repairs, *arguments[1]):
            self.add_repair(repair)
        self.complete_call(arguments[0], raw)
        self.state = self.after_json

    def on_unclosed(self, place: int) -> int:
        """An end marker stands where the value goes on: it is whole but for brackets at its end, or no JSON."""
        raw = "".join(self.parts)
        found = read_json(raw, whole=True) if self.depth else UnrepairableJson("it is no JSON")
        if isinstance(found, UnrepairableJson):
            return self.on_no_json(place)
        self.parts, self.depth = [], 0
        self.on_value_end(raw, found)
        return place

    def on_no_json(self, place: int) -> int:
        raise NotImplementedError

    def json_repairs(self) -> tuple[str, ...]:
        """What else was repaired around the JSON."""
        return ()

    def after_json(self, text: str, place: int, end: int) -> int:
        self.state = self.after_call
        return place
