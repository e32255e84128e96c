"""A shop in a real PostgreSQL: tables to ask, tables that are closed, and whatever may lead from the one to the
other."""

from dataclasses import dataclass
from typing import Any

import asyncpg

from pegboard.core.model.databases import DatabaseAccess, NamePattern, parse_name_pattern
from pegboard.providers.database.postgres.engine import PostgresEngine

SHOP = """
CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, city text);
COMMENT ON TABLE customers IS 'Who buys';
COMMENT ON COLUMN customers.city IS 'Where they live';
CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers, total numeric(10,2), note text,
made_on date);
CREATE VIEW order_totals AS SELECT customer_id, sum(total) AS total FROM orders GROUP BY customer_id;
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN cents AS int CHECK (VALUE >= 0);
CREATE TABLE kinds (id int PRIMARY KEY, m mood, c cents, tags text[], doc jsonb, seen timestamptz, span int4range,
raw bytea,
    key uuid, addr inet, big bigint, f double precision);
INSERT INTO customers SELECT i, 'C' || i, CASE WHEN i % 2 = 0 THEN 'Bonn' ELSE 'Köln' END FROM generate_series(1, 50) i;
INSERT INTO orders SELECT i, 1 + i % 50, i * 1.5, 'note ' || i, date '2026-01-01' + i % 300 FROM generate_series(1,
400) i;
INSERT INTO kinds VALUES (1, 'good', 5, '{a,b}', '{"a": [1, null]}', '2026-03-04 05:06:07+00', '[1,5)', '\\xdeadbeef',
    '00000000-0000-0000-0000-000000000001', '10.0.0.1', 9223372036854775807, 'NaN');
ANALYZE;
"""

CLOSED = """
CREATE SCHEMA hr;
CREATE TABLE secret (id int PRIMARY KEY, word text);
INSERT INTO secret VALUES (1, 'xyzzy'), (2, 'plugh');
CREATE TABLE hr.pay (id int, amount int);
INSERT INTO hr.pay VALUES (1, 4242);
CREATE TABLE people (id int PRIMARY KEY, name text, ssn text, city text);
CREATE INDEX people_ssn ON people (ssn);
INSERT INTO people VALUES (1, 'Ann', '123-45-6789', 'Bonn'), (2, 'Bob', '987-65-4321', 'Köln');
CREATE TABLE vips (rank int) INHERITS (people);
INSERT INTO vips VALUES (3, 'Cid', '555-55-5555', 'Ulm', 1);
CREATE VIEW secret_view AS SELECT word FROM secret;
CREATE VIEW secret_far AS SELECT upper(word) AS w FROM secret_view;
CREATE MATERIALIZED VIEW secret_kept AS SELECT count(*) AS n, max(word) AS w FROM secret;
CREATE VIEW people_rows AS SELECT row_to_json(people) AS j FROM people;
CREATE VIEW people_ssns AS SELECT name, ssn AS number FROM people;
CREATE VIEW people_fine AS SELECT name, city FROM people;
CREATE TABLE ledger (id int, kind text, amount int) PARTITION BY LIST (kind);
CREATE TABLE ledger_open PARTITION OF ledger FOR VALUES IN ('open');
CREATE TABLE ledger_shut PARTITION OF ledger FOR VALUES IN ('shut');
INSERT INTO ledger VALUES (1, 'open', 10), (2, 'shut', 777);
CREATE TABLE vault (id int, code text);
CREATE TABLE vault_child () INHERITS (vault);
INSERT INTO vault_child VALUES (1, 'open sesame');
CREATE FUNCTION peek() RETURNS SETOF secret LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT * FROM secret';
CREATE FUNCTION leak(orders) RETURNS text LANGUAGE sql STABLE AS 'SELECT string_agg(word, '','') FROM public.secret';
CREATE FUNCTION leak_of(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT string_agg(word, '','') FROM
public.secret';
CREATE FUNCTION wipe() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN DELETE FROM orders; RETURN 1; END';
CREATE FUNCTION wipe_op(int, int) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = wipe_op);
CREATE AGGREGATE leak_all(text) (SFUNC = textcat, STYPE = text, INITCOND = '');
CREATE FUNCTION never_mind(int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
CREATE DOMAIN guarded AS int CHECK (never_mind(VALUE));
CREATE VIEW calls_wipe AS SELECT wipe() AS gone;
CREATE VIEW catalogue_view AS SELECT relname FROM pg_class;
CREATE TABLE copied (id int, ssn text, city text, copy text GENERATED ALWAYS AS (upper(ssn)) STORED,
    place text GENERATED ALWAYS AS (upper(city)) STORED);
INSERT INTO copied VALUES (1, '123-45-6789', 'Bonn');
CREATE VIEW copied_view AS SELECT id, copy AS c FROM copied;
CREATE VIEW copied_fine AS SELECT id, place FROM copied;
CREATE TYPE boxed AS (n int, b secret);
CREATE DOMAIN sealed AS secret;
CREATE DOMAIN many AS secret[];
CREATE TYPE far_boxed AS (x boxed[], y int);
CREATE TYPE known_as AS (p people, v vips);
CREATE TYPE plain_pair AS (a int, b text);
CREATE TABLE rows_kept (id int, s secret, ss secret[], b boxed, d sealed, m many, x far_boxed, t plain_pair, o orders);
INSERT INTO rows_kept SELECT 1, s, ARRAY[s], ROW(1, s)::boxed, s, ARRAY[s], ROW(ARRAY[ROW(1, s)::boxed], 2)::far_boxed,
    ROW(3, 'pair')::plain_pair, o FROM secret s, orders o WHERE s.id = 1 AND o.id = 1;
CREATE TABLE people_kept (id int, p people, ps people[], v vips, k known_as, r rows_kept);
INSERT INTO people_kept SELECT 1, p, ARRAY[p], v, ROW(p, v)::known_as, r FROM ONLY people p, vips v, rows_kept r
    WHERE p.id = 1;
CREATE VIEW rows_view AS SELECT id, s AS hidden FROM rows_kept;
CREATE VIEW rows_typed AS SELECT id, pg_typeof(s)::text AS kind FROM rows_kept;
CREATE VIEW rows_made AS SELECT id, NULL::boxed AS made FROM orders;
CREATE VIEW rows_fine AS SELECT id, t FROM rows_kept;
CREATE SEQUENCE counter;
CREATE PROCEDURE clear_orders() LANGUAGE sql AS 'DELETE FROM orders';
"""

