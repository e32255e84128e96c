"""What a server's catalogue said to one connection, kept for as long as nothing at all was written on that server.

The stamp is the set of transactions that a query sees, with the schemas that its names are looked up in. Whatever
changes a table, a view, a function, an operator, a type or a right is a transaction with a number of its own; where
none has ended since, the catalogue is word for word what it was. It is compared in the round trip that begins a
statement's transaction. Each connection keeps its own, because another may lead to another server.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from .found import Found, Function, Operator, Relation, Type
from .reading import Reading

STAMP: Final = (
    "pg_catalog.concat(pg_catalog.txid_current_snapshot()::pg_catalog.text,"
    " pg_catalog.current_schemas(true)::pg_catalog.text)"
)
_STEADY: Final = re.compile(r"(\d+):\1:(?!\d)")
"""Nothing under way. A standby does not tell which transactions are, so that there the rest would say too little."""
_MOST: Final = 5000
"""Names that are kept."""

Key = tuple[str | None, str]
Item = TypeVar("Item", Function, Operator, Type)


@dataclass(frozen=True)
class Wanted:
    """Names that the catalogue is asked for."""

    relations: frozenset[Key] = frozenset()
    functions: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    operators: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()

    @classmethod
    def of(cls, readings: Iterable[Reading]) -> "Wanted":
        readings = tuple(readings)
        called = frozenset(one.name for reading in readings for one in reading.called)
        return cls(
            frozenset((one.schema, one.name) for reading in readings for one in reading.named),
            called,
            frozenset(name for reading in readings for name in reading.fields),
            frozenset(name for reading in readings for _, name in reading.operators),
            called.union(one.name for reading in readings for one in reading.types),
        )


@dataclass
class Memory:
    stamp: str = ""
    """Empty where what is kept holds for this transaction alone."""
    path: tuple[str, ...] | None = None
    database: str = ""
    relations: dict[Key, Relation | None] = field(default_factory=dict)
    functions: dict[str, tuple[Function, ...]] = field(default_factory=dict)
    fields: dict[str, tuple[Function, ...]] = field(default_factory=dict)
    operators: dict[str, tuple[Operator, ...]] = field(default_factory=dict)
    types: dict[str, tuple[Type, ...]] = field(default_factory=dict)
    within: dict[int, frozenset[tuple[str, str]]] = field(default_factory=dict)
    """The tables whose rows lie in a type, by its number."""
    hides: bool = True
    deep: set[Key] = field(default_factory=set)
    """Tables that were more than their own columns when they were last asked for. It outlives everything else, because
    it only tells which question to put first."""

    def forget(self) -> None:
        self.stamp, self.path = "", None
        if len(self.deep) > _MOST:
            self.deep.clear()
        for kept in self._kept:
            kept.clear()

    @property
    def is_full(self) -> bool:
        return sum(len(kept) for kept in self._kept) > _MOST

    @property
    def _kept(self) -> Sequence[dict[Any, Any]]:
        return self.relations, self.functions, self.fields, self.operators, self.types, self.within

    def lacks(self, wanted: Wanted) -> Wanted | None:
        """None where everything is known, even that there is no such thing."""
        rest = Wanted(
            wanted.relations - self.relations.keys(),
            wanted.functions - self.functions.keys(),
            wanted.fields - self.fields.keys(),
            wanted.operators - self.operators.keys(),
            wanted.types - self.types.keys(),
        )
        return None if rest == Wanted() and self.path is not None else rest

    def learn(self, stamp: str, asked: Wanted, found: Found) -> None:
        """What was answered at `stamp`. What was known at another is forgotten."""
        if stamp != self.stamp:
            self.forget()
        self.stamp = stamp if _STEADY.match(stamp) else ""
        self.path, self.database, self.hides = found.path, found.database, found.hides
        self.relations |= {key: found.relations.get(key) for key in asked.relations}
        self.functions |= _by_name(asked.functions, found.functions)
        self.fields |= _by_name(asked.fields, found.fields)
        self.operators |= _by_name(asked.operators, found.operators)
        self.types |= _by_name(asked.types, found.types)

    def found(self, wanted: Wanted) -> Found:
        """Of everything that is wanted, which must be known."""
        relations = {key: one for key in wanted.relations if (one := self.relations[key]) is not None}
        return Found(
            self.path or (),
            self.database,
            relations,
            _all(wanted.functions, self.functions),
            _all(wanted.fields, self.fields),
            _all(wanted.operators, self.operators),
            _all(wanted.types, self.types),
            self.hides,
        )


def _by_name(names: Iterable[str], items: Iterable[Item]) -> dict[str, tuple[Item, ...]]:
    told: dict[str, list[Item]] = {name: [] for name in names}
    for item in items:
        told[item.name].append(item)
    return {name: tuple(found) for name, found in told.items()}


def _all(names: Iterable[str], kept: Mapping[str, tuple[Item, ...]]) -> tuple[Item, ...]:
    return tuple(item for name in sorted(names) for item in kept[name])
