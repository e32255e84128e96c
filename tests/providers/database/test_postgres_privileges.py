"""What is found about the login of a PostgreSQL source, and what its role manager makes of it."""

import secrets
from dataclasses import dataclass, replace

import anyio
import asyncpg
import pytest
from tests.providers.database.postgres_shop import SHUT, Shop, access, make_shop

from pegboard.core.databases.rows import (
    DatabaseCheck,
    FindingSeverity,
    QueryRows,
    StatementFailure,
    StatementFault,
    StatementRefusal,
)
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, QueryLimits
from pegboard.ports.databases import SourceError
from pegboard.providers.database.common import NEEDS_WRITE
from pegboard.providers.database.postgres.engine import PostgresEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = QueryLimits(seconds=20)
SOMETHING = "Something that the statement names does not exist or cannot be read, and * means every column"
REFUSED, FORCED = FindingSeverity.REFUSED, FindingSeverity.REFUSED_UNLESS_FORCED


@dataclass(frozen=True)
class Case:
    made: str
    """What an administrator runs before; `{0}` is the login."""
    rule: DatabaseAccess
    severity: FindingSeverity
    words: str
    statement: str = ""
    writes: bool = False
    undone: str = "SELECT 1"
    reads: str = "orders, customers"


NOTHING = access("public.kinds")
DEFINER = (
    "CREATE FUNCTION definer(text, mood) RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT max(word) FROM "
    "public.secret'; REVOKE ALL ON FUNCTION definer FROM PUBLIC"
)
FAR = (
    "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER far FOREIGN DATA WRAPPER w; "
    "CREATE FOREIGN TABLE f (id int) SERVER far"
)
CASES = {
    "superuser": Case(
        "ALTER ROLE {0} SUPERUSER", FULL_ACCESS, FORCED, "is a superuser", 'ALTER ROLE "{0}" NOSUPERUSER'
    ),
    "superuser where something is closed": Case("ALTER ROLE {0} SUPERUSER", NOTHING, REFUSED, "is a superuser"),
    "creates roles": Case("ALTER ROLE {0} CREATEROLE", FULL_ACCESS, FORCED, "a member: CREATEROLE.", "NOCREATEROLE"),
    "creates roles, closed": Case("ALTER ROLE {0} CREATEROLE", NOTHING, REFUSED, "CREATEROLE"),
    "replicates": Case("ALTER ROLE {0} REPLICATION", NOTHING, REFUSED, "REPLICATION"),
    "is in a superuser, and does not inherit": Case(
        "CREATE ROLE {0}_far SUPERUSER; CREATE ROLE {0}_near IN ROLE {0}_far; ALTER ROLE {0} NOINHERIT; "
        "GRANT {0}_near TO {0}",
        NOTHING,
        REFUSED,
        "of its own or as a member: {0}_far.",
        'REVOKE "{0}_near" FROM "{0}"',
        undone="DROP ROLE {0}_near, {0}_far",
    ),
    "reads files": Case("GRANT pg_read_server_files TO {0}", NOTHING, REFUSED, "pg_read_server_files"),
    "runs programs": Case("GRANT pg_execute_server_program TO {0}", FULL_ACCESS, FORCED, "pg_execute_server_program"),
    "reads all data": Case("GRANT pg_read_all_data TO {0}", NOTHING, REFUSED, "pg_read_all_data"),
    "watches others": Case("GRANT pg_monitor TO {0}", NOTHING, REFUSED, "pg_monitor"),
    "ends others": Case("GRANT pg_signal_backend TO {0}", FULL_ACCESS, FORCED, "pg_signal_backend"),
    "reads past row security": Case("ALTER ROLE {0} BYPASSRLS", FULL_ACCESS, FORCED, "BYPASSRLS"),
    "reads a closed table": Case(
        "GRANT SELECT ON secret TO {0}",
        access("secret"),
        REFUSED,
        "or what shows it: public.secret.",
        'REVOKE ALL ON ALL TABLES IN SCHEMA "hr", "public" FROM "{0}"',
    ),
    "reads a closed column": Case(
        "GRANT SELECT ON people TO {0}",
        access("people.ssn"),
        REFUSED,
        "or what shows it: public.people.ssn.",
        'GRANT SELECT ("id", "name", "city") ON "public"."people" TO "{0}"',
    ),
    "reads what is closed to all but some": Case(
        "GRANT SELECT ON kinds TO PUBLIC",
        access(allow=("public.orders", "public.customers")),
        REFUSED,
        "public.kinds",
        'REVOKE SELECT ON "public"."kinds" FROM PUBLIC',
    ),
    "reads what an extension brings, and a pattern denies": Case(
        "CREATE EXTENSION IF NOT EXISTS plpgsql; CREATE TABLE brought (id int); GRANT SELECT ON brought TO PUBLIC; "
        "ALTER EXTENSION plpgsql ADD TABLE brought",
        access("brought"),
        REFUSED,
        "public.brought",
        'REVOKE SELECT ON "public"."brought" FROM PUBLIC',
        undone="ALTER EXTENSION plpgsql DROP TABLE brought; DROP TABLE brought",
    ),
    "reads by a role that it would set": Case(
        "CREATE ROLE {0}_near NOLOGIN; GRANT USAGE ON SCHEMA hr TO {0}_near; GRANT SELECT ON hr.pay TO {0}_near; "
        "ALTER ROLE {0} NOINHERIT; GRANT {0}_near TO {0}",
        access("hr.*"),
        REFUSED,
        "hr.pay",
        'REVOKE "{0}_near" FROM "{0}"',
        undone="DROP OWNED BY {0}_near; DROP ROLE {0}_near",
    ),
    "reads a view over a view over what is closed": Case(
        "GRANT SELECT ON secret_far TO {0}",
        access("public.secret"),
        REFUSED,
        "or what shows it: public.secret_far.",
        'REVOKE SELECT ON "public"."secret_far" FROM PUBLIC',
    ),
    "reads a view of whole rows": Case(
        "GRANT SELECT ON people_rows TO {0}", access("people.ssn"), REFUSED, "public.people_rows"
    ),
    "reads a materialized view": Case(
        "GRANT SELECT ON secret_kept TO {0}", access("public.secret"), REFUSED, "secret_kept"
    ),
    "reads a parent of what is closed": Case("GRANT SELECT ON ledger TO {0}", access("ledger_shut"), REFUSED, "ledger"),
    "reads a child of what is closed": Case(
        "GRANT SELECT ON vault_child TO {0}", access("vault"), REFUSED, "vault_child"
    ),
    "reads a part by a closed column": Case(
        "GRANT SELECT ON ledger_open TO {0}", access("public.ledger.kind"), REFUSED, "ledger_open"
    ),
    "reads a column that is computed": Case(
        "GRANT SELECT (id, copy) ON copied TO {0}", access("copied.ssn"), REFUSED, "public.copied.copy"
    ),
    "reads a view over another server": Case(
        f"{FAR}; CREATE VIEW far_view AS SELECT id FROM f; GRANT SELECT ON far_view TO {{0}}",
        NOTHING,
        REFUSED,
        "or what shows it: public.far_view.",
        undone="DROP FOREIGN DATA WRAPPER w CASCADE",
    ),
    "reads a materialized view over a view over another server": Case(
        f"{FAR}; CREATE VIEW far_view WITH (security_invoker) AS SELECT id FROM f; "
        "CREATE MATERIALIZED VIEW far_kept AS SELECT id FROM far_view WITH NO DATA; GRANT SELECT ON far_kept TO {0}",
        NOTHING,
        REFUSED,
        "public.far_kept",
        undone="DROP FOREIGN DATA WRAPPER w CASCADE",
    ),
    "reads a parent of a table of another server": Case(
        f"{FAR}; CREATE TABLE near (id int); ALTER FOREIGN TABLE f INHERIT near; GRANT SELECT ON near TO {{0}}",
        NOTHING,
        REFUSED,
        "public.near",
        undone="DROP FOREIGN DATA WRAPPER w CASCADE; DROP TABLE near",
    ),
    "reads what a function filled": Case(
        "CREATE FUNCTION fills() RETURNS text LANGUAGE sql AS 'SELECT max(word) FROM public.secret'; "
        "CREATE MATERIALIZED VIEW filled AS SELECT fills() AS word; GRANT SELECT ON filled TO {0}",
        NOTHING,
        REFUSED,
        "or what shows it: public.filled.",
        undone="DROP FUNCTION fills() CASCADE",
    ),
    "reads what an operator filled": Case(
        "CREATE MATERIALIZED VIEW filled AS SELECT 1 === 2 AS a; GRANT SELECT ON filled TO {0}",
        NOTHING,
        REFUSED,
        "public.filled",
        undone="DROP MATERIALIZED VIEW filled",
    ),
    "reads what was filled by the text of a statement": Case(
        "CREATE MATERIALIZED VIEW filled AS SELECT query_to_xml('SELECT word FROM public.secret', true, true, '') "
        "AS a WITH NO DATA; GRANT SELECT ON filled TO {0}",
        NOTHING,
        REFUSED,
        "public.filled",
        undone="DROP MATERIALIZED VIEW filled",
    ),
    "reads what was filled by a view with the rights of its caller": Case(
        "CREATE VIEW as_caller WITH (security_invoker) AS SELECT word FROM secret; "
        "CREATE MATERIALIZED VIEW filled AS SELECT word FROM as_caller; GRANT SELECT ON filled TO {0}",
        access("public.secret"),
        REFUSED,
        "public.filled",
        undone="DROP VIEW as_caller CASCADE",
    ),
    "calls what runs with other rights": Case(
        "GRANT EXECUTE ON FUNCTION peek() TO {0}",
        NOTHING,
        REFUSED,
        "functions that read with other rights than its own: public.peek()",
        'REVOKE EXECUTE ON ROUTINE public.peek() FROM PUBLIC, "{0}"',
    ),
    "calls an aggregate that runs with other rights": Case(
        f"{DEFINER}; CREATE AGGREGATE max(mood) (SFUNC = definer, STYPE = text)",
        NOTHING,
        REFUSED,
        "functions that read with other rights than its own: public.max(public.mood)",
        'REVOKE EXECUTE ON ROUTINE public.max(public.mood) FROM PUBLIC, "{0}"',
        undone="DROP AGGREGATE max(mood); DROP FUNCTION definer",
    ),
    "compares with other rights": Case(
        f"{DEFINER}; CREATE OPERATOR <<< (LEFTARG = text, RIGHTARG = mood, FUNCTION = definer)",
        NOTHING,
        REFUSED,
        "through a type, an operator or a cast: public.definer(text, public.mood)",
        "ALTER ROUTINE public.definer(text, public.mood) SECURITY INVOKER",
        undone="DROP FUNCTION definer CASCADE",
    ),
    "sorts with other rights": Case(
        "CREATE TYPE odd AS (a int); CREATE FUNCTION odd_order(odd, odd) RETURNS int LANGUAGE sql SECURITY "
        "DEFINER AS 'SELECT 0'; REVOKE ALL ON FUNCTION odd_order FROM PUBLIC; CREATE OPERATOR CLASS odd_class DEFAULT "
        "FOR TYPE odd USING btree AS FUNCTION 1 odd_order(odd, odd)",
        NOTHING,
        REFUSED,
        "through a type, an operator or a cast: public.odd_order(public.odd, public.odd)",
        undone="DROP TYPE odd CASCADE",
    ),
    "will read what is made later": Case(
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {0}; "
        "ALTER DEFAULT PRIVILEGES IN SCHEMA hr GRANT SELECT ON TABLES TO {0}",
        NOTHING,
        REFUSED,
        "made later, by default privileges: FOR ROLE postgres TO {0}, FOR ROLE postgres IN SCHEMA hr TO {0}.",
        'ALTER DEFAULT PRIVILEGES FOR ROLE postgres IN SCHEMA hr REVOKE ALL ON TABLES FROM "{0}"',
    ),
    "will read what is made later for everyone": Case(
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC",
        NOTHING,
        REFUSED,
        "made later, by default privileges: FOR ROLE postgres TO PUBLIC.",
    ),
    "calls functions that read files": Case(
        "GRANT EXECUTE ON FUNCTION pg_read_file(text), lo_import(text) TO {0}",
        FULL_ACCESS,
        FORCED,
        "powers that a source does not need, of its own or as a member: EXECUTE ON ROUTINE pg_catalog.",
        'REVOKE EXECUTE ON ROUTINE pg_catalog.pg_read_file(text) FROM PUBLIC, "{0}"',
    ),
    "calls functions that read files, as everyone": Case(
        "GRANT EXECUTE ON FUNCTION pg_ls_dir(text) TO PUBLIC", NOTHING, REFUSED, "pg_catalog.pg_ls_dir(text)"
    ),
    "reads statistics of columns": Case(
        "GRANT SELECT (stavalues1) ON pg_statistic TO {0}; GRANT SELECT ON pg_authid TO PUBLIC",
        NOTHING,
        REFUSED,
        "SELECT ON pg_statistic",
    ),
    "sets what is for superusers": Case(
        "GRANT ALTER SYSTEM ON PARAMETER archive_command TO {0}",
        FULL_ACCESS,
        FORCED,
        "ALL ON parameter archive_command",
    ),
    "opens files of the server as rasters": Case(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET postgis.enable_outdb_rasters = on', current_database()); "
        "END $$",
        NOTHING,
        REFUSED,
        "files of the server, by postgis.enable_outdb_rasters",
        'ALTER ROLE "{0}" SET postgis.enable_outdb_rasters = off',
        undone="DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET ALL', current_database()); END $$",
    ),
    "creates databases": Case("ALTER ROLE {0} CREATEDB", FULL_ACCESS, FORCED, "CREATEDB", "NOCREATEDB"),
    "has passed on a role": Case(
        "CREATE ROLE {0}_near; CREATE ROLE {0}_next; GRANT SELECT ON secret TO {0}_near; "
        "GRANT {0}_near TO {0} WITH ADMIN OPTION; SET ROLE {0}; GRANT {0}_near TO {0}_next; RESET ROLE",
        access("public.secret"),
        REFUSED,
        "public.secret",
        "CASCADE",
        undone="DROP OWNED BY {0}_near; DROP ROLE {0}_near, {0}_next",
    ),
    "was granted a table and a role by another": Case(
        "CREATE ROLE {0}_near; CREATE ROLE {0}_next CREATEROLE; GRANT USAGE ON SCHEMA public TO {0}_next; "
        "GRANT {0}_near TO {0}_next WITH ADMIN OPTION; GRANT SELECT ON secret TO {0}_next WITH GRANT OPTION; "
        "SET ROLE {0}_next; GRANT SELECT (word) ON secret TO {0}; GRANT SELECT ON secret TO PUBLIC; "
        "GRANT {0}_near TO {0}; RESET ROLE",
        access("public.secret"),
        REFUSED,
        "what shows it: public.secret",
        "SET ROLE {0}_next; REVOKE ALL ON public.secret FROM PUBLIC; RESET ROLE",
        undone="REVOKE ALL ON secret FROM {0}_next CASCADE; DROP OWNED BY {0}_next; DROP ROLE {0}_near, {0}_next",
    ),
    "passed on what it was granted": Case(
        "CREATE ROLE {0}_next; GRANT SELECT ON secret TO {0} WITH GRANT OPTION; SET ROLE {0}; "
        "GRANT SELECT ON secret TO {0}_next, PUBLIC; RESET ROLE",
        access("public.secret"),
        REFUSED,
        "or what shows it: public.secret",
        'REVOKE ALL ON ALL TABLES IN SCHEMA "hr", "public" FROM "{0}" CASCADE',
        undone="DROP OWNED BY {0}_next; DROP ROLE {0}_next",
    ),
    "was granted a column by another": Case(
        "CREATE ROLE {0}_next; GRANT USAGE ON SCHEMA public TO {0}_next; GRANT SELECT (ssn) ON people TO {0}_next WITH "
        "GRANT OPTION; SET ROLE {0}_next; GRANT SELECT (ssn) ON people TO {0}, PUBLIC; RESET ROLE",
        access("people.ssn"),
        REFUSED,
        "or what shows it: public.people.ssn.",
        "SET ROLE {0}_next; REVOKE ALL (ssn) ON public.people FROM PUBLIC; RESET ROLE",
        undone="DROP OWNED BY {0}_next; DROP ROLE {0}_next",
        reads="orders",
    ),
    "reads a system table beside all data": Case(
        "GRANT pg_read_all_data TO {0}; GRANT SELECT (stavalues1) ON pg_statistic TO {0}",
        access("public.secret"),
        REFUSED,
        "SELECT ON pg_statistic",
        'REVOKE SELECT ON pg_statistic FROM PUBLIC, "{0}" CASCADE',
    ),
    "reads a sequence of a closed table": Case(
        "CREATE TABLE numbered (id serial); GRANT SELECT ON numbered_id_seq TO PUBLIC",
        access("numbered"),
        REFUSED,
        "no open table takes values from: SELECT ON public.numbered_id_seq.",
        "REVOKE ALL ON SEQUENCE public.numbered_id_seq FROM PUBLIC",
        undone="DROP TABLE numbered",
    ),
    "reads what an extension shows of the catalog": Case(
        "CREATE VIEW brought AS SELECT relname FROM pg_class; GRANT SELECT ON brought TO PUBLIC; "
        "ALTER EXTENSION plpgsql ADD VIEW brought",
        NOTHING,
        REFUSED,
        "or what shows it: public.brought.",
        'REVOKE SELECT ON "public"."brought" FROM PUBLIC',
        undone="ALTER EXTENSION plpgsql DROP VIEW brought; DROP VIEW brought",
    ),
    "owns a closed table": Case(
        "CREATE TABLE mine (id int); ALTER TABLE mine OWNER TO {0}",
        access("mine"),
        REFUSED,
        "owns what it asks",
        'REASSIGN OWNED BY "{0}" TO CURRENT_USER',
        undone="DROP TABLE mine",
    ),
    "owns a table": Case(
        "CREATE TABLE mine (id int); ALTER TABLE mine OWNER TO {0}",
        FULL_ACCESS,
        FORCED,
        "may do everything with it: table public.mine.",
        undone="DROP TABLE mine",
    ),
    "changes tables": Case(
        "GRANT INSERT, UPDATE (note) ON orders TO {0}",
        FULL_ACCESS,
        FORCED,
        "by rights of its own or of PUBLIC: INSERT ON public.orders, UPDATE ON public.orders.",
        'REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON "public"."orders" FROM PUBLIC',
    ),
    "creates tables": Case(
        "GRANT CREATE ON SCHEMA public TO {0}",
        FULL_ACCESS,
        FORCED,
        "CREATE ON SCHEMA public",
        "CREATE ON SCHEMA public",
    ),
    "changes what is closed": Case(
        "GRANT INSERT ON secret TO {0}",
        access("public.secret"),
        REFUSED,
        "may change what the board closes: INSERT ON public.secret.",
        writes=True,
    ),
    "reads another server": Case(
        f"{FAR}; GRANT SELECT ON f TO {{0}}; GRANT USAGE ON FOREIGN SERVER far TO {{0}}",
        FULL_ACCESS,
        FORCED,
        "SELECT ON public.f, USAGE ON FOREIGN SERVER far",
        'REVOKE USAGE ON FOREIGN SERVER far FROM PUBLIC, "{0}"',
        undone="DROP FOREIGN DATA WRAPPER w CASCADE",
    ),
}


