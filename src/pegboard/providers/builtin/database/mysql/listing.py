"""What of an answer of SHOW and DESCRIBE is told, where something is withheld."""

from collections.abc import Callable, Iterable, Sequence

from .reading import Listed, Reading
from .words import Words, words

Row = Sequence[object]
Open = Iterable[tuple[str, str, tuple[str, ...]]]
"""Schema, name and columns of each table that is open."""


def told_row(reading: Reading, default: str, open_ones: Callable[[], Open]) -> Callable[[Row], Row | None]:
    """A row as it is told, or None."""
    match reading.listed:
        case None | Listed("table"):  # judged by its table, which is told whole
            return lambda row: row
        case Listed("created"):
            tables = {(schema, name): frozenset(columns) for schema, name, columns in open_ones()}
            owner = reading.named[0].schema or default
            return lambda row: (row[0], _created(str(row[1]), owner, tables), *row[2:])
        case Listed("tables", schema=schema):
            names = {name for owner, name, _ in open_ones() if owner == (schema or default)}
        case Listed("schemas"):
            names = {owner for owner, _, _ in open_ones()}
        case Listed("columns"):
            table = (reading.named[0].schema or default, reading.named[0].name)
            names = {column for schema, name, columns in open_ones() if (schema, name) == table for column in columns}
        case _:
            return lambda _: None
    return lambda row: row if row[0] in names else None


def _created(text: str, schema: str, tables: dict[tuple[str, str], frozenset[str]]) -> str:
    """Without keys that lead to what is closed."""
    lines = text.split("\n")
    kept = [line for line in lines if _leads_to(line, schema, tables)]
    if len(kept) < len(lines):
        # Each line of a definition ends in a comma, but the last.
        end = next((place for place, line in enumerate(kept) if line.startswith(")")), 0)
        if end:
            kept[end - 1] = kept[end - 1].rstrip(",")
    return "\n".join(kept)


def _leads_to(line: str, schema: str, tables: dict[tuple[str, str], frozenset[str]]) -> bool:
    """Whether everything that a line refers to is open."""
    if "REFERENCES" not in line:
        return True
    found = words(line)
    if not isinstance(found, Words):
        return False
    said = [word.upper for word in found.words]
    if "REFERENCES" not in said:
        return True
    target = found.words[said.index("REFERENCES") + 1 :]
    bracket = next((place for place, word in enumerate(target) if word.text == "("), None)
    if bracket not in {1, 3}:
        return False
    names = [word.name for word in target[:bracket:2]]
    closing = next((place for place, word in enumerate(target) if word.text == ")"), len(target))
    columns = {word.name for word in target[bracket + 1 : closing : 2]}
    return columns <= tables.get((names[-2] if len(names) > 1 else schema, names[-1]), frozenset())
