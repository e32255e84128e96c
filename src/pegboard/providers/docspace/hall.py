"""What the four toolsets of one DocSpace share: the pool of connections, and who may be asked as whom."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from secrets import token_bytes
from typing import TypeAlias

import anyio

from pegboard.core.docspace import CREDENTIAL_HEADERS, Access, BadCredential, Lends, Misconfigured, lent
from pegboard.core.docspace.credential import whose
from pegboard.core.whose import Whose
from pegboard.ports import Clock, Progress

from .api import Api
from .bounds import Bounds
from .client import AGENT, Client
from .limits import Limits

Operator: TypeAlias = Callable[[], Access | Misconfigured | None]
"""What the operator set, read anew whenever a toolset starts; `None` where callers bring everything themselves."""


Named: TypeAlias = Callable[[], Iterable[str]]
"""The addresses of the operator's own that callers may lead to although they are inside, read anew as well."""


@dataclass(frozen=True, slots=True)
class Unauthorized:
    """Nobody said who asks: neither an operator nor the caller."""

    why: str = (
        "Unauthorized. Send your own DocSpace credentials: X-Mcp-Base-Url with X-Mcp-Api-Key, X-Mcp-Auth-Token, or "
        "X-Mcp-Username and X-Mcp-Password"
    )


class Hall:
    def __init__(
        self,
        operator: Operator,
        now: Clock,
        *,
        lends: Lends | None = None,
        limits: Limits | None = None,
        agent: str | None = None,
        named: Named = lambda: (),
        key: Callable[[], bytes] = token_bytes,
    ) -> None:
        """`lends` is what a caller's own request may bring; `agent` is our own name where it is `None`; `key` makes the
        tags of credentials, and is asked for once."""
        self._operator = operator
        self._lends = lends
        self._limits = limits or Limits()
        self._now = now
        self._named = named
        self._bounds = Bounds()
        self._client = Client(self._limits, now, AGENT if agent is None else agent, self._bounds)
        self._users = 0
        self._key = cache(key)

    def operator(self) -> Access | Misconfigured | None:
        self._bounds.name(self._named())
        known = self._operator()
        if known is None and self._lends is None:
            return Misconfigured("No authentication method")
        return known

    def access(
        self, operator: Access | Misconfigured | None, headers: Mapping[bytes, bytes]
    ) -> Access | Misconfigured | BadCredential | Unauthorized:
        """Whom one call is made as. What a caller brings takes the place of all that the operator set."""
        own = lent(headers, self._lends) if self._lends is not None and _are_meant(headers) else None
        if own is not None:
            return own
        return Unauthorized() if operator is None else operator

    def whose(self, access: Access) -> Whose:
        """Bound to the place and the credential, of which nothing can be read in it."""
        return whose(access, self._key())

    def api(self, access: Access, progress: Progress | None) -> Api:
        return Api(self._client, access, self._limits, self._now, progress)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """While one of the toolsets runs. The last that ends closes the connections."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                with anyio.CancelScope(shield=True):
                    await self._client.close()


def _are_meant(headers: Mapping[bytes, bytes]) -> bool:
    """`Authorization` alone may be for anybody on the way, such as a model's server; where it could be for DocSpace, it
    is refused at the door."""
    return any(name in headers for name in CREDENTIAL_HEADERS)
