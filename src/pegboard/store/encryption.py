"""How a secret is encrypted: AES-256-GCM with a nonce of its own; its name is authenticated with it.

Whoever seals or opens something loads this module, and nobody else: what is under it takes six megabytes.
"""

import secrets
from base64 import b64decode, b64encode
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES: Final = 12
_FORMAT_VERSION: Final = b"\x01"
"""What the bytes before the nonce say of how the rest was encrypted."""


def encrypt(value: bytes, name: str, key: bytes) -> str:
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return b64encode(_FORMAT_VERSION + nonce + AESGCM(key).encrypt(nonce, value, name.encode())).decode()


def decrypt(text: str, name: str, key: bytes) -> bytes:
    """Raises `ValueError` for what was sealed under another name, by another key or by a newer Pegboard."""
    raw = b64decode(text, validate=True)
    if raw[:1] != _FORMAT_VERSION:
        raise ValueError("A newer Pegboard wrote this.")
    nonce = raw[1 : 1 + _NONCE_BYTES]
    try:
        return AESGCM(key).decrypt(nonce, raw[1 + _NONCE_BYTES :], name.encode())
    except InvalidTag as error:
        raise ValueError("This was sealed under another name, or by another key.") from error
