"""Servers that run language models, as the gateway asks them: the next message of a chat, piece by piece."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from pegboard.core.tool import JsonObject


@dataclass(frozen=True, slots=True)
class TextPiece:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """What a server tells apart as the model's thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallPiece:
    """A piece of a call that the server itself has read out of the model's words. The first of a call has its name."""

    index: int
    """Which call: from 0, in the order in which they begin."""
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class StopPiece:
    """The message is whole. By the server's word: `stop`, `length`, `tool_calls`, `content_filter` or another."""

    reason: str


@dataclass(frozen=True, slots=True)
class UsagePiece:
    """Tokens, as the server counts them."""

    prompt_tokens: int
    completion_tokens: int


Piece: TypeAlias = TextPiece | ThinkingPiece | ToolCallPiece | StopPiece | UsagePiece


class ModelFault(Enum):
    """What went wrong, so far as whoever asked can act on it."""

    UNREACHABLE = "away"
    TIMEOUT = "silent"
    BAD_KEY = "key"
    NO_MODEL = "no_model"
    BUSY = "busy"
    REFUSED = "refused"
    MALFORMED = "garbled"
    TRUNCATED = "cut"


class ModelServerError(Exception):
    """Why there is no message, or not all of it, and what to do."""

    def __init__(self, fault: ModelFault, why: str, *, retry_after: str | None = None) -> None:
        super().__init__(why)
        self.fault = fault
        self.why = why
        self.retry_after = retry_after
        """When to try again, as the server said it."""


class ModelServer(Protocol):
    """Both ways raise `ModelTrouble`, and nothing else for what a server does."""

    @property
    def name(self) -> str: ...

    async def models(self) -> Sequence[str]:
        """The models that it has, in its own order."""
        ...

    def chat(self, body: JsonObject) -> AbstractAsyncContextManager[AsyncIterator[Piece]]:
        """The pieces of the next message, as they come. To leave the block is to have the server stop."""
        ...
