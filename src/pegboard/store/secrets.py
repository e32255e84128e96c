"""Secrets in the database, each encrypted with a key that is not in it."""

import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Final, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import delete, insert, select

from pegboard.ports import SecretsAway, Unreadable

from .database import Database
from .errors import StoreError
from .schema import secrets as table

KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_FORM: Final = b"\x01"
"""What the bytes before the nonce say of how the rest was encrypted."""


class NoKeyError(Exception):
    """There is no key to encrypt with; the message says why, and what to do."""


KeyFor: TypeAlias = Callable[[bool], bytes]
"""The key of this gateway. Told True, a key that is not there yet is made. Raises `NoKeyError`."""


class StoredSecrets:
    """AES-256-GCM with a nonce a row; the name is authenticated, so one row cannot stand for another."""

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
        try:
            return _opened(str(sealed), name, self._key(False))
        except NoKeyError as error:
            return Unreadable(str(error))
        except (InvalidTag, ValueError):
            return Unreadable(
                f"{name} is kept encrypted in {self._database.where} with another key than this gateway's. Give it the "
                f"key that it was written with, or sign in again."
            )

    async def write(self, name: str, value: bytes) -> None:
        try:
            sealed = _sealed(value, name, self._key(True))
            async with self._database.writing() as connection:
                await self._database.alone(connection)
                await connection.execute(delete(table).where(table.c.name == name))
                await connection.execute(insert(table), {"name": name, "sealed": sealed})
        except (NoKeyError, StoreError) as error:
            raise SecretsAway(str(error)) from error

    async def forget(self, name: str) -> None:
        try:
            async with self._database.writing() as connection:
                await connection.execute(delete(table).where(table.c.name == name))
        except StoreError as error:
            raise SecretsAway(str(error)) from error


def _sealed(value: bytes, name: str, key: bytes) -> str:
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return b64encode(_FORM + nonce + AESGCM(key).encrypt(nonce, value, name.encode())).decode()


def _opened(sealed: str, name: str, key: bytes) -> bytes:
    raw = b64decode(sealed, validate=True)
    if raw[:1] != _FORM:
        raise ValueError("A newer Pegboard wrote this.")
    nonce = raw[1 : 1 + _NONCE_BYTES]
    return AESGCM(key).decrypt(nonce, raw[1 + _NONCE_BYTES :], name.encode())


def key_missing(_: bool) -> bytes:
    raise NoKeyError("This store was opened without a key for secrets.")