@pytest.fixture(scope="module")
def own(postgres_server: str) -> Shop:
    return anyio.run(make_shop, postgres_server, f"own{secrets.token_hex(4)}")


async def checked(url: str, rule: DatabaseAccess, *, writes: bool = False) -> DatabaseCheck:
    engine = PostgresEngine(url, rule, writes=writes)
    try:
        return await engine.check()
    finally:
        await engine.aclose()


@pytest.mark.behaviour("databases.postgres.privileges")
@pytest.mark.parametrize("name", CASES)
async def test_a_login_that_may_too_much_is_found_and_the_statements_take_it_away(own: Shop, name: str) -> None:
    case, login = CASES[name], f"login{secrets.token_hex(4)}"
    url = own.reader.replace(own.reader.split("//")[1].split(":")[0], login)
    await own.outside(f"CREATE ROLE {login} LOGIN PASSWORD 'reads'")
    try:
        for line in (f"GRANT SELECT ON {case.reads} TO {{0}}", case.made):
            await _run(own, line.format(login))
        found = await checked(url, case.rule, writes=case.writes)
        fitting = [each for each in found.findings if case.words.format(login) in each.message]
        assert [each.severity for each in fitting] == [case.severity], found.findings
        assert found.role == login
        (script,) = [each.statements for each in found.findings if each.statements]
        assert any(case.statement.format(login) in each for each in script), script
        for statement in script:
            await _run(own, statement)
        after = await checked(url, case.rule, writes=case.writes)
        assert after.findings == ()
        assert [statement for statement in script if "SELECT ON information_schema" in statement] == []
    finally:
        await _run(own, f"DROP OWNED BY {login}")
        await _run(own, case.undone.format(login))
        await _run(own, f"DROP ROLE {login}")
        await _run(own, "REVOKE SELECT ON kinds FROM PUBLIC")


