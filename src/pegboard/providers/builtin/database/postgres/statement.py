"""One statement, read by PostgreSQL's own grammar: whether it reads or writes, and whether it may be run at all.

What it may read is left to the server. Nothing is asked of a server here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

from pglast import ast as _ast
from pglast import parse_sql
from pglast.parser import ParseError, scan

from pegboard.core.database import Failed, Fault
from pegboard.providers.builtin.database.names import names
from pegboard.providers.builtin.database.unreadable import NOT_EXPLAINED, Unreadable

from .privileges import OpenNames

# Its types say that anything may be missing anywhere, which the grammar knows better.
ast: Any = _ast


def _read_names(file: str) -> frozenset[str]:
    """Groups follow a line that ends in a colon; where it names prefixes, each name stands behind each of them."""
    found: set[str] = set()
    prefixes = [""]
    for line in files(__package__).joinpath(file).read_text(encoding="ascii").splitlines():
        if line.endswith(":"):
            prefixes = [one for one in line[:-1].split() if one.endswith("_")] or [""]
        elif not line.startswith("#"):
            found.update(f"{prefix}{name}" for prefix in prefixes for name in line.split())
    return frozenset(found)


CALLABLE: Final = _read_names("functions.txt")
"""Privileges do not cover what other functions do: wait, lock, reach files or other servers, run a text as SQL."""
ABOUT_TABLES: Final = _read_names("catalog.txt")
MAX_LENGTH: Final = 100_000
MAX_DEPTH: Final = 200
"""Levels of brackets, operators and subqueries: far more than people write, far less than a stack holds."""
MAX_WORDS: Final = 4000
"""Without commas and values. The grammar may build a tree as deep as that, and the stack ends at some 15,000."""
_LEAVES: Final = names("ASCII_44 FCONST ICONST PARAM SCONST")

QUERIES_ONLY: Final = "Only queries are answered here: SELECT, WITH … SELECT, VALUES, TABLE, EXPLAIN, SHOW."
QUERIES_AND_WRITES: Final = f"{QUERIES_ONLY.removesuffix('.')}; and INSERT, UPDATE and DELETE."

_WRITES: Final = {"InsertStmt": "INSERT", "UpdateStmt": "UPDATE", "DeleteStmt": "DELETE"}
_REFUSED: Final = _WRITES | {
    "IntoClause": "SELECT INTO",
    "LockingClause": "a row lock (FOR UPDATE, FOR SHARE)",
    "MergeStmt": "MERGE",
}
"""Parts of the grammar that no query is made of, with their names."""
_SHOWN: Final = names(
    """
    bytea_output client_encoding datestyle default_text_search_config extra_float_digits integer_datetimes
    intervalstyle is_superuser lc_collate lc_ctype lc_messages lc_monetary lc_numeric lc_time lock_timeout
    max_identifier_length search_path server_encoding server_version server_version_num standard_conforming_strings
    statement_timeout timezone transaction_isolation transaction_read_only work_mem
    """
)
"""Settings that matter for a query. Others may hold paths, addresses and an application's own secrets."""
_EXPLAIN_OPTIONS: Final = frozenset({"costs", "format", "summary", "verbose"})
_NAME_TYPES: Final = names("regproc regprocedure regoper regoperator regclass regnamespace regrole regtype aclitem")
"""Types that look a name up in the catalog."""
_NO_CATALOG: Final = "Use search_schemas, or information_schema.tables and information_schema.columns."
_TOO_DEEP: Final = Unreadable("The statement is nested too deeply to be read.", "Ask in simpler statements.")


@dataclass(frozen=True)
class Name:
    """Of a table or a function, as it was written."""

    schema: str | None
    name: str
    position: int

    @property
    def written(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"


@dataclass
class Statement:
    kind: str
    """select, explain, show, insert, update or delete."""
    text: str
    tables: list[Name] = field(default_factory=list)
    columns: list[tuple[tuple[str, ...], int]] = field(default_factory=list)
    """References without their stars, each with its position."""
    aliases: dict[str, Name] = field(default_factory=dict)
    """Of tables."""
    with_names: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)
    """Names that the statement itself gives to columns."""
    is_by_position: bool = False
    """Whether columns of tables are joined or renamed by what there is: NATURAL JOIN, `t(a, b)`."""
    has_rows: bool = False
    """Whether it uses rows without naming their columns: a star, a function as a table."""
    has_unknown_type: bool = False

    @property
    def writes(self) -> bool:
        return self.kind in {"insert", "update", "delete"}


