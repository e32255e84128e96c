"""Types in which rows of a table lie: the table's own row type, arrays and ranges of it, domains over it, composite
types with it, and all of these within each other.

Where the table is closed, or a column of it, such a type tells its name, its columns and what somebody copied from
it. A column of such a type is therefore closed itself, and the type is answered like one that is not there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pegboard.core.database import Access

from .catalogue import ask_for
from .connecting import Metered
from .found import Found, Made
from .memory import Wanted
from .relations import closed_columns

_WITHIN: Final = """
WITH RECURSIVE held(top, oid) AS (
    SELECT o, o FROM pg_catalog.unnest($1::oid[]) o
    UNION
    SELECT h.top, e.oid FROM held h CROSS JOIN LATERAL (
        SELECT t.typelem FROM pg_catalog.pg_type t WHERE t.oid = h.oid
        UNION ALL SELECT t.typbasetype FROM pg_catalog.pg_type t WHERE t.oid = h.oid
        UNION ALL SELECT a.atttypid FROM pg_catalog.pg_type t
            JOIN pg_catalog.pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE t.oid = h.oid AND t.typrelid <> 0
        UNION ALL SELECT g.rngsubtype FROM pg_catalog.pg_range g WHERE g.rngtypid = h.oid
        -- A column that PostgreSQL 13 does not have.
        UNION ALL SELECT g.rngtypid FROM pg_catalog.pg_range g
            WHERE (pg_catalog.to_jsonb(g) ->> 'rngmultitypid')::oid = h.oid
    ) e(oid) WHERE e.oid >= 16384
)
SELECT DISTINCT h.top::bigint, n.nspname, c.relname FROM held h JOIN pg_catalog.pg_type t ON t.oid = h.oid
JOIN pg_catalog.pg_class c ON c.oid = t.typrelid AND c.relkind <> 'c'
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
"""


@dataclass(frozen=True)
class Narrowed:
    access: Access
    """With the columns closed that hold such rows."""
    types: frozenset[int] = frozenset()
    """Those that hold them, by number."""


async def narrowed(connection: Metered, found: Found, access: Access) -> Narrowed:
    """What is closed of what was found, because of its type."""
    if access.is_whole:
        return Narrowed(access)
    made = [each for relation in found.relations.values() for each in relation.made]
    return await without(connection, made, {one.oid for one in found.types if one.oid is not None}, access)


async def without(connection: Metered, made: Iterable[Made], types: Iterable[int], access: Access) -> Narrowed:
    """Of columns and types, what is closed because rows of something closed lie in it."""
    made = tuple(made)
    numbers = {each.type for each in made}.union(types)
    if not numbers:
        return Narrowed(access)
    within = await _within(connection, numbers)
    tables = frozenset((schema, name) for names in within.values() for schema, name in names)
    if not tables:
        return Narrowed(access)
    known = (await ask_for(connection, Wanted(tables))).relations
    hurt = {
        key
        for key in tables
        if (relation := known.get(key)) is None
        # A view is what its text makes of others; nobody needs it as a type where something is closed.
        or relation.kind not in "rpf"
        or any(not access.opens(*table) for table in ((relation.schema, relation.name), *relation.family))
        or closed_columns(relation, access)
    }
    shut = frozenset(number for number, names in within.items() if names & hurt)
    closed = {(each.schema, each.relation, each.column) for each in made if each.type in shut}
    return Narrowed(access.closing(*sorted(closed)), shut)


async def _within(connection: Metered, numbers: Iterable[int]) -> dict[int, frozenset[tuple[str, str]]]:
    """The tables whose rows lie in each of these types."""
    kept = connection.memory.within
    if rest := [number for number in numbers if number not in kept]:
        told: dict[int, set[tuple[str, str]]] = {number: set() for number in rest}
        for number, schema, name in await connection.fetch(_WITHIN, sorted(rest)):
            told[number].add((schema, name))
        kept |= {number: frozenset(names) for number, names in told.items()}
    return {number: kept[number] for number in numbers}
