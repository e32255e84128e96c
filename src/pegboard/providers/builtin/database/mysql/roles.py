"""The login of a source: the statements that create it or repair it, and their run as an administrator."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import anyio.to_thread
import pymysql

from pegboard.core.database import Access
from pegboard.ports.databases import RoleScript, SourceAway

from .connection import DRIVER_ERRORS, MeteredConnection, connect, fetch, is_mariadb, parse_address
from .privileges import Review, account_of, granted_roles, parse_grants, quote, read_catalog, review_login

_TIMEOUT_S: Final = 60.0
_PLACEHOLDER: Final = "'choose-a-long-one'"
_NO_SUCH_GRANT: Final = 1141


class MysqlRoleManager:
    """Its statements take nothing from an administrator's login: that is refused."""

    def __init__(self, url: str, access: Access, *, writes: bool) -> None:
        self._address = parse_address(url)
        self._access = access
        self._writes = writes

    async def script(self, admin_url: str | None) -> RoleScript:
        return await anyio.to_thread.run_sync(self._run, admin_url, False)

    async def apply(self, admin_url: str) -> RoleScript:
        return await anyio.to_thread.run_sync(self._run, admin_url, True)

    def _run(self, admin_url: str | None, is_applied: bool) -> RoleScript:
        address = parse_address(admin_url) if admin_url else self._address
        # The login may have no right to the database yet, and the administrator needs none of its own.
        connection = connect(replace(address, database="") if admin_url else address, _TIMEOUT_S)
        try:
            review = self._review(connection, is_admin=admin_url is not None)
            if review.administers():
                raise SourceAway(
                    f"{review.account} administers the server. Write another login into the URL of the source, for "
                    "example pegboard_reader: this command creates it."
                )
            created = f"CREATE USER IF NOT EXISTS {review.account} IDENTIFIED BY "
            excess = [each for each in review.privileges if review.is_excess(each)]
            statements = review.statements([each for each in excess if each.name != "USAGE"])
            if is_applied:
                for statement in (created + connection.escape(self._address.password), *statements):
                    connection.query(statement)
            return RoleScript(review.account, (created + _PLACEHOLDER, *statements))
        except DRIVER_ERRORS as error:
            raise SourceAway(f"{address.title}: {error.args[-1] if error.args else error}") from error
        finally:
            connection.cut()

    def _review(self, connection: MeteredConnection, *, is_admin: bool) -> Review:
        database = self._address.database
        if not is_admin:
            return review_login(connection, self._access, database, writes=self._writes)
        connection.query("SET SESSION sql_mode = '', SESSION sql_quote_show_create = 1")
        account = self._account(connection)
        lines = _grants(connection, account)
        privileges = [*parse_grants(lines)]
        for role in granted_roles(lines):
            of_role = _grants(connection, role if is_mariadb(connection) else f"{account} USING {role}")
            privileges += [
                replace(each, role=role, grantee=account)
                for each in parse_grants(of_role)
                if replace(each, grantee=account) not in privileges and each.name != "USAGE"
            ]
        catalog = read_catalog(
            lambda question: fetch(connection, question),
            self._access,
            writes=self._writes,
            defaults=is_mariadb(connection),
        )
        return Review(account, privileges, catalog, database, self._writes, is_complete=True)

    def _account(self, connection: MeteredConnection) -> str:
        """The account that the login is let in as; else the one of its name that exists; else from anywhere."""
        try:
            login = connect(replace(self._address, database=""), _TIMEOUT_S)
        except SourceAway:
            question = "SELECT Host FROM mysql.user WHERE User = %s AND Host <> '' ORDER BY Host"
            hosts = [str(row[0]) for row in fetch(connection, question, (self._address.user,))]
            return f"{quote(self._address.user)}@{quote(hosts[0] if hosts else '%')}"
        try:
            return account_of(login)
        finally:
            login.cut()


def _grants(connection: MeteredConnection, account: str) -> Sequence[str]:
    try:
        return [str(row[0]) for row in fetch(connection, f"SHOW GRANTS FOR {account}")]
    except pymysql.MySQLError as error:
        if error.args[0] == _NO_SUCH_GRANT:
            return ()
        raise
