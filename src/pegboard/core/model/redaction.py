"""What of a call is kept in the activity and in logs: secrets left out, and of what is long its beginning and its end.

Best effort by design: a name or a form gives a secret away, nothing else does. An operator names further keys in
`redact:`. What a person decides on is displayed by other rules, which no caller can bend: `secret_marks`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property
from itertools import pairwise
from typing import Final
from unicodedata import normalize

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.characters import escape_json, escape_strictly

ELLIPSIS: Final = "…"
MAX_SHORT_BITS: Final = 256
"""Of a number that takes no room to speak of."""

_SECRET_WORDS: Final = frozenset(
    {"auth", "bearer", "cookie", "cookies", "cvc", "cvv", "jwt", "otp", "passcode", "pwd", "ssn", "token", "tokens"}
)
_SECRET_WORD_PAIRS: Final = frozenset(
    {
        *(f"{first} key" for first in ("access", "account", "api", "auth", "encryption", "license", "master")),
        *(f"{first} key" for first in ("private", "secret", "session", "sign", "signing", "ssh")),
        *("connection string", "pin code", "pin number"),
        "security code",
        "session id",
    }
)
_SECRET_LAST_WORDS: Final = frozenset({"pass", "pin"})
"""Words that mean a secret at the end of a name: a `db_pass` and a `card_pin`, not a `pass_count` or a `pin_to_top`."""
_SECRET_PART: Final = re.compile(
    "password|passwd|passphrase|secret|credential|authorization|apikey|privatekey|accesskey|accesstoken|authtoken|"
    "refreshtoken|bearertoken|idtoken|sessiontoken|kennwort|passwort|motdepasse|contrasena|senha|пароль|密码|パスワード"
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_COUNT_WORDS: Final = frozenset({"token", "tokens"})
"""As numbers these are how many, not which."""

_NAME_KEYS: Final = ("name", "key", "header", "field")
_VALUE_KEYS: Final = frozenset({"value", "values", "content"})
"""A header or variable written as two members: the one tells what the other is."""

_VALUE_CHARACTER: Final = r"(?:[^\s;&|`()<>{}\"',$]|\$(?![A-Za-z_({'\"]))"
"""What a secret is written with, and no shell makes a command of: a payload is not hidden behind `PASSWORD=`."""
_VALUE: Final = rf"(?!\[hidden\b){_VALUE_CHARACTER}{{1,400}}"
_ARGUMENTS: Final = r"(?:[^\n;|&]{0,400}?\s)?"
"""Of one command, what may stand before the option."""
_BREAK: Final = r"(?:\s|\\[nr])"
_KEY_BLOCK: Final = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
    rf"(?:{_BREAK}{{1,4}}[A-Z][A-Za-z-]{{1,20}}: ?[\w,-]{{1,80}}){{0,4}}"
    rf"(?:{_BREAK}{{1,8}}[A-Za-z0-9+/]{{40,}}+={{0,2}})*+"
    rf"(?:{_BREAK}{{1,8}}[A-Za-z0-9+/]{{1,80}}={{0,2}}(?={_BREAK}{{0,8}}-----END))?"
    rf"(?:{_BREAK}{{0,8}}-----END [A-Z ]{{0,60}}-----)?"
)

# Each matches a run of characters without a choice of how to, or within a bound, so the time stays in proportion to the
# text. What the group `told` holds is shown.
_SECRET_FORMS: Final = tuple(
    re.compile(form)
    for form in (
        _KEY_BLOCK,
        r"\beyJ[\w-]{8,1000}\.[\w-]{4,}(?:\.[\w-]*)?",
        r"\b(?:sk|pk|rk)[-_][\w-]{16,}|\bgh[opsur]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}",
        r"\bxox[abeprs]-[\w-]{10,}|\bAKIA[A-Z0-9]{12,}|\bAIza[\w-]{20,}",
        r"(?i)\b(?P<told>(?:bearer|basic)\s{1,8})[\w.~+/=-]{8,}",
        rf"(?P<told>://[^\s/:@]{{0,200}}:)(?:(?![/@]){_VALUE_CHARACTER}){{1,400}}(?=@)",
        r"(?i)(?P<told>(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|token|authorization)\w{0,20}"
        rf"[\"']?\s{{0,8}}[=:]\s{{0,8}}[\"']?)(?!\[hidden\b|bearer\b|basic\b){_VALUE_CHARACTER}{{1,400}}",
        rf"(?i)(?P<told>(?:\b|_)(?:pass|pwd|pin)(?:[\"']\s{{0,8}}:|[\"']?\s{{0,8}}=)\s{{0,8}}[\"']?)"
        rf"{_VALUE}",
        rf"(?i)(?P<told>\s--(?:password|passwd|pass|passphrase|secret|token|api-key)\s{{1,4}}[\"']?)"
        rf"(?!-|\[hidden\b){_VALUE_CHARACTER}{{1,400}}",
        rf"(?P<told>\b(?:mysql|mariadb)[a-z-]{{0,12}}\s{_ARGUMENTS}-p[\"']?){_VALUE}",
        rf"(?P<told>\b(?:sshpass\s{{1,4}}-p|redis-cli\s{_ARGUMENTS}-a)\s{{0,4}}[\"']?){_VALUE}",
        rf"(?P<told>\bcurl\s{_ARGUMENTS}(?:-u|--user)[ =]{{0,4}}[\"']?[^\s:;|&\"']{{1,100}}:){_VALUE}",
    )
)


@dataclass(frozen=True, slots=True)
class DisplayLimits:
    """How much is shown: characters of one text, of one key and in all, members of one object or list, levels."""

    text: int = 400
    total: int = 4_000
    members: int = 40
    levels: int = 8
    key: int = 100


DEFAULT_DISPLAY_LIMITS: Final = DisplayLimits()
NO_DISPLAY_LIMITS: Final = DisplayLimits(text=10**9, total=10**9, members=10**9, levels=400, key=10**9)
"""For a person who wants to see all of it."""


@dataclass(frozen=True)
class Redaction:
    """The operator's own patterns for keys, beside the usual ones. With a dot, a pattern is held against the path."""

    patterns: tuple[str, ...] = ()

    def redact(self, value: Json | Mapping[str, Json], bounds: DisplayLimits = DEFAULT_DISPLAY_LIMITS) -> Json:
        """The value as it may be shown. Whatever a caller sent, it ends soon and gives JSON that every peer reads."""
        return _RedactionWalk(self, bounds).value(value, "", 0)

    def redact_arguments(
        self, arguments: Mapping[str, Json], bounds: DisplayLimits = DEFAULT_DISPLAY_LIMITS
    ) -> JsonObject:
        shown = self.redact(arguments, bounds)
        return shown if isinstance(shown, dict) else {}

    def redact_to_text(self, value: Json | Mapping[str, Json], bounds: DisplayLimits = DEFAULT_DISPLAY_LIMITS) -> str:
        return to_json_line(self.redact(value, bounds))

    def hides(self, key: str, path: str) -> bool:
        return is_secret(key) or self.is_operator_secret(key, path)

    def is_operator_secret(self, key: str, path: str) -> bool:
        """Whether the operator names this key as a secret."""
        return any(own.fullmatch((path if dotted else key).casefold()) for dotted, own in self._compiled_patterns)

    @cached_property
    def _compiled_patterns(self) -> tuple[tuple[bool, re.Pattern[str]], ...]:
        return tuple(("." in text, re.compile(translate(text.casefold()))) for text in self.patterns)


