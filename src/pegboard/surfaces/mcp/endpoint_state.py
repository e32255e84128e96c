"""What both paths of one endpoint share: what its sessions saw last, the levels they set, and calls that are parked."""

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from pegboard import __version__
from pegboard.core.tool import JsonObject
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .direct import Direct
from .levels import Levels
from .parking import Parking
from .presentation import Carrying, Presentation
from .rounds import Carry
from .watch import Marks

NAME: Final = "pegboard"
TOOLS: Final = "tools"
INTERNAL: Final = "The gateway failed on this request. Its log says why."
MAX_SESSIONS: Final = 10_000
STAMP: Final[JsonObject] = {"name": NAME, "version": __version__}
"""Who answers, as an answer of the 2026-07-28 era says it."""


class EndpointState:
    def __init__(self, gateway: Gateway, presentation: Presentation | None = None) -> None:
        """Without a `presentation`, every tool is shown as itself."""
        self.direct: Final = Direct(gateway.board)
        self.levels: Final = Levels()
        self.carry: Final[Carry] = presentation.carry if isinstance(presentation, Carrying) else gateway.caller.call
        self.parking: Parking | None = None
        """Where calls of the 2026-07-28 era wait for answers, while the endpoint runs."""
        self.ending: Final = anyio.Event()
        """Set when the endpoint is going away: whoever keeps a stream open to hear of changes ends it."""
        self._last_shown: OrderedDict[str, tuple[View, Marks]] = OrderedDict()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Parking]:
        """Calls can be parked inside the block. What is open already stays open."""
        if self.parking is not None:
            yield self.parking
            return
        async with Parking(self.carry).opened() as parking:
            self.parking = parking
            try:
                yield parking
            finally:
                self.parking = None

    def marks_seen(self, session: str | None, view: View) -> Marks:
        """Of the lists that this session last saw in this view."""
        seen_in, marks = self._last_shown.get(session or "", (view, {}))
        return marks if seen_in == view else {}

    def listed(self, session: str, view: View, mark: bytes, what: str = TOOLS) -> None:
        """What this session has now seen is what a change is a change of."""
        self._last_shown[session] = view, {**self.marks_seen(session, view), what: mark}
        self._last_shown.move_to_end(session)
        while len(self._last_shown) > MAX_SESSIONS:
            self._last_shown.popitem(last=False)

    def forget(self, session: str) -> None:
        self._last_shown.pop(session, None)
        self.levels.forget(session)
