"""Python literals as models write them: read in one pass without ever being run, and written so that they read back."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Final

from pegboard.core.folded import Json

from .integers import LEADING_ZEROS, MAX_INTEGER_DIGITS, has_leading_zero, read_integer
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


class LiteralError(ValueError):
    """The text is no literal; the message says where and why."""


def literal(text: str) -> Json:
    """The one literal that the text is."""
    reader = Reader(text)
    value = reader.value()
    if reader.next():
        raise reader.error("text behind the value")
    return value


def keywords(
    text: str, *, has_type: Callable[[str], bool] | None = None
) -> tuple[dict[str, Json], list[Json], tuple[str, ...]]:
    """What stands between the parentheses of a call: keyword arguments, positional ones, and in words what was bent.
    `has_type`: whether a schema gives the argument a type. Only without one are digits that begin with 0 a number."""
    reader = Reader(text)
    named: dict[str, Json] = {}
    positional: list[Json] = []
    while plain := _plain(text, reader.at):
        name, single, double, integer = plain.groups()
        if name in named:
            break
        if integer:
            named[name] = int(integer)
        else:
            named[name] = unescaped(double, '"') if single is None else unescaped(single, "'")
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

    def __init__(self, text: str) -> None:
        self.text, self.at, self.end = text, 0, len(text)
        self.repairs: dict[str, None] = {}
        self.looks = MOST_JOINED

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
        inner = False
        while True:
            found = text.find(close, scan)
            if found < 0:
                raise self.error("a string that never ends")
            if odd_backslashes(text, scan, found):
                scan = found + 1
                continue
            behind = _space(text, found + 1).end()
            if behind >= self.end or text[behind] in ENDS:
                self.at = found + 1
                body = text[start:found]
                return body if raw else unescaped(body, "" if inner else quote)
            if not inner and close in "\"'" and (whole := self.joined(start, found, raw)) is not None:
                return whole
            self.repairs["quotes inside a string were not escaped"] = None
            inner = True
            scan = found + 1

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
        said = [unescaped(self.text[start:end], self.text[start - 1])]
        said += [unescaped(one[1:-1], one[0]) for one in _piece.findall(more.group())]
        self.at = more.end()
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
        start = self.at
        items = self.sequence(")", depth)
        last = self.text[start + 1 : self.at - 1].rstrip()
        return items[0] if len(items) == 1 and not last.endswith(",") else items

    def sequence(self, close: str, depth: int) -> list[Json]:
        self.at += 1
        items: list[Json] = []
        while self.next() != close:
            items.append(self.value(depth + 1))
            self.separator(close)
        self.at += 1
        return items

    def mapping(self, depth: int) -> Json:
        start = self.at
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


def unescaped(body: str, quote: str) -> str:
    """The string that a body between quotes stands for. `quote`: the one around it; empty if it stands inside too."""
    if "\\" not in body:
        return body
    said = _as_json(body, quote) if quote else None
    if said is None:
        said = _escape.sub(_character, body)
    if ("\\u" in body or "\\U" in body) and _surrogate.search(said):
        said = said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
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
