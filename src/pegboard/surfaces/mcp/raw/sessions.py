"""Sessions of the handshake era, as the short road sees them: opened, kept and ended by the SDK."""

import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Final

import anyio

from pegboard.core.ids import PrincipalId
from pegboard.core.tool import Json, JsonObject
from pegboard.surfaces.mcp.exchange import client_text

from .asking import Asking
from .reply import Lines

if TYPE_CHECKING:
    from mcp.server.streamable_http import StreamableHTTPServerTransport

TOUCH: Final = 5.0
"""Seconds. Putting a deadline off costs more than a look at the clock, so it is not done for every call."""


@dataclass(eq=False)
class Session:
    """Who opened it, and what it can be asked."""

    id: str
    principal: PrincipalId
    client: str
    can: Mapping[str, Json]
    asking: Asking = field(default_factory=Asking)
    touched: float = 0.0

    @cached_property
    def lines(self) -> Lines:
        return Lines(((b"mcp-session-id", self.id.encode("latin-1")),))


class Sessions:
    def __init__(self, idle: float, most: int) -> None:
        self.kept: Mapping[str, StreamableHTTPServerTransport] = {}
        """By its id, each session that the SDK keeps open: none before the SDK is loaded."""
        self._idle = idle
        self._most = most
        self._known: OrderedDict[bytes, Session] = OrderedDict()

    def opened(self, id: str, principal: PrincipalId, told: JsonObject) -> None:
        info, can = told.get("clientInfo"), told.get("capabilities")
        client = "" if not isinstance(info, dict) else client_text(info.get("name", ""), info.get("version", ""))
        session = Session(id, principal, client, can if isinstance(can, dict) else {})
        self._known[id.encode("latin-1")] = session
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def count(self, principal: PrincipalId) -> int:
        """How many this principal has open. Looked through one by one: sessions are opened seldom."""
        return sum(session.principal == principal and session.id in self.kept for session in self._known.values())

    @property
    def are_full(self) -> bool:
        return len(self.kept) >= self._most

    def open(self, id: bytes) -> Session | None:
        """The session of this id while the SDK keeps it. Its idle time begins anew: somebody uses it."""
        session = self._known.get(id)
        return None if session is None or not self.keeps(session) else session

    def keeps(self, session: Session) -> bool:
        """The same of one that was open before."""
        transport = self.kept.get(session.id)
        if transport is None or transport.is_terminated:
            self.closed(session.id)
            return False
        if (now := monotonic()) - session.touched > TOUCH:
            session.touched = now
            scope = transport.idle_scope
            # Without a deadline, a request of the session is being served there, and its end starts the idle time.
            if scope is not None and scope.deadline != math.inf:
                scope.deadline = anyio.current_time() + self._idle
        return True

    def closed(self, id: str) -> None:
        session = self._known.pop(id.encode("latin-1"), None)
        if session is not None:
            session.asking.end()

    async def end_of(self, principal: PrincipalId) -> list[str]:
        """Ends every session of this principal, with what is open in it, and says which those were."""
        ended = [session.id for session in self._known.values() if session.principal == principal]
        for id in ended:
            transport = self.kept.get(id)
            if transport is not None:
                await transport.terminate()
            self.closed(id)
        return ended
