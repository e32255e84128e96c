"""A statement without its values, as it is recorded: what was asked of which tables stays, and what was looked for or
written down does not.

It is cut into words as its dialect does it. Comments and blanks go first, so that nobody pushes what they ask for out
of the record. A text that begins like no statement, or in which a quote never ends, may be a value in any of its words:
of that only the first word of SQL and the length are told. A word in double quotes that stands where values stand is
taken for a value, too.
"""

import re
from collections.abc import Iterator
from typing import Final

from .source import Dialect

VALUE: Final = "?"
MOST_LETTERS: Final = 4_000

_DOUBLE: Final = r'"(?:[^"]|"")*+"'
_BACK: Final = r"`(?:[^`]|``)*+`"
_PLAIN: Final = r"'(?:[^']|'')*+'"
_ESCAPED: Final = r"'(?:[^'\\]|\\.|'')*+'"
_NUMBER: Final = r"(?:\d|\.\d)[\w.]*+(?:(?<=[eE])[+-]\d++)?"
_WORD: Final = r"[^\W\d][\w$]*+"
_FLAT: Final = r"/\*(?:[^*/]|\*(?!/)|/(?!\*))*+\*/"
_STATEMENTS: Final = """
    alter analyze attach begin call checkpoint commit comment copy create deallocate declare delete desc describe detach
    do drop end execute explain export fetch flush from grant import insert install kill listen load lock merge notify
    optimize pivot pragma prepare refresh reindex release rename replace reset revoke rollback savepoint select set show
    start summarize table truncate unpivot update use vacuum values with
"""
_BEGINNINGS: Final = frozenset(_STATEMENTS.split())
_BEFORE_VALUES: Final = frozenset({"=", "<", ">", "like", "ilike", "glob", "regexp", "match", "between", "then"})
_BEFORE_LISTS: Final = frozenset({"in", "values"})


def _lexer(
    *, comment: str, value: str, name: str, mark: str, flat: str = _FLAT, double: str = _DOUBLE, opening: str = r"/\*"
) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<blank>(?:\s|{comment}|{flat})++)|(?P<opening>{opening})|(?P<value>{value}|{_NUMBER})"
        rf"|(?P<double>{double})|(?P<kept>{name}|{mark}|{_WORD})|(?P<unended>['\"`])|(?P<other>.)",
        re.VERBOSE | re.DOTALL,
    )


_LINE: Final = r"--[^\n]*+"
_SHORTER: Final = r"--[^\n\r]*+"
_SERVERS: Final = (
    rf"[eE]{_ESCAPED}(?:(?:\s|{_SHORTER})*+{_ESCAPED})*+|{_PLAIN}|\$(?P<tag>(?:[^\W\d]\w*+)?)\$.*?\$(?P=tag)\$"
)
_POSTGRESQL: Final = _lexer(comment=_SHORTER, value=_SERVERS, name=_BACK, mark=r"\$\d++")
_SQLITE: Final = _lexer(comment=_LINE, value=_PLAIN, name=rf"{_BACK}|\[[^\]]*+\]", mark=r"\?\d*+|[:@$\#][\w$:]++")
_MYSQL: Final = _lexer(
    comment=r"\#[^\n]*+|--(?=\s|\Z)[^\n]*+",
    value=rf"""{_ESCAPED}|"(?:[^"\\]|\\.|"")*+\"""",
    name=_BACK,
    mark=r"@{1,2}[\w.$]++",
    flat=rf"(?!/\*M?!){_FLAT}",
    double=r"(?!)",
    opening=r"/\*(?!M?!)",
)
_LEXERS: Final = {
    Dialect.POSTGRESQL: _POSTGRESQL,
    Dialect.DUCKDB: _POSTGRESQL,
    Dialect.SQLITE: _SQLITE,
    Dialect.MYSQL: _MYSQL,
}


def valueless(statement: str, dialect: Dialect) -> str:
    """Its beginning, where it is long."""
    told, length, first = [], 0, ""
    for part, at in _parts(statement, dialect):
        if part is None:
            return _unread(first, statement)
        if not first and re.search(r"\w", part):
            first = part.casefold()
            if first not in _BEGINNINGS:
                return _unread("", statement)
        told.append(part)
        length += len(part)
        if length > MOST_LETTERS:
            left = len(statement) - at + length - MOST_LETTERS
            return f"{''.join(told)[:MOST_LETTERS]}… (and {left} characters)"
    return "".join(told).strip(" ")


def _unread(first: str, statement: str) -> str:
    return f"{first.upper()} … ({len(statement)} characters that are not told)".lstrip()


def _parts(statement: str, dialect: Dialect) -> Iterator[tuple[str | None, int]]:
    """Each with where it ends; none for a quote that never ends."""
    at, end, lexer = 0, len(statement), _LEXERS[dialect]
    nests = dialect in (Dialect.POSTGRESQL, Dialect.DUCKDB)
    before, is_blank, lists = "", True, False
    while at < end:
        found = lexer.match(statement, at)
        assert found is not None
        at = found.end()
        part = found.group()
        match found.lastgroup:
            case "opening":
                at = _closed(statement, at, nests=nests)
                part = " "
            case "blank":
                part = " "
            case "value" | "tag":
                part = VALUE
            case "double" if before in _BEFORE_VALUES or lists:
                part = VALUE
            case "unended":
                yield None, at
                return
        if part == " ":
            if not is_blank:
                yield part, at
            is_blank = True
            continue
        is_blank = False
        lists = (lists and part != ")") or (part == "(" and before in _BEFORE_LISTS)
        before = part.casefold()
        yield part, at


def _closed(statement: str, at: int, *, nests: bool) -> int:
    """Behind the comment that begins before `at`."""
    depth = 1
    for found in re.compile(r"/\*|\*/").finditer(statement, at):
        if found.group() == "*/":
            depth -= 1
        elif nests:
            depth += 1
        if not depth:
            return found.end()
    return len(statement)
