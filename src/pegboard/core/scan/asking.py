"""Requests for what a tool has no business with: secrets, private files, the conversation, the model's own prompt."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from .excerpt import excerpt_around, make_excerpt
from .finding import ScanFindingKind, TextMark
from .phrase import Phrase, build_phrases
from .tongues import ASKS_FOR_CONVERSATION, ASKS_FOR_SECRET
from .words import parse_word_set

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
