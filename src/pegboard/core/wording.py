"""Words meant for the model and not for the reader: orders to it, requests for secrets, texts in disguise.

Everything is matched on a plain form of the text (one case, one alphabet, no invisible characters, single spaces), with
bounded gaps between words, so the time is linear in the text whatever it holds.
"""

import base64
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import Final
from urllib.parse import unquote

from .hidden import excerpt, visible


class Kind(Enum):
    """What a finding is about."""

    HIDDEN = "hidden characters"
    INSTRUCTION = "instructions to the model"
    SHADOWING = "shadowing"
    ENCODED = "encoded payload"
    SECRET = "secrets asked for"  # noqa: S105  # a kind of finding, not a secret


@dataclass(frozen=True, slots=True)
class Wording:
    hard: bool
    kind: Kind
    what: str


_LOOKALIKES: Final = str.maketrans(
    "аеорсухіјѕһԁԛԝвкмнтАВЕКМНОРСТУХІЈЅοαερτυικνχΑΒΕΗΙΚΜΝΟΡΤΥΧΖ",
    "aeopcyxijshdqwbkmhtABEKMHOPCTYXIJSoaeptuikvxABEHIKMNOPTYXZ",
)
_WORDS: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_TWO_ALPHABETS: Final = re.compile("[A-Za-z][\u0400-\u04ff]|[\u0400-\u04ff][A-Za-z]")
_LONGEST_WORD: Final = 48
_SHORTEST: Final = 6

_ASIDE: Final = r"(?:\S+ ){0,3}?"
_HAND_OVER: Final = r"\b(?:include|send|pass|paste|attach|append|forward|submit|put|repeat|output|reveal|provide)"
_FORMER: Final = "(?:previous|prior|above|earlier|preceding|former|your|system|developer|original|initial)"
_ORDERS: Final = "(?:instructions?|directives?|guidelines|guardrails|orders)"
_READER: Final = "(?:user|users|human|humans|customer|person|operator|anyone)"

_PHRASES: Final[tuple[tuple[bool, Kind, str, re.Pattern[str]], ...]] = tuple(
    (hard, kind, what, re.compile(pattern))
    for hard, kind, what, pattern in (
        (
            True,
            Kind.INSTRUCTION,
            "tells the model to set its instructions aside",
            rf"\b(?:ignore|disregard|forget|override|bypass) {_ASIDE}{_FORMER} {_ASIDE}{_ORDERS}\b"
            rf"|\b(?:ignoriere|vergiss|missachte) {_ASIDE}(?:vorherigen|bisherigen|obigen|früheren) {_ASIDE}"
            r"(?:anweisungen|befehle)\b"
            rf"|\b(?:ignorez|ignore|oubliez|oublie) {_ASIDE}(?:instructions|consignes) (?:précédentes|antérieures)\b"
            rf"|\b(?:ignora|ignore|olvida) {_ASIDE}(?:instrucciones|instruções|istruzioni) {_ASIDE}"
            r"(?:anteriores|previas|precedenti)\b"
            rf"|\b(?:игнорируй|игнорируйте|забудь) {_ASIDE}(?:предыдущие|прежние) {_ASIDE}(?:инструкции|указания)\b",
        ),
        (
            True,
            Kind.INSTRUCTION,
            "tells the model to keep something from the user",
            r"\b(?:do not|don't|dont|never|must not|without) (?:ever )?"
            r"(?:tell|inform|notify|alert|mention|reveal|disclose)(?:ing)? "
            rf"(?:\S+ ){{0,6}}?{_READER}\b"
            rf"|\b(?:hide|conceal|withhold|keep) (?:\S+ ){{0,5}}?from (?:the )?{_READER}\b"
            r"|\b(?:secretly|covertly|surreptitiously) (?:send|read|call|forward|copy|post|upload|include|use|run)\b",
        ),
        (
            False,
            Kind.INSTRUCTION,
            "tells the model what not to show or ask the user",
            r"\b(?:do not|don't|dont|never|without) (?:show|display|ask|confirm)(?:ing)? "
            rf"(?:\S+ ){{0,6}}?{_READER}\b",
        ),
        (
            False,
            Kind.INSTRUCTION,
            "tells the model what to do with instructions, rules or prompts",
            rf"\b(?:ignore|disregard|forget) {_ASIDE}(?:any|all|every|other|{_FORMER}) {_ASIDE}"
            r"(?:instructions?|prompts?|rules|warnings)\b",
        ),
        (
            False,
            Kind.INSTRUCTION,
            "tells the model to put it before other tools",
            r"\b(?:before|prior to|instead of|rather than) (?:(?:using|calling|invoking|running) )?"
            r"(?:any|every|all|each) (?:other )?tools?\b"
            r"|\balways (?:use|call|invoke|run|prefer) this (?:tool|function|server)\b"
            r"|\byou are (?:now|no longer)\b",
        ),
        (
            True,
            Kind.SECRET,
            "asks for the model's own instructions",
            rf"{_HAND_OVER} (?:\S+ ){{0,6}}?"
            r"(?:your (?:own )?(?:system|developer|initial|hidden)|your entire|the full system) "
            r"(?:prompt|message|instructions)\b",
        ),
        (
            False,
            Kind.SECRET,
            "asks for the conversation",
            rf"{_HAND_OVER} (?:\S+ ){{0,6}}?"
            r"(?:full|entire|whole|complete|all) (?:\S+ ){0,2}?(?:conversation|chat|messages|history)\b",
        ),
        (
            False,
            Kind.SECRET,
            "asks for a secret",
            r"\b(?:enter|provide|paste|share|give|send|type|supply) (?:\S+ ){0,4}?"
            r"(?:password|passphrase|(?:api|private|secret) key|(?:seed|recovery) phrase|credit card|credentials)\b",
        ),
    )
)
_VERBS: Final = re.compile(
    r"\b(?:ignor|disregard|forget|overrid|bypass|vergiss|missacht|oubli|olvida|игнорир|забудь|do not|don't|dont|never"
    r"|must not|without|hide|conceal|withhold|keep|secretly|covertly|surreptitiously|before|prior|instead|rather|always"
    r"|you are|include|send|pass|paste|attach|append|forward|submit|put|repeat|output|reveal|provide|enter|share|give"
    r"|type|supply)"
)
"""Every phrase begins with one of these, and most texts have none of them."""