def read_statement(text: str, open_names: OpenNames | None, *, write: bool) -> Statement | Unreadable | Failed:
    """The one statement of a text, if it may be run."""
    if len(text) > MAX_LENGTH:
        why = f"The statement has {len(text):,} characters; {MAX_LENGTH:,} are taken."
        return Unreadable(why, "Bind long values as parameters, and ask in several statements.")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        why = "The statement holds a character that no database takes (NUL or half a surrogate)."
        return Unreadable(why, "Leave it out.")
    try:
        if len(text) > MAX_WORDS and sum(word.name not in _LEAVES for word in scan(text)) > MAX_WORDS:
            return _TOO_DEEP
        parsed = parse_sql(text)
    except ParseError as error:
        return _syntax_error(error, text)
    if len(parsed) != 1:
        why = "The text holds no statement." if not parsed else f"The text holds {len(parsed)} statements."
        return Unreadable(why, "Send one statement at a time.")
    try:
        return _classify(text, parsed[0].stmt, open_names, write)
    except _RefusedError as refused:
        return refused.why


def _syntax_error(error: ParseError, text: str) -> Failed:
    words = str(error.args[0])
    position = error.args[1] if len(error.args) > 1 else None
    named = re.search(r'at or near "(.+)"$', words, re.DOTALL)
    if position is not None and named is not None and (found := text.find(named[1], position)) >= 0:
        position = found  # counted down once too often for each letter beyond ASCII that stands before it
    return Failed(words, position, Fault.SYNTAX)


class _RefusedError(Exception):
    def __init__(self, why: Unreadable | Failed) -> None:
        self.why = why


def _refused(why: str, fix: str) -> _RefusedError:
    return _RefusedError(Unreadable(why, fix))


def _no_query(node: str, *, is_write: bool = False) -> _RefusedError:
    title = _REFUSED.get(node) or re.sub(r"(?<!^)(?=[A-Z])", " ", node.removesuffix("Stmt")).upper()
    return _RefusedError(Unreadable(f"The statement holds {title}, which is not a query.", QUERIES_ONLY, is_write))


def _classify(text: str, stmt: Any, open_names: OpenNames | None, write: bool) -> Statement:
    node = type(stmt).__name__
    match stmt:
        case ast.SelectStmt():
            found = Statement("select", text)
        case ast.ExplainStmt():
            options = {option.defname.lower() for option in stmt.options or ()}
            if strange := sorted(options - _EXPLAIN_OPTIONS):
                name = strange[0].upper()
                raise _refused(f"EXPLAIN with {name} is not answered.", f"Leave {name} out.")
            if not isinstance(stmt.query, ast.SelectStmt):
                raise _refused(NOT_EXPLAINED.why, NOT_EXPLAINED.mend)
            found, stmt = Statement("explain", text), stmt.query
        case ast.VariableShowStmt():
            if stmt.name.lower() in _SHOWN:
                return Statement("show", text)
            raise _refused(f"SHOW {stmt.name} is not answered.", f"These are: {', '.join(sorted(_SHOWN))}.")
        case _ if node in _WRITES and write:
            found = Statement(_WRITES[node].lower(), text)
            table = stmt.relation.alias.aliasname if stmt.relation.alias else stmt.relation.relname
            targets = getattr(stmt, "cols", None) or (getattr(stmt, "targetList", None) if node == "UpdateStmt" else ())
            found.columns += [((table, target.name), target.location) for target in targets or ()]
        case _:
            raise _no_query(node, is_write=node in _WRITES)
    _Walk(found, open_names).children(stmt, 0)
    if found.is_by_position and open_names is not None:
        for table in found.tables:
            if table.name in open_names.partial:
                why = f"Columns of {table.written!r} are joined or renamed by their places, and not all can be read."
                raise _refused(why, "Name the columns: JOIN … USING (…), SELECT a AS b.")
    return found


