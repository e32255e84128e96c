"""The login of a MySQL or MariaDB source: what is wrong with it, and the statements that make it right."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.providers.database import mysql_shop
from tests.providers.database.mysql_shop import Shop, access

from pegboard.core.databases.rows import DatabaseFinding, FindingSeverity, QueryRows, StatementFailure, StatementRefusal
from pegboard.core.model.databases import FULL_ACCESS, DatabaseAccess, QueryLimits
from pegboard.ports.databases import SourceError
from pegboard.providers.database.mysql.engine import MysqlEngine
from pegboard.providers.database.mysql.privileges import MysqlGrant, parse_grants

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = QueryLimits(seconds=20)
USER = "'broad'@'localhost'"
_, UNLESS_FORCED, REFUSED = FindingSeverity
MADE = (
    "CREATE TABLE gen (id int PRIMARY KEY, hidden varchar(20), copy varchar(20) AS (hidden) VIRTUAL, "
    "far varchar(30) AS (concat(copy, 'x')) STORED, filled varchar(30) DEFAULT (concat(hidden, 'y')), "
    "fine int AS (id + 1) VIRTUAL, said varchar(20) DEFAULT 'hidden')",
    "INSERT INTO gen (id, hidden) VALUES (1, 'xyzzy')",
    "CREATE VIEW gen_view AS SELECT id, copy FROM gen",
    "CREATE SQL SECURITY INVOKER VIEW gen_as_asked AS SELECT id, hidden FROM gen",
    "CREATE VIEW fine_far AS WITH f AS (SELECT name AS n FROM people_fine JOIN customers USING (name)) "
    "SELECT n, count(*) AS c FROM (SELECT n FROM f) x GROUP BY n HAVING c > 0 ORDER BY c",
    "CREATE TABLE shut (word varchar(20)) ENGINE = MyISAM",
    "CREATE TABLE merged (word varchar(20)) ENGINE = MERGE UNION = (shut)",
    "CREATE TABLE `odd ON ``name`` TO x` (`a ON b` int, `c,d)` int, hidden int)",
)
CLOSED = ("*.secret", "*.shut*", "*.people.ssn", "*.*.hidden")


@pytest.fixture(scope="module")
def shop(mariadb_socket: Path) -> Shop:
    own = mysql_shop.make_shop(mariadb_socket, f"shop_{secrets.token_hex(4)}")
    own.outside(*MADE)
    return own


@pytest.fixture
def broad(shop: Shop) -> Iterator[str]:
    """The URL of a user that may do nothing yet."""
    shop.outside(f"CREATE OR REPLACE USER {USER} IDENTIFIED BY 'reads'")
    yield shop.reader.replace(f"{shop.name}_reader", "broad")
    shop.outside(f"DROP USER {USER}", "DROP ROLE IF EXISTS mighty, middle, `quiet``one`")


async def found(url: str, rule: DatabaseAccess = FULL_ACCESS, *, writes: bool = False) -> tuple[DatabaseFinding, ...]:
    engine = MysqlEngine(url, rule, writes=writes)
    try:
        return (await engine.check()).findings
    finally:
        await engine.aclose()


def grants(shop: Shop, user: str) -> list[str]:
    return sorted(str(row[0]).split(" IDENTIFIED")[0] for row in shop.outside(f"SHOW GRANTS FOR {user}"))


@pytest.mark.behaviour("databases.mysql.privileges")
async def test_a_login_is_made_that_reads_exactly_what_is_open(shop: Shop) -> None:
    rule = access(*CLOSED)
    url = await shop.login(rule)
    manager = MysqlEngine(url, rule)
    assert await found(url, rule) == ()
    again = await manager.role_script(shop.root)
    assert again.statements[:2] == (
        f"CREATE USER IF NOT EXISTS {again.role} IDENTIFIED BY 'choose-a-long-one'",
        f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {again.role}",
    )
    assert (await manager.role_script(None)).statements == again.statements
    tables = {
        table.name.table: [column.name for column in table.columns]
        for table in (await MysqlEngine(url, rule).schema()).tables
    }
    assert tables == {
        "customers": ["id", "name", "city"],
        "gen": ["id", "filled", "said"],
        "kinds": ["id", "doc", "seen", "raw", "big", "f", "bits", "t", "e", "y"],
        "odd ON `name` TO x": ["a ON b", "c,d)"],
        "order_totals": ["customer_id", "total"],
        "orders": ["id", "customer_id", "total", "note", "made_on"],
        "people": ["id", "name", "city"],
    }
    assert all("INSERT" not in line for line in grants(shop, again.role))


@pytest.mark.behaviour("databases.mysql.privileges")
async def test_a_login_follows_a_board_that_opens_and_closes(shop: Shop) -> None:
    for closed, writes in (
        ("people.ssn", True),
        ("secret", False),
        ("people.ssn", False),
        ("people", True),
        ("people.ssn", False),
    ):
        rule = access(f"*.{closed}" if "." in closed else f"{shop.name}.{closed}")
        url = await shop.login(rule, writes=writes)
        assert await found(url, rule, writes=writes) == ()
        columns = {"people.ssn": ["id", "name", "city"], "secret": ["id", "name", "ssn", "city"], "people": []}[closed]
        tables = (await MysqlEngine(url, rule).schema()).tables
        assert [column.name for table in tables if table.name.table == "people" for column in table.columns] == columns


@pytest.mark.behaviour("databases.mysql.privileges")
async def test_a_login_may_change_rows_of_tables_all_of_whose_columns_are_open(shop: Shop) -> None:
    rule = access(*CLOSED)
    url = await shop.login(rule, writes=True)
    user = f"`{shop.name}_narrow`@`%`"
    lines = grants(shop, user)
    assert await found(url, rule, writes=True) == ()
    assert f"GRANT SELECT, INSERT, UPDATE, DELETE ON `{shop.name}`.`orders` TO {user}" in lines
    people = [line for line in lines if f"`{shop.name}`.`people`" in line]
    assert [line.split(" ")[:2] for line in people] == [["GRANT", "SELECT"]]
    assert "INSERT" not in people[0]
    shop.outside(f"GRANT INSERT, UPDATE (name) ON people TO {user}", f"GRANT DELETE ON secret TO {user}")
    (finding,) = await found(url, rule, writes=True)
    shop.outside(*finding.statements)
    # To change an open column of such a table may be granted by hand.
    assert (finding.severity, await found(url, rule, writes=True)) == (REFUSED, ())
    shop.outside(f"DROP USER {user}")


BROAD = {
    "SELECT ON {0}.*": "{0}.calls_peek, {0}.fine_far, {0}.gen.hidden and ",
    "SELECT ON `{1}`.*": "{0}.calls_peek, {0}.fine_far, {0}.gen.hidden and ",
    "SELECT ON {0}.secret": "{0}.secret",
    "SELECT ON {0}.people": "{0}.people.ssn",
    "SELECT (id, ssn) ON {0}.people": "{0}.people.ssn",
    "REFERENCES (ssn) ON {0}.people": "{0}.people",
    "SELECT, SHOW VIEW ON {0}.people_fine": "{0}.people_fine",
    "DELETE ON {0}.secret": "{0}.secret",
    "SELECT ON {0}.gen": "{0}.gen.hidden",
    "SELECT (id, copy) ON {0}.gen": "{0}.gen.copy",
    "SELECT (far) ON {0}.gen": "{0}.gen",
    "SELECT ON {0}.merged": "{0}.merged",
    "SELECT, SHOW VIEW ON {0}.secret_far": "{0}.secret_far",
    "SELECT, SHOW VIEW ON {0}.people_ssns": "{0}.people_ssns",
    "SELECT, SHOW VIEW ON {0}.gen_view": "{0}.gen_view",
    "SELECT, SHOW VIEW ON {0}.gen_as_asked": "{0}.gen_as_asked",
    "SELECT, SHOW VIEW ON {0}.calls_peek": "{0}.calls_peek",
    "EXECUTE ON {0}.*": "EXECUTE on `{0}`.*",
    "EXECUTE ON FUNCTION {0}.peek": "EXECUTE on FUNCTION `{0}`.`peek`",
    "SELECT ON mysql.column_stats": "mysql.column_stats",
    "FILE ON *.*": "FILE on *.*",
    "PROCESS ON *.*": "PROCESS on *.*",
    "REPLICATION SLAVE ON *.*": "REPLICATION SLAVE on *.*",
    "PROXY ON root@localhost": "PROXY on 'root'@'localhost'",
}


@pytest.mark.behaviour("databases.mysql.privileges")
async def test_whatever_a_privilege_opens_beyond_the_board_is_refused_and_the_statements_mend_it(
    shop: Shop, broad: str
) -> None:
    rule, wrong = access(*CLOSED), []
    for grant, thing in BROAD.items():
        shop.outside(
            f"GRANT {grant.format(shop.name, shop.name.replace('_', '%', 1))} TO {USER}",
            f"GRANT SELECT ON customers TO {USER}",
        )
        findings = await found(broad, rule)
        told = [finding.message for finding in findings if finding.severity is REFUSED]
        # From 10.11.19 on, MariaDB writes users of PROXY in backquotes.
        told += [message.replace("`", "'") for message in told]
        if not any(thing.format(shop.name) in message for message in told):
            wrong.append((grant, findings))
        shop.outside("SELECT 1", *(statement for finding in findings for statement in finding.statements))
        if left := await found(broad, rule):
            wrong.append((grant, left))
        shop.outside(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {USER}")
    assert wrong == []


@pytest.mark.behaviour("databases.mysql.privileges")
async def test_a_view_is_open_that_allow_names_and_one_that_cannot_be_looked_through_is_refused(
    shop: Shop, broad: str
) -> None:
    named = access(*CLOSED, allow=("*.*", f"{shop.name}.secret_view"))
    shop.outside(f"GRANT SELECT ON {shop.name}.secret_view TO {USER}")
    assert await found(broad, named) == ()
    answer = await MysqlEngine(broad, named).run("SELECT word FROM secret_view ORDER BY word", (), LIMITS)
    assert isinstance(answer, QueryRows)
    assert answer.rows == (("plugh",), ("xyzzy",))
    shop.outside(f"GRANT SELECT ON orders TO {USER}", f"GRANT SELECT ON order_totals TO {USER}")
    (hidden,) = await found(broad, named)
    assert (hidden.severity, f"{shop.name}.order_totals" in hidden.message) == (REFUSED, True)
    shop.outside(f"GRANT SHOW VIEW ON order_totals TO {USER}")
    assert await found(broad, named) == ()
    made = await MysqlEngine(broad, named).role_script(shop.root)
    views = [line for line in made.statements if "secret_" in line or "order_totals" in line]
    places = [f"`{shop.name}`.`{name}` TO {made.role}" for name in ("order_totals", "secret_view")]
    assert views == [f"GRANT SELECT, SHOW VIEW ON {place}" for place in places]


@pytest.mark.behaviour("databases.mysql.privileges")
async def test_a_login_with_a_role_is_refused_and_keeps_none(shop: Shop, broad: str) -> None:
    shop.outside("CREATE ROLE mighty", "CREATE ROLE middle", "CREATE ROLE `quiet``one`")
    shop.outside("GRANT SELECT ON secret TO mighty", "GRANT mighty TO middle")
    rule = access(*CLOSED)
    for role in ("middle", "`quiet``one`"):
        for default in (role, "NONE"):
            shop.outside(f"GRANT SELECT ON orders TO {USER}", f"GRANT {role} TO {USER}")
            shop.outside(f"SET DEFAULT ROLE {default} FOR {USER}")
            assert [finding.severity for finding in await found(broad)] == [UNLESS_FORCED]
            findings = await found(broad, rule)
            assert {finding.severity for finding in findings} == {REFUSED}
            assert f"the role `{role.strip('`')}`" in findings[-1].message
            statements = [line for finding in findings for line in finding.statements]
            assert statements[0] == f"REVOKE `{role.strip('`')}` FROM `broad`@`localhost`"
            shop.outside(*statements)
            assert await found(broad, rule) == ()


POWERS = (
    "INSERT, UPDATE (name) ON {0}.customers",
    "FILE, PROCESS ON *.*",
    "EXECUTE, TRIGGER, EVENT, CREATE ON {0}.*",
    "BINLOG ADMIN ON *.*",
    "LOCK TABLES, CREATE TEMPORARY TABLES ON {0}.*",
    "ALL ON {0}.*",
)


@pytest.mark.behaviour("databases.mysql.privileges")
async def test_powers_that_no_reader_needs_are_refused_unless_forced_also_where_all_is_open(
    shop: Shop, broad: str
) -> None:
    for grant in POWERS:
        shop.outside(
            f"GRANT SELECT, SHOW VIEW ON {shop.name}.* TO {USER}", f"GRANT {grant.format(shop.name)} TO {USER}"
        )
        findings = await found(broad)
        assert [finding.severity for finding in findings] == [UNLESS_FORCED], (grant, findings)
        shop.outside(*findings[0].statements)
        assert await found(broad) == ()
        assert isinstance(
            await MysqlEngine(broad, FULL_ACCESS).run("SELECT * FROM order_totals", (), LIMITS), QueryRows
        )


@pytest.mark.behaviour("databases.mysql.privileges")
async def test_an_administrator_is_refused_and_nothing_is_taken_from_it(shop: Shop) -> None:
    url = shop.root.replace("/?", f"/{shop.name}?")
    findings = [*await found(url, access(*CLOSED)), *await found(url)]
    assert [(finding.severity, finding.statements) for finding in findings] == [(REFUSED, ()), (UNLESS_FORCED, ())]
    with pytest.raises(SourceError, match="administers the server: nothing is taken from it"):
        await MysqlEngine(url, FULL_ACCESS).role_script(shop.root, apply=True)


@pytest.mark.behaviour("databases.mysql.privileges")
async def test_what_everyone_may_read_is_found_and_taken_away(shop: Shop, broad: str) -> None:
    shop.outside(f"GRANT SELECT ON customers TO {USER}", f"GRANT SELECT ON {shop.name}.secret TO PUBLIC")
    shop.outside(f"GRANT SELECT ON {shop.name}.customers TO PUBLIC")
    (finding,) = await found(broad, access(*CLOSED))
    assert (finding.severity, finding.statements[0]) == (
        REFUSED,
        f"REVOKE SELECT ON `{shop.name}`.`secret` FROM PUBLIC",
    )
    shop.outside(*finding.statements)
    assert await found(broad, access(*CLOSED)) == ()
    shop.outside(f"REVOKE SELECT ON {shop.name}.customers FROM PUBLIC")


@pytest.mark.behaviour("databases.mysql.too_powerful")
async def test_the_guard_of_statements_holds_also_for_a_superuser(shop: Shop) -> None:
    engine = MysqlEngine(shop.root.replace("/?", f"/{shop.name}?"), FULL_ACCESS)
    answers = [
        await engine.run(text, (), LIMITS) for text in ("SELECT load_file('/etc/passwd')", "SELECT * FROM mysql.user")
    ]
    await engine.aclose()
    assert [type(answer) for answer in answers] == [StatementRefusal, StatementRefusal]


def test_grants_are_read_whatever_names_are_in_them() -> None:
    lines = (
        "GRANT USAGE ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*D8'",
        "GRANT SELECT (`a ON b`, `c,d)`), INSERT, SHOW VIEW ON `x ON ``y`` TO z`.`t` TO `a`@`%` WITH GRANT OPTION",
        "GRANT EXECUTE ON PROCEDURE `s`.`p` TO `a`@`%`",
        "GRANT `r TO x`@`%` TO `a`@`%`",
        "GRANT PROXY ON 'root'@'localhost' TO 'a'@'%'",
        "GRANT SELECT ON `s`.* TO PUBLIC",
        "REVOKE SELECT ON `mysql`.* FROM `a`@`%`",
    )
    user, found = "`a`@`%`", parse_grants(lines)
    assert found == [
        MysqlGrant(("USAGE",), "*.*", user, False),
        MysqlGrant(("SELECT", "INSERT", "SHOW VIEW", "GRANT OPTION"), "`x ON ``y`` TO z`.`t`", user, True),
        MysqlGrant(("EXECUTE",), "PROCEDURE `s`.`p`", user, False),
        MysqlGrant(("`r TO x`@`%`",), "", user, False),
        MysqlGrant(("PROXY",), "'root'@'localhost'", "'a'@'%'", False),
        MysqlGrant(("SELECT",), "`s`.*", "PUBLIC", False),
    ]
    assert [each.table for each in found[:2]] == [("", ""), ("x ON `y` TO z", "t")]
    assert [each.revocation for each in found[3:]] == [
        "REVOKE `r TO x`@`%` FROM `a`@`%`",
        "REVOKE PROXY ON 'root'@'localhost' FROM 'a'@'%'",
        "REVOKE SELECT ON `s`.* FROM PUBLIC",
    ]


@pytest.mark.behaviour("databases.mysql.privileges", "databases.role_script")
async def test_an_administrator_takes_what_everyone_may_do_and_sees_that_it_sufficed(shop: Shop) -> None:
    rule = access(*CLOSED)
    url = await shop.login(rule)
    manager = MysqlEngine(url, rule)
    deletion = f"DELETE FROM mysql.db WHERE User = '' AND Host = '%' AND Db = '{shop.name}'"
    lines = {
        f"GRANT SELECT ON {shop.name}.secret TO PUBLIC": f"REVOKE SELECT ON `{shop.name}`.`secret` FROM PUBLIC",
        f"GRANT EXECUTE ON FUNCTION {shop.name}.peek TO PUBLIC": "REVOKE EXECUTE ON FUNCTION",
        f"INSERT INTO mysql.db (Host, Db, User, Select_priv) VALUES ('%', '{shop.name}', '', 'Y')": deletion,
    }
    for line, statement in lines.items():
        shop.outside(line, "FLUSH PRIVILEGES", "SELECT 1")
        assert [finding.severity for finding in await found(url, rule)] == [REFUSED]
        made = await manager.role_script(shop.root, apply=True)
        assert any(each.startswith(statement) for each in made.statements), made.statements
        assert await found(url, rule) == ()
    # A role by another account of the name is not what the statements are about.
    shop.outside(f"CREATE DEFINER = CURRENT_USER VIEW later AS SELECT word FROM {shop.name}.secret", "SELECT 1")
    try:
        shop.outside(f"GRANT SELECT, SHOW VIEW ON {shop.name}.later TO {shop.name}_narrow")
        assert [finding.severity for finding in await found(url, rule)] == [REFUSED]
        await manager.role_script(shop.root, apply=True)
        assert await found(url, rule) == ()
    finally:
        shop.outside("DROP VIEW later")


@pytest.mark.behaviour("databases.role_script")
async def test_no_login_is_made_for_a_database_that_is_missing_or_by_a_url_of_another_server(shop: Shop) -> None:
    url = shop.reader.replace("_reader:", "_lost:").replace(f"/{shop.name}?", "/nowhere?")
    manager = MysqlEngine(url, access(*CLOSED))
    with pytest.raises(SourceError, match="The server has no database 'nowhere': create it"):
        await manager.role_script(shop.root, apply=True)
    assert shop.outside(f"SELECT * FROM mysql.user WHERE User = '{shop.name}_lost'") == []
    for other in ("garbage", "postgresql://root@localhost/", "mysql:garbage", ""):
        with pytest.raises(SourceError, match=r"not one of this server. Begin it with mysql://"):
            await manager.role_script(other, apply=True)
    (finding,) = await found(url, access(*CLOSED))
    assert "`pegboard db role NAME` creates it" in finding.message


@pytest.mark.behaviour("databases.mysql.privileges")
async def test_tables_with_triggers_are_not_changed_where_something_is_closed(shop: Shop, broad: str) -> None:
    rule = access(*CLOSED)
    shop.outside(
        "CREATE TABLE filled (id int PRIMARY KEY, word varchar(50))",
        "CREATE TRIGGER fills BEFORE INSERT ON filled FOR EACH ROW SET NEW.word = (SELECT max(word) FROM secret)",
        f"GRANT SELECT, INSERT ON {shop.name}.filled TO {USER}",
        "SELECT 1",
    )
    try:
        (finding,) = await found(broad, rule, writes=True)
        manager = MysqlEngine(broad, rule, writes=True)
        made = await manager.role_script(shop.root, apply=True)
        after = await found(broad, rule, writes=True)
        insert = "INSERT INTO filled (id) VALUES (1) RETURNING word"
        denied = await manager.run(insert, (), LIMITS, write=True)
    finally:
        shop.outside("DROP TABLE filled")
    assert (finding.severity, f"what is closed: {shop.name}.filled." in finding.message) == (REFUSED, True)
    (line,) = [each for each in made.statements if ".`filled`" in each]
    assert line == f"GRANT SELECT ON `{shop.name}`.`filled` TO {made.role}"
    assert after == ()
    assert isinstance(denied, StatementFailure)


@pytest.mark.behaviour("databases.explained")
async def test_no_plan_names_keys_and_tables_below_what_is_open(shop: Shop) -> None:
    rule = access(*CLOSED, allow=("*.*", f"{shop.name}.people_ssns", f"{shop.name}.over_ssns"))
    shop.outside("CREATE VIEW over_ssns AS SELECT name FROM people_ssns", "SELECT 1")
    try:
        engine = MysqlEngine(await shop.login(rule), rule)
        hiding = ("people_ssns", "`PEOPLE_SSNS` p", "over_ssns", "orders JOIN people")
        answers = [await engine.run(f"EXPLAIN SELECT 1 FROM {text}", (), LIMITS) for text in hiding]
        shown = [await engine.run(f"EXPLAIN SELECT 1 FROM {text}", (), LIMITS) for text in ("orders", "order_totals")]
    finally:
        shop.outside("DROP VIEW over_ssns")
    assert [type(each) for each in answers] == [StatementRefusal] * 4
    assert [type(each) for each in shown] == [QueryRows] * 2


@pytest.mark.behaviour("databases.mysql.only_queries")
async def test_a_stored_function_is_not_called_by_how_its_name_begins(shop: Shop) -> None:
    shop.outside("CREATE FUNCTION st_evil() RETURNS int DETERMINISTIC RETURN 7")
    engine = MysqlEngine(shop.root.replace("/?", f"/{shop.name}?"), FULL_ACCESS)
    try:
        assert isinstance(await engine.run("SELECT st_evil()", (), LIMITS), StatementRefusal)
        text = "SELECT ST_AsText(Point(1, 2)), JSON_VALUE('[1]', '$[0]'), REGEXP_SUBSTR('ab', 'b'), MBRContains(g, g) "
        assert isinstance(await engine.run(f"{text} FROM (SELECT Point(1, 1) AS g) x", (), LIMITS), QueryRows)
    finally:
        shop.outside("DROP FUNCTION st_evil")
