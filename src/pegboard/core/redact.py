"""What of a call may be shown to people and kept: secrets left out, long values cut, unsafe characters written out.

Best effort by design: a name or a form gives a secret away, nothing else does. Whoever needs a certain key hidden names
it in `redact:`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property
from itertools import pairwise
from typing import Final
from unicodedata import normalize

from .tool import Json, JsonObject

HIDDEN: Final = "[hidden]"
CUT: Final = "…"

_ALONE: Final = frozenset(
    {"auth", "bearer", "cookie", "cookies", "cvc", "cvv", "jwt", "otp", "passcode", "pwd", "ssn", "token", "tokens"}
)
_PAIRS: Final = frozenset(
    {
        *(f"{first} key" for first in ("access", "account", "api", "auth", "encryption", "license", "master")),
        *(f"{first} key" for first in ("private", "secret", "session", "sign", "signing", "ssh")),
        "connection string",
        "security code",
        "session id",
    }
)
_WITHIN: Final = re.compile(
    "password|passwd|passphrase|secret|credential|authorization|apikey|privatekey|accesskey|accesstoken|authtoken|"
    "refreshtoken|bearertoken|idtoken|sessiontoken|kennwort|passwort|motdepasse|contrasena|senha|пароль|密码|パスワード"
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_COUNTS: Final = frozenset({"token", "tokens"})
"""As numbers these are how many, not which."""

_NAMES: Final = ("name", "key", "header", "field")
_VALUES: Final = frozenset({"value", "values", "content"})
"""A header or variable written as two members: the one tells what the other is."""

# Each matches a run of characters without a choice of how to, so the time stays in proportion to the text.
_FORMS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----END)[\s\S])*(?:-----END[^-]{0,60}-----)?"), HIDDEN),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?"), HIDDEN),
    (re.compile(r"\b(?:sk|pk|rk)[-_][\w-]{16,}|\bgh[opsur]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}"), HIDDEN),
    (re.compile(r"\bxox[abeprs]-[\w-]{10,}|\bAKIA[A-Z0-9]{12,}|\bAIza[\w-]{20,}"), HIDDEN),
    (re.compile(r"(?i)\b(bearer|basic)(\s{1,8})[\w.~+/=-]{8,}"), rf"\1\2{HIDDEN}"),
    (re.compile(r"(://[^\s/:@]{0,200}:)[^\s/@]{1,400}(?=@)"), rf"\1{HIDDEN}"),
    (
        re.compile(
            r"(?i)((?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|token|authorization)\w{0,20}"
            r"[\"']?\s{0,8}[=:]\s{0,8}[\"']?)(?!\[hidden\]|bearer\b|basic\b)[^\s\"'&,;]{1,400}"
        ),
        rf"\1{HIDDEN}",
    ),
)
_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is shown: characters of one text and in all, members of one object or list, levels."""

    text: int = 400
    whole: int = 4_000
    members: int = 40
    levels: int = 8


BOUNDS: Final = Bounds()


@dataclass(frozen=True)
class Redaction:
    """The operator's own patterns for keys, beside the usual ones. With a dot, a pattern is held against the path."""

    patterns: tuple[str, ...] = ()

    def shown(self, value: Json | Mapping[str, Json], bounds: Bounds = BOUNDS) -> Json:
        """The value as it may be shown. Whatever a caller sent, it ends soon and gives JSON that every peer reads."""
        return _Showing(self, bounds).value(value, "", 0)

    def arguments(self, arguments: Mapping[str, Json], bounds: Bounds = BOUNDS) -> JsonObject:
        shown = self.shown(arguments, bounds)
        return shown if isinstance(shown, dict) else {}

    def text(self, value: Json | Mapping[str, Json], bounds: Bounds = BOUNDS) -> str:
        """The same as one line of JSON."""
        return json.dumps(self.shown(value, bounds), ensure_ascii=False)

    def hides(self, key: str, path: str) -> bool:
        if is_secret(key):
            return True
        return any(own.fullmatch((path if dotted else key).casefold()) for dotted, own in self._own)

    @cached_property
    def _own(self) -> tuple[tuple[bool, re.Pattern[str]], ...]:
        return tuple(("." in text, re.compile(translate(text.casefold()))) for text in self.patterns)


