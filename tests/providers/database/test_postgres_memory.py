"""What the catalogue said before is kept only while it is still what the catalogue says."""

import asyncpg
import pytest
from tests.providers.database.postgres_shop import Shop

from pegboard.core.database import Access, Answer, Failed, Limits, NamePattern, Refused, Rows, name_pattern
from pegboard.providers.builtin.database.postgres import postgresql_engine
from pegboard.providers.builtin.database.postgres.catalogue import ask, ask_for
from pegboard.providers.builtin.database.postgres.connecting import connect
from pegboard.providers.builtin.database.postgres.found import Found
from pegboard.providers.builtin.database.postgres.memory import Memory, Wanted
from pegboard.providers.builtin.database.postgres.reading import Reading, read

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = Limits(seconds=20)
DENIED = ("public.secret", "public.memo.ssn", "public.memo_part")
CLOSED = Access(deny=tuple(one for text in DENIED if isinstance(one := name_pattern(text), NamePattern)))

MADE = """
CREATE TABLE memo (id int, note text);
INSERT INTO memo VALUES (1, 'a');
CREATE VIEW memo_view AS SELECT id, note FROM memo;
GRANT SELECT ON memo, memo_view TO {role}
"""
GONE = """
DROP OPERATOR IF EXISTS ==== (int, int); DROP FUNCTION IF EXISTS tidy(text); DROP FUNCTION IF EXISTS sneak(memo);
DROP FUNCTION IF EXISTS later(); DROP TABLE memo CASCADE
"""

CHANGES = (
    ("SELECT tidy('a')", "CREATE FUNCTION tidy(text) RETURNS int LANGUAGE sql AS 'SELECT 1'"),
    ("SELECT id FROM memo WHERE id ==== 1", "CREATE OPERATOR ==== (LEFTARG = int, RIGHTARG = int, FUNCTION = wipe_op)"),
    ("SELECT m.sneak FROM memo AS m", "CREATE FUNCTION sneak(memo) RETURNS int LANGUAGE sql AS 'SELECT 1'"),
    (
        "SELECT note FROM memo_view",
        "CREATE OR REPLACE VIEW memo_view AS SELECT id, (SELECT max(word) FROM secret) AS note FROM memo",
    ),
    ("SELECT * FROM memo", "ALTER TABLE memo ADD COLUMN ssn text DEFAULT '123-45-6789'"),
    ("SELECT id FROM memo", "CREATE TABLE memo_part () INHERITS (memo)"),
)


def _seen(answer: Answer) -> object:
    match answer:
        case Rows(columns, rows):
            return [column.name for column in columns], rows
        case Refused():
            return "refused"
        case Failed(words):
            return words.split(".")[0]


@pytest.mark.behaviour("databases.postgres.changes_are_seen")
async def test_whatever_changed_since_is_judged_as_it_is_now(shop: Shop) -> None:
    role = shop.reader.split("//")[1].split(":")[0]
    outside = await asyncpg.connect(shop.admin)
    engine = postgresql_engine(shop.reader, CLOSED)
    told = []
    try:
        await outside.execute(MADE.format(role=role))
        for statement, change in CHANGES:
            before = [_seen(await engine.run(statement, (), LIMITS)) for _ in range(3)]
            await outside.execute(change)
            told.append((before, _seen(await engine.run(statement, (), LIMITS))))
        # One that is under way is not there yet, and is there as soon as it ended.
        begun = outside.transaction()
        await begun.start()
        await outside.execute("CREATE FUNCTION later() RETURNS int LANGUAGE sql AS 'SELECT 1'")
        under_way = [_seen(await engine.run("SELECT later()", (), LIMITS)) for _ in range(3)]
        await begun.commit()
        ended = _seen(await engine.run("SELECT later()", (), LIMITS))
    finally:
        await engine.aclose()
        await outside.execute(GONE)
        await outside.close()
    rows = ["id"], ((1,),)
    assert told == [
        (["function tidy() does not exist"] * 3, "refused"),
        (["operator does not exist: integer ==== integer"] * 3, "refused"),
        (["column m"] * 3, "refused"),
        ([(["note"], (("a",),))] * 3, 'relation "memo_view" does not exist'),
        ([(["id", "note"], ((1, "a"),))] * 3, (["id", "note"], ((1, "a"),))),
        ([rows] * 3, 'relation "memo" does not exist'),
    ]
    assert (under_way, ended) == (["function later() does not exist"] * 3, "refused")


