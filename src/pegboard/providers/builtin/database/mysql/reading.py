"""What one statement is and which tables it names, for MySQL and MariaDB. Nothing is asked of a server here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, cast

from sqlglot import exp

from .functions import Call, calls
from .grammar import Broken as Broken
from .grammar import elsewhere, parsed
from .words import Unreadable, Word, Words, words

_ROOTS: Final = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
_WRITES: Final = (exp.Insert, exp.Update, exp.Delete)
_FORBIDDEN: Final = tuple(
    getattr(exp, name)
    for name in (
        *(
            "Alter",
            "Analyze",
            "Attach",
            "Block",
            "Cache",
            "Command",
            "Comment",
            "Commit",
            "Copy",
            "Create",
            "Declare",
            "Delete",
        ),
        *(
            "Detach",
            "Drop",
            "Execute",
            "Export",
            "Grant",
            "Insert",
            "Install",
            "Into",
            "Kill",
            "LoadData",
            "Lock",
            "Merge",
        ),
        *("Pragma", "Refresh", "Revoke", "Rollback", "Set", "Show", "Transaction"),
        *("TruncateTable", "Uncache", "Update", "Use"),
    )
    if hasattr(exp, name)
)
ONLY: Final = "Only queries are answered here: SELECT, WITH … SELECT, EXPLAIN, DESCRIBE, SHOW TABLES, SHOW COLUMNS."
ONLY_AND_WRITES: Final = f"{ONLY.removesuffix('.')}; and INSERT, UPDATE and DELETE."
"""For a source that may be changed."""


@dataclass(frozen=True)
class Named:
    """A table or view as it was written."""

    schema: str | None
    name: str
    position: int | None = None
    target: bool = False


@dataclass(frozen=True)
class Listed:
    """SHOW and DESCRIBE: what of it names a table, a column or a schema."""

    what: str
    """tables, columns, schemas; or one that is told whole: its indexes (table) or how it was created (created)."""
    schema: str | None = None


@dataclass(frozen=True)
class Reading:
    kind: str
    """select, explain, list, insert, update or delete."""
    text: str
    words: tuple[Word, ...]
    named: tuple[Named, ...]
    tree: exp.Expression | None = None
    listed: Listed | None = None
    begin: int = 0
    """Where in the text the tree's own begins: behind EXPLAIN."""
    calls: tuple[Call, ...] = ()

    @property
    def writes(self) -> bool:
        return self.kind in {"insert", "update", "delete"}


def read(statement: str, *, write: bool) -> Reading | Unreadable | Broken:
    """The one statement of a text."""
    found = words(statement)
    if isinstance(found, Unreadable):
        return found
    if not found.words:
        return Unreadable("The text holds no statement.", ONLY)
    match found.words[0].upper:
        case "SHOW":
            return _shown(found)
        case "EXPLAIN" | "DESCRIBE" | "DESC":
            return _explained(found)
        case _:
            return _query(found, found.words, write)


def _query(found: Words, inner: Sequence[Word], write: bool, kind: str = "select") -> Reading | Unreadable | Broken:
    text = found.text[inner[0].start :]
    if inner[0].upper not in {"INSERT", "REPLACE"} and (fault := _phrases(inner)):
        return fault
    tree = parsed(text, tuple(inner))
    if isinstance(tree, Broken | Unreadable):
        return tree
    changing = write and kind == "select" and isinstance(tree, _WRITES)
    if not changing and kind == "select" and isinstance(tree, _WRITES):
        return Unreadable(f"{inner[0].upper} changes rows.", ONLY, is_write=True)
    if changing:
        kind = type(tree).__name__.lower()
    elif not isinstance(tree, _ROOTS):
        return Unreadable(f"{inner[0].upper or 'This'} is not a query.", ONLY)
    nodes = cast(list[exp.Expression], list(tree.walk()))
    if fault := elsewhere(nodes):
        return fault
    for node in nodes:
        if isinstance(node, _FORBIDDEN) and node is not tree:
            return Unreadable("The statement holds another, which is not part of a query.", ONLY)
    called = calls(inner, target=kind == "insert")
    if isinstance(called, Unreadable):
        return called
    return Reading(kind, found.text, found.words, tuple(_tables(tree, nodes)), tree, begin=inner[0].start, calls=called)


