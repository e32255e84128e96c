"""A statement without its values, as it is recorded: what was asked of which tables stays, and what was looked for or
written down does not.

It is cut into words as its dialect does it. Nothing is decided by this: a statement that no engine would run may keep
more of itself than one that is well written.
"""

import re
from collections.abc import Iterator
from typing import Final, assert_never

from .source import Dialect

VALUE: Final = "?"
MOST_LETTERS: Final = 4_000

_NAME: Final = r'"(?:[^"]|"")*+(?:"|\Z) | `(?:[^`]|``)*+(?:`|\Z)'
_PLAIN: Final = r"'(?:[^']|'')*+(?:'|\Z)"
_ESCAPED: Final = r"'(?:[^'\\]|\\.|'')*+(?:'|\\?\Z)"
_NUMBER: Final = r"(?:\d|\.\d)[\w.]*+(?:(?<=[eE])[+-]\d++)?"
_WORD: Final = r"[^\W\d][\w$]*+"
_OPENING: Final = r"/\*"
_LINE: Final = r"--[^\n]*+"


def _lexer(*, comment: str, value: str, name: str, mark: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<comment>{comment})|(?P<opening>{_OPENING})|(?P<value>{value}|{_NUMBER})|(?P<kept>{name}|{mark}|{_WORD})"
        r"|(?P<other>.)",
        re.VERBOSE | re.DOTALL,
    )


_SERVERS: Final = rf"[eE]{_ESCAPED}|{_PLAIN}|\$(?P<tag>(?:[^\W\d]\w*+)?)\$.*?(?:\$(?P=tag)\$|\Z)"
_POSTGRESQL: Final = _lexer(comment=_LINE, value=_SERVERS, name=_NAME, mark=r"\$\w++")
_SQLITE: Final = _lexer(
    comment=_LINE, value=_PLAIN, name=rf"{_NAME}|\[[^\]]*+(?:\]|\Z)", mark=r"\?\d*+|[:@$\#][\w$:]++"
)
_MYSQL: Final = _lexer(
    comment=r"\#[^\n]*+|--(?=\s|\Z)[^\n]*+",
    value=rf"""{_ESCAPED}|"(?:[^"\\]|\\.|"")*+(?:"|\\?\Z)""",
    name=r"`(?:[^`]|``)*+(?:`|\Z)",
    mark=r"@{1,2}[\w.$]++",
)


def valueless(statement: str, dialect: Dialect) -> str:
    """Its beginning, where it is long."""
    left = len(statement) - MOST_LETTERS
    told = "".join(_parts(statement[:MOST_LETTERS], dialect))
    return f"{told}… (and {left} characters)" if left > 0 else told


def _parts(statement: str, dialect: Dialect) -> Iterator[str]:
    at, end, lexer = 0, len(statement), _lexer_of(dialect)
    nests = dialect in (Dialect.POSTGRESQL, Dialect.DUCKDB)
    while at < end:
        found = lexer.match(statement, at)
        assert found is not None
        at = found.end()
        match found.lastgroup:
            case "opening":
                at = _closed(statement, at, nests=nests)
                yield " "
            case "comment":
                yield " "
            case "value":
                yield VALUE
            case _:
                yield found.group()


def _closed(statement: str, at: int, *, nests: bool) -> int:
    """Behind the comment that begins before `at`."""
    depth = 1
    for found in re.finditer(r"/\*|\*/", statement[at:]):
        if found.group() == "*/":
            depth -= 1
        elif nests:
            depth += 1
        if not depth:
            return at + found.end()
    return len(statement)


def _lexer_of(dialect: Dialect) -> re.Pattern[str]:
    match dialect:
        case Dialect.POSTGRESQL | Dialect.DUCKDB:
            return _POSTGRESQL
        case Dialect.SQLITE:
            return _SQLITE
        case Dialect.MYSQL:
            return _MYSQL
        case _:
            assert_never(dialect)
