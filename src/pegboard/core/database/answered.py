"""What was caught, as an answer: its columns told apart, with how their values are written."""

from collections.abc import Iterable, Sequence

from .answer import Field, Rows
from .catch import Catch
from .cell import text_of


def answered(
    names: Iterable[str], types: Sequence[str], catch: Catch, seconds: float, affected: int | None = None
) -> Rows:
    """`types` are the database's own words for them, in the order of the names."""
    fields = (
        Field(name, type, catch.marks.get(number, ()))
        for number, (name, type) in enumerate(zip(distinct(names), types, strict=True))
    )
    return Rows(tuple(fields), tuple(catch.rows), catch.cut, seconds, affected)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once, and none empty: `id, id` are `id` and `id_2`, unless something else is called so."""
    given = [text_of(name) or f"column_{number}" for number, name in enumerate(names, 1)]
    taken, used = {*given}, set[str]()
    told: list[str] = []
    for name in given:
        own, again = name, 1
        while own in used or (again > 1 and own in taken):
            again += 1
            own = f"{name}_{again}"
        used.add(own)
        told.append(own)
    return tuple(told)
