"""What helps to mend a statement that failed: the columns of the tables that it means, and names like the wrong one.

It is worked out from what may be read alone, so a closed table and one that is not there get the same help.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.core.folded import Json, JsonObject

from .joins import Plan
from .named import Chain, Named, named
from .near import near
from .quoting import called, quoted
from .schema import Table, TableName

MOST_TABLES: Final = 5
MOST_COLUMNS: Final = 60
_FEW_TABLES: Final = 30
"""As many as are told by their names, where nothing is like the one that was written."""
_WORDS: Final = re.compile(r"[^\W\d][\w$]*")


@dataclass(frozen=True, slots=True)
class Help:
    words: tuple[str, ...]
    """Sentences: which name is wrong, and which may be meant."""
    tables: tuple[JsonObject, ...]
    """Those that the statement means, or may mean, with their columns."""

    @property
    def json(self) -> JsonObject:
        told: list[Json] = [*self.tables]
        said: list[Json] = [*self.words]
        return {**({"hints": said} if said else {}), **({"tables": told} if told else {})}


def help_for(plan: Plan, statement: str, words: str = "", name: str | None = None) -> Help:
    """`words` are the engine's about the error, and `name` what it did not find, where it says so."""
    used = named(statement)
    resolved = {chain: _table(plan, chain) for chain in used.tables}
    unknown = [chain for chain, table in resolved.items() if table is None]
    meant = [*dict.fromkeys(table.name for table in resolved.values() if table is not None)]
    hints: list[str] = []
    for chain in unknown[:MOST_TABLES]:
        likely = _like(plan, chain)
        hints.append(_about_table(plan, chain, likely))
        meant += [table for table in likely if table not in meant]
    wrong = _wrong(used, words, name)
    # Words that only mention a table which is there are about something else than its name.
    is_there = not name and wrong is not None and resolved.get(wrong) is not None
    if (
        wrong is not None
        and not is_there
        and wrong not in unknown
        and not (unknown and wrong[-1] in {c[-1] for c in unknown})
    ):
        about = [*_about_column(plan, wrong, used, [table for table in resolved.values() if table is not None])]
        hints += about
        if about and not about[-1].endswith("?") and len(wrong) == 1 and f'"{wrong[0]}"' in statement:
            text = wrong[0].replace("'", "''")
            hints.append(f"Double quotes are for names. If a text is meant, write it in single quotes: '{text}'.")
    return Help(tuple(hints), tuple(_shown(plan, plan.tables[name]) for name in meant[:MOST_TABLES]))


def _table(plan: Plan, chain: Chain) -> Table | None:
    """As engines look one up: by its schema, or in the one that bare names mean; capitals do not count here."""
    table = chain[-1].casefold()
    fitting = [
        each
        for name, each in plan.tables.items()
        if name.table.casefold() == table and (len(chain) < 2 or name.schema.casefold() == chain[-2].casefold())
    ]
    return min(fitting, key=lambda each: each.name.schema != plan.schema.default, default=None)


def _like(plan: Plan, chain: Chain) -> list[TableName]:
    by_name: dict[str, list[TableName]] = {}
    for name in plan.tables:
        by_name.setdefault(name.table, []).append(name)
    return [name for found in near(chain[-1], by_name) for name in by_name[found]][:3]


def _about_table(plan: Plan, chain: Chain, likely: Sequence[TableName]) -> str:
    said = f"There is no table {'.'.join(chain)!r} here."
    if likely:
        return f"{said} Did you mean {_either([called(name, plan.schema) for name in likely])}?"
    if 0 < len(plan.tables) <= _FEW_TABLES:
        return f"{said} The tables are {', '.join(called(name, plan.schema) for name in plan.tables)}."
    return f"{said} Find one with search_schemas."


def _wrong(used: Named, words: str, name: str | None) -> Chain | None:
    """What was not found, as the statement spells it."""
    if name:
        parts = tuple(part.strip("\"`'[]") for part in name.split("."))
        return parts if all(parts) else (name,)
    said = {word.casefold() for word in _WORDS.findall(words)}
    told = (chain for chain in (*used.tables, *used.others) if chain[-1].casefold() in said)
    return next(told, None)


def _about_column(plan: Plan, wrong: Chain, used: Named, tables: Sequence[Table]) -> Iterator[str]:
    column, write = wrong[-1], plan.schema.dialect
    if len(wrong) > 1:
        owner = wrong[-2].casefold()
        chain = used.aliases.get(owner)
        own = [_table(plan, chain)] if chain is not None else [t for t in tables if t.name.table.casefold() == owner]
        among = [table for table in own if table is not None]
        aliases = [quoted(alias, write) for alias, of in used.aliases.items() if of[-1].casefold() == owner]
        if chain is None and aliases and any(each.name == column for table in among for each in table.columns):
            yield f"{wrong[-2]!r} is called {_either(aliases)} in this statement."
        if not among and chain is not None:
            # A function, or a table that is not there: which columns it would have, nobody knows.
            return
        if not among and tables:
            known = [*(quoted(alias, write) for alias in used.aliases), *(called(t.name, plan.schema) for t in tables)]
            yield f"{wrong[-2]!r} names no table of this statement; it has {_either(known)}."
    else:
        among = [*tables]
    among = among or [*tables]
    if any(each.name == column for table in among for each in table.columns):
        return
    by_name: dict[str, list[str]] = {}
    for table in among:
        for each in table.columns:
            place = f"{called(table.name, plan.schema)}.{quoted(each.name, write)}"
            by_name.setdefault(each.name, []).append(place)
    likely = [place for found in near(column, by_name) for place in by_name[found]][:3]
    where = _either([called(table.name, plan.schema) for table in among])
    if likely:
        yield f"There is no column {column!r} in {where}. Did you mean {_either(likely)}?"
    elif among:
        elsewhere = [*_elsewhere(plan, column, among)]
        found = f" {_either(elsewhere)} has one of that name." if elsewhere else ""
        yield f"There is no column {column!r} in {where}, and none like it.{found}"


def _elsewhere(plan: Plan, column: str, among: Sequence[Table]) -> Iterator[str]:
    """Tables that can be joined to those, and have it."""
    names = {table.name for table in among}
    for table in among:
        joins = plan.of_table(table.name)
        for other in dict.fromkeys((*(each.to for each in joins.out), *(each.table for each in joins.back))):
            has = any(each.name.casefold() == column.casefold() for each in plan.tables[other].columns)
            if other not in names and has:
                names.add(other)
                yield called(other, plan.schema)


def _shown(plan: Plan, table: Table) -> JsonObject:
    """Short: name and type of each column."""
    write = plan.schema.dialect
    columns: list[Json] = [f"{quoted(each.name, write)} {each.type}".rstrip() for each in table.columns[:MOST_COLUMNS]]
    told: JsonObject = {"table": called(table.name, plan.schema), "columns": columns}
    left = len(table.columns) - MOST_COLUMNS
    return {**told, "columns_left": left} if left > 0 else told


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}" if names else ""
