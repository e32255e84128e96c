"""What routes about tools answer: lists, the trail of a decision, and how a call ended."""

from typing import NotRequired

from typing_extensions import TypedDict

from .override_shapes import AppearanceShape, RenderedShape
from .pages import Following
from .shapes import ActionShape, NoticeShape, Told, ToolInFull, ToolShape, TrailShape
from .tool_faces import Faces
from .trials import Trial


class ListedFlawShape(TypedDict):
    id: str
    """The server, or the toolset, that listed it."""
    sentence: str


class ToolsShape(Following):
    tools: list[ToolShape]
    policyVersion: int
    notices: list[NoticeShape]
    flaws: list[ListedFlawShape]


class WithoutShape(TypedDict):
    """A caller who would not get the tool by the same request, and why."""

    principal: str
    sentence: str


class WhyShape(TrailShape):
    action: ActionShape
    others: list[WithoutShape]
    """Of a tool that this caller gets: who does not; of more than twenty the first twenty-one."""
    overrides: list[AppearanceShape]
    policyVersion: int
    """What an edit of these overrides is based on."""
    unknownNames: list[str]
    """Entries of the settings with an unknown name that may be meant for this tool."""


class EndedShape(TypedDict):
    ended: str
    """`returned`, `tool_failed`, `needs_input`, `demanded`, `provider_failed`, `cancelled`, `unknown_tool`,
    `bad_arguments`, a way in which it was not confirmed, or the status of a locked tool."""
    result: NotRequired[Told]
    """As the tool gave it."""
    error: NotRequired[object]
    sentence: NotRequired[str]
    mayHaveRun: NotRequired[bool]
    ticket: NotRequired[str | None]
    """Of a call that waits for a person."""
    rendered: NotRequired[RenderedShape]


class TriedShape(EndedShape, Trial):
    """Of a trial also its forms, each with what it costs a model."""


class ShownTool(ToolInFull, Faces):
    """A tool as its server offers it, and as a model sees it."""
