"""Python literals as models write them: read in one pass without ever being run, and written so that they read back."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Final

from pegboard.core.folded import Json

from .integers import LEADING_ZEROS, MAX_INTEGER_DIGITS, has_leading_zero, read_integer
from .literal import CONTROLS, INNER_QUOTES, MIXED_ESCAPES, NO_COMMA, PATH, is_windows_path
from .marks import matcher

DEEPEST: Final = 100
ENDS: Final = ",:}])"
"""A quote closes a string only where one of these follows, or the end: any other quote belongs to the string."""
WORDS: Final[Mapping[str, Json]] = {
    "True": True,
    "true": True,
    "False": False,
    "false": False,
    "None": None,
    "null": None,
}
CLOSING: Final = {"“": "”", "”": "”", "„": "“", "‘": "’", "’": "’"}  # noqa: RUF001 - the quotes of typesetters

_decode: Final = json.JSONDecoder(strict=False).decode
_space: Final = matcher(r"\s*")
_number: Final = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*)?\.?\d*(?:[eE][-+]?\d+)?)"
).match
_integer: Final = re.compile(r"[-+]?[\d_]+\Z", re.ASCII).match
_keyword: Final = re.compile(r"[^\W\d][\w\-]*").match
_plain: Final = re.compile(
    r"""\s*([^\W\d]\w*)\s*=\s*(?:'(?!'')((?:[^'\\]|\\.)*)'|"(?!"")((?:[^"\\]|\\.)*)"|(-?(?:0|[1-9]\d{0,14})))\s*(?:,|\Z)""",
    re.DOTALL | re.ASCII,
).match
"""One keyword argument as nearly all are: a string that ends where a value may, or an integer."""
_prefixed: Final = re.compile(r"[rRuUbBfF]{1,2}(?=['\"])").match
_escape: Final = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^}]{1,80})\}|(\r\n|.))", re.DOTALL
)
_more: Final = re.compile(
    r"""(?:\s*(?:"(?!"")(?:[^"\\]|\\.)*"|'(?!'')(?:[^'\\]|\\.)*'))+\s*(?=[,:}\])]|\Z)""", re.DOTALL
).match
"""Strings behind a string, up to where a value may end: Python reads them as one."""
_piece: Final = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""", re.DOTALL)
_expression: Final = re.compile(
    r"""\s*(?:[+*%]\s*(?:["'(\[{]|[\w.]{1,64}\s*[,)\]}])|if\s[^"'\n]{1,200}\selse\s|\.[a-z_]{1,32}\()"""
).match
MOST_JOINED: Final = 64
"""Strings that may turn out to be none of several in a row: each costs a look ahead."""
JOINED: Final = "strings without a comma between them were joined"
UNCLEAR_END: Final = (
    "a string has quotes in it that are not escaped, so its end is unclear. Write \\ before each of them"
)
_next_argument: Final = re.compile(r"\s*[^\W\d]\w{0,63}\s*=(?!=)").match
_STRING_PREFIXES: Final = frozenset(("r", "u", "b", "f", "br", "rb", "fr", "rf"))
MAX_WORD: Final = 24
_surrogate: Final = re.compile("[\ud800-\udfff]")
_SIMPLE: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "a": "\a",
    "v": "\v",
    "\\": "\\",
    "/": "/",
    '"': '"',
    "'": "'",
    "\n": "",
    "\r\n": "",
}
_NUMBER_ESCAPE: Final = "0"
_KNOWN_ESCAPES: Final = frozenset(_SIMPLE) | {_NUMBER_ESCAPE}
_PLAIN_ESCAPES: Final = frozenset(('"', "'", "\n", "\r\n"))
"""Escapes that mean the same to everybody."""
_CONTROL_ESCAPES: Final = frozenset("abfv")
"""Characters that hardly any text has."""
_UNFINISHED_ESCAPES: Final = frozenset("xuUN")


class LiteralError(ValueError):
    """The text is no literal; the message says where and why."""


def literal(text: str) -> Json:
    """The one literal that the text is."""
    return read_literal(text)[0]


def read_literal(text: str) -> tuple[Json, tuple[str, ...]]:
    """The one literal that the text is, and in words what was bent. The text may be meant as JSON."""
    reader = Reader(text, is_python=False)
    value = reader.value()
    if reader.next():
        raise reader.error("text behind the value")
    return value, tuple(reader.repairs)


def keywords(
    text: str, *, has_type: Callable[[str], bool] | None = None, is_enclosed: bool = True
) -> tuple[dict[str, Json], list[Json], tuple[str, ...]]:
    """What stands between the parentheses of a call: keyword arguments, positional ones, and in words what was bent.
    `has_type`: whether a schema gives the argument a type. Only without one are digits that begin with 0 a number.
    `is_enclosed`: whether something must follow the call, so that the caller sees where a string was cut short."""
    reader = Reader(text, is_enclosed=is_enclosed)
    named: dict[str, Json] = {}
    positional: list[Json] = []
    while plain := _plain(text, reader.at):
        name, single, double, integer = plain.groups()
        if name in named:
            break
        if integer:
            named[name] = int(integer)
        else:
            named[name] = reader.text_of(double, '"') if single is None else reader.text_of(single, "'")
        reader.at = plain.end()
    while reader.next():
        if text.startswith("**{", reader.at):
            reader.at += 2
            more = reader.value()
            if not isinstance(more, dict) or more.keys() & named.keys():
                raise LiteralError("an argument is given twice, or ** stands before what is no mapping")
            named.update(more)
            reader.separator("")
            continue
        key = _keyword(text, reader.at)
        if key is not None:
            behind = _space(text, key.end()).end()
            if text.startswith("=", behind) and not text.startswith("==", behind):
                if key.group() in named:
                    raise LiteralError(f"argument {key.group()!r} is given twice")
                reader.at = behind + 1
                named[key.group()] = reader.argument(has_type is None or has_type(key.group()))
                reader.separator("")
                continue
            if text.startswith(":", behind) and key.group() not in named:
                # A variable with a type would be none, and no value begins so.
                reader.at = behind + 1
                named[key.group()] = reader.value()
                reader.repairs["a colon was read as ="] = None
                reader.separator("")
                continue
        if named:
            raise reader.error("a positional argument behind a named one")
        positional.append(reader.value())
        reader.separator("")
    return named, positional, tuple(reader.repairs)


class Reader:
    """One pass over one text."""

    def __init__(self, text: str, *, is_enclosed: bool = True, is_python: bool = True) -> None:
        self.text, self.at, self.end = text, 0, len(text)
        self.is_enclosed = is_enclosed
        self.is_python = is_python
        self.repairs: dict[str, None] = {}
        self.looks = MOST_JOINED
        self.joins = 0
        """How often strings were joined, as Python does where no comma stands between them."""

    def error(self, what: str) -> LiteralError:
        return LiteralError(f"{what} at character {self.at}, at {self.text[self.at : self.at + 20]!r}")

    def next(self) -> str:
        """The next character that is no white space; empty at the end."""
        self.at = found = _space(self.text, self.at).end()
        return self.text[found] if found < self.end else ""

    def separator(self, close: str) -> None:
        """A comma, or what closes; anything else is an error."""
        found = self.next()
        if found == ",":
            self.at += 1
        elif found != close:
            raise self.error(f"expected ',' or {close!r}" if close else "expected ','")

    def value(self, depth: int = 0) -> Json:
        found = self.next()
        if depth > DEEPEST:
            raise self.error(f"nested more than {DEEPEST} deep")
        if not found:
            raise self.error("a value is missing")
        if found in "\"'":
            return self.string(found)
        if found == "{":
            return self.mapping(depth)
        if found == "[":
            return self.sequence("]", depth)
        if found == "(":
            return self.group(depth)
        if found in "-+.0123456789":
            return self.number()
        return self.word(found)

    def argument(self, has_type: bool) -> Json:
        """One value of a call. Digits that begin with 0 are text, which is read by its type where it has one."""
        if has_type or self.next() not in frozenset("-+0"):
            return self.value()
        before = dict(self.repairs)
        value = self.value()
        integer = read_integer(value) if isinstance(value, str) else None
        if integer is None:
            return value
        self.repairs = {**before, "the 0 before a number was left out": None}
        return integer

    def word(self, found: str) -> Json:
        prefix = _prefixed(self.text, self.at)
        if prefix is not None:
            return self.prefixed(prefix.group())
        word = _keyword(self.text, self.at)
        if word is not None and word.group() in WORDS:
            self.at = word.end()
            return WORDS[word.group()]
        if found in CLOSING:
            self.repairs["typographic quotes were read as plain ones"] = None
            return self.string(found)
        if word is not None:
            raise self.error(f"{word.group()!r} is a variable or an expression, write its value")
        raise self.error(f"unexpected {found!r}")

    def prefixed(self, prefix: str) -> str:
        start = self.at
        self.at += len(prefix)
        raw, kinds = "r" in prefix.lower(), prefix.lower().replace("r", "").replace("u", "")
        said = self.string(self.text[self.at], raw=raw)
        if kinds == "f" and "{" not in said:
            kinds = ""
        if kinds:
            self.at = start
            raise self.error("only plain strings are values")
        return said

    def number(self) -> int | float | str:
        found = _number(self.text, self.at)
        said = found.group() if found else ""
        value: int | float | str | None
        if has_leading_zero(said):
            self.repairs[LEADING_ZEROS] = None
            value = said
        elif _integer(said):
            value = read_integer(said)
        elif len(said) > 1 and said.lstrip("+-")[1:2].lower() in ("x", "o", "b"):
            value = read_integer(said, 0)
        else:
            try:
                value = float(said)
            except ValueError:
                raise self.error("not a number") from None
            if not isfinite(value):
                raise self.error("a number out of range")
        if value is None:
            raise self.error(f"not a number of at most {MAX_INTEGER_DIGITS:,} digits")
        self.at += len(said)
        return value

    def string(self, quote: str, *, raw: bool = False) -> str:
        text, close = self.text, CLOSING.get(quote, quote)
        if close in "\"'" and text.startswith(close * 3, self.at):
            return self.long_string(close * 3, raw)
        start = scan = self.at + 1
        inner = unpaired = 0
        while True:
            found = text.find(close, scan)
            if found < 0:
                raise self.error("a string that never ends")
            if odd_backslashes(text, scan, found):
                scan = found + 1
                continue
            behind = _space(text, found + 1).end()
            if behind >= self.end or text[behind] in ENDS:
                if inner:
                    self.check_end(quote, start, found, unpaired)
                self.at = found + 1
                body = text[start:found]
                return body if raw else self.text_of(body, "" if inner else quote)
            if not inner:
                if _next_argument(text, found + 1):
                    raise self.error("a comma is missing between two arguments")
                if close in "\"'" and (whole := self.joined(start, found, raw)) is not None:
                    return whole
            self.repairs[INNER_QUOTES] = None
            inner += 1
            unpaired += not is_apostrophe(text, start, found)
            scan = found + 1

    def text_of(self, body: str, quote: str) -> str:
        """The string that a body between quotes stands for. See `unescaped`."""
        if "\n" in body and "\n" in body.replace("\\\n", ""):
            self.repairs[CONTROLS] = None
        if "\\" not in body:
            return body
        said = _as_json(body, quote) if quote else None
        if said is None:
            if self.is_raw(body):
                self.repairs[PATH] = None
                return body
            said = _escape.sub(_character, body)
        return _with_whole_characters(said, body)

    def is_raw(self, body: str) -> bool:
        """Whether the backslashes of a string are those of a path and escape nothing. Else Python keeps a backslash
        that escapes nothing; an error where what stands beside it shows that the model did not think of Python."""
        escapes = {found.group(6) or _NUMBER_ESCAPE for found in _escape.finditer(body)}
        unknown = escapes - _KNOWN_ESCAPES
        if not unknown:
            return False
        if is_windows_path(body):
            return True
        doubtful = (escapes & _KNOWN_ESCAPES) - _PLAIN_ESCAPES
        if self.is_python and not unknown & _UNFINISHED_ESCAPES:
            doubtful &= _CONTROL_ESCAPES
        if doubtful:
            raise self.error(MIXED_ESCAPES)
        return False

    def check_end(self, quote: str, start: int, end: int, unpaired: int) -> None:
        """Refuse a string with quotes in it where it may go on behind the quote that seems to end it: where a quote in
        it has no partner and another one stands behind, or may."""
        close = CLOSING.get(quote, quote)
        if quote != close:
            unpaired -= self.text.count(quote, start, end)
        if unpaired % 2 and (not self.is_enclosed or self.text.find(close, end + 1) >= 0):
            raise self.error(UNCLEAR_END)

    def joined(self, start: int, end: int, raw: bool) -> str | None:
        """The string that ends there, and those behind it that Python would join to it. None where the quote may
        belong to the string; an error where an expression goes on."""
        if _expression(self.text, end + 1):
            raise self.error("an expression, write its value")
        if raw or not self.looks or self.text[_space(self.text, end + 1).end()] not in "\"'":
            return None
        more = _more(self.text, end + 1)
        if more is None:
            self.looks -= 1
            return None
        if self.text[end + 1] in "\"'":
            # 'it''s': to SQL one quote, to Python none.
            raise self.error(UNCLEAR_END)
        said = [self.text_of(self.text[start:end], self.text[start - 1])]
        said += [self.text_of(one[1:-1], one[0]) for one in _piece.findall(more.group())]
        self.at = more.end()
        self.joins += 1
        self.repairs[JOINED] = None
        return "".join(said)

    def long_string(self, close: str, raw: bool) -> str:
        start = scan = self.at + 3
        while True:
            found = self.text.find(close, scan)
            if found < 0:
                raise self.error("a string that never ends")
            if not odd_backslashes(self.text, scan, found):
                # Of more than three quotes the last three close.
                while self.text.startswith(close[0], found + 3):
                    found += 1
                self.at = found + 3
                return self.text[start:found] if raw else unescaped(self.text[start:found], "")
            scan = found + 1

    def group(self, depth: int) -> Json:
        """Parentheses: a tuple, or one value that they merely hold."""
        start, joins = self.at, self.joins
        items = self.sequence(")", depth)
        last = self.text[start + 1 : self.at - 1].rstrip()
        if len(items) == 1 and not last.endswith(","):
            return items[0]
        self.check_joins(joins)
        return items

    def sequence(self, close: str, depth: int) -> list[Json]:
        joins = self.joins
        self.at += 1
        items: list[Json] = []
        while self.next() != close:
            items.append(self.value(depth + 1))
            self.separator(close)
        self.at += 1
        if close != ")":
            self.check_joins(joins)
        return items

    def check_joins(self, before: int) -> None:
        """Among items a comma was rather forgotten than a string continued."""
        if self.joins > before:
            raise LiteralError(NO_COMMA)

    def mapping(self, depth: int) -> Json:
        start, joins = self.at, self.joins
        self.at += 1
        members: dict[str, Json] = {}
        while (found := self.next()) != "}":
            key = self.key(found)
            if self.next() != ":":
                if members:
                    raise self.error("expected ':'")
                self.at = start
                self.repairs["a set was read as a list"] = None
                return self.sequence("}", depth)
            if key in members:
                raise self.error(f"{key[:64]!r} is given twice")
            self.at += 1
            members[key] = self.value(depth + 1)
            self.separator("}")
        self.at += 1
        self.check_joins(joins)
        return members

    def key(self, found: str) -> str:
        if (found and found in "\"'") or found in CLOSING:
            return self.string(found)
        if found and found in "-+.0123456789":
            number = self.number()
            return number if isinstance(number, str) else json.dumps(number)
        word = _keyword(self.text, self.at)
        if word is None:
            raise self.error("expected a key")
        self.at = word.end()
        if word.group() not in WORDS:
            self.repairs["keys were not quoted"] = None
        return word.group()


def odd_backslashes(text: str, start: int, end: int) -> bool:
    """Is the character at `end` escaped? Costs what the run of backslashes before it is long."""
    if end <= start or text[end - 1] != "\\":
        return False
    before = text[start:end]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def is_apostrophe(text: str, start: int, at: int) -> bool:
    """Whether the quote there stands inside a word, as in `it's` and not in `f'x'`."""
    word = at
    while word > max(start, at - MAX_WORD) and text[word - 1].isalpha():
        word -= 1
    return (
        text[at] != '"'
        and word < at
        and text[word:at].lower() not in _STRING_PREFIXES
        and text[at + 1 : at + 2].isalnum()
    )


def unescaped(body: str, quote: str) -> str:
    """The string that a body between quotes stands for. `quote`: the one around it; empty if it stands inside too."""
    if "\\" not in body:
        return body
    said = _as_json(body, quote) if quote else None
    if said is None:
        said = _escape.sub(_character, body)
    return _with_whole_characters(said, body)


def _with_whole_characters(said: str, body: str) -> str:
    if ("\\u" in body or "\\U" in body) and _surrogate.search(said):
        return said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return said


def _as_json(body: str, quote: str) -> str | None:
    """By the decoder written in C, where the escapes are those of JSON: else nothing."""
    if quote == "'":
        if '\\"' in body:
            return None
        # Each ' in here is escaped, so the backslash before it is its own; no " is, so each needs one.
        body = body.replace("\\'", "'").replace('"', '\\"')
    elif quote != '"':
        return None
    try:
        said = _decode(f'"{body}"')
    except ValueError:
        return None
    return said if isinstance(said, str) else None


def _character(found: "re.Match[str]") -> str:
    octal, two, four, eight, name, other = found.groups()
    if octal:
        return chr(int(octal, 8))
    if two or four or eight:
        point = int(two or four or eight, 16)
        return chr(point) if point < 0x110000 else found.group()
    if name:
        try:
            return unicodedata.lookup(name)
        except KeyError:
            return found.group()
    # An escape that Python does not know keeps its backslash: \d, C:\Users.
    return _SIMPLE.get(other, found.group())


def written(value: Json) -> str:
    """The value as a Python literal."""
    match value:
        case None | bool():
            return repr(value)
        case str():
            return repr(value)
        case dict():
            return "{" + ", ".join(f"{key!r}: {written(one)}" for key, one in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(written, value)) + "]"
        case _:
            return json.dumps(value)


def called(name: str, arguments: Mapping[str, Json]) -> str:
    """A call as Python writes it. What is no keyword goes in by a mapping."""
    plain = {key: value for key, value in arguments.items() if _is_keyword(key)}
    given = [f"{key}={written(value)}" for key, value in plain.items()]
    if len(plain) < len(arguments):
        given.append("**" + written({key: value for key, value in arguments.items() if key not in plain}))
    return f"{name}({', '.join(given)})"


def _is_keyword(key: str) -> bool:
    found = _keyword(key)
    return found is not None and found.end() == len(key)
