"""The request being served: through which view it asks, and when its client has gone."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

import anyio

from pegboard.core.call import claimed_client
from pegboard.core.view import View


@dataclass(frozen=True)
class RequestScope:
    view: View = field(default_factory=View)
    client_gone: anyio.Event | None = None
    """Set when the client hung up before it had its answer; `None` where the connection itself tells."""
    session: str | None = None
    """The HTTP session of a client of the handshake era."""
    headers: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes], repr=False, compare=False)
    """What the request itself says in its headers, for connections that are made in its caller's name."""
    access_revoked: anyio.Event | None = field(default=None, repr=False, compare=False)
    """Set when its principal is let in no more: a stream that it keeps open ends then."""


@dataclass(frozen=True)
class CheckedRequest:
    """A request that may be served: who asks through which view, and what it says."""

    view: View
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    session: str | None
    version: str | None
    forwarded_headers: dict[bytes, bytes]
    """Headers that may go on in the caller's name; emptied when the request has been served."""
    client_gone: anyio.Event
    """Set when its client hung up."""
    access_revoked: anyio.Event
    """Set when its principal is let in no more."""


CURRENT_REQUEST: Final[ContextVar[RequestScope]] = ContextVar("exchange")
"""Set where a request comes in. The SDK runs what serves it in the same context, in every era and transport."""


def client_text(name: object, version: object) -> str:
    """The name and version a client gives itself, for the audit."""
    return claimed_client(f"{name} {version}")
