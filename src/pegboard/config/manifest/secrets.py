"""Replaces secrets in a manifest by placeholders before it is shared."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from pegboard.config.clients.placeholders import variable_name
from pegboard.config.masked_servers import MASK, SecretSpan, extend_to_references, is_secret_key, secrets_in
from pegboard.config.overrides import plaintext_secrets
from pegboard.config.references import (
    Literal,
    TextPart,
    VariableReference,
    escape_literal,
    is_only_references,
    parse_references,
)
from pegboard.config.schema.section import EXTENSION_PREFIX
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.redaction import holds_secret, is_secret, named_secret_spans
from pegboard.core.overrides.model import ArgumentOverride, freeze_json

# What everybody may read. A value with a name may be a secret whatever it looks like, so what is not on this list
# is
# taken for one; an argument or address mostly is none, so there it is a name or a form that gives one away.

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


_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SCHEME: Final = re.compile(r"(?i)\A(?:Bearer|Basic|Token|ApiKey) +")
_PUNCTUATION: Final = re.compile(r"(?s)([\s:;,&?/|]*)(.*?)([\s:;,&?/|]*)")
_PAIR: Final = re.compile(r"(?s)((?:--env=)?)([A-Za-z_][A-Za-z0-9_]*)=(.*)")
_HEADER: Final = re.compile(r"(?s)((?:--header=)?)([A-Za-z0-9_-]+): *(.*)")
_SHORT_SECRET_OPTIONS: Final = {"-p": "password", "-P": "password", "-k": "key"}
_USER_OPTIONS: Final = frozenset({"-u", "--user", "--proxy-user", "-U"})
_RUNNERS: Final = re.compile(
    r"(?:.*[\\/])?(?:npx|npm|pnpm|bunx|bun|yarn|uvx|uv|pip|pipx|python[0-9.]*|node|deno|perl|ruby|(?:ba|z|da)?sh)(?:\.\w+)?"
)
"""Here `-p` is a package and `-e` a piece of a program, until the program that they run is named."""
_BEFORE_PROGRAMS: Final = frozenset(
    {"run", "exec", "dlx", "x", "tool", "-p", "-e", "-c", "--package", "--python", "--from", "--with", "--directory"}
)
_COLON_OPTION: Final = re.compile(r"(?s)(-{1,2}[\w.-]+|/[\w.-]+(?=:[^/])):(?!//).*")
_FILE_LIKE: Final = re.compile(r"[./~@].*|.*[\w)]\.[A-Za-z]{1,5}|[0-9]{1,5}:[0-9]{1,5}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PlaceholderLocation:
    """Where in a manifest: of what, and which of its keys."""

    owner: str
    key: str

    def __str__(self) -> str:
        return f"{self.owner}: {self.key}"


@dataclass
class Placeholders:
    """One writing of one manifest. A name stands for one secret, and for none of those that it was a name of before."""

    reserved_names: set[str]
    locations: dict[str, list[PlaceholderLocation]] = field(default_factory=dict[str, list[PlaceholderLocation]])
    """By the names of the placeholders: where each stands."""
    secret_values: dict[str, str] = field(default_factory=dict[str, str])
    """What each stands for, with its references. Never told to anybody."""
    dropped_locations: list[PlaceholderLocation] = field(default_factory=list[PlaceholderLocation])
    """Where something was left out that looked like a secret and that no reference can stand for, such as a default."""
    _names_by_value: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _next_numbers: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def names(self) -> Iterable[str]:
        return self.locations.keys()

    def replace_values(self, owner: str, key: str, said: Mapping[str, str]) -> dict[str, str]:
        """Environment variables or headers."""
        return {
            name: self._replace_value(PlaceholderLocation(owner, f"{key}.{name}"), name, value)
            for name, value in said.items()
        }

    def replace_args(self, owner: str, command: str, args: tuple[str, ...]) -> list[str]:
        told: list[str] = []
        runs_another = _RUNNERS.fullmatch(command) is not None
        for at, arg in enumerate(args):
            before = args[at - 1] if at else ""
            told.append(
                self._replace_arg(PlaceholderLocation(owner, f"args[{at}]"), arg, before, short=not runs_another)
            )
            runs_another = runs_another and (arg.startswith("-") or not _BEFORE_PROGRAMS.isdisjoint((arg, before)))
        return told

    def replace_text(self, owner: str, key: str, text: str) -> str:
        return self._replace_until_stable(PlaceholderLocation(owner, key), text, find_suspects)

    def replace_secret(self, owner: str, name: str, value: str) -> str:
        return (
            value if is_only_references(value) else self._placeholder_for(PlaceholderLocation(owner, name), name, value)
        )

    def replace_argument(self, owner: str, name: str, argument: ArgumentOverride) -> ArgumentOverride:
        pin = argument.pin
        if pin is None or not (
            plaintext_secrets(name, argument) or (isinstance(pin.value, str) and find_suspects(pin.value))
        ):
            return argument
        return replace(
            argument,
            pin=freeze_json(self._placeholder_for(PlaceholderLocation(owner, f"arguments.{name}.pin"), name, pin.text)),
        )

    def filter_metadata(self, owner: str, said: JsonObject) -> JsonObject:
        """Nothing reads it, so nothing in it can ask for a secret: what looks like one goes with its key."""
        kept: JsonObject = {}
        for key, value in said.items():
            name = key if key.startswith(EXTENSION_PREFIX) else ""
            if _contains_secret(name, value):
                self.dropped_locations.append(PlaceholderLocation(owner, key))
            else:
                kept[key] = value
        return kept

    def _replace_arg(self, place: PlaceholderLocation, arg: str, before: str, *, short: bool) -> str:
        for pattern, options in ((_PAIR, ("-e", "--env")), (_HEADER, ("-H", "--header"))):
            pair = pattern.fullmatch(arg)
            if pair is not None and (pair[1] or (before in options and (short or before != "-e"))):
                return f"{arg[: pair.start(3)]}{self._replace_value(place, pair[2], pair[3])}"

        def find_spans(arg: str) -> tuple[SecretSpan, ...]:
            named = _option_secret(arg, before, short=short)
            return merge_spans((*(() if named is None else (named,)), *find_suspects(arg)))

        return self._replace_until_stable(place, arg, find_spans)

    def _replace_until_stable(
        self, place: PlaceholderLocation, text: str, found: Callable[[str], tuple[SecretSpan, ...]]
    ) -> str:
        """One that stood in the way of another may have hidden it. Written again, it is the same."""
        while (told := self._replace_spans(place, text, found(text))) != text:
            text = told
        return told

    def _replace_value(self, place: PlaceholderLocation, name: str, value: str) -> str:
        scheme = _SCHEME.match(value)
        start = scheme.group() if scheme else ""
        rest = value[len(start) :]
        split = parse_references(rest)
        if isinstance(split, tuple) and any(not isinstance(part, Literal) for part in split):
            return start + self._replace_literals(place, name, split, is_harmless_beside)
        is_kept = not rest or (is_harmless(name, value) if not scheme else False)
        return value if is_kept else f"{start}{self._placeholder_for(place, name, rest)}"

    def _replace_literals(
        self, place: PlaceholderLocation, name: str, split: Iterable[TextPart], is_kept: Callable[[str], bool]
    ) -> str:
        """References stay what they are; what is written out beside them goes, unless it may stay."""
        told: list[str] = []
        for part in _join_literals(split):
            if not isinstance(part, Literal):
                told.append(self._drop_secret_default(place, name, part))
                continue
            signs = _PUNCTUATION.fullmatch(part.text)
            assert signs is not None
            before, core, after = signs.groups()
            scheme = _SCHEME.match(f"{core} ") if not told or before else None
            if is_kept(part.text) or not core or (scheme is not None and scheme.end() == len(core) + 1):
                told.append(escape_literal(part.text))
            else:
                placeholder = self._placeholder_for(place, name, escape_literal(core))
                told.append(f"{escape_literal(before)}{placeholder}{escape_literal(after)}")
        return "".join(told)

    def _drop_secret_default(self, place: PlaceholderLocation, name: str, part: TextPart) -> str:
        assert not isinstance(part, Literal)
        default = getattr(part, "default", None)
        if not default:
            return part.source
        called = is_secret_name(name) or (isinstance(part, VariableReference) and is_secret_name(part.name))
        pair = re.fullmatch(r"[^\s:/]+:(?![0-9]+\Z)[^\s:/]+", default)
        if (called and not is_harmless(name, default)) or pair or looks_secret(default):
            self.dropped_locations.append(place)
            return str(part)
        return part.source

    def _replace_spans(self, place: PlaceholderLocation, text: str, spans: tuple[SecretSpan, ...]) -> str:
        told, at = "", 0
        for span in _drop_overlaps(extend_to_references(spans, text)):
            before, inside = text[at : span.start], text[span.start : span.end]
            if is_only_references(inside):
                continue
            if before.endswith("$"):
                # The sign and a reference after it would be read as the text of one.
                return self._placeholder_for(place, span.name, text)
            split = parse_references(inside)
            if isinstance(split, tuple) and any(not isinstance(part, Literal) for part in split):
                told += self._drop_secret_defaults(place, before) + self._replace_literals(
                    place, span.name, split, lambda text: False
                )
            else:
                told += self._drop_secret_defaults(place, before) + self._placeholder_for(place, span.name, inside)
            at = span.end
        return told + self._drop_secret_defaults(place, text[at:])

    def _drop_secret_defaults(self, place: PlaceholderLocation, text: str) -> str:
        """Where nothing else looks like a secret, a default still may."""
        split = parse_references(text)
        if not isinstance(split, tuple) or not any(getattr(part, "default", None) for part in split):
            return text
        return "".join(
            escape_literal(part.text) if isinstance(part, Literal) else self._drop_secret_default(place, "", part)
            for part in split
        )

    def _placeholder_for(self, place: PlaceholderLocation, name: str, value: str) -> str:
        name = name or "secret"
        plain = name if _NAME.fullmatch(name) and name == name.upper() else variable_name(name)[:100]
        found = self._names_by_value.get((plain, value)) or self._new_name(place.owner, plain)
        self._names_by_value[plain, value] = found
        self.locations.setdefault(found, []).append(place)
        self.secret_values[found] = value
        return f"${{{found}}}"

    def _new_name(self, owner: str, plain: str) -> str:
        for name in (plain, variable_name(owner, plain)[:110]):
            if name not in self.reserved_names and name not in self.locations:
                return name
        for number in count(self._next_numbers.get(plain, 2)):
            if (name := f"{plain}_{number}") not in self.reserved_names and name not in self.locations:
                self._next_numbers[plain] = number + 1
                return name
        raise AssertionError("there is no end of numbers")


def _contains_secret(name: str, value: Json) -> bool:
    match value:
        case dict():
            return any(_contains_secret(key, each) or looks_secret(key) for key, each in value.items())
        case list():
            return any(_contains_secret(name, each) for each in value)
        case None | bool():
            return False
        case _:
            text = str(value)
            return looks_secret(text) or (is_secret_name(name) and not is_harmless(name, text))


def _option_secret(arg: str, before: str, *, short: bool) -> SecretSpan | None:
    """The value of an option whose name speaks of secrets: X of `--token X`, `--token=X`, `-p X` and `-u me:X`."""
    if before in _USER_OPTIONS and ":" in arg and "://" not in arg:
        return SecretSpan(arg.index(":") + 1, len(arg), "password")
    if short and before in _SHORT_SECRET_OPTIONS and not arg.startswith("-"):
        kept = is_harmless("", arg) or _FILE_LIKE.fullmatch(arg)
        return None if kept else SecretSpan(0, len(arg), _SHORT_SECRET_OPTIONS[before])
    is_option = before.startswith("-") and not before.startswith("--no-") and _option_name(before) is None
    if is_option and not arg.startswith("-") and len(before) > 2 and _is_secret_option(before, arg):
        return SecretSpan(0, len(arg), before.strip("-"))
    option = _option_name(arg)
    if option is not None and "://" not in option and "${" not in option:
        start = len(option) + 1
        return SecretSpan(start, len(arg), option.strip("-/")) if _is_secret_option(option, arg[start:]) else None
    return None


def _option_name(arg: str) -> str | None:
    """The name of one that holds its value: `--token=X`, `TOKEN=X`, and `--token:X` or `/token:X` as some write it."""
    name, equals, _ = arg.partition("=")
    colon = _COLON_OPTION.fullmatch(arg)
    if colon is not None and len(colon[1]) < len(name):
        return colon[1]
    return name if equals else None


def _is_secret_option(option: str, value: str) -> bool:
    return is_secret_name(option) and not is_harmless(option.strip("-"), value)


def _drop_overlaps(spans: Iterable[SecretSpan]) -> Iterator[SecretSpan]:
    """Two may have met in a reference."""
    end = 0
    for span in spans:
        if (start := max(span.start, end)) < span.end:
            yield SecretSpan(start, span.end, span.name)
            end = span.end


def _join_literals(split: Iterable[TextPart]) -> list[TextPart]:
    """A text is taken apart at each sign that stands for itself too."""
    joined: list[TextPart] = []
    for part in split:
        if isinstance(part, Literal) and joined and isinstance(last := joined[-1], Literal):
            joined[-1] = Literal(last.text + part.text)
        else:
            joined.append(part)
    return joined


def referenced_names(texts: Iterable[str]) -> set[str]:
    """The names that references stand for already."""
    split = (found for text in texts if isinstance(found := parse_references(text), tuple))
    return {part.name for found in split for part in found if isinstance(part, VariableReference)}


# What may be shown of how a server is reached: all that an export would give away, and nothing that it would
# replace.
#
# One rule for all who show it and for those who give it away, so that none tells what another hides.


def display_args(command: str, args: tuple[str, ...]) -> tuple[str, ...]:
    held = Placeholders(reserved_names=referenced_names(args))
    return tuple(_mask_all(held, held.replace_args("", command, args)))


def display_values(values: Mapping[str, str]) -> dict[str, str]:
    """Environment variables or headers."""
    held = Placeholders(reserved_names=referenced_names(values.values()))
    told = held.replace_values("", "", values)
    return dict(zip(told, _mask_all(held, told.values()), strict=True))


def display_text(text: str) -> str:
    """A command, an address or the name of an image."""
    held = Placeholders(reserved_names=referenced_names((text,)))
    return _mask_all(held, (held.replace_text("", "", text),))[0]


def _mask_all(held: Placeholders, told: Iterable[str]) -> list[str]:
    return [_mask_names(text, held) for text in told]


def _mask_names(text: str, held: Placeholders) -> str:
    for name in held.names:
        text = text.replace(f"${{{name}}}", MASK)
    return text