async def test_what_is_known_is_not_asked_again(shop: Shop) -> None:
    connection = await connect(shop.reader)
    reading = read("SELECT upper(name) FROM customers AS c, nowhere WHERE c.id = 1", write=False)
    assert isinstance(reading, Reading)
    try:
        first = await ask(connection, (reading,))
        received = connection.meter.received
        assert await ask(connection, (reading,)) == first
        assert connection.meter.received == received
        connection.memory.forget()
        assert await ask(connection, (reading,)) == first
        assert connection.meter.received > received
    finally:
        await connection.close()


async def test_nothing_is_kept_for_later_while_a_transaction_is_under_way() -> None:
    memory, wanted = Memory(), Wanted(functions=frozenset({"f"}))
    nothing = Found(("public",), "shop", {}, (), (), (), (), hides=False)
    stamps = ("7:7:{public}", "7:9:7,8{public}", "7:77:{public}", "77:7:{public}", "8:9:{public}")
    kept = []
    for stamp in stamps:
        memory.learn(stamp, wanted, nothing)
        kept.append(memory.stamp)
    assert kept == ["7:7:{public}", "", "", "", ""]
    memory.learn("9:9:{public}", Wanted(fields=frozenset({"g"})), nothing)
    assert memory.lacks(wanted) == wanted


KINDS = """
CREATE SCHEMA kinds;
CREATE TYPE kinds.pair AS (a int, b int);
CREATE TYPE kinds.mood AS ENUM ('well');
CREATE TABLE kinds.alone (id int, note text);
CREATE TABLE kinds.parent (id int);
CREATE TABLE kinds.heir (word text) INHERITS (kinds.parent);
CREATE TABLE kinds.parted (id int) PARTITION BY LIST (id);
CREATE TABLE kinds.part PARTITION OF kinds.parted FOR VALUES IN (1);
CREATE TABLE kinds.computed (id int, twice int GENERATED ALWAYS AS (id * 2) STORED);
CREATE TABLE kinds.paired (id int, two kinds.pair);
CREATE TABLE kinds.rows (id int, kept kinds.alone[]);
CREATE TABLE kinds.moody (id int, how kinds.mood);
CREATE TABLE kinds.ruled (id int);
CREATE RULE quiet AS ON INSERT TO kinds.ruled DO INSTEAD NOTHING;
CREATE TABLE kinds.left_alone (id int);
CREATE TABLE kinds.gone () INHERITS (kinds.left_alone);
DROP TABLE kinds.gone;
CREATE VIEW kinds.seen AS SELECT id FROM kinds.heir;
CREATE MATERIALIZED VIEW kinds.stored AS SELECT id FROM kinds.seen;
CREATE SEQUENCE kinds.steps
"""
"""With what is read along with each of them, and with nothing of the kind."""


async def test_whatever_is_read_along_with_a_table_is_found_by_the_question_that_is_put_first(shop: Shop) -> None:
    outside, connection = await asyncpg.connect(shop.admin), await connect(shop.reader)
    try:
        await outside.execute(KINDS)
        rows = await outside.fetch(
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.oid >= 16384 AND c.relkind NOT IN ('i', 'I', 'c', 't')"
        )
        keys = [(schema, name) for schema, name in rows] + [(None, "orders"), (None, "nowhere"), (None, "pg_class")]
        first, long, deep = [], [], set()
        for key in keys:
            wanted = Wanted(frozenset({key}))
            connection.memory = Memory()
            first.append(await ask_for(connection, wanted))
            deep |= connection.memory.deep
            connection.memory = Memory(deep={key})
            long.append(await ask_for(connection, wanted))
    finally:
        await connection.close()
        await outside.execute("DROP SCHEMA IF EXISTS kinds CASCADE")
        await outside.close()
    assert first == long
    assert {("kinds", name) for name in ("alone", "steps")} & deep == {("kinds", "steps")}
    found = {key: one.relations[key] for key, one in zip(keys, first, strict=True) if key in one.relations}
    assert {
        name: (found["kinds", name].family, found["kinds", name].generated, len(found["kinds", name].made))
        for name in ("alone", "parent", "heir", "part", "computed", "paired", "rows", "moody", "seen", "stored")
    } == {
        "alone": ((), (), 0),
        "parent": ((("kinds", "heir"),), (), 0),
        "heir": ((("kinds", "parent"),), (), 0),
        "part": ((("kinds", "parted"),), (), 0),
        "computed": ((), (("twice", "id"),), 0),
        "paired": ((), (), 1),
        "rows": ((), (), 1),
        "moody": ((), (), 0),
        "seen": ((("kinds", "parent"), ("kinds", "heir")), (), 0),
        "stored": ((("kinds", "parent"), ("kinds", "heir"), ("kinds", "seen")), (), 0),
    }
