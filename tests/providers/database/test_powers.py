"""Roles and users that may more than a reader needs: which are refused, and of which a person is warned."""

import pytest
from pegboard.providers.builtin.database.mysql.powers import MEND
from tests.providers.database import mysql_shop

from pegboard.core.database import EVERYTHING, Limits, Refused, Rows, Severity
from pegboard.providers.builtin.database.mysql import mysql_engine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LIMITS = Limits(seconds=20)


REFUSED = {
    "INSERT, UPDATE, DELETE ON *.*": "may rewrite who may do what (DELETE, INSERT, UPDATE on *.*)",
    "UPDATE ON mysql.*": "may rewrite who may do what (UPDATE on `mysql`.*)",
    "INSERT ON mysql.db": "may rewrite who may do what (INSERT on `mysql`.`db`)",
    "FILE ON *.*": "may read and write the server's files (FILE)",
    "PROCESS ON *.*": "sees what all other users are asking (PROCESS)",
}
WARNED = {
    "REPLICATION SLAVE ON *.*": "REPLICATION SLAVE on *.*",
    "BINLOG ADMIN, BINLOG REPLAY ON *.*": "BINLOG ADMIN, BINLOG REPLAY on *.*",
    "FEDERATED ADMIN ON *.*": "FEDERATED ADMIN on *.*",
    "LOCK TABLES, CREATE TEMPORARY TABLES ON *.*": "CREATE TEMPORARY TABLES, LOCK TABLES on *.*",
}


@pytest.mark.behaviour("databases.mysql.too_powerful")
async def test_a_user_that_may_make_itself_more_is_refused_in_mariadb(mysql: mysql_shop.Shop) -> None:
    answers = {}
    for grant in REFUSED:
        address = with_grant(mysql, grant)
        answers[grant] = await mysql_engine(address, EVERYTHING).run("SELECT 1", (), LIMITS)
        mysql.outside("DROP USER 'broad'@'localhost'")
    assert {grant: told.why if isinstance(told, Refused) else told for grant, told in answers.items()} == {
        grant: f"The user broad@localhost {why}." for grant, why in REFUSED.items()
    }


@pytest.mark.behaviour("databases.mysql.too_powerful")
async def test_rights_on_the_whole_server_that_no_reader_needs_are_warned_of_by_name(mysql: mysql_shop.Shop) -> None:
    handing_on = f"SELECT ON {mysql.name}.*"
    wanted = {**WARNED, handing_on: f"GRANT OPTION on `{mysql.name}`.*", "SELECT, SHOW VIEW ON *.*": ""}
    found = {}
    for grant in wanted:
        engine = mysql_engine(with_grant(mysql, grant, hands_on=grant == handing_on), EVERYTHING)
        assert isinstance(await engine.run("SELECT 1", (), LIMITS), Rows)
        found[grant] = [
            (finding.message, finding.severity is not Severity.WARNING) for finding in (await engine.check()).findings
        ]
        mysql.outside("DROP USER 'broad'@'localhost'")
    told = "The user broad@localhost has rights that are not needed here"
    assert found == {grant: [(f"{told} ({some}). {MEND}", False)] if some else [] for grant, some in wanted.items()}


@pytest.mark.behaviour("databases.mysql.too_powerful")
async def test_what_a_user_may_become_by_a_role_counts_as_what_it_may_do(mysql: mysql_shop.Shop) -> None:
    address = with_grant(mysql, f"SELECT ON {mysql.name}.*")
    mysql.outside("CREATE ROLE mighty", "CREATE ROLE middle", "CREATE ROLE `quiet``one`")
    mysql.outside(
        "GRANT FILE ON *.* TO mighty", "GRANT mighty TO middle", f"GRANT SELECT ON {mysql.name}.* TO `quiet``one`"
    )
    answers, roles = {}, []
    try:
        for lines in (
            ("GRANT `quiet``one` TO 'broad'@'localhost'",),
            ("SET DEFAULT ROLE `quiet``one` FOR 'broad'@'localhost'",),
            ("GRANT middle TO 'broad'@'localhost'",),
            ("SET DEFAULT ROLE middle FOR 'broad'@'localhost'",),
        ):
            mysql.outside(*lines)
            engine = mysql_engine(address, EVERYTHING)
            graves = [
                finding.message
                for finding in (await engine.check()).findings
                if finding.severity is not Severity.WARNING
            ]
            answers[lines[0]] = (graves, await engine.run("SELECT CURRENT_ROLE()", (), LIMITS))
            again = await engine.run("SELECT CURRENT_ROLE()", (), LIMITS)
            roles.append(again.rows[0][0] if isinstance(again, Rows) else "refused")
            await engine.aclose()
    finally:
        mysql.outside("DROP USER 'broad'@'localhost'", "DROP ROLE mighty, middle, `quiet``one`")
    files = "may read and write the server's files (FILE)."
    as_role, itself = f"The user broad@localhost, as its role middle, {files}", f"The user broad@localhost {files}"
    told = [
        ([words[: len(one)] for words, one in zip(graves, why, strict=True)], why)
        for (graves, _), why in zip(answers.values(), ([], [], [as_role], [itself]), strict=True)
    ]
    assert [found for found, _ in told] == [wanted for _, wanted in told]
    # The role that a connection has is the one that it was given, also once others were looked into.
    assert roles == [None, "quiet`one", "refused", "refused"]


def with_grant(shop: mysql_shop.Shop, grant: str, *, hands_on: bool = False) -> str:
    """The address of a user that may read the shop and has that right as well."""
    shop.outside(
        "CREATE OR REPLACE USER 'broad'@'localhost' IDENTIFIED BY 'pw'",
        f"GRANT SELECT, SHOW VIEW ON {shop.name}.* TO 'broad'@'localhost'",
        f"GRANT {grant} TO 'broad'@'localhost'{' WITH GRANT OPTION' if hands_on else ''}",
    )
    return shop.reader.replace(f"{shop.name}_reader:reads@", "broad:pw@")
