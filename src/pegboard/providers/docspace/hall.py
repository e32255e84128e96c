"""What the four toolsets of one DocSpace share: the pool of connections, and who may be asked as whom."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

import anyio

from pegboard.ports import Clock, Progress

from .api import Api
from .client import AGENT, Client
from .credentials import Access, Misconfigured, Unauthorized, brought
from .limits import Limits
from .trouble import Trouble

Operator: TypeAlias = Callable[[], Access | Misconfigured | None]
"""What the operator set, read anew whenever a toolset starts; `None` where callers bring everything themselves."""


@dataclass(frozen=True, slots=True)
class Callers:
    """What a caller's own request may bring."""

    credentials: bool = False
    authorization: bool = False
    """Whether its `Authorization` header is meant for DocSpace, and not for the gateway."""


class Hall:
    def __init__(
        self,
        operator: Operator,
        now: Clock,
        *,
        callers: Callers | None = None,
        limits: Limits | None = None,
        agent: str = AGENT,
    ) -> None:
        self._operator = operator
        self._callers = callers or Callers()
        self._limits = limits or Limits()
        self._now = now
        self._client = Client(self._limits, now, agent)
        self._users = 0

    def operator(self) -> Access | Misconfigured | None:
        set_ = self._operator()
        if set_ is None and not self._callers.credentials:
            return Misconfigured("No authentication method")
        return set_

    def access(
        self, operator: Access | Misconfigured | None, headers: Mapping[bytes, bytes]
    ) -> Access | Misconfigured | Unauthorized:
        """Whom one call is made as. What a caller brings takes the place of all that the operator set."""
        if self._callers.credentials:
            own = brought(headers, authorization=self._callers.authorization)
            if isinstance(own, Misconfigured):
                return Misconfigured(str(Trouble("Parsing credential", own.why.splitlines())))
            if own is not None:
                return own
        return Unauthorized() if operator is None else operator

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
