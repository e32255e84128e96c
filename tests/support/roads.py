"""Roads that may lead to what is closed: each is gone with a name that is closed and with one that nothing has, and
twice, because what is kept from the first time must not open the second."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pegboard.core.databases.rows import QueryRows
from pegboard.core.model.databases import QueryLimits
from pegboard.ports.databases import DatabaseEngine

_FILE: Final = Path(__file__).parents[1] / "corpus" / "sql_roads.json"
_SECONDS: Final = re.compile(r"seconds=[\d.e-]+")
_NEAR: Final = re.compile(r"\\nDid you mean [^']*")
"""What DuckDB advises depends on how a name is spelt."""
LIMITS: Final = QueryLimits(seconds=3)


def roads(dialect: str, of: str) -> list[str]:
    """To `tables` or `columns`, or by `writes`. `{0}` stands for the name, and `{1}` for the database's own."""
    found: list[str] = json.loads(_FILE.read_text(encoding="utf-8"))[dialect][of]
    return found


@dataclass(frozen=True)
class Gone:
    """What came of a road that held something to tell."""

    statement: str
    what: str


async def gone(
    engine: DatabaseEngine, dialect: str, of: str, closed: str, absent: str, secrets: Sequence[str], database: str = ""
) -> list[Gone]:
    """The roads that told something; none is what a source wants."""
    found: list[Gone] = []
    for road in roads(dialect, of):
        statement, other = road.format(closed, database), road.format(absent, database)
        first = await _came(engine, statement)
        if first != await _came(engine, statement):
            found.append(Gone(statement, "another answer the second time"))
        if any(secret in first and secret not in statement for secret in secrets):
            found.append(Gone(statement, first))
        if closed not in statement and re.search(rf"\b{closed}\b", first):
            found.append(Gone(statement, f"the name: {first}"))
        unheard = await _came(engine, other)
        if first.replace(closed, absent) != unheard.replace(closed, absent):
            found.append(Gone(statement, f"{first} and not {unheard}"))
    control = await engine.run("SELECT count(*) FROM orders", (), LIMITS)
    # Whoever cannot be reached withstands everything.
    assert isinstance(control, QueryRows), control
    return found


async def _came(engine: DatabaseEngine, statement: str) -> str:
    answer = await engine.run(statement, (), LIMITS)
    if isinstance(answer, QueryRows):
        # SQL promises an order only where one is asked for.
        answer = replace(answer, rows=tuple(sorted(answer.rows, key=repr)))
    return _NEAR.sub("", _SECONDS.sub("", repr(answer)))
