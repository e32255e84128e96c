"""What a PostgreSQL can show beside its tables: plans, functions that need no privilege, tables that are made later."""

import secrets

import anyio
import pytest
from tests.providers.database.postgres_shop import Shop, access, make_shop

from pegboard.core.databases.rows import FindingSeverity, QueryRows, StatementRefusal
from pegboard.core.model.databases import QueryLimits
from pegboard.ports.databases import SourceError
from pegboard.providers.database.postgres.engine import PostgresEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = QueryLimits(seconds=20)


@pytest.fixture(scope="module")
def own(postgres_server: str) -> Shop:
    return anyio.run(make_shop, postgres_server, f"hidden{secrets.token_hex(4)}")


PLANS = """
CREATE VIEW named AS SELECT id, name FROM people WHERE ssn <> '987-65-4321';
CREATE VIEW over_named AS SELECT name FROM named;
CREATE TABLE policed (id int, holder text);
ALTER TABLE policed ENABLE ROW LEVEL SECURITY;
CREATE POLICY only_mine ON policed USING (holder <> '987-65-4321');
CREATE VIEW policed_view WITH (security_invoker) AS SELECT id FROM policed;
CREATE VIEW order_notes AS SELECT note FROM orders WHERE id > 3;
CREATE MATERIALIZED VIEW order_kept AS SELECT note FROM orders WHERE id > 3;
"""


@pytest.mark.behaviour("databases.explained")
async def test_no_plan_shows_the_condition_of_a_view_or_a_policy_over_what_is_closed(own: Shop) -> None:
    rule = access("people.ssn", "hr.*", allow=("*", "public.named", "public.over_named"))
    await own.outside_all(PLANS)
    engine = PostgresEngine(await own.login("plans", rule), rule)
    hiding = (
        "EXPLAIN SELECT id AS ssn FROM named",
        "EXPLAIN SELECT /* ssn */ id FROM public.named n WHERE n.id = 1",
        "EXPLAIN (VERBOSE) SELECT id FROM named UNION SELECT 1",
        "EXPLAIN SELECT name FROM over_named",
        "EXPLAIN SELECT 1 FROM (WITH named AS (SELECT 1) SELECT * FROM named) a, named b",
        "EXPLAIN SELECT holder FROM policed",
        "EXPLAIN SELECT id FROM policed_view",
    )
    shown = (
        "EXPLAIN SELECT name FROM people WHERE city = 'Bonn'",
        "EXPLAIN SELECT note FROM order_notes o JOIN public.orders USING (note)",
        "EXPLAIN WITH a AS (SELECT 1 AS x) SELECT x FROM a, order_kept",
    )
    try:
        assert (await engine.check()).findings == ()
        answers = {text: await engine.run(text, (), LIMITS) for text in (*hiding, *shown)}
        rows = await engine.run("SELECT id FROM named", (), LIMITS)
    finally:
        await engine.aclose()
        await own.outside_all("DROP TABLE policed CASCADE; DROP VIEW named CASCADE; DROP VIEW order_notes")
        await own.outside_all("DROP MATERIALIZED VIEW order_kept")
    assert isinstance(rows, QueryRows)
    assert {text for text, answer in answers.items() if isinstance(answer, StatementRefusal)} == {*hiding}
    assert {text for text, answer in answers.items() if isinstance(answer, QueryRows)} == {*shown}


@pytest.mark.behaviour("databases.postgres.only_queries")
async def test_a_function_of_the_database_is_not_called_by_a_name_that_is_listed(own: Shop) -> None:
    await own.outside_all("CREATE FUNCTION upper(int) RETURNS text LANGUAGE sql AS 'SELECT $1::text'")
    asked = ("SELECT upper(1)", "SELECT public.upper(1)", "SELECT upper(name) FROM people")
    fine = ("SELECT pg_catalog.upper(name) FROM people", "SELECT lower(name), extract(year FROM now()) FROM people")
    try:
        for rule in (access(), access("hr.*")):
            engine = PostgresEngine(await own.login("overloads", rule), rule)
            await engine.check()
            answers = {text: await engine.run(text, (), LIMITS) for text in (*asked, *fine)}
            await engine.aclose()
            assert {text for text, each in answers.items() if isinstance(each, QueryRows)} == {*fine}
            assert "pg_catalog.upper()" in repr(answers[asked[0]])
            # Where it may not be called, the name is the server's own.
            await own.outside_all("REVOKE EXECUTE ON FUNCTION upper(int) FROM PUBLIC")
            engine = PostgresEngine(await own.login("overloads", rule), rule)
            await engine.check()
            assert isinstance(await engine.run(asked[2], (), LIMITS), QueryRows)
            await engine.aclose()
            await own.outside_all("GRANT EXECUTE ON FUNCTION upper(int) TO PUBLIC")
    finally:
        await own.outside_all("DROP FUNCTION upper(int)")


