"""Checks of one text: hidden characters, encoded payloads, requests for secrets, instructions."""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Final
from urllib.parse import unquote

from pegboard.core.scan.findings import ScanFindingKind, TextMark, excerpt_around, make_excerpt
from pegboard.core.scan.phrases import (
    ASKS_FOR_CONVERSATION,
    ASKS_FOR_SECRET,
    Phrase,
    PhraseSet,
    build_phrases,
    order_phrases,
    translated_phrases,
)
from pegboard.core.scan.sentences import find_order, may_hold_order
from pegboard.core.scan.text import (
    WordSequence,
    all_readings,
    hidden_character_marks,
    lookalike_marks,
    normalize_text,
    parse_word_set,
    split_sentences,
    split_words,
    text_readings,
)

_HAND_OVER_VERBS: Final = (
    "include|send|pass|paste|attach|append|forward|submit|put|repeat|output|reveal|provide|supply|insert|upload|copy"
    "|dump"
    "|fill|hand over|transmit|embed|leak|set|give|collect|print|write"
)
_SECRET_WORDS: Final = (
    "password|passwords|passphrase|api key|api keys|private key|private keys|secret key|secret keys|seed phrase"  # noqa: S105
    "|recovery phrase|credit card|credit card number|credentials|ssh key|ssh keys|access token|access tokens|auth token"
    "|session cookie|session cookies|cookies|bearer token|social security number|passport number|one time code|mnemonic"
)
_WHOLE_WORDS: Final = "full|entire|whole|complete|all|every|everything|verbatim|previous|prior|earlier|last"
_CONVERSATION_WORDS: Final = (
    "conversation|chat|messages|message|history|dialogue|dialog|transcript|discussion|chat history|session"
)
_PROMPT_WORDS: Final = (
    "system prompt|system prompts|system message|system messages|system instructions|developer message|initial prompt"
    "|initial instructions|hidden instructions|hidden prompt"
)