_UNSPACED: Final = re.compile(
    "(?:忽略|无视|無視|忘记|忘記).{0,8}?(?:之前|以前|上述|先前|前面).{0,8}?(?:指令|指示|说明|說明|提示)|以前の指示を(?:無視|忘れ)"
)
_TEMPLATE: Final = re.compile(
    r"<\|(?:im_start|im_end|system|user|assistant|end|endoftext|eot_id|start_header_id|end_header_id)\|>"
    r"|\[/?INST\]|<</?SYS>>"
)
_ASIDES: Final = re.compile(r"<(?:important|system|secret|hidden|admin)>|<!--", re.IGNORECASE)

_PRIVATE: Final = re.compile(
    r"[/\\]\.(?:ssh|aws|gnupg|kube|netrc|npmrc|pypirc|git-credentials|cursor|claude|docker)\b"
    r"|(?<![a-z0-9])id_(?:rsa|ed25519|ecdsa)(?!\.pub)|/etc/(?:shadow|passwd)\b"
    r"|(?<![\w.])\.env\b|(?<!\w)mcp\.json\b|claude_desktop_config"
)
_HANDED_OVER: Final = re.compile(
    r"(?<![a-z])(?:pass|send|include|paste|attach|append|forward|submit|upload|put|insert|supply)(?![a-z])[^.]{0,60}"
    r"(?<![a-z])(?:contents?|text|data|value|it|them)(?![a-z])|(?<![a-z])contents?[ _](?:of|from)(?![a-z])"
)
_SECRET_NAME: Final = re.compile(
    r"(?:^|_)(?:password|passwd|passphrase|secret|api_?key|(?:access|auth|bearer|refresh)_?token|private_?key"
    r"|credentials?|ssn|cvv|credit_?card(?:_number)?|seed_?phrase|mnemonic)(?:$|_)"
)
_MOST_MENTIONS: Final = 64
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def wording(text: str) -> Iterator[Wording]:
    """What the words of one text ask of the model. Also of a name: its parts are words too."""
    if len(text) < _SHORTEST:
        return
    shown = visible(text)
    if not shown.isascii():
        shown = unicodedata.normalize("NFKC", shown)
    yield from _phrases(shown)
    if found := _TEMPLATE.search(shown):
        yield Wording(True, Kind.INSTRUCTION, f"speaks as if it were the prompt itself: {excerpt(found.group())}")
    elif found := _ASIDES.search(shown):
        yield Wording(False, Kind.INSTRUCTION, f"sets text apart for the model: {excerpt(found.group())}")
    if not shown.isascii() and (found := _TWO_ALPHABETS.search(shown)):
        nearby = shown[max(0, found.start() - 8) : found.end() + 8]
        yield Wording(False, Kind.HIDDEN, f"mixes letters of two alphabets in one word, at {excerpt(nearby)}")
    yield from _private_files(shown.casefold())
    yield from _encoded(shown)