class _Walk:
    """Goes over a tree once, collects what it names, and ends with `_RefusedError` where it may not be run."""

    def __init__(self, found: Statement, open_names: OpenNames | None) -> None:
        self._found = found
        self._open_names = open_names
        self._as_text: Any = None
        """What is taken to the caller, or into a text: there a name of a type is no more than that."""

    def node(self, node: Any, depth: int) -> None:
        kind = type(node).__name__
        if kind in _REFUSED or (kind.endswith("Stmt") and kind != "SelectStmt"):
            raise _no_query(kind)
        if depth > MAX_DEPTH:
            raise _RefusedError(_TOO_DEEP)
        found = self._found
        match node:
            case ast.RangeVar():
                self._table(node)
            case ast.FuncCall():
                self._function(node)
            case ast.RangeTableSample():
                self._callable(_name(node.method, node.location))
            case ast.TypeName():
                self._type(node)
            case ast.TypeCast() if node.typeName.names[-1].sval == "text":
                self._as_text = node.arg
            case ast.ColumnRef():
                words = tuple(part.sval for part in node.fields if isinstance(part, ast.String))
                if len(words) == len(node.fields):
                    found.columns.append((words, node.location))
                else:
                    found.has_rows = True
            case ast.JoinExpr():
                found.is_by_position |= bool(node.isNatural)
                found.columns += [((part.sval,), -1) for part in node.usingClause or ()]
            case ast.RangeFunction() | ast.RangeTableFunc() | ast.JsonTable():
                found.has_rows = True
            case ast.ResTarget():
                found.defined.add(node.name or "")
                self._as_text = node.val if depth == 1 else self._as_text
            case ast.CommonTableExpr():
                found.with_names.add(node.ctename)
                found.defined.update(part.sval for part in node.aliascolnames or ())
            case ast.Alias():
                found.defined.update(part.sval for part in node.colnames or ())
        self.children(node, depth)

    def children(self, node: Any, depth: int) -> None:
        for label in node.__slots__:
            for each in _nodes(getattr(node, label)):
                self.node(each, depth + 1)

    def _table(self, node: Any) -> None:
        table = Name(node.schemaname, node.relname, node.location)
        self._found.is_by_position |= node.alias is not None and bool(node.alias.colnames)
        self._found.tables.append(table)
        self._found.aliases[node.alias.aliasname if node.alias else node.relname] = table
        is_closed = self._open_names is not None
        is_system = (table.schema or "pg_catalog").startswith("pg_") and table.name.startswith("pg_")
        if table.schema == "information_schema":
            self._found.has_rows = True
            if self._found.kind == "explain" and is_closed:
                raise _refused("What is read of information_schema is not explained.", "Run the query itself.")
            is_system = table.name not in ABOUT_TABLES
        elif table.name in ABOUT_TABLES:
            is_system &= is_closed
        if is_system:
            raise _refused(f"{table.written!r} describes the server rather than the tables.", _NO_CATALOG)

    def _type(self, node: Any) -> None:
        if node.pct_type or not node.names:
            raise _refused("A type copied from a column (%TYPE) is not read here.", "Name the type itself.")
        name = node.names[-1].sval.lstrip("_")
        if self._open_names is not None:
            if name in _NAME_TYPES:
                raise _refused(
                    f"The type {name} looks names up in the catalog.", "Use search_schemas for what there is."
                )
            self._found.has_unknown_type |= name not in self._open_names.types

    def _function(self, node: Any) -> None:
        name = _name(node.funcname, node.location)
        self._found.defined.add(name.name)
        if name.name == "pg_typeof" and self._open_names is not None and node is not self._as_text:
            why = "pg_typeof() gives a type, with which others could be looked up."
            raise _refused(why, "Write pg_typeof(…)::text.")
        if name.name != "current_setting":
            self._callable(name)
            return
        match node.args:
            case [ast.A_Const(val=ast.String(sval=setting)), *_] if setting.lower() in _SHOWN:
                return
        why = "current_setting() is answered for a few settings alone."
        raise _refused(why, f"These: {', '.join(sorted(_SHOWN))}.")

    def _callable(self, name: Name) -> None:
        if name.name in CALLABLE or (self._open_names is None and name.name in ABOUT_TABLES):
            return
        words = f"function {name.written}() does not exist, or does more than compute and may not be called here"
        raise _RefusedError(Failed(words, name.position, Fault.NO_FUNCTION, name.written))


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for each in value:
            yield from _nodes(each)
    elif isinstance(value, ast.Node):
        yield value


def _name(parts: Any, position: int) -> Name:
    *before, name = [part.sval for part in parts]
    return Name(before[-1] if before else None, name, position)
