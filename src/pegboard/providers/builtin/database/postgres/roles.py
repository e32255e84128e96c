"""The login of a PostgreSQL source, created and repaired by an administrator."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import asyncpg

from pegboard.core.database import Access, Severity
from pegboard.ports.databases import RoleScript, SourceAway

from .connection import connect, place
from .privileges import Catalog, Closed, closed, findings, quoted, reaching, read_catalog

_PLACEHOLDER: Final = "choose-a-long-one"


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
            catalog = await self._catalog(connection, is_admin=admin_url is not None)
            statements = tuple(self._statements(catalog))
            if applies:
                await self._apply(connection, catalog.role, statements)
                await connection.execute("COMMIT")
            return RoleScript(catalog.role, statements)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            raise SourceAway(f"{place(url)}: {error}. Nothing was changed.") from error
        finally:
            connection.terminate()

    async def _catalog(self, connection: Any, *, is_admin: bool) -> Catalog:
        options = dict(parse_qsl(urlsplit(self._url).query))
        role = unquote(urlsplit(self._url).username or options.get("user", ""))
        if is_admin and not role:
            raise SourceAway(
                f"The URL of {place(self._url)} names no user. Write the login that the source uses into it."
            )
        connection.allow(1 << 40)
        catalog = await read_catalog(connection, role or None)
        if any(each["is_first"] and each["name"] == catalog.role for each in catalog.login["roles"]):
            raise SourceAway(
                f"The login {catalog.role!r} is the server's own superuser. Write another user into the URL, for "
                "example pegboard_reader."
            )
        return catalog

    async def _apply(self, connection: Any, role: str, statements: tuple[str, ...]) -> None:
        parts = urlsplit(self._url)
        password = unquote(parts.password or "") or dict(parse_qsl(parts.query)).get("password", "")
        for statement in statements:
            if statement.startswith("CREATE ROLE"):
                by_password = f" PASSWORD '{password.replace(chr(39), chr(39) * 2)}'" if password else ""
                statement = f"CREATE ROLE {quoted(role)} LOGIN{by_password}"
            await connection.execute(statement)
        after = await read_catalog(connection, role)
        for finding in findings(after, self._access, closed(after, self._access), writes=self._writes):
            if finding.severity is Severity.REFUSED:
                raise SourceAway(f"The statements did not suffice, so nothing was changed: {finding.message}")

    def _statements(self, catalog: Catalog) -> Iterator[str]:
        role = quoted(catalog.role)
        if not catalog.login["exists"]:
            yield f"CREATE ROLE {role} LOGIN PASSWORD '{_PLACEHOLDER}'"
        if not catalog.login["connects"]:
            yield f"GRANT CONNECT ON DATABASE {quoted(catalog.login['database'])} TO {role}"
        hidden = closed(catalog, self._access)
        found = findings(catalog, self._access, hidden, writes=self._writes)
        fixes = dict.fromkeys(one for each in found for one in each.statements)
        yield from fixes
        yield from self._grants(catalog, hidden, role, is_reset=any(one.startswith("REVOKE") for one in fixes))

    def _grants(self, catalog: Catalog, hidden: Closed, role: str, *, is_reset: bool) -> Iterator[str]:
        """What is missing; all of it where something was taken away, through which it may have come."""
        further = reaching(catalog, hidden) if not self._access.is_whole else {}
        grants = defaultdict[tuple[str, str], list[str]](list)
        for each in catalog.relations:
            is_open = each.oid not in hidden.relations and self._access.opens(each.schema, each.name)
            if not is_open or each.kind in "fS" or each.oid in catalog.links["remote"]:
                continue
            shut = hidden.columns.get(each.oid, frozenset())
            names = [one for one in each.columns if one not in shut]
            if shut and names and (is_reset or set(names) - set(each.readable)):
                grants[each.schema, f"SELECT ({', '.join(map(quoted, names))}) ON"].append(each.sql)
            elif not shut and (is_reset or not each.is_read):
                grants[each.schema, "SELECT ON"].append(each.sql)
            missing = [one for one in ("INSERT", "UPDATE", "DELETE") if is_reset or one not in each.changes]
            if self._writes and missing and not shut and each.kind in "rp" and each.oid not in further:
                grants[each.schema, f"{', '.join(missing)} ON"].append(each.sql)
                numbers = [one for of, one in catalog.links["sequences"] if of == each.oid]
                sequences = [one.sql for one in catalog.relations if one.oid in numbers]
                grants[each.schema, "USAGE ON SEQUENCE"] += sequences
        opened = (one for one in catalog.relations if one.oid not in hidden.relations)
        for schema in sorted({one.schema for one in opened if self._access.opens(one.schema, one.name)}):
            if is_reset or schema not in catalog.login["usage"]:
                yield f"GRANT USAGE ON SCHEMA {quoted(schema)} TO {role}"
        for (_, what), tables in grants.items():
            if tables:
                yield f"GRANT {what} {', '.join(tables)} TO {role}"
        owners = {(each.owner, each.schema) for each in catalog.relations if each.kind in "rpvm"}
        for owner, schema in sorted(owners) if self._access.is_whole else ():
            if not any(
                (owner, schema) == (by, where) and catalog.role in to for by, where, to in catalog.login["defaults"]
            ):
                begin = f"ALTER DEFAULT PRIVILEGES FOR ROLE {quoted(owner)} IN SCHEMA {quoted(schema)}"
                yield f"{begin} GRANT SELECT ON TABLES TO {role}"


def _in_database(admin_url: str, url: str) -> str:
    """The administrator's URL, in the database of the source; on its server too, where it names none."""
    admin, own = urlsplit(admin_url), urlsplit(url)
    if admin.hostname or "host" in dict(parse_qsl(admin.query)):
        return urlunsplit(admin._replace(path=own.path))
    user, _, _ = admin.netloc.rpartition("@")
    return urlunsplit(own._replace(netloc=f"{user}@{own.netloc.rpartition('@')[2]}"))
