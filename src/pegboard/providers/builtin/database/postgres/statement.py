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

from pegboard.core.database import Failed, Fault, Refused
from pegboard.providers.builtin.database.names import names
from pegboard.providers.builtin.database.server import QUERIES_ONLY
from pegboard.providers.builtin.database.unreadable import NOT_EXPLAINED

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
MAX_DEPTH: Final = 200
"""Levels of brackets, operators and subqueries: far more than people write, far less than a stack holds."""
MAX_WORDS: Final = 4000
"""Without commas and values. The grammar may build a tree as deep as that, and the stack ends at some 15,000."""
_LEAVES: Final = names("ASCII_44 FCONST ICONST PARAM SCONST")
_WRITES: Final = {"InsertStmt": "insert", "UpdateStmt": "update", "DeleteStmt": "delete"}
_NOT_IN_QUERIES: Final = names("IntoClause LockingClause")
_SHOWN: Final = _read_names("settings.txt")
"""Settings that matter for a query. Others may hold paths, addresses and an application's own secrets."""
_EXPLAIN_OPTIONS: Final = frozenset({"costs", "format", "summary", "verbose"})
_NO_CATALOG: Final = "Use search_schemas, or information_schema.tables and information_schema.columns."
_TOO_DEEP: Final = Refused("The statement is nested too deeply to be read.", "Ask in simpler statements.")


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
    columns: list[tuple[str, int]] = field(default_factory=list)
    """References without their tables, each with its position."""
    aliases: set[str] = field(default_factory=set)
    """Of tables."""
    with_names: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)
    """Names that the statement itself gives to columns."""
    has_rows: bool = False
    """Whether it uses rows without naming their columns: a star, a table as a value, a function as a table."""

    @property
    def writes(self) -> bool:
        return self.kind in _WRITES.values()


def read_statement(text: str, open_names: OpenNames | None) -> Statement | Refused | Failed:
    """The one statement of a text, if it may be run."""
    try:
        if len(text) > MAX_WORDS and sum(word.name not in _LEAVES for word in scan(text)) > MAX_WORDS:
            return _TOO_DEEP
        parsed = parse_sql(text)
    except ParseError as error:
        return _syntax_error(error, text)
    if len(parsed) != 1:
        why = "The text holds no statement." if not parsed else f"The text holds {len(parsed)} statements."
        return Refused(why, "Send one statement at a time.")
    try:
        return _classify(text, parsed[0].stmt, open_names)
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
    def __init__(self, why: Refused | Failed) -> None:
        self.why = why


def _refused(why: str, fix: str) -> _RefusedError:
    return _RefusedError(Refused(why, fix))


def _no_query(node: str) -> _RefusedError:
    title = re.sub(r"(?<!^)(?=[A-Z])", " ", node.removesuffix("Stmt")).upper()
    return _refused(f"The statement holds {title}, which is not a query.", QUERIES_ONLY)


def _classify(text: str, stmt: Any, open_names: OpenNames | None) -> Statement:
    node, targets = type(stmt).__name__, list[Any]()
    match stmt:
        case ast.SelectStmt():
            found = Statement("select", text)
        case ast.ExplainStmt():
            options = {option.defname.lower() for option in stmt.options or ()}
            if strange := sorted(options - _EXPLAIN_OPTIONS):
                name = strange[0].upper()
                raise _refused(f"EXPLAIN with {name} is not answered.", f"Leave {name} out.")
            if not isinstance(stmt.query, ast.SelectStmt):
                raise _RefusedError(NOT_EXPLAINED)
            found, stmt = Statement("explain", text), stmt.query
        case ast.VariableShowStmt() if stmt.name.lower() in _SHOWN:
            return Statement("show", text)
        case ast.VariableShowStmt():
            raise _refused(f"SHOW {stmt.name} is not answered.", f"These are: {', '.join(sorted(_SHOWN))}.")
        case _ if node in _WRITES:
            found = Statement(_WRITES[node], text)
            targets = [*(getattr(stmt, "cols", None) or (node == "UpdateStmt" and stmt.targetList) or ())]
        case _:
            raise _no_query(node)
    _Walk(found, open_names).children(stmt, 0)
    found.columns += [(target.name, target.location) for target in targets]
    found.defined.difference_update(target.name for target in targets)
    found.has_rows |= any(name in found.aliases for name, _ in found.columns)
    return found


class _Walk:
    """Goes over a tree once, collects what it names, and ends with `_RefusedError` where it may not be run."""

    def __init__(self, found: Statement, open_names: OpenNames | None) -> None:
        self._found = found
        self._open_names = open_names

    def node(self, node: Any, depth: int) -> None:
        kind = type(node).__name__
        if kind in _NOT_IN_QUERIES or (kind.endswith("Stmt") and kind != "SelectStmt"):
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
            case ast.ColumnRef(fields=[*_, ast.String(sval=name)]):
                found.columns.append((name, node.location))
            case ast.ColumnRef() | ast.RangeFunction() | ast.RangeTableFunc() | ast.JsonTable():
                found.has_rows = True
            case ast.JoinExpr():
                found.columns += [(part.sval, -1) for part in node.usingClause or ()]
            case ast.ResTarget():
                found.defined.add(node.name or "")
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
        self._found.tables.append(table)
        self._found.aliases.add(node.alias.aliasname if node.alias else node.relname)
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
        if self._open_names is not None and name not in self._open_names.types:
            raise _RefusedError(Failed(f"type {name!r} does not exist or cannot be used here"))

    def _function(self, node: Any) -> None:
        name = _name(node.funcname, node.location)
        self._found.defined.add(name.name)
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
