"""Writes to virtual tables of SQLite: what a person is asked about can run, and nobody writes past the table."""

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from pegboard.core.databases.rows import QueryAnswer, QueryRows, StatementRefusal
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, NamePattern, QueryLimits, parse_name_pattern
from pegboard.providers.database.common import NEEDS_WRITE
from pegboard.providers.database.worker.engine import sqlite_engine

pytestmark = pytest.mark.anyio
SHOP = """
    CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT);
    INSERT INTO orders VALUES (1, 'first');
    CREATE TABLE vault (id INTEGER PRIMARY KEY, secret TEXT);
    CREATE VIRTUAL TABLE plain USING fts5(body);
    INSERT INTO plain VALUES ('hello');
    CREATE VIRTUAL TABLE noted USING fts5(note, content='orders', content_rowid='id');
    CREATE VIRTUAL TABLE boxes USING rtree(id, low, high);
    CREATE TABLE pages (id INTEGER PRIMARY KEY, body TEXT);
    CREATE VIRTUAL TABLE words USING fts5(body, content='pages', content_rowid='id');
    CREATE TRIGGER adds AFTER INSERT ON pages BEGIN
        INSERT INTO words (rowid, body) VALUES (new.id, new.body);
    END;
    CREATE TRIGGER removes AFTER DELETE ON pages BEGIN
        INSERT INTO words (words, rowid, body) VALUES ('delete', old.id, old.body);
    END;
    CREATE VIEW greetings AS SELECT body FROM words WHERE words MATCH 'hello';
"""
RUN = (
    "INSERT INTO plain VALUES ('world')",
    "UPDATE plain SET body = 'moon' WHERE plain MATCH 'world'",
    "INSERT INTO noted (noted) VALUES ('rebuild')",
    "INSERT INTO noted (rowid, note) VALUES (2, 'second')",
    "INSERT INTO boxes VALUES (1, 0.5, 2.5)",
    "INSERT INTO pages VALUES (1, 'hello')",
    "INSERT INTO pages VALUES (2, 'hello again')",
    "DELETE FROM pages WHERE id = 1",
)
PAST = (
    "INSERT INTO plain_data VALUES (99, x'00')",
    "DELETE FROM plain_content",
    "UPDATE noted_docsize SET sz = NULL",
    "DELETE FROM boxes_node",
)


def shop(folder: Path) -> Path:
    path = folder / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SHOP)
    return path


def rules() -> tuple[DatabaseAccess, DatabaseAccess]:
    pattern = parse_name_pattern("vault")
    assert isinstance(pattern, NamePattern)
    return FULL_ACCESS, DatabaseAccess(deny=(pattern,))


async def both(path: Path, rule: DatabaseAccess, statements: tuple[str, ...]) -> list[tuple[QueryAnswer, QueryAnswer]]:
    """What each is answered before a person is asked, and after the yes."""
    engine = sqlite_engine(str(path), rule, writes=True)
    try:
        with anyio.fail_after(60):
            return [
                (await engine.run(text, (), QueryLimits()), await engine.run(text, (), QueryLimits(), write=True))
                for text in statements
            ]
    finally:
        await engine.aclose()


@pytest.mark.behaviour("databases.writes_confirmed", "databases.full_text")
@pytest.mark.parametrize("is_closed", [False, True])
async def test_a_full_text_index_that_a_person_was_asked_about_is_written(tmp_path: Path, is_closed: bool) -> None:
    path = shop(tmp_path)
    answers = await both(path, rules()[is_closed], RUN)
    assert [before for before, _ in answers] == [NEEDS_WRITE] * len(RUN)
    assert [after.affected_rows if isinstance(after, QueryRows) else after for _, after in answers] == [1] * len(RUN)
    with closing(sqlite3.connect(path)) as connection:
        words = connection.execute("SELECT body FROM plain WHERE plain MATCH 'moon OR hello' ORDER BY 1").fetchall()
        notes = connection.execute("SELECT rowid FROM noted WHERE noted MATCH 'first OR second' ORDER BY 1").fetchall()
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        pages = connection.execute("SELECT body FROM greetings").fetchall()
    assert (words, notes, pages) == ([("hello",), ("moon",)], [(1,), (2,)], [("hello again",)])


@pytest.mark.behaviour("databases.writes_confirmed", "databases.attacks_held")
@pytest.mark.parametrize("is_closed", [False, True])
async def test_what_a_virtual_table_keeps_is_written_by_nobody_else(tmp_path: Path, is_closed: bool) -> None:
    path = shop(tmp_path)
    for before, after in await both(path, rules()[is_closed], PAST):
        assert isinstance(before, StatementRefusal)
        assert (before.is_write, after) == (False, before)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT body FROM plain WHERE plain MATCH 'hello'").fetchall() == [("hello",)]
        assert connection.execute("SELECT count(*) FROM plain_data WHERE id = 99").fetchall() == [(0,)]
