"""What a presentation is, and conversations with the tools they have found."""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, runtime_checkable

from pegboard.core.calls.call import ToolCall
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.catalogue import Catalogue
from pegboard.core.model.ids import PrincipalId, ToolId
from pegboard.core.model.selection import View
from pegboard.core.model.settings import DEFAULT_MATERIALIZED
from pegboard.core.presentations.own_tools import (
    MAX_SEPARATORS,
    SEARCH_SEPARATOR,
    BadHandle,
    MaterializedTools,
    make_handle,
    read_handle,
    tool_digest,
)
from pegboard.gateway.board import BoardState
from pegboard.gateway.signals import ChangeSignal, Subscription
from pegboard.gateway.tool_calls import AnswerCall, PresentationAnswer
from pegboard.ports.providers import ClientPeer, Clock, Progress
from pegboard.surfaces.mcp.results import BadCursor, CallOutcome, ToolPage

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams


HANDLE_META_KEY: Final = "pegboard/handle"
"""Under which a request carries its handle, and the answer to a search the next one."""
HANDLE_LIFETIME: Final = timedelta(days=1)
MAX_SESSIONS: Final = 10_000
MAX_CACHED_DIGESTS: Final = 10_000
"""Tools whose digests are at hand without looking through the board."""


@dataclass(frozen=True, slots=True)
class SessionConversation:
    """With a client of the handshake era, or any other that holds on to one connection."""

    key: str


@dataclass(frozen=True, slots=True)
class StatelessConversation:
    """With a client of the 2026-07-28 era: each request stands for itself, and says by a handle what came before."""

    handle: str | None = None


Conversation: TypeAlias = SessionConversation | StatelessConversation


def stateless_conversation(params: Mapping[str, Json] | None) -> StatelessConversation:
    """By what a request says beside its arguments. What is there and is no text is a handle that nobody made."""
    meta = (params or {}).get("_meta")
    handle = meta.get(HANDLE_META_KEY) if isinstance(meta, Mapping) else None
    return StatelessConversation(handle if handle is None or isinstance(handle, str) else "")


class FoundToolsBySession:
    """What was found in each session, for as long as it lasts; whoever listens there is told of more."""

    def __init__(self) -> None:
        self._tools_by_session: OrderedDict[str, MaterializedTools] = OrderedDict()
        self._signals: dict[str, ChangeSignal] = {}

    def __len__(self) -> int:
        return len(self._tools_by_session)

    def found_in(self, key: str) -> MaterializedTools:
        return self._tools_by_session.get(key, MaterializedTools())

    def add_found(self, key: str, found: Iterable[ToolId], most: int = DEFAULT_MATERIALIZED) -> None:
        self._remember(key, self.found_in(key).with_found(found, most))

    def merge(self, key: str, other: MaterializedTools, most: int = DEFAULT_MATERIALIZED) -> None:
        """What another conversation found, which the client says this one goes on from."""
        self._remember(key, self.found_in(key).with_searches(other, most))

    def _remember(self, key: str, now: MaterializedTools) -> None:
        former = self.found_in(key)
        self._tools_by_session[key] = now
        self._tools_by_session.move_to_end(key)
        while len(self._tools_by_session) > MAX_SESSIONS:
            self._tools_by_session.popitem(last=False)
        if now != former and (bell := self._signals.get(key)) is not None:
            bell.notify()

    @contextmanager
    def subscribe(self, key: str, listener: Subscription) -> Iterator[None]:
        bell = self._signals.setdefault(key, ChangeSignal())
        try:
            with bell.attach(listener):
                yield
        finally:
            if bell.has_no_subscribers:
                self._signals.pop(key, None)

    def forget(self, key: str) -> None:
        self._tools_by_session.pop(key, None)


