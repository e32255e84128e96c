"""The login of a PostgreSQL source, created and repaired by an administrator."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import asyncpg

from pegboard.core.database import Access, FindingSeverity
from pegboard.ports.databases import RoleScript, SourceAway

from .connection import connect, place
from .privileges import Privileges, quoted, read_privileges


class PostgresRoleManager:
    def __init__(self, url: str, access: Access, *, writes: bool = False) -> None:
        self._url = url
        self._access = access
        self._writes = writes

    async def script(self, admin_url: str | None) -> RoleScript:
        return await self._run(admin_url, applies=False)

    async def apply(self, admin_url: str) -> RoleScript:
        return await self._run(admin_url, applies=True)

    async def _run(self, admin_url: str | None, *, applies: bool) -> RoleScript:
        url = self._url if admin_url is None else _in_database(admin_url, self._url)
        connection = await connect(url)
        try:
            await connection.execute(f"BEGIN READ {'WRITE' if applies else 'ONLY'}")
            connection.allow(1 << 40)
            parts = urlsplit(self._url)
            role = unquote(parts.username or dict(parse_qsl(parts.query)).get("user", ""))
            if admin_url is not None and not role:
                words = "names no user. Write the login that the source uses into it."
                raise SourceAway(f"The URL of {place(self._url)} {words}")
            before = await self._privileges(connection, role or None)
            if before.login["is_first"]:
                words = "Write another user into the URL, for example pegboard_reader."
                raise SourceAway(f"The login {before.role!r} is the server's own superuser. {words}")
            statements = tuple(before.script())
            if applies:
                await self._apply(connection, before.role, statements)
            return RoleScript(before.role, statements)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            raise SourceAway(f"{place(url)}: {error}. Nothing was changed.") from error
        finally:
            connection.terminate()

    async def _privileges(self, connection: Any, role: str | None) -> Privileges:
        return await read_privileges(connection, self._access, role, writes=self._writes)

    async def _apply(self, connection: Any, role: str, statements: tuple[str, ...]) -> None:
        parts = urlsplit(self._url)
        password = unquote(parts.password or "") or dict(parse_qsl(parts.query)).get("password", "")
        for statement in statements:
            if statement.startswith("CREATE ROLE"):
                by_password = f" PASSWORD '{password.replace(chr(39), chr(39) * 2)}'" if password else ""
                statement = f"CREATE ROLE {quoted(role)} LOGIN{by_password}"
            await connection.execute(statement)
        for finding in (await self._privileges(connection, role)).findings():
            if finding.severity is FindingSeverity.REFUSED:
                raise SourceAway(f"The statements did not suffice, so nothing was changed: {finding.message}")
        await connection.execute("COMMIT")


def _in_database(admin_url: str, url: str) -> str:
    """The administrator's URL, in the database of the source; on its server too, where it names none."""
    admin, own = urlsplit(admin_url), urlsplit(url)
    if admin.hostname or "host" in dict(parse_qsl(admin.query)):
        return urlunsplit(admin._replace(path=own.path))
    user, _, _ = admin.netloc.rpartition("@")
    return urlunsplit(own._replace(netloc=f"{user}@{own.netloc.rpartition('@')[2]}"))
