"""Handles: what a conversation has found, as a text that its client keeps. For clients that have no session here.

A handle tells this gateway which tools to show again, and opens none of them. It is signed so that only what was found
here is shown, bound to whoever found it, and good for a time. Ids stand in it as short digests: a model has to copy it.
"""

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from .ids import PrincipalId, ToolId
from .presentations.presenting import MAX_MATERIALIZED

HANDLE_PREFIX: Final = "h1."
"""Begins every handle, and says how the rest is to be read."""
_DIGEST_BYTES: Final = 6
_TIME_BYTES: Final = 4
_SIGNATURE_BYTES: Final = 12
SEARCH_SEPARATOR: Final = bytes(_DIGEST_BYTES)
"""Stands between the tools of two searches. No tool has it, so gateways that do not know it pass it over."""
MAX_SEPARATORS: Final = 8
"""What further searches found stands with the last one: a model has to copy the handle."""
MAX_HANDLE_CHARS: Final = (
    len(HANDLE_PREFIX)
    + (_TIME_BYTES + _DIGEST_BYTES * (MAX_MATERIALIZED + MAX_SEPARATORS) + _SIGNATURE_BYTES + 2) // 3 * 4
)


@dataclass(frozen=True, slots=True)
class BadHandle:
    """What is wrong with a handle, in a clause."""

    why: str


FOREIGN_HANDLE: Final = BadHandle("it is not one that this gateway gave you, or not all of it")
"""Whose it is instead, nobody is told."""
EXPIRED_HANDLE: Final = BadHandle("it has expired")


def tool_digest(tool: ToolId) -> bytes:
    return hashlib.blake2b(str(tool).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def make_handle(tools: Sequence[bytes], principal: PrincipalId, until: datetime, key: bytes) -> str:
    """Of the digests of the tools, in their order, with `NEXT_SEARCH` between searches."""
    body = int(until.timestamp()).to_bytes(_TIME_BYTES, "big") + b"".join(tools)
    return HANDLE_PREFIX + urlsafe_b64encode(body + _signature(body, principal, key)).decode().rstrip("=")


def read_handle(text: str, principal: PrincipalId, now: datetime, key: bytes) -> tuple[bytes, ...] | BadHandle:
    """The digests in it, with `NEXT_SEARCH` between searches."""
    if not text.startswith(HANDLE_PREFIX) or len(text) > MAX_HANDLE_CHARS:
        return FOREIGN_HANDLE
    raw = _decode(text.removeprefix(HANDLE_PREFIX))
    body, signature = raw[:-_SIGNATURE_BYTES], raw[-_SIGNATURE_BYTES:]
    if len(body) < _TIME_BYTES or (len(body) - _TIME_BYTES) % _DIGEST_BYTES:
        return FOREIGN_HANDLE
    if not hmac.compare_digest(signature, _signature(body, principal, key)):
        return FOREIGN_HANDLE
    if now >= datetime.fromtimestamp(int.from_bytes(body[:_TIME_BYTES], "big"), UTC):
        return EXPIRED_HANDLE
    return tuple(body[at : at + _DIGEST_BYTES] for at in range(_TIME_BYTES, len(body), _DIGEST_BYTES))


def _decode(text: str) -> bytes:
    """Nothing for what is no such text. One way to write each handle: two texts never stand for one."""
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (NotBase64, UnicodeEncodeError):
        return b""
    return raw if urlsafe_b64encode(raw).decode().rstrip("=") == text else b""


def _signature(body: bytes, principal: PrincipalId, key: bytes) -> bytes:
    signed = (
        HANDLE_PREFIX.encode()
        + len(body).to_bytes(_TIME_BYTES, "big")
        + body
        + principal.encode("utf-8", "surrogatepass")
    )
    return hmac.digest(key, signed, "sha256")[:_SIGNATURE_BYTES]