def to_json_line(shown: Json) -> str:
    """As JSON, with what would reorder or hide text escaped as JSON has it."""
    return escape_json(json.dumps(shown, ensure_ascii=False))


def is_secret(key: str) -> bool:
    """Whether what has this name is likely a secret, however the name is written."""
    words = [word.casefold() for word in _WORD.findall(normalize("NFKC", key[:200]))]
    if not _SECRET_WORDS.isdisjoint(words) or _SECRET_PART.search("".join(words)) is not None:
        return True
    if words and words[-1] in _SECRET_LAST_WORDS and (len(words) > 1 or words[-1] != "pass"):
        return True
    return any(f"{first} {second}" in _SECRET_WORD_PAIRS for first, second in pairwise(words))


def redact_line(text: str, most: int = DEFAULT_DISPLAY_LIMITS.text) -> str:
    """Without what looks like a secret, its middle left out where it is long, and with control characters and marks
    that reorder or hide text written out. Lines and tabs stay."""
    return escape_strictly(redact_text(text, most))


def redact_text(text: str, most: int) -> str:
    """Without what looks like a secret; of a long text the beginning and the end, and how much is between them."""
    # Secrets are looked for beyond the cut too, so that none is halved and so missed.
    margin = 2 * most + _MARGIN_CHARS
    if len(text) <= 2 * margin:
        return cut_text(_without_secrets(text), most)
    return cut_text(_without_secrets(text[:margin]), most, _without_secrets(text[-margin:]), len(text) - 2 * margin)


