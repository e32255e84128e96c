"""Who may chat, and how much they may send: asked of whoever keeps the door of the other endpoints."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pegboard.core.ids import PrincipalId
from pegboard.core.view import View

from .faults import ChatRejection

HeaderPairs: TypeAlias = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class ChatAccess:
    """By the same tokens, rules and counts of failures as everywhere else over HTTP."""

    principal_of: Callable[[bytes | None, str], PrincipalId | ChatRejection]
    """The caller with this Authorization header, from this address."""
    view_of: Callable[[HeaderPairs, bytes, PrincipalId], View | ChatRejection]
    """How far headers and query narrow what it sees."""
    unknown_names: Callable[[View], str | None]
    """What the narrowing names in vain."""
    forwardable_headers: Callable[[Iterable[tuple[bytes, bytes]]], Mapping[bytes, bytes]]
    """What calls may carry on in the caller's name."""
    duplicate_credential_header: Callable[[HeaderPairs], bytes | None]
    client_address: Callable[[str, HeaderPairs], str] = lambda peer, headers: peer
    """The address that a request comes from, by the peer's and by what proxies wrote down."""
    max_body_bytes: int = 10 * 1024 * 1024
    max_values: int = 1_000_000
    client_timeout_s: float = 60.0
    """Seconds for a client that neither sends the rest of its request nor reads its answer."""
    startup_wait_s: float = 3.0
    single_headers: frozenset[bytes] = field(default=frozenset({b"authorization", b"content-length", b"content-type"}))
