"""A statement with some of its tables read through something else, and places in it told as they were written."""

from collections.abc import Sequence
from dataclasses import dataclass

from pglast.parser import scan

from .reading import Unreadable
from .relations import Replacement, quoted


@dataclass(frozen=True)
class Rewritten:
    text: str
    edits: tuple[tuple[int, int, int], ...] = ()
    """Where each was in the statement as written, how long it was, and how long it has become; in order."""

    def written(self, position: int) -> int:
        """A place in the text, as a place in the statement as it was written."""
        shift = 0
        for start, old, new in self.edits:
            begin = start + shift
            if position < begin:
                break
            if position < begin + new:
                return start
            shift += new - old
        return position - shift


def rewritten(statement: str, replacements: Sequence[Replacement]) -> Rewritten | Unreadable:
    if not replacements:
        return Rewritten(statement)
    tokens = scan(statement)
    starts = {token.start: place for place, token in enumerate(tokens)}
    text, edits, last = [], [], 0
    for one in sorted(replacements, key=lambda each: each.named.position):
        named = one.named
        plain = Unreadable(
            f"The name of {named.written!r} is written in a way that is not read here.", "Write it plainly."
        )
        place = starts.get(named.position)
        if place is None:
            return plain
        length = 1 if named.schema is None else 3
        parts = tokens[place : place + length]
        after = tokens[place + length] if place + length < len(tokens) else None
        before = tokens[place - 1] if place else None
        if len(parts) != length or any(part.name == "UIDENT" for part in parts):
            return plain
        if after is not None and after.name in {"UESCAPE", "ASCII_42"}:
            return plain
        begin, end = named.position, parts[-1].end + 1
        new = one.text if named.alias else f"{one.text} AS {quoted(named.name)}"
        if before is not None and before.name == "TABLE":
            begin, new = before.start, f"SELECT * FROM {new}"  # noqa: S608 - what stands here is what was written
        text += [statement[last:begin], new]
        edits.append((begin, end - begin, len(new)))
        last = end
    return Rewritten("".join((*text, statement[last:])), tuple(edits))
