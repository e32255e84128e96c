"""Tables and views of a server's catalog, and which of their columns a board opens.

Tables are judged as wholes: a view is closed if anything below it is, unless `allow` names it.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from pegboard.core.database import Access


@dataclass(frozen=True)
class CatalogRelation:
    """A table or view. Nothing of it needs to be visible to the login."""

    id: Hashable
    schema: str
    name: str
    is_view: bool
    is_of_extension: bool
    """It came with an extension, so it need not be on a list of what is allowed."""
    is_derived: bool
    """It shows rows of its sources to callers who may not read those."""
    sources: tuple[Hashable, ...]
    """What a view reads, or tables that share rows with a table. An id that no relation has is never open."""
    columns: tuple[str, ...]
    computed: tuple[tuple[str, str], ...] = ()
    """Generated columns, each with one that it is computed from."""
    has_more_columns: bool = False
    """The catalog shows not all of its columns."""

    @property
    def title(self) -> str:
        return f"{self.schema}.{self.name}"

    def is_whole(self, opened: Mapping[Hashable, tuple[str, ...]]) -> bool:
        """Whether all of it is open."""
        return opened.get(self.id) == self.columns and not self.has_more_columns


def open_columns(relations: Iterable[CatalogRelation], access: Access) -> Mapping[Hashable, tuple[str, ...]]:
    """Of each relation of which something is open."""
    known = {each.id: each for each in relations}
    if access.is_whole:
        return {id: each.columns for id, each in known.items()}
    rules = {False: access, True: Access(deny=access.deny)}
    named = {id for id, each in known.items() if access.allows_by_name(each.schema, each.name)}
    opened: dict[Hashable, tuple[str, ...]] = {}
    for id, each in known.items():
        rule = rules[each.is_of_extension]
        is_alone = each.is_view or id in named
        family = [each, *(known[one] for one in each.sources if one in known and not is_alone)]
        if all(rule.opens(one.schema, one.name) for one in family):
            shut = {
                name for name in each.columns for one in family if not rule.opens_column(one.schema, one.name, name)
            }
            if each.has_more_columns:
                shut |= {name for name, _ in each.computed}
            while more := {name for name, source in each.computed if source in shut} - shut:
                shut |= more
            opened[id] = tuple(name for name in each.columns if name not in shut)
    kept = {id: opened[id] for id in named if id in opened}
    derived = [each for each in known.values() if each.is_derived and not each.is_of_extension]
    size = -1
    while size != (size := len(opened)):
        whole = {id for id, each in known.items() if each.is_whole(opened)}
        for each in derived:
            if not whole.issuperset(each.sources):
                opened.pop(each.id, None)
    # What `allow` names is open itself, and not the views over it.
    return {id: columns for id, columns in (opened | kept).items() if columns or not known[id].columns}


R = TypeVar("R", bound=CatalogRelation)


@dataclass(frozen=True)
class RelationCatalog(Generic[R]):
    """Tables and views that somebody sees, and what of them is open."""

    access: Access
    relations: Sequence[R]

    @cached_property
    def opened(self) -> Mapping[Hashable, tuple[str, ...]]:
        """Of each relation of which something is open."""
        return open_columns(self.relations, self.access)

    def is_open(self, each: R) -> bool:
        """The whole of it."""
        return each.is_whole(self.opened)

    def closed(self, each: R, columns: Iterable[str]) -> list[str]:
        """What of these columns is closed."""
        opened = self.opened.get(each.id)
        return [f"{each.title}.{name}" for name in columns if name not in opened] if opened else [each.title]
