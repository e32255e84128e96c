"""A statement of SQLite by its tokens: its kind, its parameters, and its names in double quotes.

Nothing here decides what may be read: the authorizer does.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Final, TypeAlias

from pegboard.core.databases.rows import StatementFailure, StatementFault, StatementRefusal
from pegboard.core.json.values import Json
from pegboard.providers.database.common import parameter_count_message
from pegboard.providers.database.tokens import Token, TokenKind
from pegboard.providers.database.worker.session import bad_parameters, mismatched_names


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
_REFUSED_KEYWORDS: Final = frozenset(
    {"ALTER", "ANALYZE", "ATTACH", "BEGIN", "COMMIT", "CREATE", "DETACH", "DROP", "END", "REINDEX", "RELEASE"}
    | {"ROLLBACK", "SAVEPOINT", "VACUUM"}
)
_OF_OTHER_DATABASES: Final = frozenset({"DESC", "DESCRIBE", "SHOW"})
_USE_A_READ: Final = "Write one SELECT, VALUES or WITH statement, or EXPLAIN QUERY PLAN before one."
_USE_A_WRITE: Final = "Write one SELECT, VALUES, WITH, INSERT, UPDATE or DELETE statement."
_HOW_TO_LIST_TABLES: Final = "search_schemas tells what there is, and so do sqlite_schema and PRAGMA table_info(name)."
READ_ONLY: Final = StatementRefusal(
    "This statement changes rows, and the source is read-only.", _USE_A_READ, is_write=True
)
SEVERAL_STATEMENTS: Final = StatementRefusal("More than one statement was given.", "Send one statement at a time.")


def classify(tokens: Sequence[Token], *, writes: bool) -> StatementKind | StatementRefusal | StatementFailure:
    """By its first word; a refusal for what is never run. `writes`: whether the source may be changed."""
    instead = _USE_A_WRITE if writes else _USE_A_READ
    if not tokens:
        return StatementRefusal("There is no statement.", instead)
    word = tokens[0].value.upper()
    if (kind := _KINDS.get(word)) is None:
        if word in _REFUSED_KEYWORDS:
            return StatementRefusal(f"{word} statements are not run here.", instead)
        hint = f". SQLite has no {word}: {_HOW_TO_LIST_TABLES}" if word in _OF_OTHER_DATABASES else ""
        return StatementFailure(f'near "{tokens[0].value}": syntax error{hint}', tokens[0].start, StatementFault.SYNTAX)
    ends = [place for place, token in enumerate(tokens) if token.value == ";" and token.kind is TokenKind.OTHER]
    if ends and any(token.value != ";" for token in tokens[ends[0] :]):
        return SEVERAL_STATEMENTS
    return READ_ONLY if kind is StatementKind.WRITE and not writes else kind


BoundValues: TypeAlias = Sequence[Json] | Mapping[str, Json]
"""Texts, numbers and nothing."""
_PREFIXES: Final = ":@$"


def bind(tokens: Sequence[Token], parameters: list[Json] | dict[str, Json]) -> BoundValues | StatementFailure:
    """The values for the parameters of a statement: as many, and with the names that the statement has."""
    marks = [token.value for token in tokens if token.kind is TokenKind.PARAMETER]
    named = [mark for mark in marks if mark[0] in _PREFIXES]
    names = dict.fromkeys(mark[1:] for mark in named)
    if isinstance(parameters, list):
        values = {str(place): value for place, value in enumerate(parameters, 1)}
        # `$1` is a name to SQLite, and a position everywhere else.
        is_by_place = not all(name.isdecimal() for name in names) or not names
        if is_by_place and names:
            words = f"The statement calls its parameters by name ({named[0]}). Give an object with their values."
            return bad_parameters(words)
    else:
        values, is_by_place = (
            {key[1:] if key[:1] in _PREFIXES and key not in names else key: each for key, each in parameters.items()},
            False,
        )
        if len(named) < len(marks):
            return bad_parameters("The statement has parameters by place (?). Give a list with their values.")
    if is_by_place:
        count = 0
        for mark in marks:
            count = max(count, int(mark[1:])) if mark[1:].isdecimal() and len(mark) < 8 else count + 1
        if count != len(values):
            return bad_parameters(parameter_count_message(count, len(values), "?"))
    elif (problem := mismatched_names(names, values)) is not None:
        return problem
    for name, value in values.items():
        if isinstance(value, list | dict):
            kind = "a list" if isinstance(value, list) else "an object"
            return bad_parameters(
                f"Parameter {name} is {kind}. Give a text, a number, true, false or null, or JSON as text."
            )
    return tuple(values.values()) if is_by_place else values
