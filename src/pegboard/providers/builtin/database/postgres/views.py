"""What views do that a statement itself could not: a view is looked through before it is read, and offered only where
it would be."""

from collections.abc import Mapping

from pegboard.core.database import Access

from .catalogue import ask
from .connecting import Metered
from .found import Found
from .functions import Missing, faulty
from .hidden import hidden
from .reading import Reading, Unreadable, read
from .row_types import narrowed


async def looked_through(connection: Metered, views: Mapping[str, str], access: Access) -> Unreadable | Missing | None:
    """Why one of these views, each a name and its text, is not read; None where all of them may be. One that names what
    is closed is missing, by its own name."""
    if not views:
        return None
    readings: dict[str, Reading] = {}
    for name, definition in views.items():
        reading = read(definition, write=False)
        if not isinstance(reading, Reading):
            return _unread(name)
        readings[name] = reading
    inner = await ask(connection, readings.values())
    if unnamed := await hidden(connection, readings.values(), inner, named=access.is_whole):
        return unnamed
    rule = await narrowed(connection, inner, access)
    for name, reading in readings.items():
        if fault := _amiss(name, reading, inner, rule.access, rule.types):
            return fault
    return None


async def unread(connection: Metered, views: Mapping[str, str], access: Access) -> frozenset[str]:
    """Those of many views that are not read. One that lies over such a one is not named for that."""
    readings = {name: read(definition, write=False) for name, definition in views.items()}
    fine = {name: reading for name, reading in readings.items() if isinstance(reading, Reading)}
    found = readings.keys() - fine.keys()
    if not fine:
        return frozenset(found)
    inner = await ask(connection, fine.values())
    rule = await narrowed(connection, inner, access)
    for name, reading in fine.items():
        if _amiss(name, reading, inner, rule.access, rule.types) or (
            inner.hides and await hidden(connection, (reading,), await ask(connection, (reading,)), named=False)
        ):
            found.add(name)
    return frozenset(found)


def _amiss(
    name: str, reading: Reading, inner: Found, access: Access, shut: frozenset[int]
) -> Unreadable | Missing | None:
    if fault := faulty(reading, inner, access, shut, within=name):
        return fault
    for one in reading.named:
        relation = inner.relations.get((one.schema, one.name))
        if relation is not None and relation.schema in {"pg_catalog", "information_schema"}:
            return Unreadable(f"The view {name!r} reads the server's catalogue.", "Query the tables themselves.")
    return None


def _unread(name: str) -> Unreadable:
    return Unreadable(f"The view {name!r} cannot be looked through.", "Query the tables themselves.")
