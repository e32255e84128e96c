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

from .asking import ClientQuestions
from .reply import ExtraHeaders

if TYPE_CHECKING:
    from mcp.server.streamable_http import StreamableHTTPServerTransport

TOUCH_INTERVAL_S: Final = 5.0
"""Seconds. Putting a deadline off costs more than a look at the clock, so it is not done for every call."""


@dataclass(eq=False)
class McpSession:
    """Who opened it, and what it can be asked."""

    id: str
    principal: PrincipalId
    client_name: str
    capabilities: Mapping[str, Json]
    questions: ClientQuestions = field(default_factory=ClientQuestions)
    last_touch: float = 0.0

    @cached_property
    def extra_headers(self) -> ExtraHeaders:
        return ExtraHeaders(((b"mcp-session-id", self.id.encode("latin-1")),))


class McpSessions:
    def __init__(self, idle: float, most: int) -> None:
        self.sdk_sessions: Mapping[str, StreamableHTTPServerTransport] = {}
        """By its id, each session that the SDK keeps open: none before the SDK is loaded."""
        self._idle_s = idle
        self._max_sessions = most
        self._by_id: OrderedDict[bytes, McpSession] = OrderedDict()

    def add(self, id: str, principal: PrincipalId, told: JsonObject) -> None:
        info, can = told.get("clientInfo"), told.get("capabilities")
        client = "" if not isinstance(info, dict) else client_text(info.get("name", ""), info.get("version", ""))
        session = McpSession(id, principal, client, can if isinstance(can, dict) else {})
        self._by_id[id.encode("latin-1")] = session
        while len(self._by_id) > self._max_sessions:
            self._by_id.popitem(last=False)

    def count_of(self, principal: PrincipalId) -> int:
        """How many this principal has open. Looked through one by one: sessions are opened seldom."""
        return sum(
            session.principal == principal and session.id in self.sdk_sessions for session in self._by_id.values()
        )

    @property
    def is_full(self) -> bool:
        return len(self.sdk_sessions) >= self._max_sessions

    def find(self, id: bytes) -> McpSession | None:
        """The session of this id while the SDK keeps it. Its idle time begins anew: somebody uses it."""
        session = self._by_id.get(id)
        return None if session is None or not self.is_open(session) else session

    def is_open(self, session: McpSession) -> bool:
        """The same of one that was open before."""
        transport = self.sdk_sessions.get(session.id)
        if transport is None or transport.is_terminated:
            self.remove(session.id)
            return False
        if (now := monotonic()) - session.last_touch > TOUCH_INTERVAL_S:
            session.last_touch = now
            scope = transport.idle_scope
            # Without a deadline, a request of the session is being served there, and its end starts the idle time.
            if scope is not None and scope.deadline != math.inf:
                scope.deadline = anyio.current_time() + self._idle_s
        return True

    def remove(self, id: str) -> None:
        session = self._by_id.pop(id.encode("latin-1"), None)
        if session is not None:
            session.questions.fail_all()

    async def end_all_of(self, principal: PrincipalId) -> list[str]:
        """Ends every session of this principal, with what is open in it, and says which those were."""
        ended = [session.id for session in self._by_id.values() if session.principal == principal]
        for id in ended:
            transport = self.sdk_sessions.get(id)
            if transport is not None:
                await transport.terminate()
            self.remove(id)
        return ended
