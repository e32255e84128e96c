"""Statements to a SQLite file that could not run as they were meant: each is told so before anything else happens."""

from pathlib import Path

import pytest
from tests.providers.database.embedded.test_sqlite import _closed, failed, made, opened, rows

from pegboard.core.databases.rows import QueryRows, StatementFault, StatementRefusal
from pegboard.core.model.databases import FULL_ACCESS, QueryLimits

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("databases.errors_help")
async def test_a_name_in_double_quotes_that_no_column_has_is_no_text(tmp_path: Path) -> None:
    path = made(tmp_path / "shop.db", 'CREATE TABLE notes (id, "a`b"); INSERT INTO notes VALUES (1, 2)')
    for access in (FULL_ACCESS, _closed("customers.photo")):
        async with opened(path, access) as engine:
            for statement in ('SELECT "nme" FROM notes', "SELECT id FROM notes WHERE \"nme\" = 'x'"):
                told = await failed(engine, statement)
                assert (told.message, told.fault) == ("no such column: nme", StatementFault.NO_COLUMN)
            fine = await rows(engine, 'SELECT "id" AS "x y", "a`b", \'"nme"\' FROM "notes" ORDER BY "x y"')
            assert fine.rows == ((1, 2, '"nme"'),)


@pytest.mark.behaviour("databases.writes_confirmed")
async def test_nobody_is_asked_about_a_statement_that_could_not_run(tmp_path: Path) -> None:
    path = made(
        tmp_path / "shop.db",
        "CREATE TABLE staff (id, salary); CREATE TABLE plain (id, n); CREATE TABLE watched (id);"
        "CREATE TRIGGER peek AFTER INSERT ON watched BEGIN UPDATE plain SET n = (SELECT max(salary) FROM staff); END",
    )
    async with opened(path, _closed("staff"), writes=True) as engine:
        for statement in (
            "UPDATE plain SET n = (SELECT max(salary) FROM staff)",
            "UPDATE plain SET m = 1",
            "INSERT INTO watched VALUES (1)",
            "DELETE FROM",
            "WITH a AS (SELECT 1) INSERT INTO plain SELECT 1, max(salary) FROM staff",
            "WITH a AS (SELECT 1) INSERT INTO plain (nn) SELECT 1",
            "WITH a AS (SELECT 1) DELETE FROM staff",
        ):
            answer = await engine.run(statement, (), QueryLimits())
            assert not isinstance(answer, QueryRows)
            assert not (isinstance(answer, StatementRefusal) and answer.is_write), statement
        for statement in ("UPDATE plain SET n = 1", "WITH a AS (SELECT 1) INSERT INTO plain SELECT 1, 2"):
            answer = await engine.run(statement, (), QueryLimits())
            assert isinstance(answer, StatementRefusal)
            assert answer.is_write
        assert (await rows(engine, "SELECT count(*) FROM plain")).rows == ((0,),)
        dropped = await engine.run("DROP TABLE plain", (), QueryLimits())
        assert isinstance(dropped, StatementRefusal)
        assert dropped.fix == "Write one SELECT, VALUES, WITH, INSERT, UPDATE or DELETE statement."