def request_phrases() -> Iterator[Phrase]:
    yield from build_phrases(
        True,
        ScanFindingKind.SECRET,
        "asks for the model's own instructions",
        f"{_HAND_OVER_VERBS} 6 your|own|hidden|original|complete 2 {_PROMPT_WORDS}",
        f"your 1 own|entire|complete|full|exact|hidden 1 {_PROMPT_WORDS}|prompt",
        f"{_HAND_OVER_VERBS} 4 your instructions|entire prompt|full prompt|whole prompt",
    )
    yield from build_phrases(
        True,
        ScanFindingKind.SECRET,
        "asks for the user's secrets",
        "include|attach|append|forward|collect|exfiltrate|leak|upload|gather|harvest|steal|hand over"
        "|send along 3 user s|users"
        f"|their|all|any|his|her 4 {_SECRET_WORDS}",
        f"{_SECRET_WORDS} 3 must be|has to be|have to be 2 collected|sent|passed|forwarded|included|attached",
        f"{_SECRET_WORDS}|token|tokens 5 of other|for other|of the other|for the other|of another|from other"
        f"|from another 1 server"
        "|servers|service|services|tool|tools",
        unless="not|never|no",
    )
    yield from build_phrases(
        True,
        ScanFindingKind.SECRET,
        ASKS_FOR_CONVERSATION,
        f"must|always|required to 6 {_WHOLE_WORDS} 3 {_CONVERSATION_WORDS}|said",
        f"{_WHOLE_WORDS} 2 {_CONVERSATION_WORDS} 4 word for word|verbatim|including system",
        "everything|anything|all 2 user|users|human|person 2 said|says|wrote|typed|told",
        unless="not|never|search|summarise|summarize|returns|lists",
    )
    yield from build_phrases(
        False,
        ScanFindingKind.SECRET,
        ASKS_FOR_CONVERSATION,
        f"{_HAND_OVER_VERBS} 6 {_WHOLE_WORDS} 2 {_CONVERSATION_WORDS}",
        f"{_WHOLE_WORDS} 2 {_CONVERSATION_WORDS} 2 so far|until now|up to now|with the user|in this session|of this "
        "session|with user",
        f"{_HAND_OVER_VERBS} 3 {_CONVERSATION_WORDS} 0 history|so far|context",
        "transcript|record|copy|log|account|recap 2 talk|conversation|chat|discussion|exchange|dialogue 3 so far"
        "|up to|until"
        "|before|point|now",
        "everything|anything|whatever|all|what 1 you 1 know|remember|learned|learnt|have seen|have learned|see in",
        "from earlier messages|from the conversation|from previous messages|from the chat",
        "full name|home address|phone number|phone|employer|date of birth 2 home address|phone|phone number|employer"
        "|address"
        "|date of birth|full name",
        "conversation history|chat history|message history|tool call history|previous messages|chat transcript",
        f"{_HAND_OVER_VERBS} 6 what 1 was|has been|we 1 discussed|said",
        "known about 1 user|person|human|customer",
        f"{_HAND_OVER_VERBS} 3 user s|users|their 2 message|location|messages|prompt|question|query 3 and|as|to|into",
    )
    yield from build_phrases(
        False,
        ScanFindingKind.SECRET,
        ASKS_FOR_SECRET,
        f"enter|type|share|{_HAND_OVER_VERBS} 4 {_SECRET_WORDS}",
        f"ask|asks|request|take|need|needs|needed|require|requires|required|obtain 5 {_SECRET_WORDS}|date of birth",
        f"{_SECRET_WORDS} 4 needed|required|necessary|of the user|found in|found on",
        "contents|content|value|values 1 of 4 environment variable|environment variables|cookie store|keychain"
        "|clipboard"
        "|password manager",
        "value|values|content|contents 1 of 5 api key|access key|secret key|auth token|access token|api token"
        "|private key",
        "list|read|open|collect|enumerate 2 files 5 documents|home|desktop|downloads|user s|users 4 and 1 give|pass"
        "|send|include"
        "|put|attach|append|report|write",
        "all|every|each 1 environment variables|environment variable|env vars",
        f"{_HAND_OVER_VERBS} 5 environment variables|environment variable|env vars|content of the clipboard",
        unless="not|never|without|masked",
    )
    yield from build_phrases(
        False,
        ScanFindingKind.SECRET,
        "asks for what the model thinks or can do",
        "your 2 chain of thought|reasoning|inner thoughts|scratchpad|hidden thoughts|internal thoughts|thought process",
        "list|names 1 of 2 tools 3 you",
        "arguments|results|outputs 1 of 2 tool calls|calls|tools 2 so far|before|you",
        f"{_HAND_OVER_VERBS} 4 chain of thought|internal reasoning|hidden reasoning",
    )
    yield from build_phrases(
        False,
        ScanFindingKind.SECRET,
        "has a place for what should stay with the model",
        f"{_PROMPT_WORDS}|conversation|chat history 0 copy|dump|text|verbatim|log|transcript",
        "sidenote|side note|side notes|env dump|system prompt dump|prompt dump|conversation dump|conversation context"
        "|full context|chat context|user secrets|hidden context",
    )


_PRIVATE_PATH: Final = re.compile(
    r"[/\\]\.(?:ssh|aws|gnupg|kube|netrc|npmrc|pypirc|git-credentials|cursor|claude|docker"
    r"|password-store)\b(?!\S{0,80}\.pub\b)"
    r"|(?<![a-z0-9])id_(?:rsa|ed25519|ecdsa)(?!\.pub)|/etc/(?:shadow|passwd)\b"
    r"|(?<![\w.])\.(?:env|ssh|netrc|npmrc|pypirc|git-credentials)\b(?!\S{0,80}\.pub\b)(?! file (?:of"
    r"|in) the project)|(?<!\w)mcp\.json\b"
    r"|claude_desktop_config|application_default_credentials|/\.config/gcloud|wallet\.dat|(?<!\w)login\.keychain"
    r"|content_from_reading|\bprintenv\b"
)
PRIVATE_WORDS: Final = parse_word_set(
    "ssh aws gnupg kube netrc npmrc pypirc credentials cursor claude docker store rsa ed25519 ecdsa etc env mcp gcloud"
    " wallet keychain reading printenv"
)
"""Every private file has one of these words in it, and most texts have none."""

