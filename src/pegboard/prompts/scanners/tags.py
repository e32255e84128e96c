"""Calls as tags: an opener, a tag with the tool's name, a tag for each argument with its raw text in it.

Raw text ends at its closing tag and nowhere else, so a closing tag counts only where a tag follows that may follow it:
the text itself may then speak of tags.
"""

import html
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pegboard.core.json.values import Json
from pegboard.prompts.events import MarkerSet, is_cut_off, marker_set
from pegboard.prompts.scanner import MAX_HEADER_LENGTH, SPACE, State
from pegboard.prompts.scanners.json_calls import (
    FENCE,
    FENCE_LEFT_OUT,
    MAX_LANGUAGE_LENGTH,
    JsonFallbackScanner,
    match_fence,
)
from pegboard.prompts.scanners.json_value import ValueSyntax
from pegboard.prompts.tool_shape import ToolShape
from pegboard.prompts.values import (
    CoercedValue,
    coerce_arguments,
    parameter_schema,
    read_structure,
    read_typed,
    schema_types,
)

# How a format writes its tags, as a value.


@dataclass(frozen=True)
class TagSyntax(ValueSyntax):
    """The openers are those of a block, and `call_start` where a block may be left out."""

    call_start: str = ""
    """What the tag of a call begins with. Empty: the name alone follows the opener."""
    call: str = ""
    """A pattern for the whole tag of a call, with the group `name`."""
    call_close: str = ""
    block_close: str = ""
    key_start: str = ""
    key: str = ""
    """A pattern for the whole tag of an argument, with the group `key`. `kind` may tell its type."""
    tag_end: str = ">"
    key_close: str = ""
    """What ends the name of an argument, where its value has a tag of its own: `value_start`."""
    value_start: str = ""
    between: tuple[str, ...] = ()
    """Tags that may stand around all arguments of a call and mean nothing."""
    value_close: str = ""
    """`{key}` stands for the name of the argument."""
    trim: bool = False
    """One line break at each end of a value belongs to the tags."""
    strip: bool = False
    """All white space around a value belongs to the tags; a text that has some of its own stands in CDATA."""
    entities: bool = False
    """A value that is sound XML text has its entities resolved."""
    cdata: bool = False
    """A value may stand in <![CDATA[…]]>."""
    guesses_json: bool = True
    """What no schema speaks of is read as JSON where it is JSON."""

    @cached_property
    def match_call(self) -> Callable[[str], re.Match[str] | None]:
        return re.compile(self.call).fullmatch

    @cached_property
    def match_key(self) -> Callable[[str], re.Match[str] | None]:
        return re.compile(self.key).fullmatch

    @cached_property
    def find_keys(self) -> Callable[[str], Iterator[re.Match[str]]]:
        return re.compile(self.key).finditer

    @cached_property
    def argument_markers(self) -> MarkerSet:
        """What may stand between arguments, and behind a value."""
        return marker_set(
            (self.key_start, self.call_close, self.block_close, self.call_start, *self.openers, *self.between)
        )

    @cached_property
    def after_key(self) -> MarkerSet:
        """What may stand behind the name of an argument, where its value has a tag of its own."""
        return marker_set((self.value_start, self.key_close, *self.argument_markers.words))

    @cached_property
    def match_name(self) -> Callable[[str], re.Match[str] | None]:
        """The name of an argument with its own tags, of which the first may stand there twice."""
        start, close = re.escape(self.key_start), re.escape(self.key_close)
        return re.compile(rf"{start}(?P<twice>(?:\s*{start})*)(?P<key>[^<]*){close}").fullmatch

    @cached_property
    def after_call(self) -> frozenset[str]:
        """What may follow the end of a call."""
        return frozenset({self.block_close, self.call_start, *self.openers} - {""})

    def value_ends(self, key: str) -> MarkerSet:
        return marker_set(
            (self.value_close.format(key=key) if "{" in self.value_close else self.value_close, self.call_close)
        )


# What is wrong with a call in tags, in words for the model; and what was, for whoever reads of repairs.

EMPTY_CALL: Final = "The call is empty. Name the tool and give its arguments."
TEXT_BETWEEN_ARGUMENTS: Final = "There is text between the arguments of the call. Write nothing there but arguments."
ARGUMENT_REPEATED: Final = "The argument {key!r} is given twice in one call. Give each argument once."
BAD_TAG: Final = "The tag {tag!r} is not written as the format has it."
TOOL_NAME_MISSING: Final = "The call names no tool. Write the name of the tool where the format has it."
CALL_REJECTED: Final = "The call was not made: {why}. Write it with tags, as the format has it."
CLOSING_TAG_MISSING: Final = "the closing tag of an argument was missing"
OPENING_TAG_MISSING: Final = "the opening tag of a value was missing"
TAG_REPEATED: Final = "a tag that stood there twice was read once"
VALUE_MISSING: Final = "argument {key!r} had no value and was left out"
ARGUMENTS_WRAPPED: Final = "the arguments were wrapped in an argument of their own"
TAGS_LEFT_OUT: Final = "tags around the arguments were left out"
CALL_TAG_MISSING: Final = "the closing tag of the call was missing"


