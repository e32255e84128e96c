"""Columns that a table computes from others: they show what those hold, so they are closed with them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pegboard.core.database import Access, Table

from .sqlite.statement import Token, TokenKind, names_in, tokenize


def generated_from_closed(table: Table, statement: str, access: Access) -> frozenset[str]:
    """Names in lower case. `statement` is the one that makes the table."""
    columns = {column.name.lower() for column in table.columns}
    closed = {column.name.lower() for column in table.columns if not access.opens_column(*table.name, column.name)}
    if not closed:
        return frozenset()
    generated = dict(_generated(tokenize(statement)))
    while found := {column for column, names in generated.items() if column not in closed and names & closed}:
        closed |= found
    return frozenset(closed & columns & generated.keys())


def _generated(tokens: Sequence[Token]) -> Iterator[tuple[str, frozenset[str]]]:
    """Each generated column with the names in its definition."""
    for definition in _column_definitions(tokens):
        if any(token.is_keyword("AS") and after.value == "(" for token, after in pairwise(definition)):
            yield definition[0].value.lower(), names_in(definition[1:])


def _column_definitions(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """What stands between the commas of the outermost brackets."""
    depth, current = 0, list[Token]()
    for token in tokens:
        sign = token.value if token.kind is TokenKind.OTHER else ""
        depth -= sign == ")"
        if depth == 0 or (depth == 1 and sign == ","):
            if current:
                yield current
            current = []
        else:
            current.append(token)
        depth += sign == "("
