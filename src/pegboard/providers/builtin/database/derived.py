"""Columns that a table computes from others: they tell what those hold, so they are closed with them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from pegboard.core.database import Access, Table

from .sqlite.tokens import Kind, Token, tokens


def derived(table: Table, statement: str, access: Access) -> frozenset[str]:
    """Of a table that is open, by the statement that makes it; in small letters."""
    schema, name = table.name
    closed = {column.name.casefold() for column in table.columns if not access.opens_column(schema, name, column.name)}
    if not closed:
        return frozenset()
    computed = dict(_computed(tokens(statement)))
    known = {column.name.casefold() for column in table.columns}
    while found := {column for column, words in computed.items() if column not in closed and words & closed}:
        closed |= found
    return frozenset(closed & known & computed.keys())


def _computed(given: Sequence[Token]) -> Iterator[tuple[str, frozenset[str]]]:
    """Each computed column with the names in its definition."""
    for definition in _definitions(given):
        if any(token.says("AS") and following.value == "(" for token, following in pairwise(definition)):
            yield definition[0].value.casefold(), frozenset(words(definition[1:]))


def _definitions(given: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """What stands between the commas of the outermost brackets."""
    depth, current = 0, list[Token]()
    for token in given:
        sign = token.value if token.kind is Kind.OTHER else ""
        depth -= sign == ")"
        if depth == 0 or (depth == 1 and sign == ","):
            if current:
                yield current
            current = []
        else:
            current.append(token)
        depth += sign == "("


def words(given: Iterable[Token]) -> Iterator[str]:
    """Every name in it, in small letters, also within a quoted option such as `content='…'`."""
    return (token.value.casefold() for token in given if token.kind in (Kind.WORD, Kind.QUOTED))
