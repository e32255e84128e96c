"""What follows from a change of rows, though the statement does not name it, where something is closed: refused before
a person is asked, refused again when it is to run, and nothing has changed afterwards."""

import secrets
from pathlib import Path

import pytest
from pegboard.providers.builtin.database.mysql.following import following
from pegboard.providers.builtin.database.mysql.reading import Reading, read
from tests.providers.database import mysql_shop
from tests.support.roads import gone

from pegboard.core.database import EVERYTHING, Access, Answer, Limits, NamePattern, Refused, Rows, name_pattern
from pegboard.ports.databases import Engine
from pegboard.providers.builtin.database.mysql import mysql_engine
from pegboard.providers.builtin.database.unreadable import BY_KEY, BY_TRIGGER, WAITS, Unreadable

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SECRETS = ("xyzzy", "plugh", "123-45")
def closing(*names: str) -> Access:
    patterns = tuple(map(name_pattern, names))
    assert all(isinstance(each, NamePattern) for each in patterns)
    return Access(deny=tuple(each for each in patterns if isinstance(each, NamePattern)))


def refused(why: Unreadable) -> Refused:
    return Refused(why.why, why.mend)


async def each(engine: Engine, statements: tuple[str, ...], *, write: bool) -> list[Answer]:
    return [await engine.run(statement, (), Limits(seconds=20), write=write) for statement in statements]


THERE = (
    "CREATE TABLE triggered (id int, t varchar(100))",
    "CREATE TRIGGER one BEFORE INSERT ON triggered FOR EACH ROW SET NEW.t = (SELECT group_concat(word) FROM secret)",
    "CREATE TABLE written (id int)",
    "CREATE TRIGGER two AFTER INSERT ON written FOR EACH ROW INSERT INTO secret VALUES (88, 't')",
    "CREATE TRIGGER three AFTER UPDATE ON written FOR EACH ROW INSERT INTO secret VALUES (89, 't')",
    "INSERT INTO orders VALUES (9001, 1, 1, 'x', NULL)",
    "CREATE VIEW over_written AS SELECT id FROM written",
    "CREATE TABLE parents (id int PRIMARY KEY, note varchar(20))",
    "CREATE TABLE between_them (id int PRIMARY KEY, FOREIGN KEY (id) REFERENCES parents (id) ON DELETE CASCADE "
    "ON UPDATE CASCADE)",
    "CREATE TABLE secret_kids (id int, FOREIGN KEY (id) REFERENCES between_them (id) ON DELETE CASCADE "
    "ON UPDATE CASCADE)",
    "INSERT INTO parents VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO between_them VALUES (1)",
    "INSERT INTO secret_kids VALUES (1)",
    "CREATE TABLE referring (id int, sid int, t varchar(20), FOREIGN KEY (sid) REFERENCES secret (id))",
    "INSERT INTO referring VALUES (1, 1, 'x')",
)
THERE_TRIGGERED = (
    "INSERT INTO triggered (id) VALUES (1) RETURNING t",
    "INSERT INTO written VALUES (1)",
    "UPDATE orders o JOIN written w ON w.id = o.id SET w.id = 5",
    "UPDATE written SET id = 2",
)
THERE_KEYED = (
    "DELETE FROM parents WHERE id = 1",
    "UPDATE parents SET id = 5 WHERE id = 1",
    "INSERT INTO parents VALUES (1, 'c') ON DUPLICATE KEY UPDATE id = 7",
    "INSERT INTO referring VALUES (2, 999, 'x')",
    "UPDATE referring SET sid = 2",
)
THERE_FINE = (
    "INSERT INTO parents VALUES (3, 'c')",
    "UPDATE parents SET note = 'z' WHERE id = 1",
    "UPDATE referring SET t = 'y'",
    "UPDATE customers SET city = 'Ulm' WHERE id IN (SELECT id FROM written)",
    "DELETE FROM referring",
)


@pytest.mark.behaviour("databases.writes_follow")
async def test_a_change_in_mariadb_reaches_nothing_that_is_closed(mariadb_socket: Path) -> None:
    own = mysql_shop.make_shop(mariadb_socket, f"shop{secrets.token_hex(4)}")
    own.outside(*THERE)
    # The rights that the pages tell to give: none to see what triggers do.
    own.outside(f"GRANT INSERT, UPDATE, DELETE ON {own.name}.* TO '{own.name}_reader'@'localhost'")
    held = "SELECT (SELECT group_concat(id, word ORDER BY id) FROM secret), (SELECT group_concat(id) FROM secret_kids)"
    before = own.outside(held)
    engine = mysql_engine(own.reader, closing("secret*", "people.ssn"), writes=True)
    try:
        assert await gone(engine, "mysql", "writes", "secret", "zebras", SECRETS, own.name) == []
        for write in (False, True):
            assert await each(engine, THERE_TRIGGERED, write=write) == [refused(BY_TRIGGER)] * len(THERE_TRIGGERED)
            assert await each(engine, THERE_KEYED, write=write) == [refused(BY_KEY)] * len(THERE_KEYED)
            assert await each(engine, ("INSERT INTO over_written VALUES (1)",), write=write) == [
                Refused("'over_written' is not a table.", "Write to the tables themselves.")
            ]
        assert await each(engine, THERE_FINE, write=False) == [WAITS] * len(THERE_FINE)
        assert [type(answer) for answer in await each(engine, THERE_FINE, write=True)] == [Rows] * len(THERE_FINE)
    finally:
        await engine.aclose()
    assert own.outside(held) == before
    assert own.outside("SELECT (SELECT count(*) FROM triggered), (SELECT count(*) FROM written)") == [(0, 0)]
    whole = mysql_engine(own.reader, EVERYTHING, writes=True)
    try:
        assert await each(whole, THERE_TRIGGERED, write=False) == [WAITS] * len(THERE_TRIGGERED)
    finally:
        await whole.aclose()


@pytest.mark.behaviour("databases.writes_follow")
async def test_mysql_is_not_written_to_where_it_does_not_tell_of_triggers() -> None:
    reading = read("INSERT INTO t VALUES (1)", write=True)
    assert isinstance(reading, Reading)
    granted = list[tuple[int]]()

    def ask(question: str, given: object) -> list[tuple[int]]:
        return granted if "PRIVILEGES" in question else []

    told = following(ask, reading, ("shop", "t"), closing("secret"), is_mariadb=False)
    assert told is not None
    assert told.why == "Whether 't' has triggers is not told to the user of this source."
    granted.append((1,))
    assert following(ask, reading, ("shop", "t"), closing("secret"), is_mariadb=False) is None
