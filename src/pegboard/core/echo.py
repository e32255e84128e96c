"""Pinned values that a server repeats in what it says: found in the forms in which they travel, and taken out.

What is looked for is the text itself, as JSON writes it, and as an address writes it. A value that the server changed
in any other way, cut, or wrote as a number is not found.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final
from urllib.parse import quote, quote_plus

from .tool import Json

MIN_TEXT_CHARS: Final = 8
"""Characters. A shorter text is in many answers by chance."""

MASK: Final = "***"
_STRINGS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def maskable_texts(values: Iterable[Json]) -> tuple[str, ...]:
    """The texts in these values that are long enough to be looked for, the longest first."""
    return tuple(sorted({text for text in _texts(values) if len(text) >= MIN_TEXT_CHARS}, key=len, reverse=True))


def _texts(values: Iterable[Json]) -> Iterator[str]:
    waiting = [*values]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
                yield text.strip()
            case list() as inner:
                waiting += inner
            case dict() as members:
                waiting += members.values()
            case _:
                pass


@dataclass(frozen=True)
class PinnedValueMask:
    texts: tuple[str, ...] = field(repr=False)

    def mask_text(self, said: str) -> str:
        return self._text_pattern.sub(MASK, said)

    def mask_json(self, body: bytes) -> bytes:
        """The same document, byte for byte, but for the strings that hold any of it."""
        if b"\\" not in body and self._json_pattern.search(body) is None:
            return body
        return _STRINGS.sub(lambda found: self._mask_string(found[0]), body)

    def mask_members(self, members: Mapping[str, Json]) -> Mapping[str, Json]:
        text = json.dumps(dict(members)).encode()
        clean = self.mask_json(text)
        if clean == text:
            return members
        read: dict[str, Json] = json.loads(clean)
        return read

    def _mask_string(self, written: bytes) -> bytes:
        if b"\\" not in written:
            return self._json_pattern.sub(MASK.encode(), written)
        try:
            said: str = json.loads(written)
        except ValueError:  # no JSON: nobody reads it as anything but these bytes
            return self._json_pattern.sub(MASK.encode(), written)
        clean = self.mask_text(said)
        return written if clean == said else json.dumps(clean).encode()

    @cached_property
    def _all_encodings(self) -> tuple[str, ...]:
        forms = {form for text in self.texts for form in _encodings(text)}
        return tuple(sorted(forms, key=len, reverse=True))

    @cached_property
    def _text_pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._all_encodings)))

    @cached_property
    def _json_pattern(self) -> re.Pattern[bytes]:
        return re.compile(b"|".join(re.escape(form.encode("utf-8", "surrogatepass")) for form in self._all_encodings))


def _encodings(text: str) -> Iterator[str]:
    yield text
    # JSON within a text, which is how most servers answer with more than words.
    for ascii_only in (True, False):
        yield json.dumps(text, ensure_ascii=ascii_only)[1:-1]
    yield text.replace("/", "\\/")
    plain = text.encode("utf-8", "replace")
    for address in (quote(plain, ""), quote(plain), quote_plus(plain)):
        yield address
        yield re.sub("%[0-9A-F]{2}", lambda sign: sign[0].lower(), address)
