"""The raw text of an argument between its tags: where it ends, and what it means."""

import html
import re
from collections.abc import Mapping, Sequence
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.coercion import CoercedValue, parameter_schema, schema_types
from pegboard.prompts.marks import marker_set
from pegboard.prompts.scanner import SPACE
from pegboard.prompts.shapes import ToolShape
from pegboard.prompts.typed import read_typed

from .json_inside import JsonFallbackScanner
from .tag_faults import CALL_REJECTED, CLOSING_TAG_MISSING
from .tag_signs import TagSyntax
from .unclosed import split_arguments

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
