"""Which columns of a table are open: what may be seen, and is not computed of something that may not."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from .words import Words, words

_ELSEWHERE: Final = frozenset({"MRG_MYISAM", "FEDERATED", "CONNECT", "SPIDER"})


def leads_elsewhere(engine: str | None) -> bool:
    """Whether rows of such a table are those of others, which may be closed."""
    return (engine or "").upper() in _ELSEWHERE


@dataclass(frozen=True)
class Made:
    """A column, and the expression that its values come from: of a generated column or of a default. Empty where
    there is one that the server does not tell."""

    name: str
    expression: str | None = None


def made(name: str, extra: str | None, generated: str | bytes | None, default: str | bytes | None) -> Made:
    """Of what information_schema.COLUMNS tells in EXTRA, GENERATION_EXPRESSION and COLUMN_DEFAULT."""
    expression = generated or default
    if expression is None and re.search(r"\b(VIRTUAL|STORED|PERSISTENT) GENERATED\b", extra or "", re.IGNORECASE):
        expression = ""
    return Made(name, expression.decode() if isinstance(expression, bytes) else expression)


def open_columns(columns: Sequence[Made], opens: Callable[[str], bool]) -> tuple[str, ...]:
    closed = {one.name.casefold() for one in columns if not opens(one.name)}
    growing = bool(closed)
    while growing:
        using = {one.name.casefold() for one in columns if _uses(one.expression, closed)}
        growing = not using <= closed
        closed |= using
    return tuple(one.name for one in columns if one.name.casefold() not in closed)


def _uses(expression: str | None, closed: Iterable[str]) -> bool:
    if expression is None:
        return False
    found = words(expression)
    if expression and isinstance(found, Words):
        return not {word.name.casefold() for word in found.words if word.kind in {"name", "quoted"}}.isdisjoint(closed)
    # MySQL tells quotation marks with a backslash before them. Whoever uses a column names it, wherever that is.
    text = expression.replace("``", "`").casefold()
    return not expression or any(re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text) for name in closed)