_HAND_OVER: Final = re.compile(
    r"(?<![a-z])(?:pass|send|include|paste|attach|append|forward|submit|upload|put|insert|supply|give|encode|fill|set)"
    r"(?![a-z])[^.]{0,60}(?<![a-z])(?:contents?|text|data|value|values|it|them|inside|output|key|here|into"
    r"|with)(?![a-z])"
    r"|(?<![a-z])contents?[ _](?:of|from)(?![a-z])"
    r"|(?<![a-z])(?:read|open|cat|collect|gather)(?![a-z])[^.]{0,80}(?<![a-z])(?:and|then)(?![a-z])[^.]{0,20}"
    r"(?<![a-z])(?:pass|send|include|paste|attach|append|forward|submit|upload|give|return)(?![a-z])"
    r"|attach them|(?<![^\W\d_])(?:inhalt|contenu|contenido|contenuto|conteúdo|содержимое)(?![^\W\d_])"
    r"|内容|中身|(?<![a-z])content_from_reading"
)
_MAX_MENTIONS: Final = 64
_NEAR_CHARS: Final = 160


def names_private_file(text: str) -> bool:
    return _PRIVATE_PATH.search(text.casefold()) is not None


def private_file_marks(text: str) -> Iterator[TextMark]:
    """Of a text as it is shown."""
    lower = text.casefold()
    first: re.Match[str] | None = None
    for found in islice(_PRIVATE_PATH.finditer(lower), _MAX_MENTIONS):
        first = first or found
        if _HAND_OVER.search(lower, max(0, found.start() - _NEAR_CHARS), found.end() + _NEAR_CHARS):
            what = f"asks for what a private file holds: {make_excerpt(found.group())}"
            yield TextMark(True, ScanFindingKind.SECRET, what, excerpt_around(lower, found.start(), found.end()))
            return
    if first is not None:
        what = f"names a private file: {make_excerpt(first.group())}"
        yield TextMark(False, ScanFindingKind.SECRET, what, excerpt_around(lower, first.start(), first.end()))


_SECRET_NAME: Final = re.compile(
    r"(?:^|_)(?:password|passwd|passphrase|secret|api_?key|(?:access|auth|bearer|refresh)_?token|private_?key"
    r"|credentials?|ssn|cvv|credit_?card(?:_number)?|seed_?phrase|mnemonic)(?:$|_)"
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=1 << 14)
def is_secret_name(name: str) -> bool:
    """Whether a parameter is called like something that nobody should hand to a tool unasked."""
    return _SECRET_NAME.search(_CAMEL.sub("_", name[:256]).casefold().replace("-", "_")) is not None


# Words in disguise: encoded, turned around, or carried away in the address of a picture.
#
# Only what decodes to words counts: keys, hashes and pictures are encoded too, and say nothing to a model.

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


# What the words of one text say, wherever it stands. Also of a name: its parts are words too.

_PHRASES: Final = PhraseSet((*order_phrases(), *translated_phrases(), *request_phrases(), *decoding_phrases()))

_TEMPLATE: Final = re.compile(
    r"<\|(?:im_start|im_end|system|user|assistant|end|endoftext|eot_id|start_header_id|end_header_id|begin_of_text)\|>"
    r"|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>"
    r"|(?:^|\n)[ \t]{0,8}#{2,4} ?(?:System|Instruction|Assistant|Human)s?(?: prompt| message)?:"
    r"|end of (?:the )?(?:tool )?(?:description|definition|documentation)\b.{0,40}\bsystem\b"
    r"|\n\n(?:Human|Assistant): |</(?:tool_)?(?:description|definition)>",
    re.IGNORECASE,
)
_ASIDES: Final = re.compile(
    r"<(?:important|system|secret|hidden|admin|instructions?|system[-_]?(?:prompt|message|reminder)|override"
    r"|critical)>|<!--"
    r"|<[a-z]{1,10} [^>]{0,100}(?:display: ?none|font-size: ?0|visibility: ?hidden)",
    re.IGNORECASE,
)
_SPEAKER: Final = re.compile(
    r"(?:^|[\n.!?>\"'-]\s{0,4})(?:(?:SYSTEM|ASSISTANT|DEVELOPER|ADMIN)|(?:System|Assistant|Developer|Admin)"
    r"(?: message| prompt| note| notice| override)?)\s?:\s{0,4}(?=\S{1,64} \S)"
)
_MIN_CHARS: Final = 6
_MAX_CACHED_CHARS: Final = 80


