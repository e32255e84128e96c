"""One statement, judged before a server sees it: what kind it is, and what privileges do not cover.

It is cut into words as MySQL and MariaDB do it, and comments are blanked out. sqlglot gives a second opinion on whether
a statement writes; what it cannot read is left to the server, in a transaction that reads.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import Any, Final

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import SqlglotError

from pegboard.core.database import Access, Refused
from pegboard.core.database.access import ANY
from pegboard.core.pattern import fits
from pegboard.providers.builtin.database.names import names

from .functions import refused_function
from .privileges import SYSTEM_SCHEMAS

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it logs what it cannot read

MAX_LETTERS: Final = 100_000
ONLY: Final = "Only queries are answered here: SELECT, WITH … SELECT, EXPLAIN, DESCRIBE, SHOW TABLES, SHOW COLUMNS."
ONLY_AND_WRITES: Final = f"{ONLY.removesuffix('.')}; and INSERT, UPDATE and DELETE."
"""For a source that may be changed."""

_TOKEN: Final = re.compile(
    r"""
    (?P<blank>[\x00-\x20]+)
  | (?P<comment>\#[^\n]*|--(?=[\x00-\x20]|\Z)[^\n]*|/\*(?!!|M!)(?:[^*]|\*(?!/))*\*/)
  | (?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
  | (?P<quoted>`(?:[^`]|``)+`)
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![0-9A-Za-z_$\x80-\U0010ffff]))
  | (?P<name>[0-9A-Za-z_$\x80-\U0010ffff]+)
  | (?P<mark>/\*|.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


class Kind(Enum):
    QUERY = "query"
    EXPLAIN = "explain"
    LISTING = "listing"
    WRITE = "write"


@dataclass(frozen=True)
class Word:
    kind: str
    """name, quoted, string, number or mark."""
    text: str
    start: int

    @property
    def upper(self) -> str:
        """As a keyword; empty where it cannot be one."""
        return self.text.upper() if self.kind == "name" else ""

    @property
    def name(self) -> str:
        return self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text


@dataclass(frozen=True)
class Statement:
    kind: Kind
    text: str
    """With blanks in place of comments and of the last semicolon."""
    words: tuple[Word, ...]


def read_statement(text: str, access: Access, database: str) -> Statement | Refused:
    """`database` is the one that bare names are looked up in."""
    if len(text) > MAX_LETTERS:
        why = f"The statement has {len(text):,} characters; {MAX_LETTERS:,} are taken."
        return Refused(why, "Bind long values as parameters, and ask in several statements.")
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        why = "The statement holds a character that no database takes (NUL or half a surrogate)."
        return Refused(why, "Leave it out.")
    statement = _split(text)
    words = statement.words
    if not words:
        return Refused("The text holds no statement.", ONLY)
    if refusal := _unreadable(words) or _system_tables(words, access, database):
        return refusal
    is_explained = words[0].upper in ("EXPLAIN", "DESCRIBE", "DESC")
    if is_explained:
        found = _explained(statement, access)
    else:
        found = _listing(statement, access) if words[0].upper == "SHOW" else _query(statement, words)
    if isinstance(found, Statement) and (name := refused_function(words, is_write=found.kind is Kind.WRITE)):
        why = f"{name}() is not on the list of built-in functions that only compute."
        advice = (
            "Use one of MySQL and MariaDB that computes from its arguments alone, or write the statement without it."
        )
        return Refused(why, advice)
    return found


def _split(text: str) -> Statement:
    words, clean = list[Word](), list[str]()
    for token in _TOKEN.finditer(text):
        kind, part = str(token.lastgroup), token.group()
        clean.append(re.sub(r"[^\n]", " ", part) if kind == "comment" else part)
        if kind not in ("blank", "comment"):
            words.append(Word(kind, part, token.start()))
    if words and words[-1].text == ";":
        clean = ["".join(clean)[: words.pop().start], " "]
    return Statement(Kind.QUERY, "".join(clean), tuple(words))


_VARIABLES: Final = names("version version_comment sql_mode time_zone system_time_zone autocommit")


def _unreadable(words: Sequence[Word]) -> Refused | None:
    texts = [word.text.lower() for word in words]
    if ";" in texts:
        return Refused("The text holds more than one statement.", "Send one statement at a time.")
    if "/*" in texts:
        why = "A comment that the server would run (/*! … */), or that has no end."
        return Refused(why, "Write the statement without it.")
    for place, text in enumerate(texts):
        start = place - 1 if texts[place - 1 : place] == ["@"] else place
        is_read = texts[start : start + 2] == ["@", "@"] and {*texts[start + 2 : start + 3]} <= _VARIABLES
        if text == "@" and not (is_read and texts[start + 3 : start + 4] not in (["."], ["("])):
            return Refused("Variables (@name, @@name) keep and show the state of a session.", "Bind parameters with ?.")
    return None


_CATALOG: Final = names(
    """
    CHARACTER_SETS CHECK_CONSTRAINTS COLLATIONS COLUMNS KEY_COLUMN_USAGE KEYWORDS REFERENTIAL_CONSTRAINTS SCHEMATA
    STATISTICS TABLES TABLE_CONSTRAINTS VIEWS
    """
)
_FILTERED_CATALOG: Final = names("CHARACTER_SETS COLLATIONS COLUMNS KEYWORDS SCHEMATA TABLES")
"""What the server filters by the privileges on columns; the others name closed ones in keys and checks."""


def _system_tables(words: Sequence[Word], access: Access, database: str) -> Refused | None:
    tables = _CATALOG if access.is_whole else _FILTERED_CATALOG
    is_catalog = database.casefold() in SYSTEM_SCHEMAS
    for place, word in enumerate(words):
        schema, before = word.name.casefold(), words[place - 1].upper if place else ""
        if word.kind not in ("name", "quoted") or schema not in SYSTEM_SCHEMAS:
            continue
        following = [each.name for each in words[place + 1 : place + 3]]
        is_listed = schema == "information_schema" and following[-1:] and following[-1].upper() in tables
        if following[:1] == ["."] and is_listed:
            continue
        if following[:1] == ["."] or (words[0].upper == "SHOW" and before in ("FROM", "IN")):
            database, is_catalog = ".".join((word.name, *following[1:])), True
            break
    if not is_catalog:
        return None
    return Refused(f"{database} tells of the server.", "Use search_schemas, or information_schema.TABLES and COLUMNS.")


_QUERIES: Final = names("SELECT VALUES TABLE")
_WRITES: Final = names("INSERT REPLACE UPDATE DELETE")
_PHRASES: Final = {
    ("INTO",): "INTO",
    ("FOR", "UPDATE"): "a row lock (FOR UPDATE)",
    ("FOR", "SHARE"): "a row lock (FOR SHARE)",
    ("LOCK", "IN"): "a row lock (LOCK IN SHARE MODE)",
    ("VALUE", "FOR"): "a step of a sequence (NEXT VALUE FOR)",
    ("PROCEDURE",): "PROCEDURE",
    ("INTO", "OUTFILE"): "OUTFILE",
    ("INTO", "DUMPFILE"): "DUMPFILE",
}
_CHANGES: Final = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.TruncateTable)


def _query(statement: Statement, words: Sequence[Word], kind: Kind = Kind.QUERY) -> Statement | Refused:
    """`words` are those of the query itself: behind EXPLAIN."""
    verb = _verb(words)
    if verb not in _WRITES | _QUERIES:
        return Refused(f"{words[0].upper or 'This'} is not a query.", ONLY)
    upper = [word.upper for word in words]
    found = {*((word,) for word in upper), *pairwise(upper)} - ({("INTO",)} if verb in _WRITES else set())
    held = next((title for phrase, title in _PHRASES.items() if phrase in found), None)
    if held is None and verb in _QUERIES and _seems_to_write(statement.text[words[0].start :]):
        held = "another"
    if held is not None:
        return Refused(f"The statement holds {held}, which is not part of a query.", ONLY)
    return replace(statement, kind=Kind.WRITE if verb in _WRITES else kind)


def _verb(words: Sequence[Word]) -> str:
    """The word that says what a statement does: behind brackets, or behind the queries that WITH names."""
    depth, is_named = 0, words[0].upper == "WITH"
    for word in words:
        depth += {"(": 1, ")": -1}.get(word.text, 0)
        if is_named and depth == 0 and word.upper in _QUERIES | _WRITES:
            return word.upper
        if not is_named and word.text != "(":
            return "SELECT" if word.upper == "WITH" else word.upper
    return ""


def _seems_to_write(text: str) -> bool:
    try:
        return any(tree is not None and tree.find(*_CHANGES) is not None for tree in MySQL().parse(text))
    except (SqlglotError, RecursionError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False  # it falls over what it does not know: the server says what is wrong, if anything is


def _explained(statement: Statement, access: Access) -> Statement | Refused:
    rest = statement.words[1:]
    if [word.text.upper() for word in rest[:2]] == ["FORMAT", "="]:
        if not access.is_whole and rest[2:] and rest[2].upper not in ("TRADITIONAL", "JSON"):
            return Refused("Such a plan would name what cannot be read here.", "Leave FORMAT out.")
        rest = rest[3:]
    if rest and rest[0].upper in ("ANALYZE", "ANALYSE"):
        return Refused("EXPLAIN ANALYZE runs the statement.", "Leave ANALYZE out.")
    if rest and _verb(rest) in _QUERIES:
        return _query(statement, rest, Kind.EXPLAIN)
    is_named = 1 <= len(rest) <= 4 and rest[0].upper not in _WRITES | {"FOR", "WITH"}
    if is_named and all(word.text == "." or word.kind != "mark" for word in rest):
        return replace(statement, kind=Kind.LISTING)
    return Refused("Only queries and tables are explained.", "Give EXPLAIN a SELECT, or DESCRIBE a table's name.")


_SHOWN: Final = names("TABLES COLUMNS FIELDS DATABASES SCHEMAS")
_SHOWN_WHERE_ALL_IS_OPEN: Final = names("INDEX INDEXES KEYS CREATE_TABLE CREATE_VIEW")


def _listing(statement: Statement, access: Access) -> Statement | Refused:
    _, first, second, *_ = (*(word.upper for word in statement.words), "", "")
    what = second if first == "FULL" else f"CREATE_{second}" if first == "CREATE" else first
    if what in _SHOWN_WHERE_ALL_IS_OPEN and not access.is_whole:
        return Refused("That would name what cannot be read here.", "SHOW COLUMNS FROM a table shows what can.")
    if what in _SHOWN | _SHOWN_WHERE_ALL_IS_OPEN:
        return replace(statement, kind=Kind.LISTING)
    return Refused(
        "Of SHOW, a few forms are answered.",
        "These: SHOW TABLES, SHOW COLUMNS FROM t, SHOW CREATE TABLE t, SHOW INDEX FROM t, SHOW DATABASES.",
    )


_READABLE: Final = """
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS
WHERE FIND_IN_SET('select', PRIVILEGES) AND TABLE_NAME IN ({})
"""
_HINTS: Final = {(verb, kind) for verb in ("USE", "FORCE", "IGNORE") for kind in ("INDEX", "KEY")}


def refused_clause(
    statement: Statement, access: Access, ask: Callable[[str, Sequence[str]], Sequence[tuple[Any, ...]]]
) -> Refused | None:
    """Clauses that use columns which the server does not check the privileges of: it joins by closed ones, and chooses
    partitions and keys by them. Asks the catalog only where a statement has one."""
    texts = [word.text.upper() for word in statement.words if word.kind != "quoted"]
    uses_others = "NATURAL" in texts or not {("PARTITION", "("), *_HINTS}.isdisjoint(pairwise(texts))
    joined, is_open = set[str](), False
    for before, word in pairwise(statement.words):
        is_open = (is_open or (before.upper == "USING" and word.text == "(")) and word.text != ")"
        if is_open and word.kind in ("name", "quoted"):
            joined.add(word.name.casefold())
    if access.is_whole or not (uses_others or joined):
        return None
    mentioned = {word.name for word in statement.words if word.kind in ("name", "quoted")}
    tables = sorted({*mentioned, *map(str.lower, mentioned)})
    readable: dict[tuple[str, str], set[str]] = defaultdict(set)
    for schema, table, column in ask(_READABLE.format(", ".join(["%s"] * len(tables))), tables):
        readable[schema, table].add(column.casefold())
    for table_name, columns in readable.items():
        if (uses_others or joined - columns) and _has_closed_columns(access, *table_name):
            return Refused(
                f"NATURAL, USING, PARTITION and index hints are not taken here for {table_name[1]!r}.",
                "Join with ON, by columns that SHOW COLUMNS shows, and leave the others out.",
            )
    return None


def _has_closed_columns(access: Access, schema: str, table: str) -> bool:
    """Whether a pattern may close some columns of a table that is open."""
    whole = [each for each in access.allow if each.column in (None, ANY) and each.fits_table(schema, table)]
    return bool(access.allow and not whole) or any(
        each.fits_table(schema, table) if each.column is not None else fits(each.schema, table.casefold())
        for each in access.deny
        if each.column not in (None, ANY) or each.schema != ANY
    )
