"""The paths of the HTTP endpoint: one for each presentation of the tools, and a clear word for every other."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from pegboard.gateway.gateway import Gateway

from .door import Door, Refused
from .entrance import Entrance
from .http import McpHttp, refuse
from .raw.road import Road
from .search import Search

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

DIRECT: Final = "/mcp"
SEARCH: Final = "/mcp/search"


class McpPaths:
    """An ASGI application for `/mcp` and everything below. Serve it inside `running()`."""

    def __init__(self, gateway: Gateway, door: Door | None = None) -> None:
        door = Door() if door is None else door
        # One entrance, so that whoever guesses tokens has as many guesses at all paths together as at one.
        entrance = Entrance(gateway.board)
        self._door = door
        self._direct = McpHttp(gateway, door, entrance=entrance)
        search = McpHttp(gateway, door, entrance=entrance, presentation=Search(gateway))
        self._paths: Mapping[str, McpHttp] = {DIRECT: self._direct, SEARCH: search}

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._paths)

    @property
    def express(self) -> Road | None:
        return self._direct.express

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for served in self._paths.values():
                await stack.enter_async_context(served.running())
            yield

    def end_streams(self) -> None:
        for served in self._paths.values():
            served.end_streams()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        path: str = scope.get("path", "")
        served = self._paths.get(path.rstrip("/"))
        if served is not None:
            await served(scope, receive, send)
            return
        refused = self._door.address_refusal(scope["headers"])
        known = " and ".join(self._paths)
        await refuse(send, refused or Refused(404, f"Nothing is at {path[:200]!r}. MCP clients connect to {known}."))