_PHRASES: Final = (
    (("INTO",), "INTO"),
    (("FOR", "UPDATE"), "a row lock (FOR UPDATE)"),
    (("FOR", "SHARE"), "a row lock (FOR SHARE)"),
    (("LOCK", "IN"), "a row lock (LOCK IN SHARE MODE)"),
    (("VALUE", "FOR"), "a step of a sequence (NEXT VALUE FOR)"),
    (("PROCEDURE",), "PROCEDURE"),
    (("OUTFILE",), "OUTFILE"),
    (("DUMPFILE",), "DUMPFILE"),
)
"""Seen in the words themselves, whatever a parser makes of them."""


def _phrases(inner: Sequence[Word]) -> Unreadable | None:
    said = [word.upper for word in inner]
    found = {*((word,) for word in said), *pairwise(said)}
    for phrase, told in _PHRASES:
        if phrase in found:
            return Unreadable(f"The statement holds {told}, which is not part of a query.", ONLY)
    return None


_NO_TABLES: Final = frozenset({"DELETE", "FOR", "INSERT", "REPLACE", "UPDATE"})
"""Behind EXPLAIN: reserved words, by which no table is called unless in backquotes."""


def _explained(found: Words) -> Reading | Unreadable | Broken:
    rest = found.words[1:]
    if [word.text.upper() for word in rest[:2]] == ["FORMAT", "="]:
        rest = rest[3:]
    first = rest[0].upper if rest else ""
    if first in {"SELECT", "WITH", "VALUES"} or (rest and rest[0].text == "("):
        return _query(found, rest, False, "explain")
    if first in {"ANALYZE", "ANALYSE"}:
        return Unreadable("EXPLAIN ANALYZE runs the statement.", "Leave ANALYZE out.")
    if (
        first not in _NO_TABLES
        and (named := _name(rest)) is not None
        and len(rest) <= 4
        and all(word.kind != "mark" for word in rest[2:] if word.text != ".")
    ):
        return Reading("list", found.text, found.words, (named,), listed=Listed("columns"))
    return Unreadable("Only queries and tables are explained.", "Give EXPLAIN a SELECT, or DESCRIBE a table's name.")


def _shown(found: Words) -> Reading | Unreadable:
    said = [word.text.upper() for word in found.words]
    rest = found.words[1:]
    if said[1:2] == ["FULL"]:
        rest = rest[1:]
    match [word.text.upper() for word in rest]:
        case ["TABLES", *_] if isinstance(schema := _within(rest[1:]), str):
            return Reading("list", found.text, found.words, (), listed=Listed("tables", schema or None))
        case ["DATABASES" | "SCHEMAS", *_] if _within(rest[1:]) == "":
            return Reading("list", found.text, found.words, (), listed=Listed("schemas"))
        case ["COLUMNS" | "FIELDS", "FROM" | "IN", *_] if (table := _of(rest[2:])) is not None:
            return Reading("list", found.text, found.words, (table,), listed=Listed("columns"))
        case ["INDEX" | "INDEXES" | "KEYS", "FROM" | "IN", *_] if (table := _of(rest[2:])) is not None:
            return Reading("list", found.text, found.words, (table,), listed=Listed("table"))
        case ["CREATE", "TABLE" | "VIEW", *_] if (table := _of(rest[2:])) is not None:
            return Reading("list", found.text, found.words, (table,), listed=Listed("created"))
    return Unreadable(
        "Of SHOW, a few forms are answered.",
        "These: SHOW TABLES, SHOW COLUMNS FROM t, SHOW CREATE TABLE t, SHOW INDEX FROM t, SHOW DATABASES.",
    )


def _within(rest: Sequence[Word]) -> str | None:
    """The schema of `[FROM schema] [LIKE 'text']`, or no name; None where something else stands there."""
    schema = ""
    if len(rest) >= 2 and rest[0].upper in {"FROM", "IN"} and rest[1].kind in {"name", "quoted"}:
        schema, rest = rest[1].name, rest[2:]
    if not rest or (len(rest) == 2 and rest[0].upper == "LIKE" and rest[1].kind == "string"):
        return schema
    return None


