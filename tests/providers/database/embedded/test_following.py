"""What follows from a change of rows in SQLite by triggers and foreign keys, where something is closed: refused before
a person is asked, refused again when it is to run, and nothing has changed afterwards."""

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from pegboard.core.databases.rows import QueryAnswer, QueryRows, StatementFailure, StatementFault
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, NamePattern, QueryLimits, parse_name_pattern
from pegboard.providers.database.common import NEEDS_WRITE
from pegboard.providers.database.sqlite.authorizer import WRITES_BEYOND
from pegboard.providers.database.worker.engine import sqlite_engine

pytestmark = pytest.mark.anyio
MADE = """
    CREATE TABLE vault (id INTEGER PRIMARY KEY, word TEXT);
    INSERT INTO vault VALUES (7, 'xyzzy'), (8, 'plugh'), (9, 'y');
    CREATE TABLE people (id INTEGER PRIMARY KEY, ssn TEXT, name TEXT);
    INSERT INTO people VALUES (7, '123-45', 'Ada');
    CREATE TABLE log (n);
    CREATE TABLE guesses (id INTEGER PRIMARY KEY AUTOINCREMENT, ssn TEXT);
    INSERT INTO guesses VALUES (7, '123-45');
    CREATE VIEW counted AS SELECT count(*) AS n FROM vault;
    CREATE VIEW joined AS SELECT guesses.id AS n FROM guesses NATURAL JOIN vault;
    CREATE VIEW guessed AS SELECT guesses.id AS n FROM guesses NATURAL JOIN people;
    CREATE VIEW recounted AS SELECT count(*) AS n FROM guessed;
    CREATE VIEW listed AS SELECT sql AS n FROM sqlite_master;
    CREATE VIEW named AS SELECT id, name FROM people;
    CREATE VIEW inserted AS SELECT n FROM log;
    CREATE TRIGGER instead INSTEAD OF INSERT ON inserted BEGIN INSERT INTO log SELECT count(*) FROM vault; END;
    CREATE VIEW noting AS SELECT n FROM log;
    CREATE TRIGGER notes INSTEAD OF INSERT ON noting BEGIN INSERT INTO log VALUES (new.n); END;
"""
FURTHER = (
    "INSERT INTO log SELECT count(*) FROM vault",
    "INSERT INTO log SELECT 1 FROM vault",
    "SELECT raise(ABORT, 'there are many') WHERE (SELECT count(*) FROM vault) > 2",
    "SELECT raise(ABORT, 'there are some') WHERE EXISTS (SELECT 1 FROM vault)",
    "INSERT INTO log SELECT 5 FROM guesses LEFT JOIN vault",
    "INSERT INTO log SELECT (WITH x AS (SELECT 1 FROM vault) SELECT count(*) FROM x)",
    "UPDATE log SET n = 1 FROM vault",
    "INSERT INTO log SELECT guesses.id FROM guesses NATURAL JOIN vault",
    "INSERT INTO log SELECT guesses.id FROM guesses JOIN vault USING (id)",
    "INSERT INTO log SELECT guesses.id FROM guesses NATURAL JOIN people",
    "INSERT INTO log SELECT guesses.id FROM guesses JOIN people USING (ssn)",
    "INSERT INTO log SELECT count(*) FROM counted",
    "INSERT INTO log SELECT n FROM counted",
    "INSERT INTO log SELECT count(*) FROM joined",
    "INSERT INTO log SELECT n FROM joined",
    "INSERT INTO log SELECT count(*) FROM guessed",
    "INSERT INTO log SELECT n FROM recounted",
    "INSERT INTO log SELECT sql FROM sqlite_master",
    "INSERT INTO log SELECT count(*) FROM sqlite_schema",
    "INSERT INTO log SELECT n FROM listed",
    "INSERT INTO log SELECT max(seq) FROM sqlite_sequence",
    "INSERT INTO log SELECT count(*) FROM sqlite_sequence",
    "INSERT INTO inserted VALUES (1)",
    "INSERT INTO log SELECT ssn FROM people",
    "INSERT INTO log VALUES (7 IN (SELECT id FROM vault))",
    "DELETE FROM vault",
)
"""What a trigger does."""
NEAR = (
    "INSERT INTO log SELECT count(*) FROM people",
    "INSERT INTO log SELECT count(*) FROM named",
    "INSERT INTO log SELECT guesses.id FROM guesses JOIN people USING (id)",
    "INSERT INTO log SELECT value FROM json_each('[1]')",
    "INSERT INTO log SELECT (WITH x AS (SELECT 1) SELECT count(*) FROM x)",
)
MORE = """
    CREATE TABLE first (id);
    CREATE TRIGGER first AFTER INSERT ON first BEGIN INSERT INTO further0 VALUES (1); END;
    CREATE TABLE "Ünlike" ("Wörd", "a""b");
    INSERT INTO "Ünlike" VALUES (1, 2);
    CREATE TRIGGER "insert" /* delete */ AFTER UPDATE OF "a""b" ON "Ünlike" WHEN (SELECT count(*) FROM vault) > 2
        BEGIN INSERT INTO log VALUES (1); END;
    CREATE TABLE left_over (id INTEGER PRIMARY KEY, n);
    INSERT INTO left_over VALUES (1, 1);
    CREATE TRIGGER leaves BEFORE DELETE ON left_over BEGIN INSERT INTO log SELECT 3 FROM vault; END;
    CREATE TRIGGER moves AFTER UPDATE ON left_over BEGIN INSERT INTO log SELECT 3 FROM vault; END;
    CREATE TABLE parents (id INTEGER PRIMARY KEY, note);
    INSERT INTO parents VALUES (1, 'a'), (2, 'b');
    CREATE TABLE vault_keys (id REFERENCES parents);
    INSERT INTO vault_keys VALUES (1);
    CREATE TABLE elders (id INTEGER PRIMARY KEY);
    INSERT INTO elders VALUES (1);
    CREATE TABLE kids (id REFERENCES elders ON DELETE CASCADE);
    CREATE TRIGGER goes AFTER DELETE ON kids BEGIN INSERT INTO log SELECT count(*) FROM vault; END;
    CREATE TABLE referring (id, vault REFERENCES vault);
"""
REFUSED = (
    "INSERT INTO inserted VALUES (1)",
    *(f"INSERT INTO further{at} VALUES (1)" for at in range(len(FURTHER))),
    "INSERT INTO first VALUES (1)",
    'UPDATE "Ünlike" SET "a""b" = 3',
    "DELETE FROM left_over",
    "UPDATE left_over SET n = 2",
    "UPDATE left_over SET rowid = 2",
    "INSERT INTO left_over VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET n = 3",
    "DELETE FROM parents WHERE id = 2",
    "UPDATE parents SET id = 5 WHERE id = 2",
    "REPLACE INTO parents VALUES (2, 'c')",
    "DELETE FROM elders",
    "INSERT INTO referring VALUES (1, 999)",
    "UPDATE referring SET vault = 7",
)
FINE = (
    "INSERT INTO noting VALUES (1)",
    *(f"INSERT INTO near{at} VALUES (1)" for at in range(len(NEAR))),
    'UPDATE "Ünlike" SET "Wörd" = 3',
    "INSERT INTO left_over VALUES (2, 1)",
    "INSERT INTO parents VALUES (3, 'c')",
    "UPDATE parents SET note = 'z'",
    "INSERT INTO kids VALUES (NULL)",
    "UPDATE referring SET id = 7",
    "WITH vault AS (SELECT 1) INSERT INTO log SELECT count(*) FROM vault",
    "WITH vault AS (SELECT 1), mine AS (SELECT count(*) AS n FROM vault) INSERT INTO log SELECT n FROM mine",
)
CLOSED = (
    "SELECT n FROM guessed",
    "SELECT n FROM recounted",
    "SELECT n FROM joined",
    "SELECT count(*) FROM sqlite_temp_master",
)


