"""State that the fast path and the SDK path of an endpoint share."""

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from pegboard import __version__
from pegboard.core.json.values import JsonObject
from pegboard.core.model.selection import View
from pegboard.gateway.board import BoardState
from pegboard.surfaces.mcp.input_rounds import ExecuteCall, PendingInputCalls
from pegboard.surfaces.mcp.presentations.base import ExecutesCalls, Presentation
from pegboard.surfaces.mcp.presentations.direct import DirectPresentation
from pegboard.surfaces.mcp.session_state import ListFingerprints, LogLevels

SERVER_NAME: Final = "pegboard"
TOOL_LIST: Final = "tools"
INTERNAL_ERROR_MESSAGE: Final = "The gateway failed on this request. Its log says why."
MAX_SESSIONS: Final = 10_000
SERVER_INFO: Final[JsonObject] = {"name": SERVER_NAME, "version": __version__}
"""Who answers, as an answer of the 2026-07-28 era says it."""


class EndpointState:
    def __init__(self, board: BoardState, call: ExecuteCall, presentation: Presentation | None = None) -> None:
        """Without a `presentation`, every tool is shown as itself."""
        self.direct: Final = DirectPresentation(board)
        self.log_levels: Final = LogLevels()
        self.execute: Final[ExecuteCall] = presentation.execute if isinstance(presentation, ExecutesCalls) else call
        self.pending_calls: PendingInputCalls | None = None
        """Where calls of the 2026-07-28 era wait for answers, while the endpoint runs."""
        self.shutdown: Final = anyio.Event()
        """Set when the endpoint is going away: whoever keeps a stream open to hear of changes ends it."""
        self._last_listed: OrderedDict[str, tuple[View, ListFingerprints]] = OrderedDict()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[PendingInputCalls]:
        """Calls can be parked inside the block. What is open already stays open."""
        if self.pending_calls is not None:
            yield self.pending_calls
            return
        async with PendingInputCalls(self.execute).open() as parking:
            self.pending_calls = parking
            try:
                yield parking
            finally:
                self.pending_calls = None

    def last_fingerprints(self, session: str | None, view: View) -> ListFingerprints:
        """Of the lists that this session last saw in this view."""
        seen_in, marks = self._last_listed.get(session or "", (view, {}))
        return marks if seen_in == view else {}

    def record_listed(self, session: str, view: View, mark: bytes, what: str = TOOL_LIST) -> None:
        """What this session has now seen is what a change is a change of."""
        self._last_listed[session] = view, {**self.last_fingerprints(session, view), what: mark}
        self._last_listed.move_to_end(session)
        while len(self._last_listed) > MAX_SESSIONS:
            self._last_listed.popitem(last=False)

    def forget(self, session: str) -> None:
        self._last_listed.pop(session, None)
        self.log_levels.forget(session)
