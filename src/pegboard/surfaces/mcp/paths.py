"""The paths of the HTTP endpoint: one for each presentation of the tools and for each toolset, and a clear word for
every other."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from pegboard.core.foreign_names import PATHS
from pegboard.core.presentations import PresentationMode
from pegboard.gateway.access.attempts import FailedAttempts
from pegboard.gateway.access.uses import UsageTracker
from pegboard.gateway.gateway import Gateway

from .door import HttpRejection, RequestChecks
from .entrance import BearerAuthentication
from .http import SESSION_HEADER, McpHttpEndpoint
from .presentations import presentation_of
from .protocol import INVALID_PARAMS
from .raw.road import FastPath
from .refusals import send_rejection
from .view import wants_meta_tools

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

DEFAULT_PATH: Final = "/mcp"
"""Where a client is shown tools as the operator chose, or as its own request says."""

TOOLSET_PREFIX: Final = "/mcp/t/"
PRESENTATION_MISMATCH: Final = (
    "This session was opened with another presentation of the tools than X-Mcp-Dynamic (dynamic) asks for now. "
    "Leave that out, or send initialize again."
)
PRESENTATION_PATHS: Final[Mapping[str, PresentationMode]] = {
    f"/mcp/{presented.value}": presented for presented in PresentationMode if presented is not PresentationMode.AUTO
}


class McpPaths:
    """An ASGI application for `/mcp` and everything below. Serve it inside `running()`."""

    def __init__(
        self,
        gateway: Gateway,
        door: RequestChecks | None = None,
        *,
        key: Callable[[], bytes] | None = None,
        attempts: FailedAttempts | None = None,
        uses: UsageTracker | None = None,
    ) -> None:
        """What clients keep for themselves is signed with the `key`."""
        door = RequestChecks() if door is None else door
        # One entrance, so that whoever guesses tokens has as many guesses at all paths together as at one.
        self.authentication: Final = BearerAuthentication(gateway.board, gateway.clock, attempts, uses)
        self._checks = door
        # Once, at the start: the short road is laid to one of them.
        self._default_presentation = gateway.board.policy.declared.presentation.presentation
        self._endpoints: Mapping[PresentationMode, McpHttpEndpoint] = {
            presented: McpHttpEndpoint(
                gateway, door, entrance=self.authentication, presentation=presentation_of(presented, gateway, key=key)
            )
            for presented in {**dict.fromkeys(PRESENTATION_PATHS.values()), self._default_presentation: None}
        }

    @property
    def paths(self) -> tuple[str, ...]:
        """Those that do not depend on what is on the board."""
        return (DEFAULT_PATH, *PRESENTATION_PATHS)

    @property
    def fast_path(self) -> FastPath | None:
        return self._endpoints[self._default_presentation].fast_path

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for served in self._endpoints.values():
                await stack.enter_async_context(served.lifespan())
            yield

    def end_streams(self) -> None:
        for served in self._endpoints.values():
            served.end_streams()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        path: str = scope.get("path", "").rstrip("/")
        if path == DEFAULT_PATH:
            if isinstance(served := self._select_endpoint(scope, self._default_presentation), HttpRejection):
                await send_rejection(send, served)
            else:
                await served(scope, receive, send)
        elif (fixed := PRESENTATION_PATHS.get(path)) is not None:
            if (refused := self._check_dynamic_option(scope, path, fixed)) is not None:
                await send_rejection(send, refused)
            else:
                await self._endpoints[fixed](scope, receive, send)
        elif path.startswith(TOOLSET_PREFIX) and "/" not in (toolset := path.removeprefix(TOOLSET_PREFIX)):
            if isinstance(served := self._select_endpoint(scope, PresentationMode.DIRECT), HttpRejection):
                await send_rejection(send, served)
            else:
                await served(scope, receive, send, toolset)
        else:
            refused = self._checks.check_address(scope["headers"])
            known = f"{', '.join(self.paths)} and {TOOLSET_PREFIX}{{toolset}}"
            meant = f" Did you mean {PATHS[path]!r}?" if path in PATHS else ""
            told = f"Nothing is at {path[:200]!r}.{meant} MCP clients connect to {known}."
            await send_rejection(send, refused or HttpRejection(404, told))

    def _select_endpoint(self, scope: "Scope", otherwise: PresentationMode) -> McpHttpEndpoint | HttpRejection:
        """As the request says; else where its session was opened; else as everybody gets it."""
        wanted = wants_meta_tools(scope["headers"], scope["query_string"])
        session = next((value for name, value in scope["headers"] if name == SESSION_HEADER), None)
        if wanted is not None:
            asked = self._endpoints[PresentationMode.META if wanted else PresentationMode.DIRECT]
            if (
                session is None
                or asked.has_session(session)
                or not any(each.has_session(session) for each in self._endpoints.values())
            ):
                return asked
            # With this status, a client opens another session by itself.
            return self._checks.check_address(scope["headers"]) or HttpRejection(404, PRESENTATION_MISMATCH)
        usual = self._endpoints[otherwise]
        if session is None or usual.has_session(session):
            return usual
        # Some clients say what they want in the handshake only.
        asked_once = (self._endpoints[presented] for presented in (PresentationMode.META, PresentationMode.DIRECT))
        return next((served for served in asked_once if served.has_session(session)), usual)

    def _check_dynamic_option(self, scope: "Scope", path: str, fixed: PresentationMode) -> HttpRejection | None:
        asks = wants_meta_tools(scope["headers"], scope["query_string"])
        if (
            asks is None
            or asks is (fixed is PresentationMode.META)
            or (not asks and fixed is not PresentationMode.META)
        ):
            return None
        told = "asks for meta tools" if asks else "asks for the tools themselves"
        why = f"{path} has one presentation of the tools only, and the request {told} by X-Mcp-Dynamic (dynamic). "
        return self._checks.check_address(scope["headers"]) or HttpRejection(
            400, f"{why}Leave that out, or connect to {DEFAULT_PATH}.", INVALID_PARAMS
        )