async def _run(shop: Shop, statements: str) -> None:
    connection = await asyncpg.connect(shop.admin)
    try:
        await connection.execute(statements)
    finally:
        await connection.close()


@pytest.mark.behaviour("databases.postgres.privileges")
async def test_a_login_as_the_manager_makes_it_is_fine_and_reads_what_is_open(own: Shop) -> None:
    rules = {
        "all": FULL_ACCESS,
        "some": access("public.secret", "people.ssn"),
        "few": access(allow=("public.orders", "public.people_ssns", "public.kinds.id")),
    }
    listed = {}
    for name, rule in rules.items():
        for writes in (False, True):
            url = await own.login(name, rule, writes=writes)
            assert (await checked(url, rule, writes=writes)).findings == (), (name, writes)
            roles = PostgresEngine(url, rule, writes=writes)
            again = (await roles.role_script(None)).statements
            assert again == (await roles.role_script(own.admin, apply=True)).statements
        engine = PostgresEngine(url, rule, writes=True)
        listed[name] = {
            table.name.table: [one.name for one in table.columns] for table in (await engine.schema()).tables
        }
        assert await engine.run("DELETE FROM orders WHERE id = 1", (), LIMITS) == NEEDS_WRITE
        await engine.aclose()
    assert listed["few"] == {
        "orders": ["id", "customer_id", "total", "note", "made_on"],
        "kinds": ["id"],
        # Named by itself, it is its operator's way to show what it makes of something closed.
        "people_ssns": ["name", "number"],
    }
    assert "secret" in listed["all"]
    assert listed["some"]["people"] == ["id", "name", "city"]
    assert not {"secret", "secret_far", "people_rows"} & listed["some"].keys()


