"""A table of ten thousand sales, the same at every run, and what is measured over it."""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, TypeAlias

from pegboard.ports.databases import DatabaseEngine

ROWS: Final = 10_000
SELECT_ALL: Final = "SELECT id, customer, city, amount, quantity, paid, sold_on, note FROM sales ORDER BY id"
MAKE: Final = (
    "CREATE TABLE sales (id INTEGER PRIMARY KEY, customer VARCHAR(40), city VARCHAR(40), amount {number}, "
    "quantity INTEGER, paid BOOLEAN, sold_on {moment}, note VARCHAR(200))"
)
_CITIES: Final = ("Berlin", "Zürich", "Paris", "Kraków", "London", "Tampere", "Lisboa")

Bare: TypeAlias = Callable[[str], Awaitable[Sequence[Sequence[object]]]]
"""All rows of a statement, by the driver alone, on a connection that is open."""


@dataclass(frozen=True)
class Measurable:
    name: str
    engine: DatabaseEngine
    bare: Bare


def sales() -> list[tuple[object, ...]]:
    """The same at every run."""
    drawn = random.Random(7)
    day = datetime(2026, 1, 1, 8, 30)
    return [
        (
            number,
            f"Customer {drawn.randrange(2000)}",
            drawn.choice(_CITIES),
            Decimal(drawn.randrange(100, 1_000_000)) / 100,
            drawn.randrange(1, 20),
            drawn.random() < 0.9,
            day + timedelta(minutes=drawn.randrange(500_000)),
            None if drawn.random() < 0.5 else "left at the door, with a neighbour " * drawn.randrange(1, 4),
        )
        for number in range(ROWS)
    ]
