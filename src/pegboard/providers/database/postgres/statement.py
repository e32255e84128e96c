"""One statement, read by PostgreSQL's own grammar: whether it reads or writes, and whether it may be run at all.

What it may read is left to the server. Nothing is asked of a server here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pglast import ast as _ast
from pglast import parse_sql
from pglast.parser import ParseError, scan

from pegboard.core.databases.rows import StatementFailure, StatementFault, StatementRefusal
from pegboard.providers.database.common import NOT_EXPLAINED
from pegboard.providers.database.postgres.privileges import CALLABLE, PgPrivileges
from pegboard.providers.database.server import QUERIES_ONLY, names, read_names

# Its types say that anything may be missing anywhere, which the grammar knows better.
ast: Any = _ast

ABOUT_TABLES: Final = read_names(__package__, "catalog.txt")
_ABOUT_OTHERS: Final = frozenset({"referential_constraints", "triggers"})
"""What names more than the tables that may be read."""
MAX_WORDS: Final = 4000
"""Without commas and values. The grammar may build a tree as deep as that, and the stack ends at some 15,000."""
_LEAVES: Final = names("ASCII_44 FCONST ICONST PARAM SCONST")
_WRITES: Final = names("insert update delete")
_NOT_IN_QUERIES: Final = names("IntoClause LockingClause")
_SHOWABLE_SETTINGS: Final = read_names(__package__, "settings.txt")
"""Settings that matter for a query. Others may hold paths, addresses and an application's own secrets."""
_SETTINGS_TEXT: Final = ", ".join(sorted(_SHOWABLE_SETTINGS))
_EXPLAIN_OPTIONS: Final = frozenset({"costs", "format", "summary", "verbose"})
_NO_CATALOG: Final = "Use search_schemas, or information_schema.tables and information_schema.columns."


@dataclass(frozen=True)
class PostgresStatement:
    kind: str
    """select, explain, show, insert, update or delete."""
    text: str
    tables: frozenset[str] = frozenset()
    """With their schemas where it names them; also what WITH calls so."""
    named_queries: frozenset[str] = frozenset()
    """What WITH calls so."""

    @property
    def writes(self) -> bool:
        return self.kind in _WRITES


def read_statement(
    text: str, privileges: PgPrivileges | None
) -> PostgresStatement | StatementRefusal | StatementFailure:
    """The one statement of a text, if it may be run. Without privileges nothing is known of its database."""
    try:
        if len(text) > MAX_WORDS and sum(word.name not in _LEAVES for word in scan(text)) > MAX_WORDS:
            return StatementRefusal("The statement is nested too deeply to be read.", "Ask in simpler statements.")
        parsed = parse_sql(text)
    except ParseError as error:
        return _syntax_error(error, text)
    if len(parsed) != 1:
        why = "The text holds no statement." if not parsed else f"The text holds {len(parsed)} statements."
        return StatementRefusal(why, "Send one statement at a time.")
    tree = parsed[0].stmt
    kind = type(tree).__name__.removesuffix("Stmt").lower()
    match tree:
        case ast.VariableShowStmt():
            if tree.name.lower() in _SHOWABLE_SETTINGS:
                return PostgresStatement("show", text)
            return StatementRefusal(f"SHOW {tree.name} is not answered.", f"These are: {_SETTINGS_TEXT}.")
        case ast.ExplainStmt():
            if strange := sorted({option.defname.lower() for option in tree.options or ()} - _EXPLAIN_OPTIONS):
                name = strange[0].upper()
                return StatementRefusal(f"EXPLAIN with {name} is not answered.", f"Leave {name} out.")
            tree = tree.query
            if not isinstance(tree, ast.SelectStmt):
                return NOT_EXPLAINED
        case _ if kind not in {"select", *_WRITES}:
            return _no_query(type(tree).__name__)
    tables, named, overloads = set[str](), set[str](), frozenset[str]() if privileges is None else privileges.overloads
    # Where nothing is closed, nothing is to be kept from anyone.
    closing = None if privileges is None or privileges.access.is_unrestricted else privileges
    for node in _nodes(tree):
        if refusal := _refusal(node, kind, closing):
            return refusal
        parts = [part.sval for part in node.funcname] if isinstance(node, ast.FuncCall) else [""]
        if parts[-1] in overloads and parts[0] != "pg_catalog":
            why = f"{parts[-1]}() is also a function of this database; pg_catalog.{parts[-1]}() is the server's own"
            return StatementFailure(why, node.location, StatementFault.NO_FUNCTION, parts[-1])
        if isinstance(node, ast.RangeVar) and node.schemaname != "information_schema":
            tables.add(_qualified_name(node.schemaname, node.relname))
        named |= {node.ctename} if isinstance(node, ast.CommonTableExpr) else set()
    return PostgresStatement(kind, text, frozenset(tables), frozenset(named))


