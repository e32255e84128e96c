"""Secrets in the database, each encrypted with a key that is not in it."""

from collections.abc import Callable
from typing import Final, TypeAlias

from sqlalchemy import delete, insert, select

from pegboard.ports import SecretsUnavailable, UnreadableSecret

from .database import StoreDatabase
from .errors import StoreError
from .schema import secrets as table

KEY_BYTES: Final = 32


class NoKeyError(Exception):
    """There is no key to encrypt with; the message says why, and what to do."""


KeyFor: TypeAlias = Callable[[bool], bytes]
"""The key of this gateway. Told True, a key that is not there yet is made. Raises `NoKeyError`."""


class SqlSecretStore:
    """Each sealed together with its name, so one row cannot stand for another."""

    def __init__(self, database: StoreDatabase, key: KeyFor) -> None:
        self._database = database
        self._key = key

    async def load(self, name: str) -> bytes | UnreadableSecret | None:
        found = select(table.c.sealed).where(table.c.name == name)
        try:
            async with self._database.read_transaction() as connection:
                sealed = (await connection.execute(found)).scalar()
        except StoreError as error:
            raise SecretsUnavailable(str(error)) from error
        if sealed is None:
            return None
        from .sealing import decrypt

        try:
            return decrypt(str(sealed), name, self._key(False))
        except NoKeyError as error:
            return UnreadableSecret(str(error))
        except ValueError:
            return UnreadableSecret(
                f"{name} is kept encrypted in {self._database.display_url} with another key than this gateway's. "
                "Give it the "
                f"key that it was written with, or sign in again."
            )

    async def save(self, name: str, value: bytes) -> None:
        from .sealing import encrypt

        try:
            text = encrypt(value, name, self._key(True))
            async with self._database.write_transaction() as connection:
                await self._database.lock_for_write(connection)
                await connection.execute(delete(table).where(table.c.name == name))
                await connection.execute(insert(table), {"name": name, "sealed": text})
        except (NoKeyError, StoreError) as error:
            raise SecretsUnavailable(str(error)) from error

    async def delete(self, name: str) -> None:
        try:
            async with self._database.write_transaction() as connection:
                await connection.execute(delete(table).where(table.c.name == name))
        except StoreError as error:
            raise SecretsUnavailable(str(error)) from error


def key_missing(_: bool) -> bytes:
    raise NoKeyError("This store was opened without a key for secrets.")