TRIGGERS = """
CREATE FUNCTION copies() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
    'BEGIN NEW.note := (SELECT max(word) FROM public.secret); RETURN NEW; END';
CREATE FUNCTION stamps() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.note := now()::text; RETURN NEW; END';
CREATE TABLE copied_into (id int, note text) PARTITION BY LIST (id);
CREATE TABLE copied_part PARTITION OF copied_into DEFAULT;
CREATE TRIGGER copies BEFORE INSERT ON copied_part FOR EACH ROW EXECUTE FUNCTION copies();
CREATE VIEW copied_rows AS SELECT id, note FROM copied_into;
CREATE TABLE ruled (id int, note text);
CREATE RULE ruled AS ON INSERT TO ruled DO INSTEAD SELECT word FROM secret;
CREATE TABLE stamped (id int, note text);
CREATE TRIGGER stamps BEFORE INSERT ON stamped FOR EACH ROW EXECUTE FUNCTION stamps();
"""


@pytest.mark.behaviour("databases.postgres.privileges")
async def test_tables_whose_triggers_have_other_rights_are_not_changed_where_something_is_closed(own: Shop) -> None:
    await own.outside_all(TRIGGERS)
    rule = access("public.secret")
    url = await own.login("triggers", rule, writes=True)
    login = url.split("//")[1].split(":")[0]
    engine = PostgresEngine(url, rule, writes=True)
    try:
        assert (await engine.check()).findings == ()
        insert = "INSERT INTO {} (id) VALUES (1) RETURNING note"
        denied = [
            await engine.run(insert.format(name), (), LIMITS, write=True)
            for name in ("copied_into", "copied_part", "ruled", "stamped")
        ]
        await own.outside_all(f"GRANT INSERT ON copied_into, ruled, copied_rows TO {login}")
        found = (await engine.check()).findings
        await own.login("triggers", rule, writes=True)
        assert (await engine.check()).findings == ()
        # Where nothing is closed, a trigger does as its owner wrote it.
        everything = PostgresEngine(await own.login("changes", access(), writes=True), access(), writes=True)
        assert (await everything.check()).findings == ()
        changed = await everything.run(insert.format("copied_into"), (), LIMITS, write=True)
        await everything.aclose()
    finally:
        await engine.aclose()
        await own.outside_all("DROP TABLE copied_into, ruled, stamped CASCADE; DROP FUNCTION copies(), stamps()")
    assert [isinstance(each, QueryRows) for each in denied] == [False, False, False, True]
    assert [each.severity for each in found] == [FindingSeverity.REFUSED, FindingSeverity.REFUSED_UNLESS_FORCED]
    assert "may show what is closed: public.copied_into, public.copied_rows, public.ruled." in found[0].message
    assert isinstance(changed, QueryRows)


@pytest.mark.behaviour("databases.role_script")
async def test_an_administrator_is_one_of_this_kind_of_server_with_the_rights_that_it_takes(own: Shop) -> None:
    rule = access("public.secret")
    engine = PostgresEngine(await own.login("managed", rule), rule)
    for url in ("garbage", "mysql://root@localhost/", "postgresql:garbage", "", "//localhost"):
        with pytest.raises(SourceError, match=r"not one of this server. Begin it with postgresql://"):
            await engine.role_script(url, apply=True)
    weak = own.reader.split("//")[1].split(":")[0].replace("reader", "weak")
    await own.outside_all(f"CREATE ROLE {weak} LOGIN CREATEROLE PASSWORD 'reads'; GRANT SELECT ON secret TO PUBLIC")
    try:
        with pytest.raises(
            SourceError, match=r"Nothing was changed\. A superuser or the owner|A superuser or the owner"
        ):
            await engine.role_script(own.reader.replace("_reader:", "_weak:"), apply=True)
    finally:
        await own.outside_all(f"REVOKE SELECT ON secret FROM PUBLIC; DROP ROLE {weak}")
    missing = PostgresEngine(own.reader.replace("_reader:", "_nobody:"), rule)
    (finding,) = (await missing.check()).findings
    assert "`pegboard db role NAME` creates it" in finding.message


@pytest.mark.behaviour("databases.postgres.privileges")
async def test_roles_of_the_server_that_read_are_fine_where_nothing_is_closed(own: Shop) -> None:
    url = await own.login("server_roles", access())
    await own.outside_all(f"GRANT pg_read_all_data, pg_read_all_stats TO {url.split('//')[1].split(':')[0]}")
    engine = PostgresEngine(url, access())
    assert [each.message for each in (await engine.check()).findings] == []
    await engine.aclose()
