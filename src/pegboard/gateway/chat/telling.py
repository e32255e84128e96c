"""What the model is told: the request of a turn, and what a turn adds to the conversation.

A conversation is kept as OpenAI's API has it, whatever the model speaks; a request puts it into the model's own format.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pegboard.core.tool import Json, JsonObject
from pegboard.prompts.building import Prompt
from pegboard.prompts.events import Broken
from pegboard.prompts.feeding import fed_error, told_broken
from pegboard.prompts.formats import FORMATS
from pegboard.prompts.request import chat_request
from pegboard.prompts.shapes import ToolShape

from .asked import Asked, Choice, Choose, ChooseOne
from .heard import Call, Message, Unread


@dataclass(frozen=True, slots=True)
class Fed:
    """What came of one call, as the model is told it."""

    call: Call | Unread
    text: str


def request(asked: Asked, prompt: Prompt, messages: Sequence[JsonObject], choice: Choice, model: str) -> JsonObject:
    body = chat_request(prompt, messages, model=model, tool_choice=_written(choice), passed_on=asked.sampling)
    tools = body.get("tools")
    if isinstance(tools, list):
        own: dict[str, JsonObject] = {tool.name: tool.document for tool in asked.tools}
        # A client's own as it came, with whatever else it says of it.
        body["tools"] = [own.get(each.shape.name, tool) for each, tool in zip(prompt.offered, tools, strict=True)]
        if asked.one_at_a_time:
            body["parallel_tool_calls"] = False
    return body


def mended(call: Call | Unread, why: str, shape: ToolShape | None, limit: int) -> Fed:
    """What went wrong, and how the tool is called."""
    return Fed(call, fed_error(call.name, why, shape, limit=limit).text)


def turn(heard: Message, results: Sequence[Fed], prompt: Prompt, limit: int) -> list[JsonObject]:
    """The messages that a turn and its results add."""
    unread = [call for call in heard.calls if isinstance(call, Unread) and not call.id]
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
        broken = [Broken(call.written, call.why) for call in unread]
        format = FORMATS[prompt.capabilities.primary or "native"]
        told.append({"role": "user", "content": told_broken(broken, format, prompt.shapes, limit).text})
    return [{**said, "tool_calls": calls} if calls else said, *told]


def _arguments(call: Call | Unread) -> str:
    """What goes back to a server as arguments is JSON: several fail on anything else in a conversation."""
    return call.written if isinstance(call, Call) else "{}"


def _written(choice: Choice) -> Json:
    match choice:
        case ChooseOne(name):
            return {"type": "function", "function": {"name": name}}
        case Choose():
            return choice.value