class MaskText(str):
    """Stands for a masked value and is never cut."""

    __slots__ = ()


def shorten(value: Json | Mapping[str, Json], bounds: DisplayLimits) -> Json:
    """With nothing masked: only the middle of what is long is left out, and each gap says how much that is."""
    return _RedactionWalk(None, bounds).value(value, "", 0)


def cut_text(head: str, most: int, tail: str | None = None, between: int = 0) -> str:
    """Without a tail the head is all there is."""
    tail = head if tail is None else tail
    if not between and len(head) <= most:
        return head
    end = most // 3
    first, last = head[: most - end], tail[len(tail) - end :]
    left = len(head) - len(first) - len(last) if not between else between + len(head) + len(tail) - most
    return f"{first}{ELLIPSIS} {left:,} character{'' if left == 1 else 's'} not shown {ELLIPSIS}{last}"


def is_cut(shown: Json) -> bool:
    """Whether something was left out of what is shown. A caller may write such words itself; then this is careful."""
    match shown:
        case str():
            return shown == ELLIPSIS or _CUT_MARK.search(shown) is not None
        case list():
            return any(map(is_cut, shown))
        case dict():
            return any(is_cut(key) or is_cut(value) for key, value in shown.items())
        case _:
            return False


def hidden_placeholder(value: Json | Mapping[str, Json]) -> str:
    """In the place of a secret: how much is hidden, so that nobody takes a page for a password."""
    match value:
        case str():
            return f"[hidden: {_gap_text(len(value), 'character')}]"
        case bool() | int() | float() | None:
            return "[hidden]"
        case _:
            return f"[hidden: {_gap_text(len(value), 'member')}]"


def holds_secret(text: str) -> bool:
    """Whether something in it has the form of a secret."""
    return any(form.search(text) is not None for form in _SECRET_FORMS)


