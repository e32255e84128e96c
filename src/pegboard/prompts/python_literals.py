"""Python literals in model outputs: parsed in one pass without evaluation, and written."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Final

from pegboard.core.json.values import MAX_TEXT_DEPTH, Json
from pegboard.prompts.events import matcher
from pegboard.prompts.integers import LEADING_ZEROS, MAX_INTEGER_DIGITS, has_leading_zero, read_integer
from pegboard.prompts.repair import (
    COMMA_MISSING,
    INNER_QUOTES,
    MIXED_ESCAPES,
    PATH_BACKSLASHES_KEPT,
    RAW_CONTROLS_KEPT,
    is_windows_path,
)

AFTER_STRING: Final = ",:}])"
"""A quote closes a string only where one of these follows, or the end: any other quote belongs to the string."""
LITERAL_WORDS: Final[Mapping[str, Json]] = {
    "True": True,
    "true": True,
    "False": False,
    "false": False,
    "None": None,
    "null": None,
}
CLOSING_QUOTES: Final = {"“": "”", "”": "”", "„": "“", "‘": "’", "’": "’"}  # noqa: RUF001 - the quotes of typesetters

_decode: Final = json.JSONDecoder(strict=False).decode
_match_space: Final = matcher(r"\s*")
_match_number: Final = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*)?\.?\d*(?:[eE][-+]?\d+)?)"
).match
_match_integer: Final = re.compile(r"[-+]?[\d_]+\Z", re.ASCII).match
_match_keyword: Final = re.compile(r"[^\W\d][\w\-]*").match
_match_plain_argument: Final = re.compile(
    r"""\s*([^\W\d]\w*)\s*=\s*(?:'(?!'')((?:[^'\\]|\\.)*)'|"(?!"")((?:[^"\\]|\\.)*)"|(-?(?:0|[1-9]\d{0,14})))\s*(?:,|\Z)""",
    re.DOTALL | re.ASCII,
).match
"""One keyword argument as nearly all are: a string that ends where a value may, or an integer."""
_match_string_prefix: Final = re.compile(r"[rRuUbBfF]{1,2}(?=['\"])").match
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^}]{1,80})\}|(\r\n|.))", re.DOTALL
)
_match_more_strings: Final = re.compile(
    r"""(?:\s*(?:"(?!"")(?:[^"\\]|\\.)*"|'(?!'')(?:[^'\\]|\\.)*'))+\s*(?=[,:}\])]|\Z)""", re.DOTALL
).match
"""Strings behind a string, up to where a value may end: Python reads them as one."""
_STRING: Final = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""", re.DOTALL)
_match_expression: Final = re.compile(
    r"""\s*(?:[+*%]\s*(?:["'(\[{]|[\w.]{1,64}\s*[,)\]}])|if\s[^"'\n]{1,200}\selse\s|\.[a-z_]{1,32}\()"""
).match
MAX_JOIN_ATTEMPTS: Final = 64
"""Strings that may turn out to be none of several in a row: each costs a look ahead."""
STRINGS_JOINED: Final = "strings without a comma between them were joined"
UNCLEAR_END: Final = (
    "a string has quotes in it that are not escaped, so its end is unclear. Write \\ before each of them"
)
_match_next_argument: Final = re.compile(r"\s*[^\W\d]\w{0,63}\s*=(?!=)").match
_STRING_PREFIXES: Final = frozenset(("r", "u", "b", "f", "br", "rb", "fr", "rf"))
MAX_WORD_LENGTH: Final = 24
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SIMPLE_ESCAPES: Final = {
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
_KNOWN_ESCAPES: Final = frozenset(_SIMPLE_ESCAPES) | {_NUMBER_ESCAPE}
_PLAIN_ESCAPES: Final = frozenset(('"', "'", "\n", "\r\n"))
"""Escapes that mean the same to everybody."""
_CONTROL_ESCAPES: Final = frozenset("abfv")
"""Characters that hardly any text has."""
_UNFINISHED_ESCAPES: Final = frozenset("xuUN")


class LiteralError(ValueError):
    """The text is no literal; the message says where and why."""


def parse_literal(text: str) -> Json:
    """The one literal that the text is."""
    return read_literal(text)[0]


def read_literal(text: str) -> tuple[Json, tuple[str, ...]]:
    """The one literal that the text is, and in words what was bent. The text may be meant as JSON."""
    reader = PythonLiteralReader(text, is_python=False)
    value = reader.read_value()
    if reader.next_character():
        raise reader.error("text behind the value")
    return value, tuple(reader.repairs)


def parse_keywords(
    text: str, *, has_type: Callable[[str], bool] | None = None, is_enclosed: bool = True
) -> tuple[dict[str, Json], list[Json], tuple[str, ...]]:
    """What stands between the parentheses of a call: keyword arguments, positional ones, and in words what was bent.
    `has_type`: whether a schema gives the argument a type. Only without one are digits that begin with 0 a number.
    `is_enclosed`: whether something must follow the call, so that the caller sees where a string was cut short."""
    reader = PythonLiteralReader(text, is_enclosed=is_enclosed)
    named: dict[str, Json] = {}
    positional: list[Json] = []
    while plain := _match_plain_argument(text, reader.position):
        name, single, double, integer = plain.groups()
        if name in named:
            break
        if integer:
            named[name] = int(integer)
        else:
            named[name] = reader.unescape_text(double, '"') if single is None else reader.unescape_text(single, "'")
        reader.position = plain.end()
    while reader.next_character():
        if text.startswith("**{", reader.position):
            reader.position += 2
            more = reader.read_value()
            if not isinstance(more, dict) or more.keys() & named.keys():
                raise LiteralError("an argument is given twice, or ** stands before what is no mapping")
            named.update(more)
            reader.read_separator("")
            continue
        key = _match_keyword(text, reader.position)
        if key is not None:
            behind = _match_space(text, key.end()).end()
            if text.startswith("=", behind) and not text.startswith("==", behind):
                if key.group() in named:
                    raise LiteralError(f"argument {key.group()!r} is given twice")
                reader.position = behind + 1
                named[key.group()] = reader.read_argument(has_type is None or has_type(key.group()))
                reader.read_separator("")
                continue
            if text.startswith(":", behind) and key.group() not in named:
                # A variable with a type would be none, and no value begins so.
                reader.position = behind + 1
                named[key.group()] = reader.read_value()
                reader.repairs["a colon was read as ="] = None
                reader.read_separator("")
                continue
        if named:
            raise reader.error("a positional argument behind a named one")
        positional.append(reader.read_value())
        reader.read_separator("")
    return named, positional, tuple(reader.repairs)


class PythonLiteralReader:
    """One pass over one text."""

    def __init__(self, text: str, *, is_enclosed: bool = True, is_python: bool = True) -> None:
        self.text, self.position, self.end = text, 0, len(text)
        self.is_enclosed = is_enclosed
        self.is_python = is_python
        self.repairs: dict[str, None] = {}
        self.join_attempts_left = MAX_JOIN_ATTEMPTS
        self.join_count = 0
        """How often strings were joined, as Python does where no comma stands between them."""

    def error(self, what: str) -> LiteralError:
        return LiteralError(
            f"{what} at character {self.position}, at {self.text[self.position : self.position + 20]!r}"
        )

    def next_character(self) -> str:
        """The next character that is no white space; empty at the end."""
        self.position = found = _match_space(self.text, self.position).end()
        return self.text[found] if found < self.end else ""

    def read_separator(self, close: str) -> None:
        """A comma, or what closes; anything else is an error."""
        found = self.next_character()
        if found == ",":
            self.position += 1
        elif found != close:
            raise self.error(f"expected ',' or {close!r}" if close else "expected ','")

    def read_value(self, depth: int = 0) -> Json:
        found = self.next_character()
        if depth > MAX_TEXT_DEPTH:
            raise self.error(f"nested more than {MAX_TEXT_DEPTH} deep")
        if not found:
            raise self.error("a value is missing")
        if found in "\"'":
            return self.read_string(found)
        if found == "{":
            return self.read_mapping(depth)
        if found == "[":
            return self.read_sequence("]", depth)
        if found == "(":
            return self.read_group(depth)
        if found in "-+.0123456789":
            return self.read_number()
        return self.read_word(found)

    def read_argument(self, has_type: bool) -> Json:
        """One value of a call. Digits that begin with 0 are text, which is read by its type where it has one."""
        if has_type or self.next_character() not in frozenset("-+0"):
            return self.read_value()
        before = dict(self.repairs)
        value = self.read_value()
        integer = read_integer(value) if isinstance(value, str) else None
        if integer is None:
            return value
        self.repairs = {**before, "the 0 before a number was left out": None}
        return integer

    def read_word(self, found: str) -> Json:
        prefix = _match_string_prefix(self.text, self.position)
        if prefix is not None:
            return self.read_prefixed_string(prefix.group())
        word = _match_keyword(self.text, self.position)
        if word is not None and word.group() in LITERAL_WORDS:
            self.position = word.end()
            return LITERAL_WORDS[word.group()]
        if found in CLOSING_QUOTES:
            self.repairs["typographic quotes were read as plain ones"] = None
            return self.read_string(found)
        if word is not None:
            raise self.error(f"{word.group()!r} is a variable or an expression, write its value")
        raise self.error(f"unexpected {found!r}")

    def read_prefixed_string(self, prefix: str) -> str:
        start = self.position
        self.position += len(prefix)
        raw, kinds = "r" in prefix.lower(), prefix.lower().replace("r", "").replace("u", "")
        said = self.read_string(self.text[self.position], raw=raw)
        if kinds == "f" and "{" not in said:
            kinds = ""
        if kinds:
            self.position = start
            raise self.error("only plain strings are values")
        return said

    def read_number(self) -> int | float | str:
        found = _match_number(self.text, self.position)
        said = found.group() if found else ""
        value: int | float | str | None
        if has_leading_zero(said):
            self.repairs[LEADING_ZEROS] = None
            value = said
        elif _match_integer(said):
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
        self.position += len(said)
        return value

    def read_string(self, quote: str, *, raw: bool = False) -> str:
        text, close = self.text, CLOSING_QUOTES.get(quote, quote)
        if close in "\"'" and text.startswith(close * 3, self.position):
            return self.read_long_string(close * 3, raw)
        start = scan = self.position + 1
        inner = unpaired = 0
        while True:
            found = text.find(close, scan)
            if found < 0:
                raise self.error("a string that never ends")
            if odd_backslashes(text, scan, found):
                scan = found + 1
                continue
            behind = _match_space(text, found + 1).end()
            if behind >= self.end or text[behind] in AFTER_STRING:
                if inner:
                    self.check_end(quote, start, found, unpaired)
                self.position = found + 1
                body = text[start:found]
                return body if raw else self.unescape_text(body, "" if inner else quote)
            if not inner:
                if _match_next_argument(text, found + 1):
                    raise self.error("a comma is missing between two arguments")
                if close in "\"'" and (whole := self.join_strings(start, found, raw)) is not None:
                    return whole
            self.repairs[INNER_QUOTES] = None
            inner += 1
            unpaired += not is_apostrophe(text, start, found)
            scan = found + 1

    def unescape_text(self, body: str, quote: str) -> str:
        """The string that a body between quotes stands for. See `unescaped`."""
        if "\n" in body and "\n" in body.replace("\\\n", ""):
            self.repairs[RAW_CONTROLS_KEPT] = None
        if "\\" not in body:
            return body
        said = _unescape_as_json(body, quote) if quote else None
        if said is None:
            if self.is_raw(body):
                self.repairs[PATH_BACKSLASHES_KEPT] = None
                return body
            said = _ESCAPE.sub(_unescape_character, body)
        return _with_whole_characters(said, body)

    def is_raw(self, body: str) -> bool:
        """Whether the backslashes of a string are those of a path and escape nothing. Else Python keeps a backslash
        that escapes nothing; an error where what stands beside it shows that the model did not think of Python."""
        escapes = {found.group(6) or _NUMBER_ESCAPE for found in _ESCAPE.finditer(body)}
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
        close = CLOSING_QUOTES.get(quote, quote)
        if quote != close:
            unpaired -= self.text.count(quote, start, end)
        if unpaired % 2 and (not self.is_enclosed or self.text.find(close, end + 1) >= 0):
            raise self.error(UNCLEAR_END)

    def join_strings(self, start: int, end: int, raw: bool) -> str | None:
        """The string that ends there, and those behind it that Python would join to it. None where the quote may
        belong to the string; an error where an expression goes on."""
        if _match_expression(self.text, end + 1):
            raise self.error("an expression, write its value")
        if raw or not self.join_attempts_left or self.text[_match_space(self.text, end + 1).end()] not in "\"'":
            return None
        more = _match_more_strings(self.text, end + 1)
        if more is None:
            self.join_attempts_left -= 1
            return None
        if self.text[end + 1] in "\"'":
            # 'it''s': to SQL one quote, to Python none.
            raise self.error(UNCLEAR_END)
        said = [self.unescape_text(self.text[start:end], self.text[start - 1])]
        said += [self.unescape_text(one[1:-1], one[0]) for one in _STRING.findall(more.group())]
        self.position = more.end()
        self.join_count += 1
        self.repairs[STRINGS_JOINED] = None
        return "".join(said)

    def read_long_string(self, close: str, raw: bool) -> str:
        start = scan = self.position + 3
        while True:
            found = self.text.find(close, scan)
            if found < 0:
                raise self.error("a string that never ends")
            if not odd_backslashes(self.text, scan, found):
                # Of more than three quotes the last three close.
                while self.text.startswith(close[0], found + 3):
                    found += 1
                self.position = found + 3
                return self.text[start:found] if raw else unescape(self.text[start:found], "")
            scan = found + 1

    def read_group(self, depth: int) -> Json:
        """Parentheses: a tuple, or one value that they merely hold."""
        start, joins = self.position, self.join_count
        items = self.read_sequence(")", depth)
        last = self.text[start + 1 : self.position - 1].rstrip()
        if len(items) == 1 and not last.endswith(","):
            return items[0]
        self.check_joins(joins)
        return items

    def read_sequence(self, close: str, depth: int) -> list[Json]:
        joins = self.join_count
        self.position += 1
        items: list[Json] = []
        while self.next_character() != close:
            items.append(self.read_value(depth + 1))
            self.read_separator(close)
        self.position += 1
        if close != ")":
            self.check_joins(joins)
        return items

    def check_joins(self, before: int) -> None:
        """Among items a comma was rather forgotten than a string continued."""
        if self.join_count > before:
            raise LiteralError(COMMA_MISSING)

    def read_mapping(self, depth: int) -> Json:
        start, joins = self.position, self.join_count
        self.position += 1
        members: dict[str, Json] = {}
        while (found := self.next_character()) != "}":
            key = self.read_key(found)
            if self.next_character() != ":":
                if members:
                    raise self.error("expected ':'")
                self.position = start
                self.repairs["a set was read as a list"] = None
                return self.read_sequence("}", depth)
            if key in members:
                raise self.error(f"{key[:64]!r} is given twice")
            self.position += 1
            members[key] = self.read_value(depth + 1)
            self.read_separator("}")
        self.position += 1
        self.check_joins(joins)
        return members

    def read_key(self, found: str) -> str:
        if (found and found in "\"'") or found in CLOSING_QUOTES:
            return self.read_string(found)
        if found and found in "-+.0123456789":
            number = self.read_number()
            return number if isinstance(number, str) else json.dumps(number)
        word = _match_keyword(self.text, self.position)
        if word is None:
            raise self.error("expected a key")
        self.position = word.end()
        if word.group() not in LITERAL_WORDS:
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
    while word > max(start, at - MAX_WORD_LENGTH) and text[word - 1].isalpha():
        word -= 1
    return (
        text[at] != '"'
        and word < at
        and text[word:at].lower() not in _STRING_PREFIXES
        and text[at + 1 : at + 2].isalnum()
    )


def unescape(body: str, quote: str) -> str:
    """The string that a body between quotes stands for. `quote`: the one around it; empty if it stands inside too."""
    if "\\" not in body:
        return body
    said = _unescape_as_json(body, quote) if quote else None
    if said is None:
        said = _ESCAPE.sub(_unescape_character, body)
    return _with_whole_characters(said, body)


def _with_whole_characters(said: str, body: str) -> str:
    if ("\\u" in body or "\\U" in body) and _SURROGATE.search(said):
        return said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return said


def _unescape_as_json(body: str, quote: str) -> str | None:
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


def _unescape_character(found: "re.Match[str]") -> str:
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
    return _SIMPLE_ESCAPES.get(other, found.group())


def format_literal(value: Json) -> str:
    """The value as a Python literal."""
    match value:
        case None | bool():
            return repr(value)
        case str():
            return repr(value)
        case dict():
            return "{" + ", ".join(f"{key!r}: {format_literal(one)}" for key, one in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(format_literal, value)) + "]"
        case _:
            return json.dumps(value)


def format_call(name: str, arguments: Mapping[str, Json]) -> str:
    """A call as Python writes it. What is no keyword goes in by a mapping."""
    plain = {key: value for key, value in arguments.items() if _is_keyword(key)}
    given = [f"{key}={format_literal(value)}" for key, value in plain.items()]
    if len(plain) < len(arguments):
        given.append("**" + format_literal({key: value for key, value in arguments.items() if key not in plain}))
    return f"{name}({', '.join(given)})"


def _is_keyword(key: str) -> bool:
    found = _match_keyword(key)
    return found is not None and found.end() == len(key)
