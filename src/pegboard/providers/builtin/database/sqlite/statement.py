"""A statement as SQLite splits it into tokens: its kind, its parameters, and where a name stands in it.

Nothing here decides what may be read: the authorizer does.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from pegboard.core.database import Failed, Fault, Refused
from pegboard.core.folded import Json
from pegboard.providers.builtin.database.unreadable import miscounted


class TokenKind(Enum):
    WORD = "word"
    """A keyword or an unquoted name."""
    QUOTED = "quoted"
    """A name in quotes of any kind, or a string: SQLite takes one for the other where only one makes sense."""
    PARAMETER = "parameter"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    value: str
    """Without quotes."""
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        return self.kind in (TokenKind.WORD, TokenKind.QUOTED)

    def is_keyword(self, *words: str) -> bool:
        return self.kind is TokenKind.WORD and self.value.upper() in words


_TOKEN: Final = re.compile(
    r"""
      (?P<blank>[ \t\n\f\r\ufeff]+|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
    | (?P<quoted>'(?:[^']|'')*+(?:'|\Z)|"(?:[^"]|"")*+(?:"|\Z)|`(?:[^`]|``)*+(?:`|\Z)|\[[^\]]*+(?:\]|\Z))
    | (?P<parameter>\?\d*+|[:@$\#][A-Za-z0-9_$\x80-\U0010ffff:]++(?:\([^)\s]*+\))?)
    | (?P<number>\d[\w.]*+)
    | (?P<word>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*+)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_TOKEN_KINDS: Final = {"quoted": TokenKind.QUOTED, "parameter": TokenKind.PARAMETER, "word": TokenKind.WORD}


def tokenize(statement: str) -> Sequence[Token]:
    """Without blanks and comments."""
    return tuple(
        Token(
            kind := _TOKEN_KINDS.get(found.lastgroup or "", TokenKind.OTHER),
            _unquote(found.group()) if kind is TokenKind.QUOTED else found.group(),
            found.start(),
            found.end(),
        )
        for found in _TOKEN.finditer(statement)
        if found.lastgroup != "blank"
    )


def _unquote(text: str) -> str:
    quote = text[0]
    closing = "]" if quote == "[" else quote
    inner = text[1:-1] if len(text) > 1 and text.endswith(closing) else text[1:]
    return inner if quote == "[" else inner.replace(quote * 2, quote)


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def names_in(tokens: Iterable[Token]) -> frozenset[str]:
    """Every word and every quoted text in lower case, so also the table in an option such as `content='…'`."""
    return frozenset(token.value.lower() for token in tokens if token.is_name)


def find_position(tokens: Sequence[Token], name: str) -> int | None:
    """Where a name stands that SQLite complains about, by its last part; `None` if it stands in several places."""
    last = name.rpartition(".")[2]
    found = [
        token.start
        for token in tokens
        if (token.is_name and token.value.casefold() == last.casefold())
        or (token.kind is TokenKind.OTHER and token.value == last)
    ]
    return found[0] if len(found) == 1 else None


def with_strict_names(statement: str, tokens: Sequence[Token]) -> str | None:
    """The same statement with backticks in place of double quotes; `None` where it has no double quotes.

    SQLite takes a word in double quotes that is no column for a string, and would answer with that.
    """
    if not any(statement[token.start] == '"' for token in tokens):
        return None
    parts, end = list[str](), 0
    for token in tokens:
        if statement[token.start] == '"':
            parts += (statement[end : token.start], "`", token.value.replace("`", "``"), "`")
            end = token.end
    return "".join((*parts, statement[end:]))


class StatementKind(Enum):
    READ = auto()
    EXPLAIN = auto()
    PRAGMA = auto()
    """The authorizer knows which pragmas may be used."""
    WRITE = auto()
    WITH = auto()
    """It may begin a read or a write; the authorizer finds out which."""


_KINDS: Final = {
    "SELECT": StatementKind.READ,
    "VALUES": StatementKind.READ,
    "EXPLAIN": StatementKind.EXPLAIN,
    "PRAGMA": StatementKind.PRAGMA,
    "INSERT": StatementKind.WRITE,
    "REPLACE": StatementKind.WRITE,
    "UPDATE": StatementKind.WRITE,
    "DELETE": StatementKind.WRITE,
    "WITH": StatementKind.WITH,
}
_REFUSED: Final = frozenset(
    {"ALTER", "ANALYZE", "ATTACH", "BEGIN", "COMMIT", "CREATE", "DETACH", "DROP", "END", "REINDEX", "RELEASE"}
    | {"ROLLBACK", "SAVEPOINT", "VACUUM"}
)
_OF_OTHER_DATABASES: Final = frozenset({"DESC", "DESCRIBE", "SHOW"})
_USE_A_READ: Final = "Write one SELECT, VALUES or WITH statement, or EXPLAIN QUERY PLAN before one."
_USE_A_WRITE: Final = "Write one SELECT, VALUES, WITH, INSERT, UPDATE or DELETE statement."
_HOW_TO_LIST_TABLES: Final = "search_schemas tells what there is, and so do sqlite_schema and PRAGMA table_info(name)."
READ_ONLY: Final = Refused("This statement changes rows, and the source is read-only.", _USE_A_READ, is_write=True)
SEVERAL_STATEMENTS: Final = Refused("More than one statement was given.", "Send one statement at a time.")


def classify(tokens: Sequence[Token], *, writes: bool) -> StatementKind | Refused | Failed:
    """By its first word; a refusal for what is never run. `writes`: whether the source may be changed."""
    instead = _USE_A_WRITE if writes else _USE_A_READ
    if not tokens:
        return Refused("There is no statement.", instead)
    word = tokens[0].value.upper()
    if (kind := _KINDS.get(word)) is None:
        if word in _REFUSED:
            return Refused(f"{word} statements are not run here.", instead)
        hint = f". SQLite has no {word}: {_HOW_TO_LIST_TABLES}" if word in _OF_OTHER_DATABASES else ""
        return Failed(f'near "{tokens[0].value}": syntax error{hint}', tokens[0].start, Fault.SYNTAX)
    ends = [place for place, token in enumerate(tokens) if token.value == ";" and token.kind is TokenKind.OTHER]
    if ends and any(token.value != ";" for token in tokens[ends[0] :]):
        return SEVERAL_STATEMENTS
    return READ_ONLY if kind is StatementKind.WRITE and not writes else kind


Value: TypeAlias = str | int | float | None
Bound: TypeAlias = Sequence[Value] | Mapping[str, Value]

_PREFIXES: Final = ":@$"


def bind(tokens: Sequence[Token], parameters: list[Json] | dict[str, Json]) -> Bound | Failed:
    """The values for the parameters of a statement: as many, and with the names that the statement has."""
    marks = [token.value for token in tokens if token.kind is TokenKind.PARAMETER]
    named = [mark for mark in marks if mark[0] in _PREFIXES]
    names = dict.fromkeys(mark[1:] for mark in named)
    if isinstance(parameters, list):
        if names and all(name.isdecimal() for name in names):
            # `$1` is a name to SQLite, and a position everywhere else.
            parameters = {str(place): value for place, value in enumerate(parameters, 1)}
        elif names:
            return _failed(
                f"The statement calls its parameters by name ({named[0]}). Give an object with their values."
            )
        else:
            return _bind_by_position(marks, parameters)
    if len(named) < len(marks):
        return _failed("The statement has parameters by place (?). Give a list with their values.")
    values = {key[1:] if key[:1] in _PREFIXES and key not in names else key: each for key, each in parameters.items()}
    for name in names:
        if name not in values:
            return _failed(f"No value was given for the parameter {name!r}.")
    for name in values:
        if name not in names:
            return _failed(f"The statement has no parameter {name!r}.")
    return _checked(values)


def _bind_by_position(marks: Sequence[str], parameters: Sequence[Json]) -> Bound | Failed:
    largest = 0
    for mark in marks:
        largest = max(largest, int(mark[1:])) if mark[1:].isdecimal() and len(mark) < 8 else largest + 1
    if largest != len(parameters):
        return _failed(miscounted(largest, len(parameters), "?"))
    values = _checked({str(place): value for place, value in enumerate(parameters, 1)})
    return values if isinstance(values, Failed) else tuple(values.values())


def _checked(values: Mapping[str, Json]) -> Mapping[str, Value] | Failed:
    bound = dict[str, Value]()
    for name, value in values.items():
        if not isinstance(value, str | int | float | None):
            kind = "a list" if isinstance(value, list) else "an object"
            return _failed(f"Parameter {name} is {kind}. Give a text, a number, true, false or null, or JSON as text.")
        bound[name] = value
    return bound


def _failed(words: str) -> Failed:
    return Failed(words, fault=Fault.PARAMETERS)