def named_secret_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where something stands that what is written before it tells to be a secret. Places may overlap."""
    for form in _SECRET_FORMS:
        for found in form.finditer(text) if "told" in form.groupindex else ():
            yield found.end("told"), found.end()


_MARGIN_CHARS: Final = 4_000
_CUT_MARK: Final = re.compile(rf"{ELLIPSIS} [\d,]+ (?:bit|character|member)s? not shown {ELLIPSIS}")


def _without_secrets(text: str) -> str:
    for form in _SECRET_FORMS:
        text = form.sub(_hidden_form, text)
    return text


def _hidden_form(found: re.Match[str]) -> str:
    told = found.groupdict().get("told") or ""
    return f"{told}{hidden_placeholder(found.group()[len(told) :])}"


def _escape_match(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


def _gap_text(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


class _RedactionWalk:
    """One walk over one value, with what is left of its room. Without a redaction nothing is hidden."""

    def __init__(self, redaction: Redaction | None, bounds: DisplayLimits) -> None:
        self._redaction = redaction
        self._bounds = bounds
        self._room = bounds.total

    def value(self, value: Json | Mapping[str, Json], path: str, level: int) -> Json:
        match value:
            case MaskText():
                self._room -= len(value)
                return str(value)
            case str():
                return self._take_text(value, self._bounds.text)
            case bool() | None:
                return value
            case int() | float():
                return self._number(value)
            case list():
                return ELLIPSIS if level >= self._bounds.levels else self._items(value, path, level)
            case _:
                return ELLIPSIS if level >= self._bounds.levels else self._members(value, path, level)

    def _items(self, items: list[Json], path: str, level: int) -> Json:
        shown: dict[int, Json] = {}
        for at in self._indexes_to_show(len(items)):
            with self._share():
                shown[at] = self.value(items[at], path, level + 1)
        if len(shown) == len(items):
            return [shown[at] for at in range(len(items))]
        left = f"{ELLIPSIS} {_gap_text(len(items) - len(shown), 'member')} not shown {ELLIPSIS}"
        gap = next(at for at in range(len(items)) if at not in shown)
        ordered = sorted(shown)
        before = [shown[at] for at in ordered if at < gap]
        return [*before, left, *(shown[at] for at in ordered if at > gap)]

    def _members(self, members: Mapping[str, Json], path: str, level: int) -> JsonObject:
        named = self._redaction is not None and any(
            isinstance(name := members.get(key), str) and is_secret(name) for key in _NAME_KEYS
        )
        pairs = list(members.items())
        shown: dict[int, tuple[str, Json]] = {}
        for at in self._indexes_to_show(len(pairs)):
            key, value = pairs[at]
            below = f"{path}.{key}" if path else key
            # A mask tells nothing but the length, and to mask it again would tell a wrong one.
            secret = (
                self._redaction is not None
                and not isinstance(value, MaskText)
                and (
                    (named and key.lower() in _VALUE_KEYS)
                    or (self._redaction.hides(key, below) and not is_harmless_member(key, value))
                )
            )
            with self._share():
                told = self._take_text(key, self._bounds.key)
                shown[at] = told, hidden_placeholder(value) if secret else self.value(value, below, level + 1)
        result: JsonObject = {}
        gap = next((at for at in range(len(pairs)) if at not in shown), None)
        for at in sorted(shown if gap is None else (*shown, gap)):
            left = f"{ELLIPSIS} {_gap_text(len(pairs) - len(shown), 'member')} not shown {ELLIPSIS}"
            key, value = (ELLIPSIS, left) if at == gap else shown[at]
            result[_unique_key(result, key)] = value
        return result

    def _indexes_to_show(self, count: int) -> Iterator[int]:
        """From both ends inwards while there is room: what stands last is seen as surely as what stands first."""
        most = self._bounds.members
        for turn in range(min(count, most)):
            if self._room <= 0:
                return
            yield turn // 2 if turn % 2 == 0 else count - 1 - turn // 2

    @contextmanager
    def _share(self) -> Iterator[None]:
        """No member takes all the room there is from those that are still to be shown."""
        kept = self._room // 2
        self._room -= kept
        yield
        self._room += kept

    def _number(self, value: float) -> Json:
        # Python refuses to write integers of thousands of digits, and JSON has no infinity.
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return str(value)
        if isinstance(value, int) and value.bit_length() > MAX_SHORT_BITS:
            try:
                digits = str(value)
            except ValueError:
                return f"{ELLIPSIS} {_gap_text(value.bit_length(), 'bit')} not shown {ELLIPSIS}"
            if len(digits) > min(self._bounds.text, max(self._room, _MIN_CHARS)):
                return self._take_text(digits, self._bounds.text)
            self._room -= len(digits)
            return value
        self._room -= 8
        return value

    def _take_text(self, text: str, most: int) -> str:
        room = min(most, max(self._room, _MIN_CHARS))
        shown = cut_text(text, room) if self._redaction is None else redact_text(text, room)
        self._room -= len(shown)
        # Half a character is no text that a peer or a store can take.
        return _SURROGATES.sub(_escape_match, shown)


def _unique_key(members: JsonObject, key: str) -> str:
    """A key that is not there yet: two that look the same once they are cut must both be seen."""
    count, told = 1, key
    while told in members:
        count += 1
        told = f"{key} ({count})"
    return told


_MIN_CHARS: Final = 24
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def is_harmless_member(key: str, value: Json) -> bool:
    """That there is no secret, that one is switched on, or how many tokens there may be, is no secret."""
    if value is None or isinstance(value, bool):
        return True
    words = {word.casefold() for word in _WORD.findall(key[:200])}
    return isinstance(value, int | float) and not _COUNT_WORDS.isdisjoint(words)
