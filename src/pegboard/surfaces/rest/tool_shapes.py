"""What routes about tools answer: lists, the trail of a decision, and how a call ended."""

from typing import NotRequired

from typing_extensions import TypedDict

from .override_shapes import AppearanceFieldInfo, RenderedInfo
from .pages import PageResponse
from .shapes import ActionInfo, DecisionTrailInfo, FreeObject, FullToolInfo, NoticeInfo, ToolInfo
from .tool_faces import ToolFormsInfo
from .trials import CallTrialInfo


class ListedFlawInfo(TypedDict):
    id: str
    """The server, or the toolset, that listed it."""
    sentence: str


class ToolsResponse(PageResponse):
    tools: list[ToolInfo]
    policyVersion: int
    notices: list[NoticeInfo]
    flaws: list[ListedFlawInfo]


class CallerWithoutInfo(TypedDict):
    """A caller who would not get the tool by the same request, and why."""

    principal: str
    sentence: str


class ExplainToolResponse(DecisionTrailInfo):
    action: ActionInfo
    others: list[CallerWithoutInfo]
    """Of a tool that this caller gets: who does not; of more than twenty the first twenty-one."""
    overrides: list[AppearanceFieldInfo]
    policyVersion: int
    """What an edit of these overrides is based on."""
    unknownNames: list[str]
    """Entries of the settings with an unknown name that may be meant for this tool."""


class CallResponse(TypedDict):
    ended: str
    """`returned`, `tool_failed`, `needs_input`, `demanded`, `provider_failed`, `cancelled`, `unknown_tool`,
    `bad_arguments`, a way in which it was not confirmed, or the status of a locked tool."""
    result: NotRequired[FreeObject]
    """As the tool gave it."""
    error: NotRequired[object]
    sentence: NotRequired[str]
    mayHaveRun: NotRequired[bool]
    ticket: NotRequired[str | None]
    """Of a call that waits for a person."""
    rendered: NotRequired[RenderedInfo]


class TrialCallResponse(CallResponse, CallTrialInfo):
    """Of a trial also its forms, each with what it costs a model."""


class ShowToolResponse(FullToolInfo, ToolFormsInfo):
    """A tool as its server offers it, and as a model sees it."""
