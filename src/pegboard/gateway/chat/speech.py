"""How one conversation speaks with its model: how tools, calls and results are written, and how a turn is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pegboard.core.ids import ToolId
from pegboard.core.tool import JsonObject
from pegboard.ports import models

from .asked import Choice
from .heard import Call, Message, Piece, Unread


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool that the model is shown."""

    name: str
    """As the model is to write it."""
    description: str
    parameters: JsonObject
    id: ToolId | None
    """`None` for a tool of the client's."""
    why: str
    document: JsonObject


@dataclass(frozen=True, slots=True)
class Fed:
    """What came of one call, as the model is told it."""

    call: Call | Unread
    text: str
    failed: bool


class Reader(Protocol):
    def fed(self, piece: models.Said | models.Thought | models.Wanted) -> list[Piece]: ...

    def finish(self, stopped: str) -> list[Piece]:
        """What was held back. By the word with which the server ended the message."""
        ...


class Speech(Protocol):
    @property
    def name(self) -> str: ...

    def reader(self, offers: Sequence[Offer]) -> Reader: ...

    def request(
        self, system: str, messages: Sequence[JsonObject], offers: Sequence[Offer], choice: Choice, *, one: bool
    ) -> JsonObject:
        """The body of a request to the model server, but the model and what is passed on."""
        ...

    def history(self, messages: Sequence[JsonObject]) -> list[JsonObject]:
        """What the client sent, as this model reads it."""
        ...

    def turn(self, heard: Message, results: Sequence[Fed]) -> list[JsonObject]:
        """The messages that a turn and its results add."""
        ...