class ConversationHandles:
    """Made and read here. Gateways that have the same key take each other's."""

    def __init__(self, board: BoardState, clock: Clock, key: Callable[[], bytes] | None = None) -> None:
        """Without a `key` they are good for as long as this process runs. One is asked for when it is first needed."""
        self._board = board
        self._clock = clock
        self._load_key = key
        self._key: bytes | None = None
        self._tools_by_digest: OrderedDict[bytes, ToolId] = OrderedDict()
        self._catalogue_digests: tuple[Catalogue, Mapping[bytes, ToolId]] = Catalogue(), {}

    def mint(self, found: MaterializedTools, principal: PrincipalId) -> str:
        digests: list[bytes] = []
        for place, search in enumerate(found.searches):
            digests += [SEARCH_SEPARATOR] if 0 < place <= MAX_SEPARATORS else []
            for id in search:
                digests.append(each := tool_digest(id))
                self._tools_by_digest[each] = id
                self._tools_by_digest.move_to_end(each)
        while len(self._tools_by_digest) > MAX_CACHED_DIGESTS:
            self._tools_by_digest.popitem(last=False)
        return make_handle(digests, principal, self._clock() + HANDLE_LIFETIME, self._signing_key)

    def parse(self, text: str, principal: PrincipalId) -> MaterializedTools | BadHandle:
        """What it tells of; which of that is still there, and open to its caller, is another question."""
        digests = read_handle(text, principal, self._clock(), self._signing_key)
        if isinstance(digests, BadHandle):
            return digests
        searches: list[list[ToolId]] = [[]]
        for each in digests:
            if each == SEARCH_SEPARATOR:
                searches.append([])
            elif (id := self._tools_by_digest.get(each) or self._catalogue_tools.get(each)) is not None:
                searches[-1].append(id)
        return MaterializedTools(tuple(tuple(search) for search in searches if search))

    @property
    def _catalogue_tools(self) -> Mapping[bytes, ToolId]:
        """For handles that another gateway made, or this one before it was started anew."""
        catalogue, tools = self._catalogue_digests
        if catalogue is not self._board.catalogue:
            catalogue = self._board.catalogue
            tools = {tool_digest(id): id for id in catalogue.tools}
            self._catalogue_digests = catalogue, tools
        return tools

    @property
    def _signing_key(self) -> bytes:
        if self._key is None:
            self._key = secrets.token_bytes(32) if self._load_key is None else self._load_key()
        return self._key


# How tools are shown to a client, and what a call of one stands for. The endpoint is the same for all of them.


@dataclass(frozen=True)
class BoardCall:
    """A call of a tool of the board."""

    call: "CallToolRequestParams"
    to_result: Callable[[CallOutcome], JsonObject]
    """How it is told to have ended. Raises the protocol's error where it asks for one."""
    presentation: str = ""
    """The presentation, as records tell it; empty where every tool is shown as itself."""


@dataclass(frozen=True)
class OwnCall:
    """A call that the presentation answers itself."""

    tool: ToolId | None
    """`None` where there is no such tool."""
    answer: AnswerCall
    to_result: Callable[[PresentationAnswer], JsonObject]
    """As the protocol tells it. Raises the protocol's error where it asks for one."""
    presentation: str
    """As records tell it."""


class Presentation(Protocol):
    @property
    def instructions(self) -> str:
        """What a client is told about it at the start."""
        ...

    def page(self, view: View, cursor: str | None) -> ToolPage | BadCursor: ...

    def fingerprint(self, view: View) -> bytes:
        """Another one whenever the list has changed."""
        ...

    def input_schema(self, view: View, name: str) -> JsonObject | None: ...

    def resolve_call(self, asked: "CallToolRequestParams", view: View) -> BoardCall | OwnCall:
        """The call of a tool of the board that this call stands for, or one of its own."""
        ...


@runtime_checkable
class ExecutesCalls(Presentation, Protocol):
    """A presentation that carries calls itself: not all of them are calls of tools of the board."""

    async def execute(
        self, call: ToolCall, view: View, progress: Progress | None, peer: ClientPeer | None
    ) -> CallOutcome: ...


@runtime_checkable
class PerConversation(Presentation, Protocol):
    """A presentation that shows each conversation what came of it. By itself, it is that of one which begins."""

    def for_conversation(self, conversation: Conversation) -> Presentation: ...

    def subscribe(self, conversation: Conversation, listener: Subscription) -> AbstractContextManager[None]:
        """While it lasts, the listener hears of every change that no change of the board made."""
        ...

    def forget(self, session: str) -> None: ...