def _name(rest: Sequence[Word]) -> Named | None:
    if not rest or rest[0].kind not in {"name", "quoted"}:
        return None
    if len(rest) >= 3 and rest[1].text == "." and rest[2].kind in {"name", "quoted"}:
        return Named(rest[0].name, rest[2].name, rest[0].start)
    return Named(None, rest[0].name, rest[0].start)


def _of(rest: Sequence[Word]) -> Named | None:
    """`t`, `s.t`, or `t FROM s`, with a LIKE behind it."""
    named = _name(rest)
    if named is None:
        return None
    behind = rest[3 if named.schema is not None else 1 :]
    within = _within(behind)
    if within is None:
        return None
    return Named(within, named.name, named.position) if within else named


def _tables(tree: exp.Expression, nodes: Sequence[exp.Expression]) -> Iterator[Named]:
    marks = _marks(tree)
    targets = _targets(tree, marks)
    for table in (node for node in nodes if isinstance(node, exp.Table)):
        if isinstance(table.this, exp.Func) or any(table is mark for mark in marks):
            continue
        schema = table.args.get("db")
        target = any(table is one for one in targets)
        if schema is None and not target and (_is_defined(table) or is_no_table(table)):
            continue
        yield Named(schema.name if schema is not None else None, table.name, None, target)


def _marks(tree: exp.Expression) -> list[exp.Table]:
    """`o` in `DELETE o FROM orders o JOIN …` and in `DELETE FROM o USING orders o JOIN …`: no tables, but words for
    those behind them."""
    if not isinstance(tree, exp.Delete):
        return []
    marks = tree.args.get("tables") or ([tree.this] if tree.args.get("using") else [])
    sources = {table.alias_or_name for table in _side_by_side(tree) if not any(table is mark for mark in marks)}
    plain = all(mark.args.get("db") is None and not mark.alias and mark.name in sources for mark in marks)
    return list(marks) if plain else []


def _targets(tree: exp.Expression, marks: list[exp.Table]) -> list[exp.Expression]:
    if marks:
        names = {mark.name for mark in marks}
        return [table for table in _side_by_side(tree) if table.alias_or_name in names]
    target = tree.this if isinstance(tree, _WRITES) else None
    return [] if target is None else [target.this if isinstance(target, exp.Schema) else target]


def _side_by_side(tree: exp.Expression) -> list[exp.Table]:
    """The tables of a statement that writes, without those of its subqueries."""
    return [table for table in tree.find_all(exp.Table) if table.find_ancestor(exp.Select) is None]


def is_no_table(table: exp.Table) -> bool:
    """`FROM DUAL`, which says that there is none. The word is reserved: in backquotes, behind a schema, with an
    alias or beside another it would be a table."""
    clause = table.parent
    return (
        isinstance(table.this, exp.Identifier)
        and table.name.upper() == "DUAL"
        and not table.this.args.get("quoted")
        and not any(value for part, value in table.args.items() if part != "this")
        and isinstance(clause, exp.From)
        and not (clause.parent and (clause.parent.args.get("joins") or clause.parent.args.get("laterals")))
    )


def is_defined(table: exp.Table) -> bool:
    return table.args.get("db") is None and _is_defined(table)


def _is_defined(table: exp.Table) -> bool:
    """Whether a WITH gives that name where the table stands: later ones see earlier ones, and a recursive one
    itself."""
    inner: Any = table
    while (outer := inner.parent) is not None:
        clause = outer.args.get("with") or outer.args.get("with_")
        named = () if clause is None or clause is inner else clause.expressions
        if any(cte.alias == table.name for cte in named):
            return True
        if isinstance(outer, exp.With):
            for cte in outer.expressions:
                if cte is inner:
                    if outer.args.get("recursive") and cte.alias == table.name:
                        return True
                    break
                if cte.alias == table.name:
                    return True
        inner = outer
    return False
