"""The login of a MySQL or MariaDB source, created and repaired by an administrator."""

from dataclasses import replace
from functools import partial

import anyio.to_thread

from pegboard.ports.databases import RoleScript, SourceError
from pegboard.providers.builtin.database.server import CATALOG_TIMEOUT_S, NEW_LOGIN_PHRASE, ServerRoleManager

from .connection import DRIVER_ERRORS, Address, MeteredConnection, connect, fetch, parse_address
from .privileges import QUOTED_GRANTS, account_of, quote, read_login


class MysqlRoleManager(ServerRoleManager):
    async def _script(self, admin_url: str | None, *, applies: bool) -> RoleScript:
        return await anyio.to_thread.run_sync(self._run, parse_address(self._url), admin_url, applies)

    def _run(self, own: Address, admin_url: str | None, applies: bool) -> RoleScript:
        if not own.database and self._access.is_whole:
            raise SourceError("The URL of the source names no database. Write the one that is to be read into it.")
        # Neither an administrator nor a login to be created needs to get into the database.
        address = replace(parse_address(admin_url), database="") if admin_url else own
        connection = connect(address, CATALOG_TIMEOUT_S)
        try:
            connection.query(QUOTED_GRANTS)
            ask, account = partial(fetch, connection), _account(connection, own) if admin_url else None
            login = read_login(ask, self._access, own.database, writes=self._writes, account=account)
            if login.is_administrator:
                raise SourceError(
                    f"{login.account} administers the server: nothing is taken from it. Write another login into the "
                    "URL of the source, for example pegboard_reader."
                )
            create, statements = f"CREATE USER IF NOT EXISTS {login.account} IDENTIFIED BY ", login.script()
            for statement in (create + connection.escape(own.password), *statements) if applies else ():
                connection.query(statement)
            return RoleScript(login.account, (f"{create}'{NEW_LOGIN_PHRASE}'", *statements))
        except DRIVER_ERRORS as error:
            raise SourceError(f"{address.title}: {error.args[-1] if error.args else error}") from error
        finally:
            connection.end()


def _account(connection: MeteredConnection, own: Address) -> str:
    """The account that the server takes the login for; else the first of its name; else one from anywhere."""
    try:
        login = connect(replace(own, database=""), CATALOG_TIMEOUT_S)
    except SourceError:
        question = "SELECT Host FROM mysql.user WHERE User = %s AND Host <> '' ORDER BY Host"
        hosts = [str(row[0]) for row in fetch(connection, question, (own.user,))]
        return f"{quote(own.user)}@{quote(*hosts[:1] or '%')}"
    try:
        return account_of(partial(fetch, login))
    finally:
        login.end()