@pytest.mark.behaviour("databases.postgres.privileges")
async def test_what_an_extension_brings_need_not_be_on_a_list_of_what_is_allowed(own: Shop) -> None:
    await _run(own, "CREATE TABLE brought (id int); GRANT SELECT ON brought TO PUBLIC")
    rule = access(allow=("public.orders",))
    url = await own.login("listed", rule)
    await _run(own, "GRANT SELECT ON brought TO PUBLIC; ALTER EXTENSION plpgsql ADD TABLE brought")
    try:
        assert (await checked(url, rule)).findings == ()
    finally:
        await _run(own, "ALTER EXTENSION plpgsql DROP TABLE brought")
        found = (await checked(url, rule)).findings
        await _run(own, "DROP TABLE brought")
    assert [each.severity for each in found] == [REFUSED]


@pytest.mark.behaviour("databases.postgres.privileges")
async def test_a_login_that_reads_too_much_is_repaired_and_the_password_is_shown_nowhere(own: Shop) -> None:
    rule = access("public.secret")
    url = own.reader.replace("_reader:reads@", "_fresh:it's%20hidden@")
    manager = PostgresEngine(url, rule)
    script = await manager.role_script(own.admin)
    assert script.statements[0] == f"CREATE ROLE \"{script.role}\" LOGIN PASSWORD 'choose-a-long-one'"
    with pytest.raises(SourceError):
        await manager.role_script(None)
    assert (await manager.role_script(own.admin, apply=True)).statements == script.statements
    assert (await checked(url, rule)).findings == ()
    await _run(own, f"GRANT SELECT ON secret TO {script.role}; GRANT CREATE ON SCHEMA public TO {script.role}")
    assert [each.severity for each in (await checked(url, rule)).findings] == [REFUSED, FORCED]
    fixed = await manager.role_script(own.admin, apply=True)
    assert fixed.statements[0] == f'REVOKE ALL ON ALL TABLES IN SCHEMA "hr", "public" FROM "{script.role}" CASCADE'
    assert (await checked(url, rule)).findings == ()
    # Without a host and a database, the administrator is one of the source's own.
    assert (await manager.role_script("postgresql://postgres@")).statements[0] == fixed.statements[0]
    with pytest.raises(SourceError, match="the server's own superuser"):
        await PostgresEngine(own.admin, rule).role_script(own.admin)
    assert (await checked(own.admin, rule)).findings[0].severity is REFUSED


