"""What the user of a MySQL or MariaDB source may do there, by itself and as any role that it can take on."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import pymysql

from pegboard.core.database import Checked, Finding, Severity
from pegboard.providers.builtin.database.names import names

from .connecting import Metered, asked, is_mariadb, role_of
from .splicing import quoted


@dataclass(frozen=True)
class Role:
    name: str
    version: str
    powers: tuple[str, ...]
    writes: tuple[tuple[str, frozenset[str]], ...]
    """By where: what it may do there beyond reading."""
    broad: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """By where: what else it may do there that no reader needs."""

    def checked(self, *, writes: bool) -> Checked:
        """Where the operator lets rows be changed, only what does more than that is too much."""
        findings = [Finding(f"{power} {MEND}", Severity.REFUSED_UNLESS_FORCED) for power in self.powers]
        beyond = [(where, sorted(granted - _ROWS if writes else granted)) for where, granted in self.writes]
        if some := "; ".join(
            f"{', '.join(granted)} on {where}" for where, granted in beyond if granted and not self.powers
        ):
            if writes:
                told = f"The user {self.name} may do more than change rows ({some}). Statements here only do that."
                findings.append(
                    Finding(f"{told} Leave it INSERT, UPDATE and DELETE on the tables that may be changed.")
                )
            else:
                told = f"The user {self.name} may change data ({some}). {MEND}"
                findings.append(Finding(f"{told} What is asked through here still only reads."))
        if self.broad and not self.powers:
            some = "; ".join(f"{', '.join(granted)} on {where}" for where, granted in self.broad)
            findings.append(Finding(f"The user {self.name} has rights that are not needed here ({some}). {MEND}"))
        return Checked(self.version, self.name, tuple(findings))


MEND: Final = (
    "Create a user that may only read: CREATE USER 'pegboard_reader'@'%' IDENTIFIED BY '…'; "
    "GRANT SELECT, SHOW VIEW ON the_database.* TO 'pegboard_reader'@'%';"
)
_GRAVE: Final = {
    "ALL PRIVILEGES": "may do everything on this server",
    "SUPER": "is a superuser",
    "FILE": "may read and write the server's files",
    "SHUTDOWN": "may shut the server down",
    "CREATE USER": "may create users, and so give itself more",
    "RELOAD": "may flush the server's logs and tables",
    "PROCESS": "sees what all other users are asking",
    "GRANT OPTION": "may hand on what it may do",
    "CREATE TABLESPACE": "may write files",
    "CONNECTION ADMIN": "may end other people's connections",
    "SET USER": "may act as others",
    "READ_ONLY ADMIN": "may write where nobody should",
    "SYSTEM_VARIABLES_ADMIN": "may change the server's settings",
    "CONNECTION_ADMIN": "may end other people's connections",
    "SYSTEM_USER": "is a system user",
}
_WRITING: Final = names("INSERT UPDATE DELETE CREATE DROP ALTER TRUNCATE INDEX TRIGGER EVENT EXECUTE")
_ROWS: Final = frozenset({"INSERT", "UPDATE", "DELETE"})
_READING: Final = frozenset({"USAGE", "SELECT", "SHOW VIEW"})
_GRANT: Final = re.compile(r"GRANT (?P<what>.+?) ON (?P<where>.+?) TO ", re.IGNORECASE)


_ROLE: Final = re.compile(r"GRANT (?P<roles>(?:(?! ON ).)+?) TO ", re.IGNORECASE)


def role(connection: Metered) -> Role:
    name = str(asked(connection, "SELECT CURRENT_USER()")[0][0])
    version = str(asked(connection, "SELECT VERSION()")[0][0])
    powers: dict[str, None] = {}
    writes: dict[tuple[str, frozenset[str]], None] = {}
    broad: dict[tuple[str, tuple[str, ...]], None] = {}
    for line, other in dict(_granted(connection)).items():
        found = _GRANT.match(line)
        if found is None:
            continue
        who = f"The user {name}" if other is None else f"The user {name}, as its role {other},"
        granted = [part.strip().upper() for part in re.sub(r"\([^)]*\)", "", found["what"]).split(",")]
        where = found["where"]
        hands_on = re.search(r" WITH (.* )?GRANT OPTION", line[found.end() :], re.IGNORECASE) is not None
        if where == "*.*":
            powers |= {f"{who} {_GRAVE[one]} ({one}).": None for one in granted if one in _GRAVE}
            if hands_on:
                powers[f"{who} {_GRAVE['GRANT OPTION']} (GRANT OPTION)."] = None
        if (where == "*.*" or where.startswith("`mysql`.")) and (changed := sorted(_ROWS.intersection(granted))):
            powers[f"{who} may rewrite who may do what ({', '.join(changed)} on {where})."] = None
        beyond = {one for one in granted if one not in _READING | _WRITING | _GRAVE.keys()} if where == "*.*" else set()
        if "PROXY" in granted:
            beyond.add("PROXY")
        if hands_on and where != "*.*":
            beyond.add("GRANT OPTION")
        if beyond:
            broad[where, tuple(sorted(beyond))] = None
        if changing := frozenset(one for one in granted if one in _WRITING or one == "ALL PRIVILEGES"):
            writes[where, changing] = None
    product = "MariaDB" if is_mariadb(connection) else "MySQL"
    return Role(name, f"{product} {version.split('-')[0]}", tuple(powers), tuple(writes), tuple(broad))


def _granted(connection: Metered) -> Iterator[tuple[str, str | None]]:
    """Each right, and the role that has it where the user has not; what it has itself comes last, and so counts."""
    own = _lines(connection, "SHOW GRANTS")
    roles = [found["roles"] for line in own if _GRANT.match(line) is None and (found := _ROLE.match(line)) is not None]
    yield from (_of_roles(connection, roles) if roles else ())
    yield from ((line, None) for line in own)


def _of_roles(connection: Metered, roles: list[str]) -> list[tuple[str, str | None]]:
    if not is_mariadb(connection):
        given = _lines(connection, f"SHOW GRANTS FOR CURRENT_USER() USING {', '.join(roles)}")
        return [(line, ", ".join(roles)) for line in given]
    # A user is told what a role may do while it is that role, with all that this one is in turn.
    before = role_of(connection)
    told: list[tuple[str, str | None]] = []
    try:
        for each in roles:
            bare = each.strip("`").replace("``", "`")
            with suppress(pymysql.MySQLError):  # it is not there any more
                connection.query(f"SET ROLE {quoted(bare)}")
                told += [(line, bare) for line in _lines(connection, "SHOW GRANTS")]
    finally:
        connection.query("SET ROLE NONE" if before is None else f"SET ROLE {quoted(str(before))}")
    return told


def _lines(connection: Metered, question: str) -> list[str]:
    return [str(row[0]) for row in asked(connection, question)]
