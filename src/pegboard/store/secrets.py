"""Secrets in the database, each encrypted with a key that is not in it."""

from collections.abc import Callable
from typing import Final, TypeAlias

from sqlalchemy import delete, insert, select

from pegboard.ports import SecretsAway, Unreadable

from .database import Database
from .errors import StoreError
from .schema import secrets as table

KEY_BYTES: Final = 32


class NoKeyError(Exception):
    """There is no key to encrypt with; the message says why, and what to do."""


KeyFor: TypeAlias = Callable[[bool], bytes]
"""The key of this gateway. Told True, a key that is not there yet is made. Raises `NoKeyError`."""


class StoredSecrets:
    """Each sealed together with its name, so one row cannot stand for another."""

    def __init__(self, database: Database, key: KeyFor) -> None:
        self._database = database
        self._key = key

    async def read(self, name: str) -> bytes | Unreadable | None:
        found = select(table.c.sealed).where(table.c.name == name)
        try:
            async with self._database.reading() as connection:
                sealed = (await connection.execute(found)).scalar()
        except StoreError as error:
            raise SecretsAway(str(error)) from error
        if sealed is None:
            return None
        from .sealing import opened

        try:
            return opened(str(sealed), name, self._key(False))
        except NoKeyError as error:
            return Unreadable(str(error))
        except ValueError:
            return Unreadable(
                f"{name} is kept encrypted in {self._database.where} with another key than this gateway's. Give it the "
                f"key that it was written with, or sign in again."
            )

    async def write(self, name: str, value: bytes) -> None:
        from .sealing import sealed

        try:
            text = sealed(value, name, self._key(True))
            async with self._database.writing() as connection:
                await self._database.alone(connection)
                await connection.execute(delete(table).where(table.c.name == name))
                await connection.execute(insert(table), {"name": name, "sealed": text})
        except (NoKeyError, StoreError) as error:
            raise SecretsAway(str(error)) from error

    async def forget(self, name: str) -> None:
        try:
            async with self._database.writing() as connection:
                await connection.execute(delete(table).where(table.c.name == name))
        except StoreError as error:
            raise SecretsAway(str(error)) from error


def key_missing(_: bool) -> bytes:
    raise NoKeyError("This store was opened without a key for secrets.")