@pytest.mark.behaviour("databases.postgres.privileges")
async def test_views_with_the_rights_of_their_callers_and_row_security_narrow_further(own: Shop) -> None:
    await _run(own, "CREATE VIEW own_rights WITH (security_invoker = on) AS SELECT word FROM secret")
    rule = access("public.secret")
    url = await own.login("invoker", rule)
    engine = PostgresEngine(url, rule)
    try:
        denied = await engine.run("SELECT word FROM own_rights", (), LIMITS)
        await _run(own, "ALTER TABLE orders ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON orders USING (id < 3)")
        few = await engine.run("SELECT count(*) FROM orders", (), LIMITS)
        (past,) = (await engine.check()).findings
        await own.login("invoker", rule)
        findings = (await engine.check()).findings
    finally:
        await engine.aclose()
        await _run(
            own, "DROP POLICY few ON orders; ALTER TABLE orders DISABLE ROW LEVEL SECURITY; DROP VIEW own_rights"
        )
    assert denied == StatementFailure(f"{SOMETHING}; own_rights has word", None, StatementFault.OTHER)
    assert isinstance(few, QueryRows)
    assert few.rows == ((2,),)
    # A view with the rights of its owner reads past the policy.
    assert (past.severity, "what shows it: public.order_totals" in past.message) == (REFUSED, True)
    assert findings == ()


