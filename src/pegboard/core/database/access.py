"""What of a source may be read: patterns over `schema.table` and `schema.table.column`, and the one rule for them.

A table is open when no deny pattern fits it and, where there are allow patterns, one of them fits. A column is open
when its table is, no deny pattern fits it and, where there are allow patterns, one fits it or its whole table. Deny
wins. Capitals do not count, because most SQL does not count them.

What is closed does not exist for whoever asks: it is in no list, and naming it is answered like a name that nothing
has.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pegboard.core.pattern import MAX_PATTERN_CHARS, matches_glob

ANY_NAME: Final = "*"
_WILD: Final = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class NamePattern:
    """`table`, `schema.table` or `schema.table.column`, with `*`, `?` and `[…]` in each part."""

    text: str
    schema: str
    table: str
    column: str | None = None

    def __str__(self) -> str:
        return self.text

    def matches_table(self, schema: str, table: str) -> bool:
        return matches_glob(self.schema, schema.casefold()) and matches_glob(self.table, table.casefold())

    def matches_column(self, schema: str, table: str, column: str) -> bool:
        return self.matches_table(schema, table) and (
            self.column is None or matches_glob(self.column, column.casefold())
        )


@dataclass(frozen=True, slots=True)
class BadPattern:
    text: str
    why: str


def parse_name_pattern(text: str) -> NamePattern | BadPattern:
    if len(text) > MAX_PATTERN_CHARS:
        why = f"a pattern of {len(text)} characters is too long: use at most {MAX_PATTERN_CHARS}"
        return BadPattern(text[:MAX_PATTERN_CHARS], why)
    parts = text.casefold().split(".")
    match parts if all(part.strip() == part != "" for part in parts) else []:
        case [table]:
            return NamePattern(text, ANY_NAME, table)
        case [schema, table]:
            return NamePattern(text, schema, table)
        case [schema, table, column]:
            return NamePattern(text, schema, table, column)
        case _:
            why = f"{text!r} is not a pattern of tables: write table, schema.table or schema.table.column"
            return BadPattern(text, why)


@dataclass(frozen=True, slots=True)
class DatabaseAccess:
    allow: tuple[NamePattern, ...] = ()
    """None: everything that is not denied."""
    deny: tuple[NamePattern, ...] = ()

    @property
    def is_unrestricted(self) -> bool:
        """Nothing is closed, whatever the source holds."""
        is_all = any(each.schema == each.table == ANY_NAME and each.column in (None, ANY_NAME) for each in self.allow)
        return not self.deny and (not self.allow or is_all)

    def allows_table(self, schema: str, table: str) -> bool:
        if any(_denies_table(each, schema, table) for each in self.deny):
            return False
        return not self.allow or any(each.matches_table(schema, table) for each in self.allow)

    def allows_column(self, schema: str, table: str, column: str) -> bool:
        if not self.allows_table(schema, table):
            return False
        if any(_denies_column(each, schema, table, column) for each in self.deny):
            return False
        return not self.allow or any(each.matches_column(schema, table, column) for each in self.allow)

    def allows_by_name(self, schema: str, table: str) -> bool:
        """Whether an allow pattern names this table or view itself, without wildcards: its operator knows what is in
        it, also where it reads something that is closed."""
        return any(
            each.column in (None, ANY_NAME) and not _WILD.search(each.table) and each.matches_table(schema, table)
            for each in self.allow
        )

    def with_denied(self, *names: tuple[str, ...]) -> "DatabaseAccess":
        """With these closed too, each a schema, a table and maybe a column, by its very name."""
        if not names:
            return self
        return DatabaseAccess(self.allow, (*self.deny, *map(_exact_pattern, names)))

    def unmatched_patterns(self, names: Iterable[tuple[str, str, str]]) -> tuple[NamePattern, ...]:
        """The patterns that fit none of these columns, each a schema, a table and a name: most likely misspelt."""
        known = tuple(names)
        return tuple(
            each
            for each in dict.fromkeys((*self.allow, *self.deny))
            if not any(
                each.matches_column(*name) or (each in self.deny and _denies_column(each, *name)) for name in known
            )
        )


FULL_ACCESS: Final = DatabaseAccess()


def _exact_pattern(name: tuple[str, ...]) -> NamePattern:
    schema, table, *column = (_WILD.sub(r"[\g<0>]", part.casefold()) for part in name)
    return NamePattern(".".join(name), schema, table, column[0] if column else ANY_NAME)


def _denies_table(each: NamePattern, schema: str, table: str) -> bool:
    """To deny every column is to deny the table: else its rows could still be counted."""
    if each.column is None or each.column == ANY_NAME:
        return each.matches_table(schema, table) or (each.table == ANY_NAME and _means_columns(each, table))
    return False


def _denies_column(each: NamePattern, schema: str, table: str, column: str) -> bool:
    if each.matches_column(schema, table, column):
        return True
    return _means_columns(each, table) and matches_glob(each.table, column.casefold())


def _means_columns(each: NamePattern, table: str) -> bool:
    """`customers.email` says a table of a schema, but whoever wrote it where there are no schemas to speak of meant a
    column. Both are denied: to deny too little is the one mistake that cannot be taken back."""
    return each.column is None and each.schema != ANY_NAME and matches_glob(each.schema, table.casefold())
