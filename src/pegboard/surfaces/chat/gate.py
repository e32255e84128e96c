"""Who may chat, and how much they may send: asked of whoever keeps the door of the other endpoints."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pegboard.core.ids import PrincipalId
from pegboard.core.view import View

from .faults import Refused

Pairs: TypeAlias = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Gate:
    """By the same tokens, rules and counts of failures as everywhere else over HTTP."""

    principal: Callable[[bytes | None, str], PrincipalId | Refused]
    """The caller with this Authorization header, from this address."""
    view: Callable[[Pairs, bytes, PrincipalId], View | Refused]
    """How far headers and query narrow what it sees."""
    unknown: Callable[[View], str | None]
    """What the narrowing names in vain."""
    own_headers: Callable[[Iterable[tuple[bytes, bytes]]], Mapping[bytes, bytes]]
    """What calls may carry on in the caller's name."""
    lent_twice: Callable[[Pairs], bytes | None]
    client: Callable[[str, Pairs], str] = lambda peer, headers: peer
    """The address that a request comes from, by the peer's and by what proxies wrote down."""
    largest_body: int = 10 * 1024 * 1024
    most_values: int = 1_000_000
    patience: float = 60.0
    """Seconds for a client that neither sends the rest of its request nor reads its answer."""
    settle: float = 3.0
    once: frozenset[bytes] = field(default=frozenset({b"authorization", b"content-length", b"content-type"}))