def made(folder: Path) -> Path:
    path = folder / "made.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(MADE)
        for kind, bodies in (("further", FURTHER), ("near", NEAR)):
            for at, body in enumerate(bodies):
                connection.execute(f"CREATE TABLE {kind}{at} (id)")
                connection.execute(f"CREATE TRIGGER on_{kind}{at} AFTER INSERT ON {kind}{at} BEGIN {body}; END")
        connection.executescript(MORE)
    return path


def rule() -> DatabaseAccess:
    patterns = tuple(map(parse_name_pattern, ("vault*", "people.ssn")))
    return DatabaseAccess(deny=tuple(each for each in patterns if isinstance(each, NamePattern)))


def held(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


async def each(path: Path, access: DatabaseAccess, statements: tuple[str, ...], *, write: bool) -> list[QueryAnswer]:
    engine = sqlite_engine(str(path), access, writes=True)
    try:
        with anyio.fail_after(120):
            return [await engine.run(statement, (), QueryLimits(), write=write) for statement in statements]
    finally:
        await engine.aclose()


@pytest.mark.behaviour("databases.writes_follow")
async def test_a_change_in_sqlite_reaches_nothing_that_is_closed(tmp_path: Path) -> None:
    path = made(tmp_path)
    before = held(path)
    for write in (False, True):
        answers = dict(zip(REFUSED, await each(path, rule(), REFUSED, write=write), strict=True))
        assert answers == dict.fromkeys(REFUSED, WRITES_BEYOND)
    assert held(path) == before


@pytest.mark.behaviour("databases.writes_follow")
async def test_a_change_in_sqlite_from_which_nothing_closed_follows_runs(tmp_path: Path) -> None:
    path = made(tmp_path)
    assert await each(path, rule(), FINE, write=False) == [NEEDS_WRITE] * len(FINE)
    assert [type(answer) for answer in await each(path, rule(), FINE, write=True)] == [QueryRows] * len(FINE)
    assert await each(path, FULL_ACCESS, REFUSED, write=False) == [NEEDS_WRITE] * len(REFUSED)


@pytest.mark.behaviour("databases.withheld")
async def test_a_view_that_compares_closed_columns_unheard_is_not_there(tmp_path: Path) -> None:
    answers = await each(made(tmp_path), rule(), CLOSED, write=False)
    assert [answer.fault for answer in answers if isinstance(answer, StatementFailure)] == [
        StatementFault.NO_TABLE
    ] * len(CLOSED)


@pytest.mark.behaviour("databases.withheld")
async def test_a_name_that_a_statement_gives_tells_nothing_of_a_closed_table(tmp_path: Path) -> None:
    own = ("WITH vault AS (SELECT 1), x AS (SELECT count(*) AS n FROM vault) SELECT n, (SELECT 1 FROM vault) FROM x",)
    (answer,) = await each(made(tmp_path), rule(), own, write=False)
    assert isinstance(answer, QueryRows)
    assert answer.rows == ((1, 1),)
