"""What the route for prompts answers. Without anything of prompts themselves, which are loaded for whoever asks."""

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from .shapes import Told

Placed: TypeAlias = Literal["in", "callable", "deferred", "out"]


class ModelShape(TypedDict):
    name: str
    billions: float | None
    toolCalling: bool
    family: str
    format: str
    thinking: bool
    mostFound: int
    whence: list[str]


class RulingShape(TypedDict):
    subject: str
    place: Placed
    why: str


class PartShape(TypedDict):
    kind: str
    tokens: int
    why: str
    beside: bool
    text: str


class OfferedShape(TypedDict):
    name: str
    id: str | None
    tokens: int
    why: str


class ToolsetCost(TypedDict):
    toolset: str
    tools: int
    tokens: int


class PromptShape(TypedDict):
    model: ModelShape
    primary: str | None
    builtins: list[RulingShape]
    formats: list[RulingShape]
    search: list[str]
    parts: list[PartShape]
    tools: list[OfferedShape]
    leftOut: list[RulingShape]
    tokens: int
    budget: int
    system: str
    request: Told
    """What a model server would be sent."""
    struck: list[RulingShape]
    """What could be in the prompt and is not, up to so many."""
    struckCount: int
    byToolset: list[ToolsetCost]
    asPython: str
    formatNames: list[str]
    """Those that may be asked for, whether they are switched on or not."""
    policyVersion: int
    why: NotRequired[RulingShape]
    """Of the tool that was asked about."""
