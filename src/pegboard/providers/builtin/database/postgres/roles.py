"""The login of a PostgreSQL source, created and repaired by an administrator."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from pegboard.core.database import FindingSeverity
from pegboard.ports.databases import RoleScript, SourceError
from pegboard.providers.builtin.database.server import ServerRoleManager

from .connection import DRIVER_ERRORS, connect, place
from .privileges import quoted, read_privileges


class PostgresRoleManager(ServerRoleManager):
    async def _script(self, admin_url: str | None, *, applies: bool) -> RoleScript:
        url = self._url if admin_url is None else _in_database(admin_url, self._url)
        parts = urlsplit(self._url)
        options = dict(parse_qsl(parts.query))
        role = unquote(parts.username or "") or options.get("user")
        password = unquote(parts.password or "") or options.get("password", "")
        if admin_url is not None and not role:
            words = "names no user. Write the login that the source uses into it."
            raise SourceError(f"The URL of {place(self._url)} {words}")
        connection = await connect(url)
        try:
            await connection.execute(f"BEGIN READ {'WRITE' if applies else 'ONLY'}")
            connection.meter.room = 1 << 40
            before = await read_privileges(connection, self._access, role, writes=self._writes)
            if before.login["is_first"]:
                words = "Write another user into the URL, for example pegboard_reader."
                raise SourceError(f"The login {before.role!r} is the server's own superuser. {words}")
            statements = tuple(before.script())
            if applies:
                await self._apply(connection, before.role, password, statements)
            return RoleScript(before.role, statements)
        except DRIVER_ERRORS as error:
            raise SourceError(f"{place(url)}: {error}. Nothing was changed.") from error
        finally:
            connection.terminate()

    async def _apply(self, connection: Any, role: str, password: str, statements: tuple[str, ...]) -> None:
        for statement in statements:
            if statement.startswith("CREATE ROLE"):
                by_password = f" PASSWORD '{password.replace(chr(39), chr(39) * 2)}'" if password else ""
                statement = f"CREATE ROLE {quoted(role)} LOGIN{by_password}"
            await connection.execute(statement)
        after = await read_privileges(connection, self._access, role, writes=self._writes)
        for finding in after.findings():
            if finding.severity is FindingSeverity.REFUSED:
                raise SourceError(f"The statements did not suffice, so nothing was changed: {finding.message}")
        await connection.execute("COMMIT")


def _in_database(admin_url: str, url: str) -> str:
    """The administrator's URL, in the database of the source; on its server too, where it names none."""
    admin, own = urlsplit(admin_url), urlsplit(url)
    if admin.hostname or "host" in dict(parse_qsl(admin.query)):
        return urlunsplit(admin._replace(path=own.path))
    user, _, _ = admin.netloc.rpartition("@")
    return urlunsplit(own._replace(netloc=f"{user}@{own.netloc.rpartition('@')[2]}"))
