"""The login of a source: the statements that create or repair it, and their run as an administrator."""

from dataclasses import replace
from functools import partial
from typing import Final

import anyio.to_thread

from pegboard.core.database import Access
from pegboard.ports.databases import RoleScript, SourceAway

from .connection import DRIVER_ERRORS, MeteredConnection, connect, fetch, parse_address
from .privileges import QUOTED_GRANTS, Login, account_of, parse_grants, quote, read_catalog, read_login

_TIMEOUT_S: Final = 60.0
_NO_SUCH_GRANT: Final = 1141


class MysqlRoleManager:
    def __init__(self, url: str, access: Access, *, writes: bool) -> None:
        self._address = parse_address(url)
        self._access = access
        self._writes = writes

    async def script(self, admin_url: str | None) -> RoleScript:
        return await anyio.to_thread.run_sync(self._run, admin_url, False)

    async def apply(self, admin_url: str) -> RoleScript:
        return await anyio.to_thread.run_sync(self._run, admin_url, True)

    def _run(self, admin_url: str | None, applies: bool) -> RoleScript:
        if not self._address.database and self._access.is_whole:
            raise SourceAway("The URL of the source names no database. Write the one that is to be read into it.")
        # Neither an administrator nor a login to be created needs to get into the database.
        address = replace(parse_address(admin_url), database="") if admin_url else self._address
        connection = connect(address, _TIMEOUT_S)
        try:
            connection.query(QUOTED_GRANTS)
            login = self._login(connection, is_admin=admin_url is not None)
            if login.is_administrator:
                raise SourceAway(
                    f"{login.account} administers the server: nothing is taken from it. Write another login into the "
                    "URL of the source, for example pegboard_reader."
                )
            create, statements = f"CREATE USER IF NOT EXISTS {login.account} IDENTIFIED BY ", login.script()
            for statement in (create + connection.escape(self._address.password), *statements) if applies else ():
                connection.query(statement)
            return RoleScript(login.account, (f"{create}'choose-a-long-one'", *statements))
        except DRIVER_ERRORS as error:
            raise SourceAway(f"{address.title}: {error.args[-1] if error.args else error}") from error
        finally:
            connection.cut()

    def _login(self, connection: MeteredConnection, *, is_admin: bool) -> Login:
        ask, database = partial(fetch, connection), self._address.database
        if not is_admin:
            return read_login(ask, self._access, database, writes=self._writes)
        account = self._account(connection)
        try:
            lines = [str(row[0]) for row in ask(f"SHOW GRANTS FOR {account}")]
        except DRIVER_ERRORS as error:
            if error.args[0] != _NO_SUCH_GRANT:
                raise
            lines = []
        return Login(account, parse_grants(lines), read_catalog(ask, self._access), database, self._writes)

    def _account(self, connection: MeteredConnection) -> str:
        """The account that the server takes the login for; else the first of its name; else one from anywhere."""
        try:
            login = connect(replace(self._address, database=""), _TIMEOUT_S)
        except SourceAway:
            question = "SELECT Host FROM mysql.user WHERE User = %s AND Host <> '' ORDER BY Host"
            hosts = [str(row[0]) for row in fetch(connection, question, (self._address.user,))]
            return f"{quote(self._address.user)}@{quote(*hosts[:1] or '%')}"
        try:
            return account_of(partial(fetch, login))
        finally:
            login.cut()
