"""A tolerant reader of what models write that is nearly JSON, or Python's literals. One pass, and nothing is evaluated.

Every liberty it takes is listed in `TolerantJsonReader.repairs`. A quote ends a string only where something structural
follows, so quotes that a model forgot to escape stay in the string.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Final

from pegboard.core.json.values import MAX_JSON_DEPTH, Json
from pegboard.prompts.events import matcher
from pegboard.prompts.integers import LEADING_ZEROS, MAX_INTEGER_DIGITS, has_leading_zero, read_integer

_SPACE: Final = matcher(r"\s*")
_NUMBER: Final = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F]+|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)", re.ASCII
).match
_STRICT_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z", re.ASCII).match
_WORD: Final = re.compile(r"[^\W\d][\w$\-]*").match
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "/": "/", '"': '"', "'": "'"}
_WORDS: Final[dict[str, bool | None]] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}
_AFTER_STRING: Final = ",:}])"
"""What may follow a string."""
is_windows_path: Final = re.compile(r"[A-Za-z]:(?:\\[^\\/:*?\"<>|\s]+)+\\?\Z").match
"""A path of Windows with single backslashes, so that nothing in it is escaped."""
_CLOSING_QUOTES: Final = {"\u201c": "\u201d", "\u2018": "\u2019", "\u201d": "\u201d", "\u2019": "\u2019"}
_SURROGATE: Final = re.compile("[\ud800-\udfff]").search
match_line_comment: Final = re.compile(r"//[^\n\"']{0,200}\n\s{0,50}(?=[,}\]])").match
"""A comment behind a string, with what may follow a string behind it: else it belongs to the string."""
MAX_LINE_COMMENT: Final = 253
QUOTE_CHARACTERS: Final = "\"'\u201c\u2018\u201d\u2019"

SINGLE_QUOTES: Final = "single quotes were read as double quotes"
SMART_QUOTES: Final = "typographic quotes were read as plain ones"
INNER_QUOTES: Final = "quotes inside a string were not escaped"
PYTHON_WORDS: Final = "True, False or None was read as JSON"
COMMENTS: Final = "a comment was left out"
BARE_KEYS: Final = "a key without quotes was read as a string"
EXTRA_COMMAS: Final = "a comma too many was left out"
MISSING_COMMAS: Final = "a missing comma was added"
ESCAPES: Final = "a backslash that escapes nothing was kept"
PATH_BACKSLASHES_KEPT: Final = "the backslashes of a path were kept"
MIXED_ESCAPES: Final = "some backslashes of a string escape something and others do not. Write each of them as \\\\"
COMMA_MISSING: Final = "a comma is missing between two strings"
RAW_CONTROLS_KEPT: Final = "a raw line break or tab in a string was kept"
NUMBERS: Final = "a number was not written as JSON has it"
SETS: Final = "a set was read as an array"
TUPLES: Final = "parentheses were read as an array"
MISSING_END: Final = "what was missing at the end was added: {missing}"
SURROGATES: Final = "half of a surrogate pair was replaced"


class UnreadableError(ValueError):
    """Raised and caught within reading: the text is no literal, and where."""


def odd_backslashes(text: str, start: int, end: int) -> bool:
    """Whether an odd run of backslashes ends there. Costs the run alone."""
    if end <= start or text[end - 1] != "\\":
        return False
    run = text[start:end]
    return (len(run) - len(run.rstrip("\\"))) % 2 == 1


def whole_characters(text: str) -> str:
    """Halves of surrogate pairs joined, or replaced where the other half is missing: such text has no encoding."""
    if _SURROGATE(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescape_character(escape: re.Match[str]) -> str:
    said = escape.group(1)
    return chr(int(said[1:], 16)) if len(said) > 1 else _ESCAPES.get(said, escape.group())


class TolerantJsonReader:
    """Reads values from one text, left to right."""

    def __init__(self, text: str, *, closes_brackets: bool = False) -> None:
        self.text = text
        self.position = 0
        self.repairs: dict[str, None] = {}
        """In the order in which they became necessary, each once."""
        self.inner_quotes = 0
        """Quotes that were read as part of a string although nothing escapes them."""
        self.closes_brackets = closes_brackets
        """Brackets that are open where the text ends, right behind a value, are closed. A string or a member that the
        end cuts never is: it might go on."""
        self.missing_brackets = ""
        """The brackets that were added at the end."""
        self.in_list = False
        """Whether what is read next is an item of a list."""

    def read_value(self, depth: int = 0) -> Json:
        """The value at the place. Raises `UnreadableError`."""
        character = self.next_character()
        if depth > MAX_JSON_DEPTH:
            raise UnreadableError(f"it is nested deeper than {MAX_JSON_DEPTH} levels")
        if not character:
            raise UnreadableError("a value is missing at the end")
        if character in QUOTE_CHARACTERS:
            return self.read_string(character)
        if character == "{":
            return self.read_mapping(depth)
        if character in "[(":
            if character == "(":
                self.repairs[TUPLES] = None
            return self.read_sequence("]" if character == "[" else ")", depth)
        if character in "-+.0123456789":
            return self.read_number()
        word = _WORD(self.text, self.position)
        if word and word.group() in _WORDS:
            if word.group()[0].isupper():
                self.repairs[PYTHON_WORDS] = None
            self.position = word.end()
            return _WORDS[word.group()]
        raise UnreadableError(f"{character!r} at character {self.position} begins no value")

    def next_character(self) -> str:
        """The next character that is neither white space nor comment, "" at the end."""
        text = self.text
        self.position = _SPACE(text, self.position).end()
        while text.startswith(("//", "/*"), self.position):
            line = text[self.position + 1] == "/"
            end = text.find("\n" if line else "*/", self.position + 2)
            if end < 0:
                raise UnreadableError("a comment does not end")
            self.repairs[COMMENTS] = None
            self.position = _SPACE(text, end + (1 if line else 2)).end()
        return text[self.position] if self.position < len(text) else ""

    def read_number(self) -> int | float | str:
        found = _NUMBER(self.text, self.position)
        if found is None:
            raise UnreadableError(f"no number at character {self.position}")
        said = found.group()
        self.position = found.end()
        if has_leading_zero(said):
            self.repairs[LEADING_ZEROS] = None
            return said
        if not _STRICT_NUMBER(said):
            self.repairs[NUMBERS] = None
        unsigned = said.lstrip("+-")
        is_hexadecimal = unsigned[:2] in ("0x", "0X")
        if is_hexadecimal or unsigned.replace("_", "").isdigit():
            integer = read_integer(said, 16 if is_hexadecimal else 10)
            if integer is None:
                raise UnreadableError(f"{said[:20]!r} is not a number of at most {MAX_INTEGER_DIGITS:,} digits")
            return integer
        try:
            number = float(said)
        except ValueError:
            raise UnreadableError(f"{said[:20]!r} is no number") from None
        if not isfinite(number):
            raise UnreadableError(f"{said[:20]!r} is larger than any number")
        return number

    def read_string(self, quote: str) -> str:
        text, closing = self.text, _CLOSING_QUOTES.get(quote, quote)
        if closing not in "\"'":
            self.repairs[SMART_QUOTES] = None
        elif quote == "'":
            self.repairs[SINGLE_QUOTES] = None
        if quote in "\"'" and text.startswith(quote * 3, self.position):
            return self._read_triple_quoted(quote * 3)
        start = scan = self.position + 1
        inner = 0
        while True:
            at = text.find(closing, scan)
            if at < 0:
                raise UnreadableError(f"the string at character {start - 1} does not end")
            # What stands before `scan` is a quote, so the run of backslashes cannot reach further back.
            escaped = odd_backslashes(text, scan, at)
            scan = at + 1
            if escaped:
                continue
            behind = _SPACE(text, at + 1).end()
            if (
                behind >= len(text)
                or text[behind] in _AFTER_STRING
                or text.startswith("/*", behind)
                or (not inner and match_line_comment(text, behind))
            ):
                self.position = at + 1
                return self._unescape(text[start:at])
            if inner % 2 == 0 and text[behind] in QUOTE_CHARACTERS and (behind > at + 1 or self.in_list):
                raise UnreadableError(f"{COMMA_MISSING} at character {behind}")
            self.repairs[INNER_QUOTES] = None
            self.inner_quotes += 1
            inner += 1

    def _read_triple_quoted(self, quotes: str) -> str:
        start = scan = self.position + 3
        while True:
            at = self.text.find(quotes, scan)
            if at < 0:
                raise UnreadableError(f"the string at character {start - 3} does not end")
            if not odd_backslashes(self.text, scan, at):
                self.position = at + 3
                return self._unescape(self.text[start:at])
            scan = at + 1

    def _unescape(self, body: str) -> str:
        if any(control in body for control in "\n\t\r"):
            self.repairs[RAW_CONTROLS_KEPT] = None
        if "\\" in body:
            body = self._resolve_escapes(body)
        if _SURROGATE(body) is not None:
            self.repairs[SURROGATES] = None
            body = whole_characters(body)
        return body

    def _resolve_escapes(self, body: str) -> str:
        """The string with its escapes resolved. One that is none shows that the string was not escaped, so that the
        others may be none either: C:\\Users\\bob has no backspace in it."""
        escapes = set(_ESCAPE.findall(body))
        if all(len(one) > 1 or one in _ESCAPES for one in escapes):
            return _ESCAPE.sub(_unescape_character, body)
        if is_windows_path(body):
            self.repairs[PATH_BACKSLASHES_KEPT] = None
            return body
        if any(len(one) > 1 or (one in _ESCAPES and one not in "\"'") for one in escapes):
            raise UnreadableError(MIXED_ESCAPES)
        self.repairs[ESCAPES] = None
        return _ESCAPE.sub(_unescape_character, body)

    def read_sequence(self, closing: str, depth: int) -> list[Json]:
        self.position += 1
        out: list[Json] = []
        comma = True
        while True:
            character = self.next_character()
            if character == closing:
                if comma and out:
                    self.repairs[EXTRA_COMMAS] = None
                self.position += 1
                return out
            if character == "," and comma and out:
                self.repairs[EXTRA_COMMAS] = None
                self.position += 1
                continue
            if not comma:
                if self._close_at_end(character, closing):
                    return out
                raise UnreadableError(f"a comma or {closing} is missing at character {self.position}")
            self.in_list = True
            out.append(self.read_value(depth + 1))
            comma = self._read_comma()

    def read_mapping(self, depth: int) -> Json:
        start = self.position
        self.position += 1
        out: dict[str, Json] = {}
        comma = True
        while True:
            character = self.next_character()
            if character == "}":
                if comma and out:
                    self.repairs[EXTRA_COMMAS] = None
                self.position += 1
                return out
            if character == "," and comma and out:
                self.repairs[EXTRA_COMMAS] = None
                self.position += 1
                continue
            if not comma:
                # A list that ends inside of an object ends the object as well.
                if self._close_at_end("" if character == "]" else character, "}"):
                    return out
                if not character or character not in QUOTE_CHARACTERS or self.text[self.position - 1].isalnum():
                    # `5", "days": 3`: the quote may end a string that lacks its beginning.
                    raise UnreadableError(f"a comma or }} is missing at character {self.position}")
                self.repairs[MISSING_COMMAS] = None
            self.in_list = False
            key = self._read_key(character)
            if key is None or self.next_character() != ":":
                if out:
                    raise UnreadableError(f"a colon is missing at character {self.position}")
                # `{1, 2}` is a set to Python, and what a model means by it is an array.
                self.position = start
                self.repairs[SETS] = None
                return self.read_sequence("}", depth)
            if key in out:
                raise UnreadableError(f"{key[:64]!r} is given twice")
            self.position += 1
            out[key] = self.read_value(depth + 1)
            comma = self._read_comma()

    def _close_at_end(self, character: str, closing: str) -> bool:
        """Whether a bracket is closed by the end of the text."""
        if character or not self.closes_brackets:
            return False
        self.missing_brackets += closing
        return True

    def _read_comma(self) -> bool:
        if self.next_character() == ",":
            self.position += 1
            return True
        return False

    def _read_key(self, character: str) -> str | None:
        if character and character in QUOTE_CHARACTERS:
            start, inner_quotes = self.position, self.inner_quotes
            key = self.read_string(character)
            if self.inner_quotes > inner_quotes and self.next_character() == ":":
                # Rather a string whose beginning is missing than a name that anybody gave an argument.
                raise UnreadableError(f"the key at character {start} has quotes in it that are not escaped")
            return key
        word = _WORD(self.text, self.position)
        if word is None:
            return None
        self.position = word.end()
        self.repairs[BARE_KEYS] = None
        return word.group()


# JSON as models write it: strictly first, then with what they get wrong, each liberty told. One pass each.

MAX_REPAIR_LENGTH: Final = 1 << 20
"""Characters of what is repaired. A longer text that is no JSON is told as broken, not bent."""
SURPLUS_BRACKETS: Final = "brackets too many at the end were left out"
_ONLY_CLOSING: Final = re.compile(r"[\s\]}]*\Z").match
_search_surrogate: Final = re.compile(r"\\u[dD][89a-fA-F]").search


def _finite(said: str) -> float:
    number = float(said)
    if not isfinite(number):
        raise ValueError(f"{said} is larger than any number")
    return number


def _no_constant(said: str) -> float:
    raise ValueError(f"{said} is no JSON")


def _unique_members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is given twice")
    return members


_STRICT: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant, object_pairs_hook=_unique_members)
_LOOSE: Final = json.JSONDecoder(
    parse_float=_finite, parse_constant=_no_constant, object_pairs_hook=_unique_members, strict=False
)
decode: Final[Callable[[str], Json]] = _LOOSE.decode
"""JSON with raw line breaks allowed in strings. Raises `ValueError` for a key given twice, as for NaN and infinity."""


@dataclass(frozen=True, slots=True)
class RepairedJson:
    value: Json
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnrepairableJson:
    why: str
    """A clause: what is wrong with the text."""


def read_json(text: str, *, whole: bool = False) -> RepairedJson | UnrepairableJson:
    """The one value that a text is, and nothing but white space around it. `whole`: the text ends where the model
    meant it to, so that brackets missing there are added, and those too many are left out."""
    try:
        return _check_value(text, _STRICT.decode(text), ())
    except (ValueError, RecursionError):
        pass
    if len(text) > MAX_REPAIR_LENGTH:
        return UnrepairableJson(
            f"it is no JSON, and longer than the {MAX_REPAIR_LENGTH:,} characters that are repaired"
        )
    try:
        return _check_value(text, _LOOSE.decode(text), (RAW_CONTROLS_KEPT,))
    except (ValueError, RecursionError):
        pass
    reader = TolerantJsonReader(text, closes_brackets=whole)
    try:
        value = reader.read_value()
        rest = reader.next_character()
    except UnreadableError as error:
        return UnrepairableJson(str(error))
    if rest and not (whole and _ONLY_CLOSING(text, reader.position)):
        return UnrepairableJson(f"{rest!r} at character {reader.position} is too much")
    if reader.missing_brackets:
        reader.repairs[MISSING_END.format(missing=reader.missing_brackets)] = None
    if rest:
        reader.repairs[SURPLUS_BRACKETS] = None
    return RepairedJson(value, tuple(reader.repairs))


def read_json_at(text: str, place: int) -> tuple[Json, int] | None:
    """The sound JSON value that begins there and where it ends; None if there is none or the text ends within.

    A failure costs the distance to it and to the beginning of the text, so ask once for one text."""
    try:
        value, end = _STRICT.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None
    if _search_surrogate(text, place, end) or (
        text.count("{", place, end) + text.count("[", place, end) > MAX_JSON_DEPTH and is_too_deep(value)
    ):
        return None
    return value, end


def is_too_deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _check_value(text: str, value: Json, repairs: tuple[str, ...]) -> RepairedJson | UnrepairableJson:
    if text.count("{") + text.count("[") > MAX_JSON_DEPTH and is_too_deep(value):
        return UnrepairableJson(f"it is nested deeper than {MAX_JSON_DEPTH} levels")
    if _search_surrogate(text):
        whole = _with_whole_characters(value)
        if whole != value:
            return RepairedJson(whole, (*repairs, SURROGATES))
    return RepairedJson(value, repairs)


def _with_whole_characters(value: Json) -> Json:
    match value:
        case str():
            return whole_characters(value)
        case dict():
            return {whole_characters(key): _with_whole_characters(inner) for key, inner in value.items()}
        case list():
            return [_with_whole_characters(inner) for inner in value]
        case _:
            return value
