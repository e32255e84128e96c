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

from pegboard.core.model.databases import Dialect

VALUE_PLACEHOLDER: Final = "?"
MAX_STATEMENT_CHARS: Final = 4_000

_DOUBLE_QUOTES: Final = r'"(?:[^"]|"")*+"'
_BACKTICKS: Final = r"`(?:[^`]|``)*+`"
_PLAIN_STRING: Final = r"'(?:[^']|'')*+'"
_ESCAPED_STRING: Final = r"'(?:[^'\\]|\\.|'')*+'"
_NUMBER: Final = r"(?:\d|\.\d)[\w.]*+(?:(?<=[eE])[+-]\d++)?"
_WORD: Final = r"[^\W\d][\w$]*+"
_FLAT_COMMENT: Final = r"/\*(?:[^*/]|\*(?!/)|/(?!\*))*+\*/"
_STATEMENTS: Final = """
    alter analyze attach begin call checkpoint commit comment copy create deallocate declare delete desc describe detach
    do drop end execute explain export fetch flush from grant import insert install kill listen load lock merge notify
    optimize pivot pragma prepare refresh reindex release rename replace reset revoke rollback savepoint select set show
    start summarize table truncate unpivot update use vacuum values with
"""
_FIRST_WORDS: Final = frozenset(_STATEMENTS.split())
_BEFORE_VALUES: Final = frozenset({"=", "<", ">", "like", "ilike", "glob", "regexp", "match", "between", "then"})
_BEFORE_LISTS: Final = frozenset({"in", "values"})


def _lexer(
    *,
    comment: str,
    value: str,
    name: str,
    mark: str,
    flat: str = _FLAT_COMMENT,
    double: str = _DOUBLE_QUOTES,
    opening: str = r"/\*",
) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<blank>(?:\s|{comment}|{flat})++)|(?P<opening>{opening})|(?P<value>{value}|{_NUMBER})"
        rf"|(?P<double>{double})|(?P<kept>{name}|{mark}|{_WORD})|(?P<unended>['\"`])|(?P<other>.)",
        re.VERBOSE | re.DOTALL,
    )


_LINE_COMMENT: Final = r"--[^\n]*+"
_SHORT_LINE_COMMENT: Final = r"--[^\n\r]*+"
_POSTGRESQL_STRING: Final = (
    rf"[eE]{_ESCAPED_STRING}(?:(?:\s|{_SHORT_LINE_COMMENT})*+{_ESCAPED_STRING})*+|{_PLAIN_STRING}"
    r"|\$(?P<tag>(?:[^\W\d]\w*+)?)\$.*?\$(?P=tag)\$"
)
_POSTGRESQL: Final = _lexer(comment=_SHORT_LINE_COMMENT, value=_POSTGRESQL_STRING, name=_BACKTICKS, mark=r"\$\d++")
_SQLITE: Final = _lexer(
    comment=_LINE_COMMENT, value=_PLAIN_STRING, name=rf"{_BACKTICKS}|\[[^\]]*+\]", mark=r"\?\d*+|[:@$\#][\w$:]++"
)
_MYSQL: Final = _lexer(
    comment=r"\#[^\n]*+|--(?=\s|\Z)[^\n]*+",
    value=rf"""{_ESCAPED_STRING}|"(?:[^"\\]|\\.|"")*+\"""",
    name=_BACKTICKS,
    mark=r"@{1,2}[\w.$]++",
    flat=rf"(?!/\*M?!){_FLAT_COMMENT}",
    double=r"(?!)",
    opening=r"/\*(?!M?!)",
)
_LEXERS: Final = {
    Dialect.POSTGRESQL: _POSTGRESQL,
    Dialect.DUCKDB: _POSTGRESQL,
    Dialect.SQLITE: _SQLITE,
    Dialect.MYSQL: _MYSQL,
}


def remove_values(statement: str, dialect: Dialect) -> str:
    """Its beginning, where it is long."""
    told, length, first = [], 0, ""
    for part, at in _parts(statement, dialect):
        if part is None:
            return _describe_unread(first, statement)
        if not first and re.search(r"\w", part):
            first = part.casefold()
            if first not in _FIRST_WORDS:
                return _describe_unread("", statement)
        told.append(part)
        length += len(part)
        if length > MAX_STATEMENT_CHARS:
            left = len(statement) - at + length - MAX_STATEMENT_CHARS
            return f"{''.join(told)[:MAX_STATEMENT_CHARS]}… (and {left} characters)"
    return "".join(told).strip(" ")


def _describe_unread(first: str, statement: str) -> str:
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
                at = _end_of_comment(statement, at, nests=nests)
                part = " "
            case "blank":
                part = " "
            case "value" | "tag":
                part = VALUE_PLACEHOLDER
            case "double" if before in _BEFORE_VALUES or lists:
                part = VALUE_PLACEHOLDER
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


def _end_of_comment(statement: str, at: int, *, nests: bool) -> int:
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
