"""Secrets in the database, each encrypted with a key that is not in it."""

import os
import secrets
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from sqlalchemy import delete, insert, select

from pegboard.config import paths
from pegboard.ports.stores import SecretsUnavailable, UnreadableSecret
from pegboard.store.database import StoreDatabase, StoreError
from pegboard.store.schema import secrets as table

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
        from pegboard.store.encryption import decrypt

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
        from pegboard.store.encryption import encrypt

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


# The key of a gateway: from its environment, or from a file that it makes for itself.

KEY_VARIABLE: Final = "PEGBOARD_SECRET_KEY"
KEY_FILE: Final = "secret.key"
_MAKE_COMMAND: Final = "head -c 32 /dev/urandom | base64"


def key_of(environ: Mapping[str, str], directory: Path) -> KeyFor:
    """The variable goes first: several gateways on one database need the same key."""

    def key(make: bool) -> bytes:
        if text := environ.get(KEY_VARIABLE):
            return _decode_key(text, KEY_VARIABLE)
        path = directory / KEY_FILE
        try:
            return _read_key(path)
        except FileNotFoundError:
            if not make:
                raise NoKeyError(
                    f"The key of this gateway, {path}, is gone. Put it back, or sign in again: a new one is made then."
                ) from None
        except OSError as error:
            raise NoKeyError(f"The key {path} cannot be read: {error.strerror or error}.") from error
        try:
            _make_key(path)
            return _read_key(path)
        except OSError as error:
            raise NoKeyError(f"The key {path} cannot be made: {error.strerror or error}.") from error

    return key


def _read_key(path: Path) -> bytes:
    if paths.others_have_access(path, 0o077) or not paths.is_owned_by_user(path):
        raise NoKeyError(f"Others than you may read the key {path}, or it is not yours. Correct it: chmod 600 {path}")
    return _decode_key(path.read_text("ascii", errors="replace"), str(path))


def _decode_key(text: str, where: str) -> bytes:
    try:
        key = b64decode(text.strip().replace("-", "+").replace("_", "/"), validate=True)
    except (NotBase64, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise NoKeyError(f"{where} is no key: it must be {KEY_BYTES} bytes in base64. Make one: {_MAKE_COMMAND}")
    return key


def _make_key(path: Path) -> None:
    """Never half written, and of two processes that make one, both use the first."""
    fresh = path.with_name(f"{KEY_FILE}.{os.getpid()}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(b64encode(secrets.token_bytes(KEY_BYTES)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        with suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        fresh.unlink()
