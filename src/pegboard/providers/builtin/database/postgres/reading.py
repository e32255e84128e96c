"""What one statement is and what it names, read by PostgreSQL's own grammar. Nothing is asked of a server here."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pglast import ast as _ast
from pglast import parse_sql
from pglast.enums.primnodes import SubLinkType
from pglast.parser import ParseError, scan

from pegboard.providers.builtin.database.unreadable import Unreadable as Unreadable

from .grammar import EXPLAINED, EXPRESSIONS, NAMES, SHOWN, WRITING

# Its types say that anything may be missing anywhere, which the grammar knows better.
ast: Any = _ast

LONGEST: Final = 100_000
DEEPEST: Final = 200
"""Levels of brackets, operators and subqueries: far more than people write, far less than a stack holds."""
LONGEST_RUN: Final = 4000
"""Words in a row without a comma. The grammar builds a tree as deep as that, and the stack ends at some 15,000."""

ONLY: Final = "Only queries are answered here: SELECT, WITH … SELECT, VALUES, TABLE, EXPLAIN, SHOW."
ONLY_AND_WRITES: Final = f"{ONLY.removesuffix('.')}; and INSERT, UPDATE and DELETE."


@dataclass(frozen=True)
class Broken:
    """What the grammar said, and the character at which it stopped, counted from 0."""

    words: str
    position: int | None


@dataclass(frozen=True)
class Named:
    """A table, view or the like, as it was written."""

    schema: str | None
    name: str
    position: int
    alias: bool
    plain: bool
    """Written as a name alone: neither ONLY nor TABLESAMPLE."""
    target: bool = False

    @property
    def written(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class Called:
    """A function, as it was called; `count` is None where the arguments are spread from an array."""

    schema: str | None
    name: str
    count: int | None
    position: int
    constant: str | None = None
    """The one argument, where it is a text that was written down."""

    @property
    def written(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class Reading:
    kind: str
    """select, explain, show, insert, update or delete."""
    named: tuple[Named, ...] = ()
    called: tuple[Called, ...] = ()
    operators: frozenset[tuple[str | None, str]] = frozenset()
    types: tuple[Called, ...] = ()
    fields: frozenset[str] = frozenset()
    """Last parts of column references: `t.f` may call f(t)."""
    bare: frozenset[str] = frozenset()
    """References of one word, and `t` of `t.*`: what may stand for a whole row."""
    aliases: frozenset[str] = frozenset()
    stars: bool = False
    arrays: bool = False
    """Whether it puts arrays together."""
    verbose: bool = False
    placed: tuple[Called, ...] = ()
    """Collations and classes of operators that are named with their schema."""
    query: int = 0
    """Where the query begins that is to be explained."""

    @property
    def writes(self) -> bool:
        return self.kind in {"insert", "update", "delete"}


def read(statement: str, *, write: bool) -> Reading | Unreadable | Broken:
    """The one statement of a text."""
    if fault := unfit(statement):
        return fault
    try:
        if len(statement) > LONGEST_RUN and _run(statement) > LONGEST_RUN:
            return _DEEP
        parsed = parse_sql(statement)
    except ParseError as error:
        return _broken(error, statement)
    if len(parsed) != 1:
        told = "The text holds no statement." if not parsed else f"The text holds {len(parsed)} statements."
        return Unreadable(told, "Send one statement at a time.")
    reading = _judged(parsed[0].stmt, write)
    if isinstance(reading, Reading) and reading.kind == "explain":
        return replace(reading, query=_query(statement, parsed[0].stmt))
    return reading


def _query(statement: str, stmt: Any) -> int:
    """Behind EXPLAIN and its options."""
    tokens = [token for token in scan(statement) if token.name not in {"SQL_COMMENT", "C_COMMENT"}]
    place = 1
    if stmt.options and tokens[place].name == "ASCII_40":
        while tokens[place].name != "ASCII_41":
            place += 1
        place += 1
    while tokens[place].name == "VERBOSE":
        place += 1
    start: int = tokens[place].start
    return start


def _broken(error: ParseError, statement: str) -> Broken:
    words = str(error.args[0])
    position = error.args[1] if len(error.args) > 1 else None
    named = re.search(r'at or near "(.+)"$', words, re.DOTALL)
    if position is not None and named is not None:
        # Counted down once too often for each letter beyond ASCII that stands before it.
        found = statement.find(named[1], position)
        position = found if found >= 0 else position
    return Broken(words, position)


_DEEP: Final = Unreadable("The statement is nested too deeply to be read.", "Ask in simpler statements.")


def _run(statement: str) -> int:
    """How deep a tree may become: no list makes it deeper, whatever its length."""
    longest, here = 0, 0
    outer: list[int] = []
    for token in scan(statement):
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


def unfit(statement: str) -> Unreadable | None:
    if len(statement) > LONGEST:
        return Unreadable(
            f"The statement has {len(statement):,} characters; {LONGEST:,} are taken.",
            "Bind long values as parameters, and ask in several statements.",
        )
    if "\0" in statement or any("\ud800" <= character <= "\udfff" for character in statement):
        return Unreadable(
            "The statement holds a character that no database takes (NUL or half a surrogate).", "Leave it out."
        )
    return None


def _judged(stmt: Any, write: bool) -> Reading | Unreadable:
    match stmt:
        case ast.SelectStmt():
            return _Walk(EXPRESSIONS).whole(stmt, "select")
        case ast.ExplainStmt():
            options = {option.defname.lower(): option.arg for option in stmt.options or ()}
            if "analyze" in options:
                return Unreadable("EXPLAIN ANALYZE runs the statement.", "Leave ANALYZE out.")
            if strange := sorted(options.keys() - EXPLAINED):
                return Unreadable(
                    f"EXPLAIN with {strange[0].upper()} is not answered.", f"Leave {strange[0].upper()} out."
                )
            if not isinstance(stmt.query, ast.SelectStmt):
                return Unreadable("Only queries are explained.", "Give EXPLAIN a SELECT.")
            verbose = "verbose" in options and _is_on(options["verbose"])
            return _Walk(EXPRESSIONS).whole(stmt.query, "explain", verbose=verbose)
        case ast.VariableShowStmt():
            if stmt.name.lower() in SHOWN:
                return Reading("show")
            return Unreadable(f"SHOW {stmt.name} is not answered.", f"These are: {', '.join(sorted(SHOWN))}.")
        case ast.InsertStmt() | ast.UpdateStmt() | ast.DeleteStmt():
            if not write:
                return replace(_refused(type(stmt).__name__), is_write=True)
            kind = type(stmt).__name__.removesuffix("Stmt").lower()
            return _Walk(EXPRESSIONS | WRITING).whole(stmt, kind)
    return _refused(type(stmt).__name__)


def _is_on(option: Any) -> bool:
    """As the server reads an option's value: what it would not take, it refuses itself."""
    written = next((getattr(option, name) for name in ("boolval", "ival", "sval") if hasattr(option, name)), True)
    return str(written).lower() not in {"false", "off", "0"}


