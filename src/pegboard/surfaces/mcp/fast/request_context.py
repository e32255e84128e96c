"""What the headers of a request mean (protocol revision, caller, view), cached for equal headers."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.selection import View
from pegboard.gateway.access.tokens import CallerTokens
from pegboard.gateway.board import BoardState
from pegboard.ports.providers import PeerRequestError
from pegboard.surfaces.mcp.fast.messages import ABSENT, UNREADABLE, JsonRpcMessage, read_error, read_object
from pegboard.surfaces.mcp.fast.response import ExtraHeaders
from pegboard.surfaces.mcp.protocol import CONNECTION_CLOSED, INTERNAL_ERROR, MODERN_PROTOCOL_VERSIONS
from pegboard.surfaces.mcp.request_checks import HttpRejection, is_modern
from pegboard.surfaces.mcp.session_state import client_text
from pegboard.surfaces.mcp.view import narrow_to_toolset

if TYPE_CHECKING:
    from mcp.server.streamable_http import StreamableHTTPServerTransport


MAX_CACHED: Final = 1024
VERSION_HEADER: Final = b"mcp-protocol-version"
NARROWING_PREFIX: Final = b"x-mcp-"
DECISIVE_HEADERS: Final = (
    *(VERSION_HEADER, b"host", b"origin", b"content-type", b"accept", b"content-encoding", b"authorization"),
)
MAX_CACHED_KEY_BYTES: Final = 4096
"""Bytes of the narrowing that are remembered with what they mean; a longer one is read anew."""

HeaderPairs: TypeAlias = Sequence[tuple[bytes, bytes]]
ReadView: TypeAlias = Callable[[str, bytes, HeaderPairs, Mapping[bytes, bytes]], View | HttpRejection]
"""Of a POST: from the address of whoever asks, the query and the headers."""


@dataclass(slots=True, eq=False)
class RequestContext:
    view: View
    modern: bool
    version: str
    board_revision: object = None
    """Of the board on which every name in this view was found to mean something."""
    has_no_param_headers: dict[str, bool] = field(default_factory=dict[str, bool])
    """Which tools of that board, by name, want none of their arguments repeated in headers."""

    def is_valid_on(self, board: BoardState) -> bool:
        if self.board_revision is not board.revision:
            if board.resolution(self.view).unknown_in_narrowing:
                return False
            self.board_revision = board.revision
            self.has_no_param_headers.clear()
        return True


class RequestContextCache:
    """Only who is let in is remembered, and only for as long as the same principals are."""

    def __init__(self, callers: CallerTokens, read: ReadView) -> None:
        self._token_index = callers
        self._read_view = read
        self._principals: object = None
        self._cache: dict[tuple[object, ...], RequestContext] = {}

    def resolve(
        self, address: str, query: bytes, given: HeaderPairs, headers: Mapping[bytes, bytes], toolset: str | None = None
    ) -> RequestContext | HttpRejection | None:
        """`None` for a version that only the SDK has words for."""
        known = self.find_cached(query, given, headers, toolset)
        if known is not None:
            return known
        return self._build(address, query, given, self._key(query, given, headers, toolset), toolset)

    def find_cached(
        self, query: bytes, given: HeaderPairs, headers: Mapping[bytes, bytes], toolset: str | None = None
    ) -> RequestContext | None:
        """Of whoever came before with the same headers, as far as those decide anything."""
        principals = self._token_index.hashes
        if principals is not self._principals:
            self._principals = principals
            self._cache.clear()
        return self._cache.get(self._key(query, given, headers, toolset))

    def forget(self) -> None:
        """Tokens stand in the keys."""
        self._cache.clear()

    def _key(
        self, query: bytes, given: HeaderPairs, headers: Mapping[bytes, bytes], toolset: str | None
    ) -> tuple[object, ...]:
        narrowing = [pair for pair in given if pair[0][:6] == NARROWING_PREFIX]
        return (*map(headers.get, DECISIVE_HEADERS), query, toolset, *narrowing)

    def _build(
        self, address: str, query: bytes, given: HeaderPairs, key: tuple[object, ...], toolset: str | None
    ) -> RequestContext | HttpRejection | None:
        trimmed = [(name, value.strip(b" \t")) for name, value in given]
        headers = dict(trimmed)
        view = self._read_view(address, query, trimmed, headers)
        if isinstance(view, HttpRejection):
            return view
        version = headers.get(VERSION_HEADER, b"").decode("latin-1")
        modern = is_modern(version or None)
        if modern and version not in MODERN_PROTOCOL_VERSIONS:
            return None
        profile = RequestContext(view if toolset is None else narrow_to_toolset(view, toolset), modern, version)
        if sum(map(_size, key)) <= MAX_CACHED_KEY_BYTES:
            if len(self._cache) >= MAX_CACHED:
                del self._cache[next(iter(self._cache))]
            self._cache[key] = profile
        return profile


def _size(part: object) -> int:
    return len(part) if isinstance(part, bytes | str) else sum(map(_size, part)) if isinstance(part, tuple) else 0


# Questions put to a client of the handshake era that wait for its answer, by their ids.

MAX_OPEN_QUESTIONS: Final = 64
"""Questions to one client that may wait at the same time."""


class ClientQuestions:
    def __init__(self) -> None:
        self._futures: dict[str, asyncio.Future[Mapping[str, Json]]] = {}
        self._numbers = count(1)

    def open(self) -> tuple[str, asyncio.Future[Mapping[str, Json]]]:
        if len(self._futures) >= MAX_OPEN_QUESTIONS:
            raise PeerRequestError(INTERNAL_ERROR, f"{MAX_OPEN_QUESTIONS} questions wait for the client already.")
        id = f"pegboard-{next(self._numbers)}"
        future: asyncio.Future[Mapping[str, Json]] = asyncio.get_running_loop().create_future()
        self._futures[id] = future
        return id, future

    def close(self, id: str) -> None:
        self._futures.pop(id, None)

    def accept_answer(self, id: str, message: JsonRpcMessage) -> bool:
        """Whether this is the answer to a question that waits."""
        future = self._futures.pop(id, None)
        if future is None:
            return False
        if future.done():
            return True
        try:
            if message.error is ABSENT:
                future.set_result(read_object(message.result))
            else:
                fault = read_error(message.error)
                future.set_exception(PeerRequestError(fault.code, fault.message))
        except UNREADABLE:
            future.set_exception(PeerRequestError(INTERNAL_ERROR, "The client's answer cannot be read."))
        return True

    def fail_all(self) -> None:
        for future in self._futures.values():
            if not future.done():
                future.set_exception(PeerRequestError(CONNECTION_CLOSED, "The client has ended its session."))
        self._futures.clear()


# Sessions of the handshake era, as the short road sees them: opened, kept and ended by the SDK.

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
