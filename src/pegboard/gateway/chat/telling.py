"""What the model is told: the request of a turn, and what a turn adds to the conversation.

A conversation is kept as OpenAI's API has it, whatever the model speaks; a request puts it into the model's own format.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pegboard.core.tool import Json, JsonObject
from pegboard.prompts.building import BuiltPrompt
from pegboard.prompts.events import BrokenCallEvent
from pegboard.prompts.feeding import format_broken_calls, format_error
from pegboard.prompts.formats import FORMATS
from pegboard.prompts.request import chat_request
from pegboard.prompts.shapes import ToolShape

from .asked import ChatInput, SpecificTool, ToolChoice, ToolChoiceMode
from .heard import ModelCall, ModelTurn, UnreadableCall


@dataclass(frozen=True, slots=True)
class CallFeedback:
    """What came of one call, as the model is told it."""

    call: ModelCall | UnreadableCall
    text: str


def turn_request(
    asked: ChatInput, prompt: BuiltPrompt, messages: Sequence[JsonObject], choice: ToolChoice, model: str
) -> JsonObject:
    body = chat_request(prompt, messages, model=model, tool_choice=_tool_choice(choice), passed_on=asked.sampling)
    tools = body.get("tools")
    if isinstance(tools, list):
        own: dict[str, JsonObject] = {tool.name: tool.document for tool in asked.tools}
        # A client's own as it came, with whatever else it says of it.
        body["tools"] = [own.get(each.shape.name, tool) for each, tool in zip(prompt.offered_tools, tools, strict=True)]
        if asked.one_at_a_time:
            body["parallel_tool_calls"] = False
    return body


def correction(call: ModelCall | UnreadableCall, why: str, shape: ToolShape | None, limit: int) -> CallFeedback:
    """What went wrong, and how the tool is called."""
    return CallFeedback(call, format_error(call.name, why, shape, limit=limit).text)


def turn_messages(
    heard: ModelTurn, results: Sequence[CallFeedback], prompt: BuiltPrompt, limit: int
) -> list[JsonObject]:
    """The messages that a turn and its results add."""
    unread = [call for call in heard.calls if isinstance(call, UnreadableCall) and not call.id]
    calls: list[Json] = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
        for call in heard.calls
        if call.id
    ]
    # What is no call stands in the conversation as the model wrote it, so that it sees what is meant.
    text = heard.raw if unread and not calls else heard.text
    said: JsonObject = {"role": "assistant", "content": text or None}
    told: list[JsonObject] = [
        {"role": "tool", "tool_call_id": fed.call.id, "content": fed.text} for fed in results if fed.call.id
    ]
    if unread:
        broken = [BrokenCallEvent(call.raw, call.why) for call in unread]
        format = FORMATS[prompt.capabilities.primary or "native"]
        told.append({"role": "user", "content": format_broken_calls(broken, format, prompt.shapes, limit).text})
    return [{**said, "tool_calls": calls} if calls else said, *told]


def _arguments(call: ModelCall | UnreadableCall) -> str:
    """What goes back to a server as arguments is JSON: several fail on anything else in a conversation."""
    return call.raw if isinstance(call, ModelCall) else "{}"


def _tool_choice(choice: ToolChoice) -> Json:
    match choice:
        case SpecificTool(name):
            return {"type": "function", "function": {"name": name}}
        case ToolChoiceMode():
            return choice.value