def _refused(node: str) -> Unreadable:
    told = NAMES.get(node, node.removesuffix("Stmt"))
    return Unreadable(f"The statement holds {told}, which is not a query.", ONLY)


_EQUAL: Final = (None, "=")
"""What IN, USING, NATURAL and CASE x WHEN y compare with, though nobody writes it."""
_BETWEEN: Final = frozenset((None, sign) for sign in ("<", "<=", ">", ">="))
"""What BETWEEN is written out as."""


class _Stop(Exception):  # noqa: N818 - it carries an answer out of the walk
    def __init__(self, answer: Unreadable) -> None:
        self.answer = answer


@dataclass
class _Walk:
    """Goes over a tree once, with the names that WITH gives where they hold."""

    nodes: frozenset[str]
    named: list[Named] = field(default_factory=list)
    called: list[Called] = field(default_factory=list)
    operators: set[tuple[str | None, str]] = field(default_factory=set)
    types: list[Called] = field(default_factory=list)
    fields: set[str] = field(default_factory=set)
    bare: set[str] = field(default_factory=set)
    aliases: set[str] = field(default_factory=set)
    stars: bool = False
    arrays: bool = False
    placed: list[Called] = field(default_factory=list)

    def whole(self, stmt: ast.Node, kind: str, *, verbose: bool = False) -> Reading | Unreadable:
        try:
            self.node(stmt, frozenset(), 0, top=True)
        except _Stop as stop:
            return stop.answer
        return Reading(
            kind,
            tuple(self.named),
            tuple(self.called),
            frozenset(self.operators),
            tuple(self.types),
            frozenset(self.fields),
            frozenset(self.bare),
            frozenset(self.aliases),
            self.stars,
            self.arrays,
            verbose,
            tuple(self.placed),
        )

    def node(self, node: Any, scope: frozenset[str], depth: int, *, top: bool = False) -> None:
        name = type(node).__name__
        if name not in self.nodes or (name in {"InsertStmt", "UpdateStmt", "DeleteStmt"} and not top):
            raise _Stop(_refused(name))
        if depth > DEEPEST:
            raise _Stop(_DEEP)
        match node:
            case ast.SelectStmt() | ast.InsertStmt() | ast.UpdateStmt() | ast.DeleteStmt():
                scope = self._with(node, scope, depth)
                for label, value in _children(node):
                    if label == "relation":
                        self._range(value, frozenset(), target=True)
                    elif label != "withClause":
                        self._each(value, scope, depth)
                return
            case ast.RangeVar():
                self._range(node, scope)
            case ast.RangeTableSample() if isinstance(node.relation, ast.RangeVar):
                self._range(node.relation, scope, plain=False)
                self._each((node.args, node.repeatable), scope, depth)
                if [part.sval for part in node.method] not in (["bernoulli"], ["system"]):
                    self._function(node.method, 1, node.location, None)
                return
            case ast.FuncCall():
                self._call(node)
            case ast.A_Expr():
                self._operator(node.name)
                if "BETWEEN" in node.name[0].sval:
                    self.operators |= _BETWEEN
            case ast.SubLink():
                self.arrays = self.arrays or node.subLinkType == SubLinkType.ARRAY_SUBLINK
                if node.operName:
                    self._operator(node.operName)
                elif node.testexpr is not None:
                    self.operators.add(_EQUAL)
            case ast.A_ArrayExpr():
                self.arrays = True
            case ast.JoinExpr() if node.usingClause or node.isNatural:
                self.operators.add(_EQUAL)
            case ast.CaseExpr() if node.arg is not None:
                self.operators.add(_EQUAL)
            case ast.SortBy() if node.useOp:
                self._operator(node.useOp)
            case ast.TypeName():
                self._type(node)
            case ast.CollateClause():
                self._placed(node.collname, node.location)
            case ast.IndexElem():
                for parts in (node.collation, node.opclass):
                    self._placed(parts or (), -1)
            case ast.Alias():
                self.aliases.add(node.aliasname)
            case ast.ColumnRef() | ast.A_Indirection():
                self._reference(node)
        for _, value in _children(node):
            self._each(value, scope, depth)

    def _each(self, value: Any, scope: frozenset[str], depth: int) -> None:
        if isinstance(value, ast.Node):
            self.node(value, scope, depth + 1)
        elif isinstance(value, tuple):
            for item in value:
                self._each(item, scope, depth)

    def _with(self, node: Any, scope: frozenset[str], depth: int) -> frozenset[str]:
        clause = node.withClause
        if clause is None:
            return scope
        if clause.recursive:
            scope |= {cte.ctename for cte in clause.ctes}
        for cte in clause.ctes:
            self.node(cte, scope, depth + 1)
            scope |= {cte.ctename}
        return scope

    def _range(self, node: Any, scope: frozenset[str], *, plain: bool = True, target: bool = False) -> None:
        if not isinstance(node, ast.RangeVar):
            raise _Stop(_refused(type(node).__name__))
        if node.schemaname is None and node.relname in scope:
            return
        self.aliases.add(node.relname)
        if node.alias is not None:
            self.aliases.add(node.alias.aliasname)
        whole = plain and node.inh is not False and node.catalogname is None
        self.named.append(
            Named(node.schemaname, node.relname, node.location, node.alias is not None, whole, target=target)
        )

    def _call(self, node: Any) -> None:
        arguments: tuple[Any, ...] = node.args or ()
        constant = None
        if len(arguments) == 1 and isinstance(arguments[0], ast.A_Const) and isinstance(arguments[0].val, ast.String):
            constant = arguments[0].val.sval
        self._function(node.funcname, None if node.func_variadic else len(arguments), node.location, constant)

    def _function(self, parts: Any, count: int | None, position: int, constant: str | None) -> None:
        *before, name = [part.sval for part in parts]
        self.called.append(Called(before[-1] if before else None, name, count, position, constant))

    def _operator(self, parts: Any) -> None:
        *before, name = [part.sval for part in parts]
        self.operators.add((before[-1] if before else None, name))

    def _type(self, node: Any) -> None:
        if node.pct_type or not node.names:
            raise _Stop(Unreadable("A type copied from a column (%TYPE) is not read here.", "Name the type itself."))
        *before, name = [part.sval for part in node.names]
        self.types.append(Called(before[-1] if before else None, name, 0, node.location))

    def _placed(self, parts: Any, position: int) -> None:
        *before, name = [part.sval for part in parts] or [""]
        if before:
            self.placed.append(Called(before[-1], name, 0, position))

    def _reference(self, node: Any) -> None:
        parts = node.fields if isinstance(node, ast.ColumnRef) else node.indirection
        words = [part.sval for part in parts if isinstance(part, ast.String)]
        self.stars = self.stars or any(isinstance(part, ast.A_Star) for part in parts)
        if isinstance(node, ast.A_Indirection):
            self.fields.update(words)
            return
        self.fields.update(words[1:])
        if len(words) == 1 or isinstance(parts[-1], ast.A_Star):
            self.bare.update(words[-1:])


def _children(node: Any) -> Iterator[tuple[str, Any]]:
    for label in _labels(node):
        value = getattr(node, label)
        if isinstance(value, ast.Node | tuple):
            yield label, value


def _labels(node: Any) -> Iterable[str]:
    return tuple(node.__slots__)
