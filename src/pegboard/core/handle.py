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
from .presentations.presenting import MOST_MATERIALISED

FORM: Final = "h1."
"""Begins every handle, and says how the rest is to be read."""
_DIGEST: Final = 6
_TIME: Final = 4
_SIGNATURE: Final = 12
NEXT_SEARCH: Final = bytes(_DIGEST)
"""Stands between the tools of two searches. No tool has it, so gateways that do not know it pass it over."""
MAX_BREAKS: Final = 8
"""What further searches found stands with the last one: a model has to copy the handle."""
LONGEST: Final = len(FORM) + (_TIME + _DIGEST * (MOST_MATERIALISED + MAX_BREAKS) + _SIGNATURE + 2) // 3 * 4


@dataclass(frozen=True, slots=True)
class BadHandle:
    """What is wrong with a handle, in a clause."""

    why: str


NOT_OURS: Final = BadHandle("it is not one that this gateway gave you, or not all of it")
"""Whose it is instead, nobody is told."""
TOO_OLD: Final = BadHandle("it has expired")


def digest(tool: ToolId) -> bytes:
    return hashlib.blake2b(str(tool).encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


def minted(tools: Sequence[bytes], principal: PrincipalId, until: datetime, key: bytes) -> str:
    """Of the digests of the tools, in their order, with `NEXT_SEARCH` between searches."""
    body = int(until.timestamp()).to_bytes(_TIME, "big") + b"".join(tools)
    return FORM + urlsafe_b64encode(body + _signature(body, principal, key)).decode().rstrip("=")


def read(text: str, principal: PrincipalId, now: datetime, key: bytes) -> tuple[bytes, ...] | BadHandle:
    """The digests in it, with `NEXT_SEARCH` between searches."""
    if not text.startswith(FORM) or len(text) > LONGEST:
        return NOT_OURS
    raw = _decoded(text.removeprefix(FORM))
    body, signature = raw[:-_SIGNATURE], raw[-_SIGNATURE:]
    if len(body) < _TIME or (len(body) - _TIME) % _DIGEST:
        return NOT_OURS
    if not hmac.compare_digest(signature, _signature(body, principal, key)):
        return NOT_OURS
    if now >= datetime.fromtimestamp(int.from_bytes(body[:_TIME], "big"), UTC):
        return TOO_OLD
    return tuple(body[at : at + _DIGEST] for at in range(_TIME, len(body), _DIGEST))


def _decoded(text: str) -> bytes:
    """Nothing for what is no such text. One way to write each handle: two texts never stand for one."""
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (NotBase64, UnicodeEncodeError):
        return b""
    return raw if urlsafe_b64encode(raw).decode().rstrip("=") == text else b""


def _signature(body: bytes, principal: PrincipalId, key: bytes) -> bytes:
    signed = FORM.encode() + len(body).to_bytes(_TIME, "big") + body + principal.encode("utf-8", "surrogatepass")
    return hmac.digest(key, signed, "sha256")[:_SIGNATURE]
