"""Words in disguise: encoded, turned around, or carried away in the address of a picture.

Only what decodes to words counts: keys, hashes and pictures are encoded too, and say nothing to a model.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from .excerpt import excerpt_around, make_excerpt
from .finding import ScanFindingKind, TextMark
from .phrase import Phrase, build_phrases
from .words import parse_word_set

_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}={0,2}")
_BASE32: Final = re.compile(r"(?<![A-Za-z0-9])[A-Z2-7]{32,}={0,6}(?![A-Za-z0-9])")
_HEX: Final = re.compile(r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{2}){16,}(?![0-9A-Za-z])")
_ESCAPE_RUN: Final = re.compile(r"(?:\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|&#x?[0-9A-Fa-f]{2,5};){8,}")
_ONE_ESCAPED: Final = re.compile(r"\\[ux]([0-9A-Fa-f]+)|&#(x?)([0-9A-Fa-f]+);")
_TWELVE_DIGITS: Final = re.compile(r"[0-9]{2}[0-9 ,;]{22}")
"""What bits and codes of characters both have at least."""
_BITS: Final = re.compile(r"(?<![0-9])(?:[01]{8}[ ,]?){8,}")
_CODES: Final = re.compile(r"(?<![0-9])(?:[0-9]{2,3}[ ,;]{1,2}){11,}[0-9]{2,3}(?![0-9])")
_PICTURE: Final = re.compile(
    r"!\[[^\]\n]{0,100}\]\(\s{0,4}(https?://[^)\n]{1,400})|<img[^>\n]{0,200}?src=[\"']?(https?://[^\"'\n]{1,400})", re.I
)
_PLACEHOLDER: Final = re.compile(r"[{<\[]([^}>\]\n]{1,100})[}>\]]|\$\{?(\w{1,64})|%s")
_CONVERSATION_DATA: Final = re.compile(
    r"conversation|message|history|secret|token|password|email|e-mail|said|everything|prompt|context|user|chat|key",
    re.I,
)
_CODE_ADDRESS: Final = re.compile(r"data:(?!image/|audio/|video/|font/)[\w.+-]{1,40}/[\w.+-]{1,60}[;,]", re.I)
_PROGRAM: Final = re.compile(
    r"<script|\bfetch\(|\beval\(|document\.|XMLHttpRequest|Invoke-WebRequest|\bcurl |rm -rf|/bin/(?:ba)?sh|powershell",
    re.I,
)
MIN_PAYLOAD_CHARS: Final = 24
_LONG_WORD: Final = re.compile(rf"\S{{{MIN_PAYLOAD_CHARS},}}")
_MAX_PAYLOAD_CHARS: Final = 4096
_MIN_WORDS: Final = 4
_MIN_BLOB_CHARS: Final = 256
_LONGER_WORD: Final = re.compile(rf"\S{{{_MIN_BLOB_CHARS}}}")
_MAX_DEPTH: Final = 2
_ROT13: Final = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "NOPQRSTUVWXYZABCDEFGHIJKLMnopqrstuvwxyzabcdefghijklm"
)
_MARKER_WORDS: Final = parse_word_set(
    "ignore previous instructions before using other without reading conversation contents content password secret"
    " files forward system prompt transfer delete please mention always never print private assistant disregard obey"
)
_ROTATED_WORDS: Final = frozenset(word.translate(_ROT13) for word in _MARKER_WORDS)
_REVERSED_WORDS: Final = frozenset(word[::-1] for word in _MARKER_WORDS)
_MIN_DISGUISED_WORDS: Final = 2


def decoding_phrases() -> Iterator[Phrase]:
    yield from build_phrases(
        True,
        ScanFindingKind.ENCODED,
        "tells the model to decode something and act on it",
        "decode|decrypt|unscramble|deobfuscate|decipher|unbase64 10 and|then 2 follow|obey|execute|run|perform"
        "|do what|do as"
        "|carry out|comply",
        unless="not|never",
    )


def encoded_text_marks(text: str, words: frozenset[str], tells: Callable[[str], bool]) -> Iterator[TextMark]:
    """`tells` answers for a decoded text whether it is one that no ordinary tool holds."""
    told: TextMark | None = None
    for payload in _find_payloads(text, words):
        decoded = " ".join(payload.text.split())
        if not decoded.isprintable() or not payload.is_words(decoded):
            continue
        hard = tells(decoded) or _PROGRAM.search(decoded) is not None
        if (told is None and not payload.may_be_ordinary) or (hard and not (told is not None and told.is_hard)):
            told = TextMark(
                hard,
                ScanFindingKind.ENCODED,
                f"holds encoded words: {make_excerpt(decoded)}",
                excerpt_around(decoded, 0, len(decoded)),
            )
    if told is not None:
        yield told
    elif "ata:" in text and (found := _CODE_ADDRESS.search(text)):
        what = f"holds a data: address that is no picture: {make_excerpt(found.group())}"
        yield TextMark(False, ScanFindingKind.ENCODED, what, excerpt_around(text, found.start(), found.end()))
    elif blob := _find_blob(text):
        what = f"holds {blob.end() - blob.start()} encoded characters that nobody can read"
        yield TextMark(False, ScanFindingKind.ENCODED, what, excerpt_around(text, blob.start(), blob.start() + 24))
    yield from _picture_marks(text)


def _find_blob(text: str) -> re.Match[str] | None:
    if not _LONGER_WORD.search(text):
        return None
    for found in _BASE64.finditer(text):
        if (
            found.end() - found.start() >= _MIN_BLOB_CHARS
            and "base64," not in text[max(0, found.start() - 8) : found.start()]
        ):
            return found
    return None


def _picture_marks(text: str) -> Iterator[TextMark]:
    """A client that shows a picture asks its server for it, and so tells it whatever the address holds."""
    if "](" not in text and "<" not in text:
        return
    for found in _PICTURE.finditer(text):
        address = found.group(1) or found.group(2)
        if blank := _PLACEHOLDER.search(address):
            hard = _CONVERSATION_DATA.search(blank.group()) is not None
            what = f"has a picture whose address carries something away: {make_excerpt(blank.group())}"
            yield TextMark(hard, ScanFindingKind.ENCODED, what, excerpt_around(text, found.start(), found.end()))
            return


@dataclass(frozen=True, slots=True)
class _Payload:
    text: str
    may_be_ordinary: bool = False
    """Words in a URL are, words in base64 are not."""
    min_words: int = _MIN_WORDS

    def is_words(self, decoded: str) -> bool:
        return decoded.count(" ") >= self.min_words - 1


def _find_payloads(text: str, words: frozenset[str]) -> Iterator[_Payload]:
    for word in _LONG_WORD.findall(text):
        yield from _encoded_runs(word, _MAX_DEPTH)
        if word.count("%") >= 3:
            yield _Payload(unquote(word[:_MAX_PAYLOAD_CHARS]), True)
        if "\\" in word or "&#" in word:
            for found in _ESCAPE_RUN.finditer(word):
                yield _Payload(_ONE_ESCAPED.sub(_decode_escape, found.group()[:_MAX_PAYLOAD_CHARS]))
    if not words.isdisjoint(_ROTATED_WORDS) and len(words & _ROTATED_WORDS) >= _MIN_DISGUISED_WORDS:
        yield _Payload(text[:_MAX_PAYLOAD_CHARS].translate(_ROT13))
    if not words.isdisjoint(_REVERSED_WORDS) and len(words & _REVERSED_WORDS) >= _MIN_DISGUISED_WORDS:
        yield _Payload(text[:_MAX_PAYLOAD_CHARS][::-1])
    if not _TWELVE_DIGITS.search(text):
        return
    for found in _BITS.finditer(text):
        bits = re.sub("[ ,]", "", found.group()[: 8 * _MAX_PAYLOAD_CHARS])
        yield _Payload(
            "".join(chr(int(bits[place : place + 8], 2)) for place in range(0, len(bits) - 7, 8)), min_words=3
        )
    for found in _CODES.finditer(text):
        numbers = [int(number) for number in re.findall("[0-9]+", found.group()[: 4 * _MAX_PAYLOAD_CHARS])]
        if all(32 <= number < 127 for number in numbers):
            yield _Payload("".join(map(chr, numbers)), min_words=3)


def _encoded_runs(text: str, depth: int) -> Iterator[_Payload]:
    for found in _BASE64.finditer(text):
        body = found.group().rstrip("=")[:_MAX_PAYLOAD_CHARS].replace("-", "+").replace("_", "/")
        plain = _decode_text(base64.b64decode(body + "=" * (-len(body) % 4) if len(body) % 4 != 1 else body[:-1]))
        yield _Payload(plain)
        if _PROGRAM.search(plain):
            yield _Payload(plain, min_words=1)
        if depth > 1 and _BASE64.fullmatch(plain):
            yield from _encoded_runs(plain, depth - 1)
    for found in _HEX.finditer(text):
        yield _Payload(_decode_text(bytes.fromhex(found.group()[:_MAX_PAYLOAD_CHARS])))
    for found in _BASE32.finditer(text):
        body = found.group().rstrip("=")[:_MAX_PAYLOAD_CHARS]
        try:
            yield _Payload(_decode_text(base64.b32decode(body + "=" * (-len(body) % 8))))
        except binascii.Error:  # not every run of capitals has a length that base32 has
            continue


def _decode_text(octets: bytes) -> str:
    """Text of one byte a letter, or of two as Windows writes it."""
    if len(octets) >= 8 and not any(octets[1:64:2]):
        return octets.decode("utf-16-le", "ignore")
    return octets.decode("utf-8", "ignore")


def _decode_escape(found: re.Match[str]) -> str:
    escaped, hexadecimal, referred = found.groups()
    if escaped is not None:
        return chr(int(escaped, 16))
    digits = int(referred, 16) if hexadecimal else int(referred) if referred.isdecimal() else 0
    return chr(digits) if digits <= 0x10FFFF else ""
