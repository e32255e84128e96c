"""What the route for prompts answers. Without anything of prompts themselves, which are loaded for whoever asks."""

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from .shapes import FreeObject

ToolPlacement: TypeAlias = Literal["in", "callable", "deferred", "out"]


class PromptModelInfo(TypedDict):
    name: str
    billions: float | None
    toolCalling: bool
    family: str
    format: str
    thinking: bool
    mostFound: int
    whence: list[str]


class PromptRulingInfo(TypedDict):
    subject: str
    place: ToolPlacement
    why: str


class PromptPartInfo(TypedDict):
    kind: str
    tokens: int
    why: str
    beside: bool
    text: str


class OfferedToolInfo(TypedDict):
    name: str
    id: str | None
    tokens: int
    why: str


class ToolsetCostInfo(TypedDict):
    toolset: str
    tools: int
    tokens: int


class PromptResponse(TypedDict):
    model: PromptModelInfo
    primary: str | None
    builtins: list[PromptRulingInfo]
    formats: list[PromptRulingInfo]
    search: list[str]
    parts: list[PromptPartInfo]
    tools: list[OfferedToolInfo]
    leftOut: list[PromptRulingInfo]
    tokens: int
    budget: int
    system: str
    request: FreeObject
    """What a model server would be sent."""
    struck: list[PromptRulingInfo]
    """What could be in the prompt and is not, up to so many."""
    struckCount: int
    byToolset: list[ToolsetCostInfo]
    asPython: str
    formatNames: list[str]
    """Those that may be asked for, whether they are switched on or not."""
    policyVersion: int
    why: NotRequired[PromptRulingInfo]
    """Of the tool that was asked about."""