def text_marks(text: str, *, is_name: bool) -> Iterable[TextMark]:
    """What is wrong with it. Short texts come again and again, in one schema as in the next."""
    return _cached_marks(text, is_name) if len(text) <= _MAX_CACHED_CHARS else tuple(_marks(text, is_name))


def may_be_marked(texts: str) -> bool:
    """Whether any of the texts that were put together to this one may hold what is to be marked."""
    told = split_sentences(texts)
    plain = WordSequence([*chain.from_iterable(told)])
    if any(map(_PHRASES.may_be_in, all_readings(texts, plain, _PHRASES.vocabulary))):
        return True
    known = plain.word_set
    return (
        may_hold_order(texts, told)
        or next(_imitation_marks(texts, known), None) is not None
        or (not PRIVATE_WORDS.isdisjoint(known) and names_private_file(texts))
        or next(encoded_text_marks(texts, known, _is_telltale), None) is not None
    )


@lru_cache(maxsize=1 << 14)
def _cached_marks(text: str, is_name: bool) -> tuple[TextMark, ...]:
    return tuple(_marks(text, is_name))


def _marks(text: str, is_name: bool) -> Iterator[TextMark]:
    yield from hidden_character_marks(text)
    if not text.isascii():
        yield from lookalike_marks(text, is_name=is_name)
    if len(text) < _MIN_CHARS and text.isascii():
        return
    seen = normalize_text(text)
    ways = text_readings(seen, _PHRASES.vocabulary)
    yield from _gravest([mark for words in ways for mark in _phrase_marks(words)], find_order(seen))
    known = ways[0].word_set
    yield from _imitation_marks(seen, known)
    if not PRIVATE_WORDS.isdisjoint(known):
        yield from private_file_marks(seen)
    if len(seen) >= MIN_PAYLOAD_CHARS:
        yield from encoded_text_marks(seen, known, _is_telltale)


def _phrase_marks(words: WordSequence) -> Iterator[TextMark]:
    for phrase, held in _PHRASES.find_all(words):
        yield TextMark(
            phrase.is_hard,
            phrase.kind,
            f"{phrase.description}: {make_excerpt(held)}",
            excerpt_around(held, 0, len(held)),
        )


def _gravest(phrases: Sequence[TextMark], order: TextMark | None) -> Iterator[TextMark]:
    """What is told in the hard way needs no telling in the soft one, and what a phrase tells none by its weight."""
    found = [*dict.fromkeys(phrases)]
    if order is not None and all(mark.kind is not order.kind or (order.is_hard and not mark.is_hard) for mark in found):
        found.append(order)
    hard = {mark.kind for mark in found if mark.is_hard}
    yield from (mark for mark in found if mark.is_hard or mark.kind not in hard)


def _is_telltale(decoded: str) -> bool:
    """Whether a text that was found encoded is one that no ordinary tool holds."""
    seen = normalize_text(decoded)
    words = WordSequence(split_words(seen))
    return any(phrase.is_hard for phrase, _ in _PHRASES.find_all(words)) or any(True for _ in private_file_marks(seen))


_ROLES: Final = parse_word_set("system assistant developer admin human instruction instructions inst")


def _imitation_marks(text: str, words: frozenset[str]) -> Iterator[TextMark]:
    if "<" not in text and _ROLES.isdisjoint(words):
        return
    if found := _TEMPLATE.search(text):
        what = f"speaks as if it were the prompt itself: {make_excerpt(found.group().strip())}"
        yield TextMark(True, ScanFindingKind.INSTRUCTION, what, excerpt_around(text, found.start(), found.end()))
    elif found := _ASIDES.search(text):
        what = f"sets text apart for the model: {make_excerpt(found.group())}"
        yield TextMark(False, ScanFindingKind.INSTRUCTION, what, excerpt_around(text, found.start(), found.end()))
    elif found := _SPEAKER.search(text):
        what = f"speaks with somebody else's voice: {make_excerpt(found.group().strip())}"
        yield TextMark(False, ScanFindingKind.INSTRUCTION, what, excerpt_around(text, found.start(), found.end()))
