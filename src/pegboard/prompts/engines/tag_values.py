"""The raw text of an argument between its tags: where it ends, and what it means."""

import html
import re
from collections.abc import Mapping, Sequence
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.coercion import Value, schema_of, types_of
from pegboard.prompts.marks import marks
from pegboard.prompts.scanner import SPACE
from pegboard.prompts.shapes import ToolShape
from pegboard.prompts.typed import typed

from .json_inside import JsonInside
from .tag_faults import NO_CALL, UNCLOSED
from .tag_signs import Tags
from .unclosed import parted

ESCAPED: Final = ("\\n", "\\r", "\\t")
"""White space between tags, escaped once too often."""
TEXT: Final = "string"
ANY: Final = "json"
NULL: Final = "null"
CDATA: Final = ("<![CDATA[", "]]>")
_ENTITY: Final = re.compile(r"&(?:lt|gt|amp|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_LAST_LINE_BREAK: Final = re.compile(r"\r?\n[ \t]*\Z")
BARE_AMPERSAND: Final = "an & that begins no entity of XML was kept"
JSON_TYPES: Final = frozenset(("object", "array", "integer", "number", "boolean", "null"))


class TagValueScanner(JsonInside):
    """Engines go to `in_raw` behind the tag of an argument, and are told of what follows by `at_key` or `end_call`."""

    signs: Tags

    def __init__(self, signs: Tags, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        self.arguments: dict[str, Json] = {}
        self.unsure: dict[str, str] = {}
        """Arguments with tags in their text."""
        self.written: list[str] = []
        self.key = ""
        self.kind: str | None = None
        self.raw: list[str] = []
        self.opens_cdata: bool | None = None
        """Whether the value begins with CDATA, once that is known."""
        self.ends = marks(())
        self.first = ""
        self.close = ""
        """The closing tag that may be the end of a value, and below the white space behind it."""
        self.gap: list[str] = []

    def at_key(self, text: str, place: int, end: int) -> int:
        """Between arguments."""
        raise NotImplementedError

    def end_call(self, *, recovered: bool = False) -> None:
        raise NotImplementedError

    def write(self, said: str) -> None:
        self.source.append(said)
        self.written.append(said)
        self.argue(said)

    def begin_raw(self) -> None:
        self.raw = []
        self.opens_cdata = None
        self.state = self.in_raw

    def is_inner(self) -> bool:
        """Whether the closing tag closes another inside the value. Asked once of each that may be its end."""
        return self.signs.cdata and self.in_cdata()

    def in_cdata(self) -> bool:
        """Whether the value has opened CDATA and not closed it yet. Looks at its ends alone, and at the first once."""
        if self.opens_cdata is None:
            head = ""
            for part in self.raw:
                head = (head + part).lstrip()
                if len(head) >= len(CDATA[0]):
                    break
            if len(head) < len(CDATA[0]):
                return False
            self.opens_cdata = head.startswith(CDATA[0])
        if not self.opens_cdata:
            return False
        tail = ""
        for part in reversed(self.raw):
            tail = (part + tail).rstrip()
            if len(tail) >= len(CDATA[1]):
                break
        return not tail.endswith(CDATA[1])

    def in_raw(self, text: str, place: int, end: int) -> int:
        if self.first and text.find(self.first, place) < 0:
            said = text[place:] if place else text
            self.raw.append(said)
            self.write(said)
            return end
        found = self.ends.search(text, place)
        if found is None:
            sure = end if self.final else self.ends.hold(text, place, end)
            if sure > place:
                said = text[place:sure]
                self.raw.append(said)
                self.write(said)
            return end if sure == end else ~sure
        if found.start() > place:
            said = text[place : found.start()]
            self.raw.append(said)
            self.write(said)
        self.close, self.gap = found.group(), []
        self.state = self.behind_raw
        return found.end()

    def behind_raw(self, text: str, place: int, end: int) -> int:
        """Was that closing tag the end of the value? Only if a tag follows that may follow it."""
        behind = SPACE(text, place).end()
        if behind > place:
            self.gap.append(text[place:behind])
            return behind
        if text[place] == "\\":
            if place + 1 == end and not self.final:
                return ~place
            if text[place : place + 2] in ESCAPED:
                self.gap.append(text[place : place + 2])
                return place + 2
        word = self.signs.body.at(text, place, end, self.final)
        if word is None:
            return ~place
        is_call_close = self.close == self.signs.call_close
        if self.is_inner() or not word or (is_call_close and word not in self.signs.behind):
            said = self.close + "".join(self.gap)
            self.raw.append(said)
            self.write(said)
            self.state = self.in_raw
            return place
        self.end_raw()
        return place

    def end_raw(self) -> None:
        raw = "".join(self.raw)
        self.raw = []
        closed_by_call = self.close == self.signs.call_close
        if closed_by_call:
            # The line break before the closing tag of a call stands between tags.
            raw = _LAST_LINE_BREAK.sub("\n" if self.signs.trim else "", raw)
        raw = self.trimmed(raw)
        tail = self.close + "".join(self.gap)
        self.close, self.gap = "", []
        read = self.read(raw)
        if isinstance(read, str):
            self.source.append(tail)
            self.broken(NO_CALL.format(why=f"argument {self.key!r} {read}"))
            return
        self.arguments[self.key], repairs = read
        if self.signs.key_start in raw and isinstance(self.arguments[self.key], str):
            self.unsure[self.key] = raw
        for repair in repairs:
            self.repaired(f"argument {self.key!r}: {repair}")
        if closed_by_call:
            self.source.append(tail)
            self.repaired(UNCLOSED)
            self.end_call()
        else:
            self.write(tail)
            self.state = self.at_key

    def trimmed(self, raw: str) -> str:
        if self.signs.strip:
            return raw.strip()
        if not self.signs.trim:
            return raw
        # Only behind a tag that ends its line so: else a carriage return at the end is the value's own.
        if raw.startswith("\r\n"):
            return raw[2:].removesuffix("\n").removesuffix("\r")
        return raw.removeprefix("\n").removesuffix("\n")

    def read(self, raw: str) -> Value | str:
        """What a value means: by its schema, and by what its own tag says where the schema leaves it open.
        A clause that says what is wrong with it, where it means nothing."""
        schema = schema_of(self.tool, self.key)
        if self.signs.cdata and (bare := raw.strip()).startswith(CDATA[0]) and bare.endswith(CDATA[1]):
            raw = bare[len(CDATA[0]) : -len(CDATA[1])]
            return typed(raw, schema or {"type": TEXT})
        # A text with a tag in it was not written as XML, so what looks like an entity is none either.
        if self.signs.entities and "&" in raw and "<" not in raw:
            if raw.count("&") > len(_ENTITY.findall(raw)):
                self.repaired(f"argument {self.key!r}: {BARE_AMPERSAND}")
            raw = _ENTITY.sub(lambda found: html.unescape(found.group()), raw)
        if self.kind is None:
            return typed(raw, schema, guess=self.signs.guess)
        if self.kind == NULL and raw.strip() == NULL:
            return None, ()
        kinds = types_of(schema)
        if self.kind == TEXT and (not kinds or TEXT in kinds):
            return raw, ()
        if kinds:
            return typed(raw, schema, no_text=self.kind != TEXT)
        return typed(raw, {"type": self.kind} if self.kind in JSON_TYPES else None)

    def part(self, properties: Mapping[str, Json]) -> None:
        """Where the call lacks an argument whose tag stands in the text of another, a closing tag was forgotten."""
        for key, raw in self.unsure.items():
            missing = properties.keys() - self.arguments.keys()
            parts = dict(parted(key, raw, missing, self.signs))
            if len(parts) > 1:
                self.repaired(UNCLOSED)
                self.kind = None
                last = next(reversed(parts))
                for self.key, said in parts.items():
                    # What stands before the next tag belongs to the line break between arguments.
                    read = self.read(self.trimmed(said if self.key == last else said.rstrip()))
                    self.arguments[self.key] = read[0] if isinstance(read, tuple) else said