def _syntax_error(error: ParseError, text: str) -> StatementFailure:
    words = str(error.args[0])
    position = error.args[1] if len(error.args) > 1 else None
    named = re.search(r'at or near "(.+)"$', words, re.DOTALL)
    if position is not None and named is not None and (found := text.find(named[1], position)) >= 0:
        position = found  # counted down once too often for each letter beyond ASCII that stands before it
    return StatementFailure(words, position, StatementFault.SYNTAX)


def _no_query(node: str) -> StatementRefusal:
    title = re.sub(r"(?<!^)(?=[A-Z])", " ", node.removesuffix("Stmt")).upper()
    return StatementRefusal(f"The statement holds {title}, which is not a query.", QUERIES_ONLY)


def _nodes(tree: Any) -> Iterator[Any]:
    """All below the first, in the order of the tree."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple):
            pending += reversed(node)
        elif isinstance(node, ast.Node):
            if node is not tree:
                yield node
            pending += [getattr(node, label) for label in reversed(node.__slots__)]


def _refusal(node: Any, statement: str, closing: PgPrivileges | None) -> StatementRefusal | StatementFailure | None:
    """Why a statement of this kind may not be run that holds the node."""
    kind = type(node).__name__
    if kind in _NOT_IN_QUERIES or (kind.endswith("Stmt") and kind != "SelectStmt"):
        return _no_query(kind)
    match node:
        case ast.RangeVar():
            return _refused_table(node.schemaname, node.relname, statement, is_open=closing is None)
        case ast.TypeName():
            name = node.names[-1].sval.lstrip("_")
            if closing is not None and name not in closing.open_types:
                return StatementFailure(f"type {name!r} does not exist or cannot be used here")
        case ast.String(sval="pg_typeof") if closing is not None:
            # Also as a column of a row. A text beside it becomes the name of a table.
            return StatementFailure("pg_typeof does not exist or cannot be used here")
        case ast.FuncCall(funcname=[*_, ast.String(sval="st_transform")], args=args) if not _is_srid(args):
            why = "ST_Transform() is answered for the number of a reference system alone: a text can name files."
            return StatementRefusal(why, "Write it as ST_Transform(value, 4326).")
        case ast.FuncCall(funcname=[*_, ast.String(sval="current_setting")]):
            match node.args:
                case [ast.A_Const(val=ast.String(sval=setting)), *_] if setting.lower() in _SHOWABLE_SETTINGS:
                    return None
            return StatementRefusal(
                "current_setting() is answered for a few settings alone.", f"These: {_SETTINGS_TEXT}."
            )
        case ast.FuncCall() | ast.RangeTableSample():
            parts = [part.sval for part in (node.funcname if isinstance(node, ast.FuncCall) else node.method)]
            if parts[-1] not in CALLABLE and (closing is not None or parts[-1] not in ABOUT_TABLES):
                written = ".".join(parts[-2:])
                words = f"function {written}() does not exist, or does more than compute and may not be called here"
                return StatementFailure(words, node.location, StatementFault.NO_FUNCTION, written)
    return None


def _is_srid(arguments: Any) -> bool:
    match arguments:
        case [_, ast.A_Const(val=ast.Integer())]:
            return True
    return False


def _refused_table(schema: str | None, name: str, statement: str, *, is_open: bool) -> StatementRefusal | None:
    is_system = (schema or "pg_catalog").startswith("pg_") and name.startswith("pg_")
    if schema == "information_schema":
        if statement == "explain" and not is_open:
            return StatementRefusal("What is read of information_schema is not explained.", "Run the query itself.")
        is_system = name not in ABOUT_TABLES or (name in _ABOUT_OTHERS and not is_open)
    elif name in ABOUT_TABLES:
        is_system &= not is_open
    if not is_system:
        return None
    title = _qualified_name(schema, name)
    return StatementRefusal(f"{title!r} describes the server rather than the tables.", _NO_CATALOG)


def _qualified_name(schema: str | None, name: str) -> str:
    return name if schema is None else f"{schema}.{name}"
