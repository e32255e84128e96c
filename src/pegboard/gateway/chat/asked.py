"""What a client asks of a chat, and who asks it. Nothing in it can open a tool."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from pegboard.core.launch import NO_FILTER, LaunchFilter
from pegboard.core.tool import JsonObject
from pegboard.core.view import View


class ToolChoiceMode(Enum):
    """Whether the model calls tools."""

    AUTO = "auto"
    NEVER = "none"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class SpecificTool:
    """The model is to call this one."""

    name: str


ToolChoice: TypeAlias = ToolChoiceMode | SpecificTool


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool that the client runs itself."""

    name: str
    description: str
    parameters: JsonObject
    document: JsonObject
    """As it came."""


@dataclass(frozen=True)
class ChatInput:
    messages: tuple[JsonObject, ...]
    model: str | None = None
    tools: tuple[ClientTool, ...] = ()
    choice: ToolChoice = ToolChoiceMode.AUTO
    one_at_a_time: bool = False
    executes_tools: bool = True
    """Whether tools of the board are called here; otherwise the client gets the calls that the model wants."""
    wait_s: float = 0.0
    """Seconds to wait for a person's decision about a call, for a client that tells that person."""
    launch: LaunchFilter = NO_FILTER
    """On top of the one in the settings: it takes away, and opens nothing."""
    sampling: JsonObject = field(default_factory=dict)
    """What is passed on to the model server as it came: temperature, max_tokens and all that we do not know."""

    @property
    def user_texts(self) -> list[str]:
        """What the user said, the latest first."""
        return [message_text(message) for message in reversed(self.messages) if message.get("role") == "user"]


def always_authorized() -> bool:
    return True


@dataclass(frozen=True)
class ChatCaller:
    view: View
    client: str = ""
    headers: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes], repr=False)
    """Of the client's own request, for servers that are called in its caller's name."""
    is_authorized: Callable[[], bool] = always_authorized
    """Asked before each call: an answer takes long, and the operator may take the caller's token away meanwhile."""


def message_text(message: JsonObject) -> str:
    """The texts in a message; pictures and sounds have none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))