@pytest.mark.behaviour("databases.withheld")
async def test_errors_name_and_show_nothing_that_the_statement_does_not(own: Shop) -> None:
    await _run(own, "CREATE TABLE referring (id int PRIMARY KEY, sid int CONSTRAINT by_secret_word REFERENCES secret)")
    await _run(own, "CREATE VIEW big AS SELECT note FROM orders WHERE id < 0")
    url = await own.login("writer", SHUT, writes=True)
    engine = PostgresEngine(url, SHUT, writes=True)
    try:
        answers = [
            await engine.run(text, (), LIMITS, write=text.startswith("INSERT"))
            for text in (
                "INSERT INTO referring VALUES (1, 999)",
                "SELECT note::int FROM orders",
                "SELECT nme FROM people",
                "SELECT sss FROM people p",
                "SELECT nothing FROM secret",
                "SELECT $1::int FROM secret",
                "SELECT hr.f(1)",
                "SELECT 1::hr.pay",
                "SELECT 'a' COLLATE hr.x",
                "INSERT INTO secret VALUES (9, 'x')",
                "INSERT INTO people_fine VALUES ('a', 'b')",
            )
        ]
    finally:
        await engine.aclose()
        await _run(own, "DROP VIEW big; DROP TABLE referring")
    said = [answer.message if isinstance(answer, StatementFailure) else answer for answer in answers]
    assert said == [
        'insert or update on table "referring" violates foreign key constraint "…"',
        'invalid input syntax for type integer: "…"',
        'column "nme" does not exist (or cannot be read); people has id, name, city',
        'column "sss" does not exist (or cannot be read); people has id, name, city',
        'relation "secret" does not exist (or cannot be read)',
        'relation "secret" does not exist (or cannot be read)',
        "function hr.f() does not exist, or does more than compute and may not be called here",
        "type 'pay' does not exist or cannot be used here",
        SOMETHING,
        'relation "secret" does not exist (or cannot be read)',
        'relation "people_fine" does not exist (or cannot be read)',
    ]


@pytest.mark.behaviour("databases.postgres.privileges")
async def test_a_refusal_of_a_statement_needs_no_server(own: Shop) -> None:
    away = replace(own, reader="postgresql://me:hidden@127.0.0.1:1/shop")
    engine = PostgresEngine(away.reader, FULL_ACCESS)
    assert isinstance(await engine.run("DROP TABLE orders", (), LIMITS), StatementRefusal)
    assert (await engine.check()).version == ""