USUAL: Final = Redaction()


def is_secret(key: str) -> bool:
    """Whether what has this name is likely a secret, however the name is written."""
    words = [word.casefold() for word in _WORD.findall(normalize("NFKC", key[:200]))]
    if not _ALONE.isdisjoint(words) or _WITHIN.search("".join(words)) is not None:
        return True
    return any(f"{first} {second}" in _PAIRS for first, second in pairwise(words))


def safe_text(text: str, most: int = BOUNDS.text) -> str:
    """Without what looks like a secret, cut, and with control characters and marks that reorder or hide text written
    out. Lines and tabs stay."""
    # Secrets are looked for a little beyond the cut, so that none is halved and so missed.
    part = text[: 2 * most + 1_000]
    for form, instead in _FORMS:
        part = form.sub(instead, part)
    part = _UNSAFE.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), part[: most + 1])
    if len(text) <= most and len(part) <= most:
        return part
    return f"{part[:most]}{CUT} ({len(text)} characters)"


def holds_secret(text: str) -> bool:
    """Whether something in it has the form of a secret."""
    return any(form.search(text) is not None for form, _ in _FORMS)


class _Showing:
    """One walk over one value, with what is left of its room."""

    def __init__(self, redaction: Redaction, bounds: Bounds) -> None:
        self._redaction = redaction
        self._bounds = bounds
        self._left = bounds.whole

    def value(self, value: Json | Mapping[str, Json], path: str, level: int) -> Json:
        match value:
            case str():
                return self._taken(safe_text(value, self._bounds.text))
            case bool() | None:
                return value
            case int() | float():
                return self._number(value)
            case list():
                return CUT if level >= self._bounds.levels else self._items(value, path, level)
            case _:
                return CUT if level >= self._bounds.levels else self._members(value, path, level)

    def _items(self, items: list[Json], path: str, level: int) -> Json:
        shown: list[Json] = []
        for item in items[: self._bounds.members]:
            if self._left <= 0:
                break
            shown.append(self.value(item, path, level + 1))
        if len(shown) < len(items):
            shown.append(f"{CUT} ({len(items) - len(shown)} more)")
        return shown

    def _members(self, members: Mapping[str, Json], path: str, level: int) -> JsonObject:
        shown: JsonObject = {}
        named = any(isinstance(name := members.get(key), str) and is_secret(name) for key in _NAMES)
        done = 0
        for key, value in members.items():
            if self._left <= 0 or done >= self._bounds.members:
                break
            done += 1
            told = self._taken(safe_text(key, 100))
            below = f"{path}.{key}" if path else key
            secret = (named and key.lower() in _VALUES) or (
                self._redaction.hides(key, below) and not is_plain(key, value)
            )
            shown[told] = HIDDEN if secret else self.value(value, below, level + 1)
        if done < len(members):
            shown[CUT] = f"{len(members) - done} more"
        return shown

    def _number(self, value: float) -> Json:
        # Python refuses to write integers of thousands of digits, and JSON has no infinity.
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return str(value)
        if isinstance(value, int) and value.bit_length() > 256:
            return f"{CUT} (a number of {value.bit_length()} bits)"
        self._left -= 8
        return value

    def _taken(self, text: str) -> str:
        if len(text) > self._left:
            text = f"{text[: max(self._left, 0)]}{CUT}"
        self._left -= len(text)
        return text


def is_plain(key: str, value: Json) -> bool:
    """That there is no secret, that one is switched on, or how many tokens there may be, is no secret."""
    if value is None or isinstance(value, bool):
        return True
    words = {word.casefold() for word in _WORD.findall(key[:200])}
    return isinstance(value, int | float) and not _COUNTS.isdisjoint(words)
