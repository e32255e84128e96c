"""The key of a gateway: from its environment, or from a file that it makes for itself."""

import os
import secrets
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from pegboard.config import places

from .secrets import KEY_BYTES, KeyFor, NoKeyError

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
    if places.others_have_access(path, 0o077) or not places.is_owned_by_user(path):
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