def secret_name(name: str) -> bool:
    """Whether a parameter is called like something that nobody should hand to a tool unasked."""
    return _SECRET_NAME.search(_CAMEL.sub("_", name[:256]).casefold().replace("-", "_")) is not None


@lru_cache(maxsize=1 << 16)
def lookalike(name: str) -> str:
    """One form for names that a reader takes for each other."""
    alike = unicodedata.normalize("NFKC", visible(name[:256])).translate(_LOOKALIKES)
    return re.sub(r"[\W_]+", "_", _CAMEL.sub("_", alike).casefold())


def _phrases(shown: str) -> Iterator[Wording]:
    plain = _plain(shown)
    folded = plain if shown.isascii() else _plain(shown.translate(_LOOKALIKES))
    if not shown.isascii() and (found := _UNSPACED.search("".join(shown.split()))):
        yield Wording(
            True, Kind.INSTRUCTION, f"tells the model to set its instructions aside: {excerpt(found.group())}"
        )
    if not _VERBS.search(plain) and not _VERBS.search(folded):
        return
    hardly_told: set[Kind] = set()
    for hard, kind, what, pattern in _PHRASES:
        found = pattern.search(plain) or (pattern.search(folded) if folded != plain else None)
        # What is told in the hard way needs no telling in the soft one.
        if found is None or kind in hardly_told:
            continue
        if hard:
            hardly_told.add(kind)
        yield Wording(hard, kind, f"{what}: {excerpt(found.group())}")


def _plain(shown: str) -> str:
    words = _WORDS.findall(_CAMEL.sub(" ", shown).casefold().replace("\u2019", "'"))
    return " ".join(word[:_LONGEST_WORD] for word in words)


def _private_files(text: str) -> Iterator[Wording]:
    named = ""
    for found in islice(_PRIVATE.finditer(text), _MOST_MENTIONS):
        named = named or found.group()
        if _HANDED_OVER.search(text, max(0, found.start() - 160), found.end() + 160):
            yield Wording(True, Kind.SECRET, f"asks for what a private file holds: {excerpt(found.group())}")
            return
    if named:
        yield Wording(False, Kind.SECRET, f"names a private file: {excerpt(named)}")


# --- encoded ---------------------------------------------------------------------------------------------------------

_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}={0,2}")
_HEX: Final = re.compile(r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{2}){16,}(?![0-9A-Za-z])")
_ESCAPED: Final = re.compile(r"(?:\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|&#x?[0-9A-Fa-f]{2,5};){8,}")
_ONE_ESCAPED: Final = re.compile(r"\\[ux]([0-9A-Fa-f]+)|&#(x?)([0-9A-Fa-f]+);")
_LONGEST_PAYLOAD: Final = 4096
_FEWEST_WORDS: Final = 4


def _encoded(text: str) -> Iterator[Wording]:
    """Only what decodes to words counts: keys, hashes and pictures are encoded too, and say nothing to a model."""
    told: Wording | None = None
    for ordinary, decoded in _decoded(text):
        payload = " ".join(decoded.split())
        if payload.count(" ") < _FEWEST_WORDS - 1 or not payload.isprintable():
            continue
        hard = any(each.hard for each in _phrases(payload)) or _PRIVATE.search(payload.casefold()) is not None
        if (told is None and not ordinary) or (hard and not (told is not None and told.hard)):
            told = Wording(hard, Kind.ENCODED, f"holds encoded words: {excerpt(payload)}")
    if told is not None:
        yield told


def _decoded(text: str) -> Iterator[tuple[bool, str]]:
    """Each with whether such a thing is ordinary: words in a URL are, words in base64 are not."""
    for found in _BASE64.finditer(text):
        body = found.group().rstrip("=")[:_LONGEST_PAYLOAD].replace("-", "+").replace("_", "/")
        yield False, base64.b64decode(body[: len(body) // 4 * 4]).decode("utf-8", "ignore")
    for found in _HEX.finditer(text):
        yield False, bytes.fromhex(found.group()[:_LONGEST_PAYLOAD]).decode("utf-8", "ignore")
    if "%" in text:
        yield from ((True, unquote(word[:_LONGEST_PAYLOAD])) for word in text.split() if word.count("%") >= 3)
    for found in _ESCAPED.finditer(text):
        yield False, _ONE_ESCAPED.sub(_character, found.group()[:_LONGEST_PAYLOAD])


def _character(found: re.Match[str]) -> str:
    escaped, hexadecimal, referred = found.groups()
    if escaped is not None:
        return chr(int(escaped, 16))
    digits = int(referred, 16) if hexadecimal else int(referred) if referred.isdecimal() else 0
    return chr(digits) if digits <= 0x10FFFF else ""
