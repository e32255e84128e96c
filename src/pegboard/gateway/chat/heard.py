"""What was heard of a model in one turn, whatever format it speaks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import uuid4

from pegboard.core.tool import Json


@dataclass(frozen=True, slots=True)
class TurnText:
    text: str


@dataclass(frozen=True, slots=True)
class TurnThought:
    text: str


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A whole call. Whether there is such a tool is another question."""

    id: str
    name: str
    arguments: Mapping[str, Json]
    raw: str
    """The arguments as JSON text."""
    repairs: tuple[str, ...] = ()
    """What had to be bent to read it."""
    is_recovered: bool = False
    """Its end never came, though all its arguments did."""


@dataclass(frozen=True, slots=True)
class UnreadableCall:
    """What looked like a call and is none. It is never run."""

    id: str
    name: str
    raw: str
    why: str
    """For the model: what was wrong, and what to write instead."""


@dataclass(frozen=True, slots=True)
class ThoughtOnlyTurn:
    """All that was told of this turn was thinking, which its prompt had opened. Calls in it are none."""

    text: str


TurnPart: TypeAlias = TurnText | TurnThought | ModelCall | UnreadableCall | ThoughtOnlyTurn


@dataclass
class ModelTurn:
    """One turn of the model, as far as it was heard. In parts, because a long one comes in very many."""

    raws: list[str] = field(default_factory=list[str])
    texts: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    calls: list[ModelCall | UnreadableCall] = field(default_factory=list[ModelCall | UnreadableCall])
    first_text_index: int = 0
    """Of its first text among those of the whole answer."""
    stop_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def raw(self) -> str:
        """All that it said, the markup of its calls included, where those are a part of its text."""
        return "".join(self.raws)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def is_truncated(self) -> bool:
        """The model had more to say and was not let."""
        return self.stop_reason == "length"


def sanitize_text(text: str) -> str:
    """Half of a character, which models and tools may well write, could be sent to nobody."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def new_tool_call_id() -> str:
    """For a call to which its server gave none. Nine letters and digits: some models take no other."""
    return uuid4().hex[:9]
