"""What everybody may read. A value with a name may be a secret whatever it looks like, so what is not on this list is
taken for one; an argument or address mostly is none, so there it is a name or a form that gives one away."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from pegboard.config.masking import SecretSpan, is_secret_key, secrets_in
from pegboard.core.redact import holds_secret, is_secret, named_secret_spans

_SWITCH_VALUE: Final = re.compile(r"true|false|yes|no|on|off|none|null|\*", re.IGNORECASE)
"""That there is none, or that something is on."""
_SWITCH_NAME: Final = re.compile(
    r"(?:^|[_-])(?:use|uses|enabled?|disabled?|requires?|required|is|has|no|skip|allow|with|without)(?:[_-]|$)",
    re.IGNORECASE,
)
"""Named so, a value says whether, not which: `USE_AUTH`, unlike `PASSWORD`."""
_NUMBER: Final = r"-?[0-9]{1,6}(?:\.[0-9]{1,6})?(?:ms|s|m|h|d|k|kb|mb|gb|ki|mi|gi|%)?"
_PORT: Final = r"(?::[0-9]{1,5})?"
_PATH_STEP: Final = r"(?:api|mcp|sse|rest|rpc|graphql|latest|v[0-9]{1,3}(?:\.[0-9]{1,2})?)"
_PATH: Final = rf"(?:/{_PATH_STEP})*/?"
_HOST: Final = r"(?:[a-z0-9](?:[a-z0-9-]{0,62})\.)*[a-z0-9](?:[a-z0-9-]{0,62})"
_HARMLESS: Final = re.compile(
    r"auto|default|all|debug|info|warn|warning|error|critical|fatal|trace|verbose|quiet|silent"
    r"|production|development|testing|test|staging|prod|dev|local|ci|stdio|http|https|sse|json|text|plain|yaml|utc"
    r"|utf-?8|c|posix|en|(?-i:[a-z]{2}[_-][A-Z]{2})(?:\.utf-?8)?|c\.utf-?8"
    r"|(?:application|text)/[a-z.+-]{1,40}|\*/\*"
    rf"|{_NUMBER}|[0-9]{{1,4}}(?:\.[0-9]{{1,4}}){{2,3}}{_PORT}|localhost{_PORT}"
    r"|\.|\./(?:[a-z0-9_. -]{1,40}/){0,10}[a-z0-9_. -]{0,40}"
    rf"|(?:https?|wss?)://{_HOST}{_PORT}{_PATH}",
    re.IGNORECASE,
)
_COUNT_NAME: Final = re.compile(r"(?:^|[_-])(?:max|min|limit|count|budget|size|timeout|ttl)(?:[_-]|$)", re.IGNORECASE)
_PLAIN_HEADERS: Final = frozenset({"accept", "accept-encoding", "accept-language", "content-type", "user-agent"})
_BESIDE_REFERENCE: Final = re.compile(
    rf"[\s:;,&?/|@_.-]*|(?:[;,&? ]*[a-z_-]{{1,20}}=)|[a-z][a-z0-9+]{{1,20}}://(?:{_HOST}{_PORT}{_PATH})?"
    rf"|@?{_PORT}{_PATH}|@(?:[a-z0-9-]{{1,40}}\.)+[a-z]{{2,12}}{_PORT}{_PATH}",
    re.IGNORECASE,
)
_OTHER_SECRET_NAME: Final = re.compile(
    r"(?:^|[^a-z])(?:creds?|login|salt|licen[cs]e|signing|hmac|webhook|passphrase|private|mnemonic|otp)(?:$|[^a-z])",
    re.IGNORECASE,
)
_WORD_BREAK: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MEMBER: Final = re.compile(
    r"(?P<sign>[\"'])(?P<name>[\w .-]{1,60})(?P=sign)\s{0,8}:\s{0,8}"
    r"(?:\"(?P<double>[^\"]{1,2000})|'(?P<single>[^']{1,2000})|(?P<number>[0-9]{3,400}))"
)
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s\"'<>]+")
_PARAMETER: Final = re.compile(r"(?<=[?&#;])([^=&#;?\s]+)=((?:\$\{[^}]*\}|[^&#\s])+)")
_SEGMENT: Final = re.compile(r"(?<=/)[^/?#;\s]+")
_SECRET_PATH_STEP: Final = re.compile(r"(?:web)?hooks?|services?|tokens?|keys?|secrets?|bot|u|s|k|t", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\s\"',;|<>()\[\]{}$]{12,}")
_TOKEN_RUN: Final = re.compile(r"[A-Za-z0-9_~-]{12,}")
_BASE64: Final = re.compile(r"(?=[^+=]*[+=])[A-Za-z0-9+/]{20,}={0,2}")
_LETTER_DIGIT_CHANGE: Final = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")
_CAMEL: Final = re.compile(r"(?:[A-Z]?[a-z]+|[A-Z]+)(?:[A-Z][a-z]+)*[A-Z]*[0-9]*")
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DIGEST: Final = re.compile(r"(?:sha256:|@|#)[0-9a-f]{40,64}\Z|sha(?:256|384|512)-[A-Za-z0-9+/=]+\Z")
"""A digest or a commit: who names one pins what is fetched, and everybody may know."""


def is_harmless(name: str, value: str) -> bool:
    """Of a value that has this name: an environment variable, a header or a parameter of an address."""
    if not value.strip():
        return True
    if is_secret_name(name):
        if _SWITCH_NAME.search(name):
            return _SWITCH_VALUE.fullmatch(value) is not None
        return _COUNT_NAME.search(name) is not None and re.fullmatch(_NUMBER, value) is not None
    if _SWITCH_VALUE.fullmatch(value):
        return True
    if name.lower() in _PLAIN_HEADERS:
        return not looks_secret(value)
    return _HARMLESS.fullmatch(value) is not None and not looks_secret(value)


def is_harmless_beside(text: str) -> bool:
    """Of what stands between references: signs, the name of what follows, or how an address begins or ends."""
    return _BESIDE_REFERENCE.fullmatch(text) is not None and not any(
        looks_random(run) for run in _TOKEN_RUN.findall(text)
    )


def is_secret_name(name: str) -> bool:
    return is_secret_key(name) or is_secret(name) or _OTHER_SECRET_NAME.search(_WORD_BREAK.sub("_", name)) is not None


def looks_secret(text: str) -> bool:
    """By its form alone."""
    return bool(find_suspects(text)) or holds_secret(text)


def find_suspects(text: str) -> tuple[SecretSpan, ...]:
    """The parts of an argument or address that look like secrets, in order and apart. They may hold references."""
    return merge_spans((*secrets_in(text), *_named_spans(text), *_random_spans(text), *_address_spans(text)))


def _named_spans(text: str) -> Iterator[SecretSpan]:
    """By what stands before it, as in `{"apiKey": "…"}`."""
    for member in _MEMBER.finditer(text):
        kind = member.lastgroup or ""
        if is_secret_name(member["name"]) and not is_harmless(member["name"], member[kind]):
            yield SecretSpan(*member.span(kind), member["name"])
    for start, end in named_secret_spans(text):
        # A sign at its end may be the beginning of `$${`.
        while end > start and text[end - 1] == "$":
            end -= 1
        if end > start:
            yield SecretSpan(start, end)


def merge_spans(spans: Iterable[SecretSpan]) -> tuple[SecretSpan, ...]:
    kept: list[SecretSpan] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
        else:
            kept[-1] = SecretSpan(kept[-1].start, max(span.end, kept[-1].end), kept[-1].name or span.name)
    return tuple(kept)


def _address_spans(text: str) -> Iterator[SecretSpan]:
    for address in _ADDRESS.finditer(text):
        start, whole = address.start(), address.group()
        path = re.split(r"[?#]", whole, maxsplit=1)[0]
        told = False
        for found in _SEGMENT.finditer(path):
            segment = found.group()
            is_host = found.start() == path.find("://") + 3
            told = told and not re.fullmatch(r"[a-z]{1,20}", segment)
            is_open = is_host or "${" in segment or _DIGEST.search(segment) is not None
            if not is_open and (told or _has_random(segment, 12)):
                yield SecretSpan(start + found.start(), start + found.end(), "url")
            told = told or (not is_host and _SECRET_PATH_STEP.fullmatch(segment) is not None)
        for found in _PARAMETER.finditer(whole):
            if "${" not in found.group(2) and not is_harmless(found.group(1), found.group(2)):
                yield SecretSpan(start + found.start(2), start + found.end(2), found.group(1))


def _random_spans(text: str) -> Iterator[SecretSpan]:
    for found in _WORD.finditer(text):
        word = found.group()
        if _DIGEST.search(word):
            continue
        is_option = "://" not in word and re.match(r"-{0,2}[A-Za-z][\w.-]*=.", word)
        option = word[: word.find("=") + 1] if is_option else ""
        start = found.start() + (0 if _has_random(option, 16) else len(option))
        value = text[start : found.end()]
        if not _has_random(value, 16):
            continue
        if value.startswith(("/", "./", "../", "~")) or "@" in value or "://" in word:
            # A path, a package or an address: what names it stays, and of its parts those go that look like secrets.
            for run in _TOKEN_RUN.finditer(value):
                if looks_random(run.group()):
                    yield SecretSpan(start + run.start(), start + run.end())
        else:
            yield SecretSpan(start, found.end())


def _has_random(text: str, least: int) -> bool:
    if _BASE64.fullmatch(text):
        return looks_random(re.sub("[+/=]", "", text))
    return any(looks_random(run, least) for run in _TOKEN_RUN.findall(text))


def looks_random(run: str, least: int = 16) -> bool:
    """What nobody would write by hand. Of words with numbers in between (`gpt-4o-2024-08-06`) nothing does."""
    if len(run) < least:
        return False
    words = re.split(r"[_~-]+", run)
    turns = [len(_LETTER_DIGIT_CHANGE.findall(word)) for word in words]
    return _UUID.search(run) is not None or max(turns) >= 3 or sum(turns) >= 5 or any(map(_is_key, words))


def _is_key(word: str) -> bool:
    if len(word) < 16:
        return False
    if word.isdigit() or re.fullmatch(r"(?i)[0-9a-f]{32,}", word):
        return True
    mixed = re.search("[a-z]", word) and re.search("[A-Z]", word)
    if mixed and re.search("[0-9]", word):
        return _CAMEL.fullmatch(word) is None
    return bool(mixed) and 3 * len(re.findall("[a-z](?=[A-Z])|[A-Z](?=[A-Z])", word)) > len(word)
