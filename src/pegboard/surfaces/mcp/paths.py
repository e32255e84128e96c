"""The paths of the HTTP endpoint: one for each presentation of the tools and for each toolset, and a clear word for
every other."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from pegboard.core.foreign_names import PATHS
from pegboard.core.presentations import Presented
from pegboard.gateway.access.attempts import Attempts
from pegboard.gateway.access.uses import Uses
from pegboard.gateway.gateway import Gateway

from .door import Door, Refused
from .entrance import Entrance
from .http import SESSION, McpHttp
from .presentations import presentation_of
from .protocol import INVALID_PARAMS
from .raw.road import Road
from .refusals import refuse
from .view import wants_meta_tools

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

CHOSEN: Final = "/mcp"
"""Where a client is shown tools as the operator chose, or as its own request says."""

TOOLSET: Final = "/mcp/t/"
OPENED_OTHERWISE: Final = (
    "This session was opened with another presentation of the tools than X-Mcp-Dynamic (dynamic) asks for now. "
    "Leave that out, or send initialize again."
)
FIXED: Final[Mapping[str, Presented]] = {
    f"/mcp/{presented.value}": presented for presented in Presented if presented is not Presented.AUTO
}


class McpPaths:
    """An ASGI application for `/mcp` and everything below. Serve it inside `running()`."""

    def __init__(
        self,
        gateway: Gateway,
        door: Door | None = None,
        *,
        key: Callable[[], bytes] | None = None,
        attempts: Attempts | None = None,
        uses: Uses | None = None,
    ) -> None:
        """What clients keep for themselves is signed with the `key`."""
        door = Door() if door is None else door
        # One entrance, so that whoever guesses tokens has as many guesses at all paths together as at one.
        self.entrance: Final = Entrance(gateway.board, gateway.clock, attempts, uses)
        self._door = door
        # Once, at the start: the short road is laid to one of them.
        self._chosen = gateway.board.policy.declared.presenting.presentation
        self._served: Mapping[Presented, McpHttp] = {
            presented: McpHttp(
                gateway, door, entrance=self.entrance, presentation=presentation_of(presented, gateway, key=key)
            )
            for presented in {**dict.fromkeys(FIXED.values()), self._chosen: None}
        }

    @property
    def paths(self) -> tuple[str, ...]:
        """Those that do not depend on what is on the board."""
        return (CHOSEN, *FIXED)

    @property
    def express(self) -> Road | None:
        return self._served[self._chosen].express

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for served in self._served.values():
                await stack.enter_async_context(served.running())
            yield

    def end_streams(self) -> None:
        for served in self._served.values():
            served.end_streams()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        path: str = scope.get("path", "").rstrip("/")
        if path == CHOSEN:
            if isinstance(served := self._asked_for(scope, self._chosen), Refused):
                await refuse(send, served)
            else:
                await served(scope, receive, send)
        elif (fixed := FIXED.get(path)) is not None:
            if (refused := self._contradiction(scope, path, fixed)) is not None:
                await refuse(send, refused)
            else:
                await self._served[fixed](scope, receive, send)
        elif path.startswith(TOOLSET) and "/" not in (toolset := path.removeprefix(TOOLSET)):
            if isinstance(served := self._asked_for(scope, Presented.DIRECT), Refused):
                await refuse(send, served)
            else:
                await served(scope, receive, send, toolset)
        else:
            refused = self._door.address_refusal(scope["headers"])
            known = f"{', '.join(self.paths)} and {TOOLSET}{{toolset}}"
            meant = f" Did you mean {PATHS[path]!r}?" if path in PATHS else ""
            told = f"Nothing is at {path[:200]!r}.{meant} MCP clients connect to {known}."
            await refuse(send, refused or Refused(404, told))

    def _asked_for(self, scope: "Scope", otherwise: Presented) -> McpHttp | Refused:
        """As the request says; else where its session was opened; else as everybody gets it."""
        wanted = wants_meta_tools(scope["headers"], scope["query_string"])
        session = next((value for name, value in scope["headers"] if name == SESSION), None)
        if wanted is not None:
            asked = self._served[Presented.META if wanted else Presented.DIRECT]
            if session is None or asked.has(session) or not any(each.has(session) for each in self._served.values()):
                return asked
            # With this status, a client opens another session by itself.
            return self._door.address_refusal(scope["headers"]) or Refused(404, OPENED_OTHERWISE)
        usual = self._served[otherwise]
        if session is None or usual.has(session):
            return usual
        # Some clients say what they want in the handshake only.
        asked_once = (self._served[presented] for presented in (Presented.META, Presented.DIRECT))
        return next((served for served in asked_once if served.has(session)), usual)

    def _contradiction(self, scope: "Scope", path: str, fixed: Presented) -> Refused | None:
        asks = wants_meta_tools(scope["headers"], scope["query_string"])
        if asks is None or asks is (fixed is Presented.META) or (not asks and fixed is not Presented.META):
            return None
        told = "asks for meta tools" if asks else "asks for the tools themselves"
        why = f"{path} has one presentation of the tools only, and the request {told} by X-Mcp-Dynamic (dynamic). "
        return self._door.address_refusal(scope["headers"]) or Refused(
            400, f"{why}Leave that out, or connect to {CHOSEN}.", INVALID_PARAMS
        )