# Arguments whose closing tag a model forgot, so that the tags of the next ones stand in their text.

MAX_TAGS: Final = 64
"""Tags in one text that are looked at: a text that speaks of tags has more, and means them."""


def split_arguments(key: str, raw: str, missing: Collection[str], signs: TagSyntax) -> Iterator[tuple[str, str]]:
    """The arguments that one text is. A tag in it begins one only if it names a parameter that the call lacks
    otherwise: every other tag is what the text speaks of."""
    left = set(missing) - {key}
    start = 0
    for number, found in enumerate(signs.find_keys(raw)):
        named = found["key"].strip()
        if number >= MAX_TAGS:
            break
        if named in left:
            left.discard(named)
            yield key, raw[start : found.start()]
            key, start = named, found.end()
    yield key, raw[start:]


# The raw text of an argument between its tags: where it ends, and what it means.

ESCAPED_SPACES: Final = ("\\n", "\\r", "\\t")
"""White space between tags, escaped once too often."""
TEXT_TYPE: Final = "string"
JSON_TYPE: Final = "json"
NULL_TYPE: Final = "null"
CDATA_MARKERS: Final = ("<![CDATA[", "]]>")
_ENTITY: Final = re.compile(r"&(?:lt|gt|amp|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_LAST_LINE_BREAK: Final = re.compile(r"\r?\n[ \t]*\Z")
BARE_AMPERSAND: Final = "an & that begins no entity of XML was kept"
JSON_TYPES: Final = frozenset(("object", "array", "integer", "number", "boolean", "null"))


class TagValueScanner(JsonFallbackScanner):
    """Engines go to `in_raw` behind the tag of an argument, and are told of what follows by `at_key` or `end_call`."""

    syntax: TagSyntax

    def __init__(self, signs: TagSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.arguments: dict[str, Json] = {}
        self.ambiguous: dict[str, str] = {}
        """Arguments with tags in their text."""
        self.written_arguments: list[str] = []
        self.key = ""
        self.kind: str | None = None
        self.raw_parts: list[str] = []
        self.opens_cdata: bool | None = None
        """Whether the value begins with CDATA, once that is known."""
        self.end_markers = marker_set(())
        self.end_character = ""
        self.closing_tag = ""
        """The closing tag that may be the end of a value, and below the white space behind it."""
        self.gap_parts: list[str] = []

    def at_key(self, text: str, place: int, end: int) -> int:
        """Between arguments."""
        raise NotImplementedError

    def end_call(self, *, recovered: bool = False) -> None:
        raise NotImplementedError

    def write_arguments(self, said: str) -> None:
        self.source.append(said)
        self.written_arguments.append(said)
        self.emit_arguments(said)

    def begin_raw(self) -> None:
        self.raw_parts = []
        self.opens_cdata = None
        self.state = self.in_raw

    def closes_inner_tag(self) -> bool:
        """Whether the closing tag closes another inside the value. Asked once of each that may be its end."""
        return self.syntax.cdata and self.in_cdata()

    def in_cdata(self) -> bool:
        """Whether the value has opened CDATA and not closed it yet. Looks at its ends alone, and at the first once."""
        if self.opens_cdata is None:
            head = ""
            for part in self.raw_parts:
                head = (head + part).lstrip()
                if len(head) >= len(CDATA_MARKERS[0]):
                    break
            if len(head) < len(CDATA_MARKERS[0]):
                return False
            self.opens_cdata = head.startswith(CDATA_MARKERS[0])
        if not self.opens_cdata:
            return False
        tail = ""
        for part in reversed(self.raw_parts):
            tail = (part + tail).rstrip()
            if len(tail) >= len(CDATA_MARKERS[1]):
                break
        return not tail.endswith(CDATA_MARKERS[1])

    def in_raw(self, text: str, place: int, end: int) -> int:
        if self.end_character and text.find(self.end_character, place) < 0:
            said = text[place:] if place else text
            self.raw_parts.append(said)
            self.write_arguments(said)
            return end
        found = self.end_markers.search(text, place)
        if found is None:
            sure = end if self.is_final else self.end_markers.safe_end(text, place, end)
            if sure > place:
                said = text[place:sure]
                self.raw_parts.append(said)
                self.write_arguments(said)
            return end if sure == end else ~sure
        if found.start() > place:
            said = text[place : found.start()]
            self.raw_parts.append(said)
            self.write_arguments(said)
        self.closing_tag, self.gap_parts = found.group(), []
        self.state = self.behind_raw
        return found.end()

    def behind_raw(self, text: str, place: int, end: int) -> int:
        """Was that closing tag the end of the value? Only if a tag follows that may follow it."""
        behind = SPACE(text, place).end()
        if behind > place:
            self.gap_parts.append(text[place:behind])
            return behind
        if text[place] == "\\":
            if place + 1 == end and not self.is_final:
                return ~place
            if text[place : place + 2] in ESCAPED_SPACES:
                self.gap_parts.append(text[place : place + 2])
                return place + 2
        word = self.syntax.argument_markers.match_at(text, place, end, self.is_final)
        if word is None:
            return ~place
        is_call_close = self.closing_tag == self.syntax.call_close
        if self.closes_inner_tag() or not word or (is_call_close and word not in self.syntax.after_call):
            said = self.closing_tag + "".join(self.gap_parts)
            self.raw_parts.append(said)
            self.write_arguments(said)
            self.state = self.in_raw
            return place
        self.end_raw()
        return place

    def end_raw(self) -> None:
        raw = "".join(self.raw_parts)
        self.raw_parts = []
        closed_by_call = self.closing_tag == self.syntax.call_close
        if closed_by_call:
            # The line break before the closing tag of a call stands between tags.
            raw = _LAST_LINE_BREAK.sub("\n" if self.syntax.trim else "", raw)
        raw = self.trim_value(raw)
        tail = self.closing_tag + "".join(self.gap_parts)
        self.closing_tag, self.gap_parts = "", []
        read = self.read_value(raw)
        if isinstance(read, str):
            self.source.append(tail)
            self.break_call(CALL_REJECTED.format(why=f"argument {self.key!r} {read}"))
            return
        self.arguments[self.key], repairs = read
        if self.syntax.key_start in raw and isinstance(self.arguments[self.key], str):
            self.ambiguous[self.key] = raw
        for repair in repairs:
            self.add_repair(f"argument {self.key!r}: {repair}")
        if closed_by_call:
            self.source.append(tail)
            self.add_repair(CLOSING_TAG_MISSING)
            self.end_call()
        else:
            self.write_arguments(tail)
            self.state = self.at_key

    def trim_value(self, raw: str) -> str:
        if self.syntax.strip:
            return raw.strip()
        if not self.syntax.trim:
            return raw
        # Only behind a tag that ends its line so: else a carriage return at the end is the value's own.
        if raw.startswith("\r\n"):
            return raw[2:].removesuffix("\n").removesuffix("\r")
        return raw.removeprefix("\n").removesuffix("\n")

    def read_value(self, raw: str) -> CoercedValue | str:
        """What a value means: by its schema, and by what its own tag says where the schema leaves it open.
        A clause that says what is wrong with it, where it means nothing."""
        schema = parameter_schema(self.tool, self.key)
        if self.syntax.cdata and (bare := raw.strip()).startswith(CDATA_MARKERS[0]) and bare.endswith(CDATA_MARKERS[1]):
            raw = bare[len(CDATA_MARKERS[0]) : -len(CDATA_MARKERS[1])]
            return read_typed(raw, schema or {"type": TEXT_TYPE})
        # A text with a tag in it was not written as XML, so what looks like an entity is none either.
        if self.syntax.entities and "&" in raw and "<" not in raw:
            if raw.count("&") > len(_ENTITY.findall(raw)):
                self.add_repair(f"argument {self.key!r}: {BARE_AMPERSAND}")
            raw = _ENTITY.sub(lambda found: html.unescape(found.group()), raw)
        if self.kind is None:
            return read_typed(raw, schema, guess=self.syntax.guesses_json)
        if self.kind == NULL_TYPE and raw.strip() == NULL_TYPE:
            return None, ()
        kinds = schema_types(schema)
        if self.kind == TEXT_TYPE and (not kinds or TEXT_TYPE in kinds):
            return raw, ()
        if kinds:
            return read_typed(raw, schema, no_text=self.kind != TEXT_TYPE)
        return read_typed(raw, {"type": self.kind} if self.kind in JSON_TYPES else None)

    def split_unclosed(self, properties: Mapping[str, Json]) -> None:
        """Where the call lacks an argument whose tag stands in the text of another, a closing tag was forgotten."""
        for key, raw in self.ambiguous.items():
            missing = properties.keys() - self.arguments.keys()
            parts = dict(split_arguments(key, raw, missing, self.syntax))
            if len(parts) > 1:
                self.add_repair(CLOSING_TAG_MISSING)
                self.kind = None
                last = next(reversed(parts))
                for self.key, said in parts.items():
                    # What stands before the next tag belongs to the line break between arguments.
                    read = self.read_value(self.trim_value(said if self.key == last else said.rstrip()))
                    self.arguments[self.key] = read[0] if isinstance(read, tuple) else said


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
