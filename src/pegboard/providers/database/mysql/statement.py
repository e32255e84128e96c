"""One statement, judged before a server sees it: what kind it is, and what privileges do not cover.

It is cut into words as MySQL and MariaDB do it, and comments are blanked out. Where no word shows that it writes, it
runs in a transaction that reads.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from pegboard.core.databases.rows import StatementFailure, StatementFault, StatementRefusal
from pegboard.core.model.databases import DatabaseAccess
from pegboard.ports.databases import Parameters
from pegboard.providers.database.common import is_unicode
from pegboard.providers.database.mysql.privileges import MysqlPrivileges
from pegboard.providers.database.server import QUERIES_ONLY, names, read_names, values_in_order

_TOKEN: Final = re.compile(
    r"""
    (?P<blank>[\x00-\x20]+)
  | (?P<comment>\#[^\n]*|--(?=[\x00-\x20]|\Z)[^\n]*|/\*(?!!|M!)(?:[^*]|\*(?!/))*\*/)
  | (?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<number>(?:(?<!\.)\d+\.?\d*|(?<![\w$`\x80-\U0010ffff])\.\d+)(?:[eE][+-]?\d+)?(?![0-9A-Za-z_$\x80-\U0010ffff]))
  | (?P<variable>@@(?i:version|version_comment|sql_mode|time_zone|system_time_zone|autocommit)(?![\w$]|\s*[.(]))
  | (?P<null>\\N(?![\w$\x80-\U0010ffff]))
  | (?P<name>[0-9A-Za-z_$\x80-\U0010ffff]+)
  | (?P<mark>/\*|.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


@dataclass(frozen=True)
class MysqlWord:
    kind: str
    """name, quoted, string, number, variable, null or mark."""
    text: str
    start: int

    @property
    def upper(self) -> str:
        """As a keyword; empty where it cannot be one."""
        return self.text.upper() if self.kind == "name" else ""

    @property
    def name(self) -> str:
        """In small letters; empty where it cannot be one."""
        text = self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text
        return text.casefold() if self.kind in ("name", "quoted") else ""


@dataclass(frozen=True)
class MysqlStatement:
    text: str
    """With blanks in place of comments and of the last semicolon."""
    words: tuple[MysqlWord, ...]
    is_write: bool = False


def read_statement(
    text: str, access: DatabaseAccess, database: str, known: MysqlPrivileges | None = None
) -> MysqlStatement | StatementRefusal:
    """`database` is the one that bare names are looked up in."""
    statement = _split(text)
    words = statement.words
    if not words:
        return StatementRefusal("The text holds no statement.", QUERIES_ONLY)
    if refusal := _unreadable(statement) or _system_tables(words, database) or _unchecked_clause(words, known):
        return refusal
    if words[0].upper in ("EXPLAIN", "DESCRIBE", "DESC"):
        found = _read_explain(statement, access, known)
    else:
        found = _listing(statement, access) if words[0].upper == "SHOW" else _query(statement, words)
    if isinstance(found, MysqlStatement) and (name := _refused_function(words, is_write=found.is_write)):
        why = f"{name}() is not on the list of built-in functions that only compute."
        return StatementRefusal(
            why, "Use one of MySQL and MariaDB that computes from its arguments alone, or do without it."
        )
    return found


def _split(text: str) -> MysqlStatement:
    words, clean = list[MysqlWord](), list[str]()
    for token in _TOKEN.finditer(text):
        kind, part = str(token.lastgroup), token.group()
        clean.append(re.sub(r"[^\n]", " ", part) if kind == "comment" else part)
        if kind not in ("blank", "comment"):
            words.append(MysqlWord(kind, part, token.start()))
    if words and words[-1].text == ";":
        clean = ["".join(clean)[: words.pop().start], " "]
    return MysqlStatement("".join(clean), tuple(words))


_REFUSED_MARKS: Final = {
    ";": StatementRefusal("The text holds more than one statement.", "Send one statement at a time."),
    "/*": StatementRefusal(
        "A comment that the server would run (/*! … */), or that has no end.", "Write the statement without it."
    ),
    **dict.fromkeys(
        "'\"`\\",
        StatementRefusal(
            "The statement holds a quotation mark that has no end, or a backslash.", "Write it in a string."
        ),
    ),
    "@": StatementRefusal("Variables (@name, @@name) keep and show the state of a session.", "Bind parameters with ?."),
}
_CONTROL_CHARACTER: Final = re.compile(r"[\x01-\x08\x0e-\x1f\x7f]")
_PART_OF_WORD: Final = re.compile(r"""[\w$'"`.@?\\\x80-\U0010ffff]""")


def _unreadable(statement: MysqlStatement) -> StatementRefusal | None:
    text = statement.text
    if _CONTROL_CHARACTER.search(text):
        # Behind two dashes the servers take one for a blank, so that a comment begins.
        return StatementRefusal("The statement holds a control character.", "Bind it as a part of a parameter.")
    for word in statement.words:
        if word.text in _REFUSED_MARKS:
            return _REFUSED_MARKS[word.text]
        if word.text == "?" and _PART_OF_WORD.search(text[max(0, word.start - 1) : word.start + 2].replace("?", "", 1)):
            # With its value it would be another word than the one that is judged.
            return StatementRefusal("A parameter is a part of a word.", "Write blanks around ?, and bind whole values.")
    return None


_SYSTEM_SCHEMAS: Final = names("information_schema mysql performance_schema sys")
_CATALOG: Final = names("CHARACTER_SETS COLLATIONS COLUMNS KEYWORDS SCHEMATA TABLES")
"""What the server filters by the privileges on columns; the others name closed ones in keys and checks."""


def _system_tables(words: Sequence[MysqlWord], database: str) -> StatementRefusal | None:
    found = [database] if database.casefold() in _SYSTEM_SCHEMAS else []
    for place, word in enumerate(words):
        dot, table, *_ = [each.name or each.text for each in words[place + 1 : place + 3]] + [""] * 2
        is_named = dot == "." or (words[0].upper == "SHOW" and words[place - 1].upper in ("FROM", "IN"))
        is_listed = word.name == "information_schema" and dot == "." and table.upper() in _CATALOG
        if word.name in _SYSTEM_SCHEMAS and is_named and not is_listed:
            found.append(word.name)
    if not found:
        return None
    return StatementRefusal(
        f"{found[0]} tells of the server.", "Use search_schemas, or information_schema.TABLES and COLUMNS."
    )


_HINTS: Final = {(verb, kind) for verb in ("USE", "FORCE", "IGNORE") for kind in ("INDEX", "KEY")}


def _unchecked_clause(words: Sequence[MysqlWord], known: MysqlPrivileges | None) -> StatementRefusal | None:
    """Clauses that use columns whose privileges the server does not check: it joins by closed ones, and chooses
    partitions and keys by them."""
    keywords = [word.text.upper() for word in words if word.kind != "quoted"]
    uses_others = "NATURAL" in keywords or not {("PARTITION", "("), *_HINTS}.isdisjoint(pairwise(keywords))
    joined, is_open = set[str](), False
    for before, word in pairwise(words):
        is_open = (is_open or (before.upper == "USING" and word.text == "(")) and word.text != ")"
        joined |= {word.name} - {""} if is_open else set()
    mentioned = {word.name for word in words} if uses_others or joined else set()
    for table, columns in known.partial_tables if known is not None else ():
        if table in mentioned and (uses_others or joined - columns):
            return StatementRefusal(
                f"NATURAL, USING, PARTITION and index hints are not taken here for {table!r}.",
                "Join with ON, by columns that SHOW COLUMNS shows, and leave the others out.",
            )
    return None


_QUERIES: Final = names("SELECT VALUES TABLE")
_WRITES: Final = names("INSERT REPLACE UPDATE DELETE")
_NOT_IN_A_QUERY: Final = frozenset(
    {"INTO", "INTO OUTFILE", "INTO DUMPFILE", "FOR UPDATE", "FOR SHARE", "LOCK IN", "VALUE FOR", "PROCEDURE"}
)


def _query(statement: MysqlStatement, words: Sequence[MysqlWord]) -> MysqlStatement | StatementRefusal:
    """`words` are those of the query itself: behind EXPLAIN."""
    verb = _verb(words)
    if verb not in _WRITES | _QUERIES:
        return StatementRefusal(f"{words[0].upper or 'This'} is not a query.", QUERIES_ONLY)
    upper = [word.upper for word in words]
    found = _NOT_IN_A_QUERY & {*upper, *map(" ".join, pairwise(upper))} - ({"INTO"} if verb in _WRITES else set())
    if found:
        return StatementRefusal(f"The statement holds {min(found)}, which is not part of a query.", QUERIES_ONLY)
    return replace(statement, is_write=verb in _WRITES)


def _verb(words: Sequence[MysqlWord]) -> str:
    """The word that says what a statement does: behind brackets, or behind the queries that WITH names."""
    depth, is_named = 0, words[0].upper == "WITH"
    for word in words:
        depth += {"(": 1, ")": -1}.get(word.text, 0)
        if is_named and depth == 0 and word.upper in _QUERIES | _WRITES:
            return word.upper
        if not is_named and word.text != "(":
            return "SELECT" if word.upper == "WITH" else word.upper
    return ""


def _read_explain(
    statement: MysqlStatement, access: DatabaseAccess, known: MysqlPrivileges | None
) -> MysqlStatement | StatementRefusal:
    rest = statement.words[1:]
    if [word.text.upper() for word in rest[:2]] == ["FORMAT", "="]:
        if not access.is_unrestricted:
            return StatementRefusal("Such a plan would name what cannot be read here.", "Leave FORMAT out.")
        rest = rest[3:]
    if rest and _verb(rest) in _QUERIES:
        if known is not None and any(word.name in known.unexplained_tables for word in rest):
            return StatementRefusal("The plan of this statement can show what is closed.", "Run the query itself.")
        return _query(statement, rest)
    is_named = rest and rest[0].upper not in _WRITES | {"FOR", "WITH", "ANALYZE", "ANALYSE"}
    if is_named and all(word.text == "." or word.kind != "mark" for word in rest):
        return statement
    return StatementRefusal(
        "Only queries and tables are explained.", "Give EXPLAIN a SELECT, or DESCRIBE a table's name."
    )


_SHOW_TOPICS: Final = names("TABLES COLUMNS FIELDS DATABASES SCHEMAS")
_SHOW_TOPICS_WHERE_ALL_IS_OPEN: Final = names("INDEX INDEXES KEYS CREATE")


def _listing(statement: MysqlStatement, access: DatabaseAccess) -> MysqlStatement | StatementRefusal:
    _, what, second, *_ = (*(word.upper for word in statement.words if word.upper != "FULL"), "", "")
    shown = _SHOW_TOPICS | _SHOW_TOPICS_WHERE_ALL_IS_OPEN if access.is_unrestricted else _SHOW_TOPICS
    if what in shown and (what != "CREATE" or second in ("TABLE", "VIEW")):
        return statement
    forms = "SHOW TABLES, SHOW COLUMNS FROM t, SHOW DATABASES"
    forms += ", SHOW CREATE TABLE t, SHOW INDEX FROM t" if access.is_unrestricted else ""
    return StatementRefusal("Of SHOW, a few forms are answered here.", f"These: {forms}.")


_FUNCTIONS: Final = read_names(__package__, "functions.txt")
"""The built-in ones that only compute; also words of the language, and types, that may stand before a bracket. Each by
its whole name: a stored function may have any other.

Privileges do not cover files, locks, pauses, the state of a session, and functions of loaded libraries. FOUND_ROWS and
ROW_COUNT are left out because they are about the statement before, and DEFAULT because it may compute from a closed
column."""


def _refused_function(words: Sequence[MysqlWord], *, is_write: bool) -> str | None:
    """The first that is called and is on no list."""
    texts = [word.text.upper() for word in words]
    for place, (word, bracket) in enumerate(pairwise(words)):
        if bracket.text != "(" or not word.name:
            continue
        before = words[place - 1] if place else word
        end = texts.index(")", place) if ")" in texts[place:] else place
        is_named_query = "(" not in texts[place + 2 : end] and texts[end + 1 : end + 3] == ["AS", "("]
        # A type (CAST … AS CHAR(3)), or a table or query with names for its columns.
        if before.upper == "AS" or before.text == ")" or is_named_query:
            continue
        target = place - 2 if before.text == "." else place
        if is_write and target > 0 and words[target - 1].upper in ("INTO", "INSERT", "REPLACE", "IGNORE"):
            continue
        if before.text == "." or word.upper not in _FUNCTIONS:
            return word.text.strip("`")
    return None


def bind(statement: MysqlStatement, parameters: Parameters) -> str | StatementFailure:
    """The statement with a literal in each `?`. Texts are written in digits, which cannot be read in two ways."""
    places = [word.start for word in statement.words if word.text == "?"]
    values = values_in_order(parameters, len(places), "?")
    if isinstance(values, StatementFailure):
        return values
    parts, last = list[str](), 0
    for number, (place, value) in enumerate(zip(places, values, strict=True), 1):
        written = _literal(value)
        if written is None:
            return StatementFailure(
                f"Parameter {number} is not a value that SQL can hold.", None, StatementFault.PARAMETERS
            )
        parts += [statement.text[last:place], written]
        last = place + 1
    return "".join((*parts, statement.text[last:]))


def _literal(value: Any) -> str | None:
    match value:
        case None:
            return "NULL"
        case bool() | int():
            return str(value).upper()
        case float():
            return repr(value) if math.isfinite(value) else None
        case list() | dict():
            return _literal(json.dumps(value, ensure_ascii=False))
        case str() if is_unicode(value):
            digits = value.encode().hex()
            return f"_utf8mb4 0x{digits}" if digits else "''"
    return None
