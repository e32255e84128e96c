"""One statement, read by PostgreSQL's own grammar: whether it reads or writes, and whether it may be run at all.

What it may read is left to the server. Nothing is asked of a server here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from pglast import ast as _ast
from pglast import parse_sql
from pglast.parser import ParseError, scan

from pegboard.core.database import Failed, Fault
from pegboard.providers.builtin.database.names import names
from pegboard.providers.builtin.database.unreadable import NOT_EXPLAINED, Unreadable

from .functions import ABOUT_CATALOG, CALLABLE, CATALOG
from .privileges import Closed

# Its types say that anything may be missing anywhere, which the grammar knows better.
ast: Any = _ast

MAX_LENGTH: Final = 100_000
MAX_DEPTH: Final = 200
"""Levels of brackets, operators and subqueries: far more than people write, far less than a stack holds."""
MAX_RUN: Final = 4000
"""Words in a row without a comma. The grammar builds a tree as deep as that, and the stack ends at some 15,000."""

QUERIES_ONLY: Final = "Only queries are answered here: SELECT, WITH … SELECT, VALUES, TABLE, EXPLAIN, SHOW."
QUERIES_AND_WRITES: Final = f"{QUERIES_ONLY.removesuffix('.')}; and INSERT, UPDATE and DELETE."

_WRITES: Final = {"InsertStmt": "INSERT", "UpdateStmt": "UPDATE", "DeleteStmt": "DELETE"}
_READING: Final = names(
    """
    A_ArrayExpr A_Const A_Expr A_Indices A_Indirection A_Star Alias BitString BoolExpr Boolean BooleanTest
    CTECycleClause CTESearchClause CaseExpr CaseWhen CoalesceExpr CollateClause ColumnDef ColumnRef CommonTableExpr
    Float FuncCall GroupingFunc GroupingSet Integer JoinExpr JsonAggConstructor JsonArgument JsonArrayAgg
    JsonArrayConstructor JsonArrayQueryConstructor JsonBehavior JsonFormat JsonFuncExpr JsonIsPredicate JsonKeyValue
    JsonObjectAgg JsonObjectConstructor JsonOutput JsonParseExpr JsonReturning JsonScalarExpr JsonSerializeExpr
    JsonTable JsonTableColumn JsonTablePathSpec JsonValueExpr MinMaxExpr NamedArgExpr NullTest ParamRef
    RangeFunction RangeSubselect RangeTableFunc RangeTableFuncCol RangeTableSample RangeVar ResTarget RowExpr
    SQLValueFunction SelectStmt SortBy String SubLink TypeCast TypeName WindowDef WithClause XmlExpr XmlSerialize
    """
)
"""Parts of the grammar that a query may be made of. What is not named here is refused."""
_WRITING: Final = _READING | names("IndexElem InferClause MultiAssignRef OnConflictClause ReturningClause SetToDefault")
_TITLES: Final = _WRITES | {
    "CreateTableAsStmt": "CREATE TABLE AS",
    "IntoClause": "SELECT INTO",
    "LockingClause": "a row lock (FOR UPDATE, FOR SHARE)",
    "TransactionStmt": "a command of transactions",
    "VacuumStmt": "VACUUM or ANALYZE",
    "VariableSetStmt": "SET",
}
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
_ELSEWHERE: Final = names(
    "foreign_data_wrapper_options foreign_server_options foreign_table_options user_mapping_options user_mappings"
)
_ABOUT_TYPES: Final = names(
    "attributes domain_constraints domain_udt_usage domains element_types udt_privileges user_defined_types"
)
"""Of information_schema, what names types: rows of something closed may lie in one."""
_NO_CATALOG: Final = "Use search_schemas, or information_schema.tables and information_schema.columns."
_TOO_DEEP: Final = Unreadable("The statement is nested too deeply to be read.", "Ask in simpler statements.")


@dataclass(frozen=True)
class Name:
    """Of a table, a function or a type, as it was written."""

    schema: str | None
    name: str
    position: int
    suffix: str = ""

    @property
    def written(self) -> str:
        return f"{self.name if self.schema is None else f'{self.schema}.{self.name}'}{self.suffix}"


@dataclass
class Statement:
    kind: str
    """select, explain, show, insert, update or delete."""
    tables: list[Name] = field(default_factory=list)
    functions: list[Name] = field(default_factory=list)
    types: list[Name] = field(default_factory=list)
    columns: list[tuple[tuple[str, ...], int]] = field(default_factory=list)
    """References without their stars, each with its position."""
    defined: set[str] = field(default_factory=set)
    """Names that the statement itself gives to columns."""
    aliases: dict[str, str] = field(default_factory=dict)
    """Of tables."""
    has_star: bool = False
    is_by_position: bool = False
    """Whether columns of tables are joined or renamed by what there is: NATURAL JOIN, `t(a, b)`."""
    has_type_names: bool = False
    """Whether a value of pg_typeof is taken further than to the caller or into a text."""
    has_sources: bool = False
    """Whether it reads from functions, of which nobody here knows the columns."""

    @property
    def writes(self) -> bool:
        return self.kind in {"insert", "update", "delete"}


def read_statement(text: str, *, write: bool) -> Statement | Unreadable | Failed:
    """The one statement of a text."""
    if len(text) > MAX_LENGTH:
        why = f"The statement has {len(text):,} characters; {MAX_LENGTH:,} are taken."
        return Unreadable(why, "Bind long values as parameters, and ask in several statements.")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        why = "The statement holds a character that no database takes (NUL or half a surrogate)."
        return Unreadable(why, "Leave it out.")
    try:
        if len(text) > MAX_RUN and _longest_run(text) > MAX_RUN:
            return _TOO_DEEP
        parsed = parse_sql(text)
    except ParseError as error:
        return _syntax_error(error, text)
    if len(parsed) != 1:
        why = "The text holds no statement." if not parsed else f"The text holds {len(parsed)} statements."
        return Unreadable(why, "Send one statement at a time.")
    try:
        return _classify(parsed[0].stmt, write)
    except _RefusedError as refused:
        return refused.why


def _syntax_error(error: ParseError, text: str) -> Failed:
    words = str(error.args[0])
    position = error.args[1] if len(error.args) > 1 else None
    named = re.search(r'at or near "(.+)"$', words, re.DOTALL)
    if position is not None and named is not None and (found := text.find(named[1], position)) >= 0:
        position = found  # counted down once too often for each letter beyond ASCII that stands before it
    return Failed(words, position, Fault.SYNTAX)


def _longest_run(text: str) -> int:
    """How deep a tree may become: no list makes it deeper, whatever its length."""
    longest, here = 0, 0
    outer: list[int] = []
    for token in scan(text):
        match token.name:
            case "ASCII_40" | "ASCII_91":
                here += 1
                outer.append(here)
            case "ASCII_41" | "ASCII_93" if outer:
                here = outer.pop()
            case "ASCII_44":
                here = outer[-1] if outer else 0
            case _:
                here += 1
        longest = max(longest, here)
    return longest


class _RefusedError(Exception):
    def __init__(self, why: Unreadable) -> None:
        self.why = why


def _refused(node: str) -> Unreadable:
    title = _TITLES.get(node) or re.sub(r"(?<!^)(?=[A-Z])", " ", node.removesuffix("Stmt")).upper()
    return Unreadable(f"The statement holds {title}, which is not a query.", QUERIES_ONLY, node in _WRITES)


def _classify(stmt: Any, write: bool) -> Statement:
    kind = type(stmt).__name__
    match stmt:
        case ast.SelectStmt():
            return _walked(Statement("select"), stmt, _READING)
        case ast.ExplainStmt():
            options = {option.defname.lower() for option in stmt.options or ()}
            if "analyze" in options:
                raise _RefusedError(Unreadable("EXPLAIN ANALYZE runs the statement.", "Leave ANALYZE out."))
            if strange := sorted(options - _EXPLAIN_OPTIONS):
                name = strange[0].upper()
                raise _RefusedError(Unreadable(f"EXPLAIN with {name} is not answered.", f"Leave {name} out."))
            if not isinstance(stmt.query, ast.SelectStmt):
                raise _RefusedError(Unreadable(NOT_EXPLAINED.why, NOT_EXPLAINED.mend))
            return _walked(Statement("explain"), stmt.query, _READING)
        case ast.VariableShowStmt():
            if stmt.name.lower() in _SHOWN:
                return Statement("show")
            fix = f"These are: {', '.join(sorted(_SHOWN))}."
            raise _RefusedError(Unreadable(f"SHOW {stmt.name} is not answered.", fix))
    if kind in _WRITES and write:
        return _walked(Statement(_WRITES[kind].lower()), stmt, _WRITING)
    raise _RefusedError(_refused(kind))


def _walked(found: Statement, stmt: Any, parts: frozenset[str]) -> Statement:
    _Walk(found, parts).children(stmt, frozenset(), 0)
    return found


class _Walk:
    """Goes over a tree once, with the names that WITH gives where they hold."""

    def __init__(self, found: Statement, parts: frozenset[str]) -> None:
        self._found = found
        self._parts = parts

    def node(self, node: Any, scope: frozenset[str], depth: int) -> None:
        if type(node).__name__ not in self._parts:
            raise _RefusedError(_refused(type(node).__name__))
        if depth > MAX_DEPTH:
            raise _RefusedError(_TOO_DEEP)
        found = self._found
        match node:
            case ast.RangeVar():
                self._table(node, scope)
            case ast.FuncCall():
                self._function(node)
            case ast.TypeCast() if _is_typeof(node.arg) and node.typeName.names[-1].sval == "text":
                self.children(node.arg, scope, depth)
                return
            case ast.RangeTableSample():
                found.functions.append(_name(node.method, node.location))
            case ast.TypeName():
                if node.pct_type or not node.names:
                    why = "A type copied from a column (%TYPE) is not read here."
                    raise _RefusedError(Unreadable(why, "Name the type itself."))
                found.types.append(_name(node.names, node.location, "[]" if node.arrayBounds else ""))
            case ast.ColumnRef():
                words = tuple(part.sval for part in node.fields if isinstance(part, ast.String))
                found.has_star |= len(words) < len(node.fields)
                if len(words) == len(node.fields):
                    found.columns.append((words, node.location))
            case ast.JoinExpr() if node.isNatural:
                found.is_by_position = True
            case ast.JoinExpr() if node.usingClause:
                found.columns += [((part.sval,), -1) for part in node.usingClause]
            case ast.RangeFunction() | ast.RangeTableFunc() | ast.JsonTable():
                found.has_sources = True
            case ast.ResTarget() if depth == 1 and _is_typeof(node.val):
                self.children(node.val, scope, depth)
                return
            case ast.ResTarget() if node.name:
                found.defined.add(node.name)
            case ast.CommonTableExpr() if node.aliascolnames:
                found.defined.update(part.sval for part in node.aliascolnames)
            case ast.Alias() if node.colnames:
                found.defined.update(part.sval for part in node.colnames)
        self.children(node, scope, depth)

    def children(self, node: Any, scope: frozenset[str], depth: int) -> None:
        if (clause := getattr(node, "withClause", None)) is not None:
            if clause.recursive:
                scope |= {cte.ctename for cte in clause.ctes}
            for cte in clause.ctes:
                self.node(cte, scope, depth + 1)
                scope |= {cte.ctename}
        for label in node.__slots__:
            value = getattr(node, label)
            if label == "withClause" or not isinstance(value, ast.Node | tuple):
                continue
            # What is written to is never what WITH gives a name to.
            inner = frozenset[str]() if label == "relation" and type(node).__name__ in _WRITES else scope
            for each in _nodes(value):
                self.node(each, inner, depth + 1)

    def _table(self, node: Any, scope: frozenset[str]) -> None:
        if node.alias is not None and node.alias.colnames:
            self._found.is_by_position = True
        if node.schemaname is None and node.relname in scope:
            return
        self._found.tables.append(Name(node.schemaname, node.relname, node.location))
        self._found.aliases[node.alias.aliasname if node.alias else node.relname] = node.relname

    def _function(self, node: Any) -> None:
        name = _name(node.funcname, node.location)
        if name.name != "current_setting":
            self._found.functions.append(name)
            self._found.has_type_names |= name.name == "pg_typeof"
            return
        [first, *_] = node.args or [None]
        if not (
            isinstance(first, ast.A_Const) and isinstance(first.val, ast.String) and first.val.sval.lower() in _SHOWN
        ):
            why = "current_setting() is answered for a few settings alone."
            raise _RefusedError(Unreadable(why, f"These: {', '.join(sorted(_SHOWN))}."))


def _is_typeof(node: Any) -> bool:
    return isinstance(node, ast.FuncCall) and node.funcname[-1].sval == "pg_typeof"


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for each in value:
            yield from _nodes(each)
    elif isinstance(value, ast.Node):
        yield value


def _name(parts: Any, position: int, suffix: str = "") -> Name:
    *before, name = [part.sval for part in parts]
    return Name(before[-1] if before else None, name, position, suffix)


def judge(statement: Statement, hidden: Closed | None) -> Unreadable | Failed | Name | None:
    """Why it is not run: a name where it calls a function that is on no list."""
    for table in statement.tables:
        if table.schema == "information_schema":
            if table.name in _ELSEWHERE or (hidden is not None and table.name in _ABOUT_TYPES):
                return Unreadable(f"{table.written!r} describes more than tables.", _NO_CATALOG)
            if statement.kind == "explain" and hidden is not None:
                return Unreadable("What is read of information_schema is not explained.", "Run the query itself.")
        elif (table.schema or "pg_catalog").startswith("pg_") and table.name.startswith("pg_"):
            if hidden is not None:
                return Unreadable("The system catalog names what is closed.", _NO_CATALOG)
            if table.name not in CATALOG:
                return Unreadable(f"{table.written!r} describes the server rather than the tables.", _NO_CATALOG)
        elif table.name.startswith("pg_stat_statements") or (hidden is not None and table.name in hidden.catalog):
            return Unreadable(f"{table.written!r} describes the server rather than the tables.", _NO_CATALOG)
        elif hidden is not None and statement.is_by_position and table.name in hidden.partial:
            why = (
                f"Columns of {table.written!r} are joined or renamed by their places, and not all of them can be read."
            )
            return Unreadable(why, "Name the columns: JOIN … USING (…), SELECT a AS b.")
    for function in statement.functions:
        if function.name not in CALLABLE and (function.name not in ABOUT_CATALOG or hidden is not None):
            return function
    if hidden is not None and statement.has_type_names:
        return Unreadable(
            "pg_typeof() gives a type, with which others could be looked up.", "Write pg_typeof(…)::text."
        )
    for kind in statement.types if hidden is not None else ():
        if kind.name.lstrip("_") in _NAME_TYPES:
            why = f"The type {kind.name} looks names up in the catalog."
            return Unreadable(why, "Use search_schemas for what there is.")
        if hidden is not None and kind.name in hidden.types:
            return Failed(f'type "{kind.written}" does not exist', kind.position)
    return None
