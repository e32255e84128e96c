"""SQLite's full-text search over tools, in memory: the peer of our own, written in C."""

import re
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from itertools import islice
from typing import Final

from pegboard.core.model.tool import Tool

BEST: Final = 10
_WORD: Final = re.compile(r"[a-z0-9]+")


def text_of(tool: Tool) -> str:
    """What is searched: the same words for all."""
    parameters = tool.spec.input_schema.get("properties")
    names = " ".join(parameters) if isinstance(parameters, dict) else ""
    return f"{tool.spec.name} {tool.spec.title or ''} {tool.spec.description} {names} {tool.id.source}"


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


class Fts5:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE VIRTUAL TABLE tools USING fts5(words)")
        self._database.executemany("INSERT INTO tools VALUES (?)", ((text_of(tool),) for tool in tools))

    def best(self, query: str, among: Collection[int] | None = None) -> list[int]:
        asked = " OR ".join(f'"{word}"' for word in words_of(query))
        found = self._database.execute(
            "SELECT rowid - 1 FROM tools WHERE tools MATCH ? ORDER BY bm25(tools), rowid LIMIT ?",
            (asked, BEST if among is None else -1),
        )
        # To filter what was found is many times as quick here as to say in SQL what may be.
        return [*islice((place for (place,) in found if among is None or place in among), BEST)]


def has_fts5() -> bool:
    with closing(sqlite3.connect(":memory:")) as database:
        return ("ENABLE_FTS5",) in database.execute("PRAGMA compile_options").fetchall()
