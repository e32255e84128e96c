"""Which tables a statement may read, and in what shape, by what the server's information_schema tells of them.

A closed table is answered like one that is not there; one with closed columns is read through a subquery of the open
ones; a view is what lies under it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from sqlglot import exp

from pegboard.core.database import Access, Failed, Fault
from pegboard.providers.builtin.database.names import names

from .asking import Ask, Said, Server, asked, columns_of
from .columns import Made, leads_elsewhere, made, open_columns
from .following import following, written
from .functions import unlisted
from .reading import Broken, Listed, Named, Reading, read
from .splicing import Edit, quoted, table_edits
from .words import Unreadable

_SYSTEM: Final = frozenset({"mysql", "performance_schema", "sys", "information_schema"})
_SCHEMA: Final = names(
    """
    CHARACTER_SETS CHECK_CONSTRAINTS COLLATIONS COLUMNS KEY_COLUMN_USAGE REFERENTIAL_CONSTRAINTS SCHEMATA STATISTICS
    TABLES TABLE_CONSTRAINTS VIEWS
    """
)
"""Of information_schema, what tells of tables. With something withheld, only the two lists that can be narrowed."""
_DEEPEST: Final = 16
_LISTED: Final = {"TABLES": ("TABLE_SCHEMA", "TABLE_NAME"), "COLUMNS": ("TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME")}

_PLACE: Final = (
    "ROW_NUMBER() OVER (PARTITION BY TABLE_SCHEMA, TABLE_NAME ORDER BY `COLUMNS`.ORDINAL_POSITION)"
    " AS `ORDINAL_POSITION`"
)


@dataclass(frozen=True)
class Known:
    """A table as the server has it."""

    schema: str
    name: str
    is_view: bool
    columns: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


@dataclass
class Tables:
    """Judges one statement."""

    ask: Ask
    access: Access
    default: str
    server: Server
    """As it was the last time. Whether it still is comes with the answer to what else is asked."""
    listed: Callable[[], Iterable[tuple[str, str, tuple[str, ...]]]]

    def judged(self, reading: Reading) -> Failed | Unreadable | tuple[Edit, ...]:
        """What is put in place of tables that are not told whole."""
        if reading.listed is not None and (fault := self._place(reading.listed)) is not None:
            return fault
        said = self._said(reading, self.default)
        if stored := self._stored(reading, said):
            return stored
        known = self._known(said)
        narrow: dict[tuple[str, str], tuple[str, ...]] = {}
        catalogued = False
        for named in reading.named:
            schema = self._schema(named)
            if schema.lower() in _SYSTEM:
                if told := self._system(schema, named):
                    return told
                catalogued = catalogued or not self.access.is_whole
                continue
            table = known.get((schema, self._cased(named.name)))
            if table is None or not self.access.opens(table.schema, table.name):
                return missing(schema, named.name)
            if table.is_view and (fault := self.through(table)):
                return missing(schema, named.name) if isinstance(fault, Failed) else fault
            if table.columns and not table.open:
                return missing(schema, named.name)
            if table.open != table.columns:
                narrow[schema, self._cased(named.name)] = table.open
                if named.target:
                    return Unreadable(
                        f"{named.name!r} can only be read here.", "Write to a table all of whose columns are open."
                    )
                if reading.listed and reading.listed.what in {"table", "created"}:
                    return Unreadable(
                        f"That is not told of {named.name!r}.", f"DESCRIBE {quoted(named.name)} tells its columns."
                    )
        if reading.writes and not self.access.is_whole and (fault := self._following(reading, known)):
            return fault
        if reading.tree is None or not (narrow or catalogued):
            return ()
        if reading.kind == "explain" and catalogued:
            return Unreadable("What is read of information_schema is not explained.", "Run the query itself.")

        def inner(schema: str | None, name: str) -> str | None:
            owner = self._cased(schema if schema is not None else self.default)
            if owner.lower() == "information_schema":
                return self._listed(name.upper()) if catalogued else None
            columns = narrow.get((owner, self._cased(name)))
            if columns is None:
                return None
            return f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(owner)}.{quoted(name)}"  # noqa: S608 - names, quoted

        return table_edits(reading, inner)

    def _following(self, reading: Reading, known: dict[tuple[str, str], Known]) -> Unreadable | None:
        for schema, name in written(reading):
            table = known.get((self._cased(schema if schema is not None else self.default), self._cased(name)))
            if table is None:
                # A name that the statement itself gives.
                continue
            if table.is_view:
                return Unreadable(f"{name!r} is not a table.", "Write to the tables themselves.")
            pair = (table.schema, table.name)
            if fault := following(self.ask, reading, pair, self.access, is_mariadb=self.server.is_mariadb):
                return fault
        return None

    def _place(self, listed: Listed) -> Failed | Unreadable | None:
        """What is wrong with the schema that a list is asked of."""
        schema = listed.schema or self.default
        if listed.what != "tables" or not schema:
            return None
        if schema.lower() in _SYSTEM:
            return _of_server(schema)
        if self.access.is_whole or listed.schema is None or schema == self.default:
            return None
        if any(owner == schema for owner, _, _ in self.listed()):
            return None
        return Failed(f"Unknown database '{schema}'", None, Fault.NO_TABLE, schema)

    def _said(self, reading: Reading, schema: str) -> Said:
        """Of what a statement names and calls; by the names that hold on the server that answers."""
        names = [call.name for call in reading.calls]
        said = asked(self.ask, self._pairs(reading.named), schema, names)
        if said.server.lower != self.server.lower:
            self.server = said.server
            said = asked(self.ask, self._pairs(reading.named), schema, names)
        self.server = said.server
        return said

    def _stored(self, reading: Reading, said: Said) -> Unreadable | None:
        """What would be called and is not built in, or is hidden by what somebody stored."""
        for call in reading.calls:
            if not (call.is_mariadbs if said.server.is_mariadb else call.is_mysqls):
                return Unreadable(
                    f"{call.name}() is not built into {'MariaDB' if said.server.is_mariadb else 'MySQL'}.",
                    "Write the statement without it.",
                )
        return unlisted(said.functions[0]) if said.functions else None

    def _schema(self, named: Named) -> str:
        return self._cased(named.schema if named.schema is not None else self.default)

    def _cased(self, name: str) -> str:
        return name.lower() if self.server.lower else name

    def _pairs(self, named: Iterable[Named]) -> list[tuple[str, str]]:
        pairs = {(self._schema(one), self._cased(one.name)) for one in named}
        return sorted(pair for pair in pairs if pair[0].lower() not in _SYSTEM)

    def _known(self, said: Said) -> dict[tuple[str, str], Known]:
        columns: dict[tuple[str, str], list[Made]] = {}
        if not self.access.is_whole:
            for schema, name, *told in columns_of(self.ask, said.pairs):
                columns.setdefault((schema, name), []).append(made(*told))
        known: dict[tuple[str, str], Known] = {}
        for schema, name, kind, engine in said.tables:
            key = (self._cased(schema), self._cased(name))
            # A comparison on the server may not count capitals where names do.
            if key not in said.pairs or kind not in {"BASE TABLE", "VIEW", "SYSTEM VERSIONED"}:
                continue
            if not self.access.is_whole and leads_elsewhere(engine):
                continue
            all_of_it = columns.get((schema, name), ())
            opens = partial(self.access.opens_column, schema, name)
            known[key] = Known(
                schema, name, kind == "VIEW", tuple(one.name for one in all_of_it), open_columns(all_of_it, opens)
            )
        return known

    def _system(self, schema: str, named: Named) -> Unreadable | None:
        name = named.name.upper()
        if schema.lower() == "information_schema" and not named.target:
            if self.access.is_whole and name in _SCHEMA:
                return None
            if name in _LISTED:
                return None
        return _of_server(f"{schema}.{named.name}")

    def through(self, view: Known, depth: int = 0) -> Failed | Unreadable | None:
        """What is wrong with what lies under a view: closed, or out of sight."""
        cannot = Unreadable(
            f"The view {view.name!r} cannot be looked through.",
            "Query the tables themselves, or have the user granted SHOW VIEW on it.",
        )
        rows = self.ask(
            "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
            (view.schema, view.name),
        )
        if not rows or not rows[0][0] or depth > _DEEPEST:
            return cannot
        reading = read(str(rows[0][0]), write=False)
        if isinstance(reading, Unreadable | Broken) or reading.tree is None:
            return cannot
        said = self._said(reading, view.schema)
        if self._stored(reading, said):
            return cannot
        known = self._known(said)
        used = {column.name.casefold() for column in reading.tree.find_all(exp.Column)}
        for named in reading.named:
            table = known.get((self._schema(named), self._cased(named.name)))
            if table is None:
                return cannot
            if not self.access.opens(table.schema, table.name):
                return missing(table.schema, table.name)
            closed = {one.casefold() for one in table.columns} - {one.casefold() for one in table.open}
            if not self.access.is_whole and (closed & used or (closed and reading.tree.find(exp.Star))):
                return missing(table.schema, table.name)
            if table.is_view and (fault := self.through(table, depth + 1)):
                return fault
        return None

    def _listed(self, name: str) -> str:
        keys = _LISTED[name]
        rows: list[tuple[str, ...]] = []
        for schema, table, columns in self.listed():
            rows += [(schema, table, column) for column in columns] if name == "COLUMNS" else [(schema, table)]
        # A backslash is read in more than one way; such a name is not listed.
        rows = [row for row in rows if not any("\\" in part for part in row)]
        # What is open is listed, not what is closed: who forgets something forgets to show it.
        listed = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
        where = f"({', '.join(keys)}) IN ({listed})" if rows else "FALSE"
        shown = self._counted() if name == "COLUMNS" else "*"
        return f"SELECT {shown} FROM information_schema.{name} WHERE {where}"  # noqa: S608 - names that the server itself told, as literals

    def _counted(self) -> str:
        """Columns of information_schema.COLUMNS, which are counted as they are told: a number that is left out would
        tell of one that is not."""
        told = columns_of(self.ask, [("information_schema", "COLUMNS")])
        names = [quoted(name) for _, _, name, *_ in told]
        return ", ".join(_PLACE if name.upper() == "`ORDINAL_POSITION`" else name for name in names)


def _of_server(name: str) -> Unreadable:
    return Unreadable(f"{name} tells of the server.", "Use search_schemas, or information_schema.TABLES and COLUMNS.")


def missing(schema: str, name: str) -> Failed:
    """As the server says it of a table that is not there."""
    return Failed(f"Table '{schema}.{name}' doesn't exist", None, Fault.NO_TABLE, name)


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
