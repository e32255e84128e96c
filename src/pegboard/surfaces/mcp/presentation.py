"""How tools are shown to a client, and what a call of one stands for. The endpoint is the same for all of them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pegboard.core.call import ToolCall
from pegboard.core.ids import ToolId
from pegboard.core.tool import JsonObject
from pegboard.core.view import View
from pegboard.gateway.answering import AnswerCall, PresentationAnswer
from pegboard.gateway.bell import Subscription
from pegboard.ports import ClientPeer, Progress

from .answer import CallOutcome
from .conversation import Conversation
from .pages import BadCursor, ToolPage

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams


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