GRANTS = """
CREATE ROLE {role} LOGIN PASSWORD 'reads';
GRANT USAGE ON SCHEMA public, hr TO {role};
GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role};
GRANT SELECT ON ALL TABLES IN SCHEMA hr TO {role};
GRANT USAGE ON SEQUENCE counter TO {role};
"""


def access(*deny: str, allow: tuple[str, ...] = ()) -> DatabaseAccess:
    patterns = [[parse_name_pattern(text) for text in texts] for texts in (allow, deny)]
    assert all(isinstance(each, NamePattern) for found in patterns for each in found)
    allowed, denied = [tuple(each for each in found if isinstance(each, NamePattern)) for found in patterns]
    return DatabaseAccess(allowed, denied)


SHUT = access(
    *("public.secret", "hr.*", "public.people.ssn", "public.ledger_shut", "public.vault"),
    # Copies of their rows are to be named too.
    *("public.rows_kept", "public.people_kept"),
)

STATE = """
SELECT (SELECT md5(string_agg(o::text, '' ORDER BY o.id)) FROM orders o), (SELECT count(*) FROM customers),
       (SELECT md5(string_agg(k::text, '')) FROM kinds k), (SELECT md5(string_agg(s::text, '')) FROM secret s),
       (SELECT string_agg(n.nspname || '.' || c.relname, ',' ORDER BY 1) FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname NOT LIKE 'pg_%'),
       (SELECT count(*) FROM pg_proc WHERE oid >= 16384), (SELECT last_value || '.' || is_called FROM counter),
       (SELECT count(*) FROM pg_largeobject_metadata), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'),
       (SELECT string_agg(rolname || rolsuper, ',' ORDER BY 1) FROM pg_roles),
       (SELECT count(*) FROM pg_prepared_xacts),
       (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%')
"""


@dataclass(frozen=True)
class Shop:
    admin: str
    """URL of a superuser, for whoever looks from outside."""
    reader: str
    """It reads everything."""
    narrow: str
    """It reads what `SHUT` leaves open: its login was made by the role manager."""

    async def login(self, name: str, access: DatabaseAccess, *, writes: bool = False) -> str:
        """The URL of another one that was made so."""
        url = self.reader.replace("_reader:", f"_{name}:")
        await PostgresEngine(url, access, writes=writes).role_script(self.admin, apply=True)
        return url

    async def outside(self, statement: str) -> list[Any]:
        connection = await asyncpg.connect(self.admin)
        try:
            return list(await connection.fetch(statement))
        finally:
            await connection.close()

    async def outside_all(self, statements: str) -> None:
        """Several at once."""
        connection = await asyncpg.connect(self.admin)
        try:
            await connection.execute(statements)
        finally:
            await connection.close()

    async def state(self) -> tuple[Any, ...]:
        """Everything that a statement could have changed."""
        return tuple((await self.outside(STATE))[0])


async def make_shop(server: str, name: str) -> Shop:
    """In a server that is reached by this URL of a superuser."""
    outside = await asyncpg.connect(server)
    try:
        await outside.execute(f"CREATE DATABASE {name}")
    finally:
        await outside.close()
    admin = server.replace("/postgres?", f"/{name}?")
    connection = await asyncpg.connect(admin)
    try:
        await connection.execute(SHOP)
        await connection.execute(CLOSED)
        await connection.execute(GRANTS.format(role=f"{name}_reader"))
    finally:
        await connection.close()
    shop = Shop(admin, *(admin.replace("//postgres:@", f"//{name}_{login}:reads@") for login in ("reader", "narrow")))
    await shop.login("narrow", SHUT)
    return shop
