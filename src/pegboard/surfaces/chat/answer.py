"""An answer in the shapes of the API: whole, or piece by piece. What is ours is in `pegboard`, beside them."""

from dataclasses import dataclass
from typing import Final

from pegboard.core.tool import Json, JsonObject
from pegboard.gateway.chat.conversation import CallEnd, CallStart, ChatAnswer, ChatEvent, ChatTicketWait
from pegboard.gateway.chat.heard import ModelCall, TurnText, TurnThought
from pegboard.gateway.chat.report import ChatReport

MAX_EVENT_TEXT_CHARS: Final = 2_000
"""Characters of arguments and of a result in a stream: for people to see what is done. The tool and the model have all
of them."""


@dataclass(frozen=True, slots=True)
class CompletionEnvelope:
    """What every piece of one answer says of it."""

    id: str
    created: int

    def completion(self, answer: ChatAnswer, report: ChatReport) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": answer.text or None}
        if not answer.calls:
            message["content"] = answer.text
        if thinking := answer.thinking_text:
            message["reasoning_content"] = thinking
        if answer.calls:
            message["tool_calls"] = [_tool_call_json(call) for call in answer.calls]
        choice: JsonObject = {"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}
        return {
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": report.model,
            "choices": [choice],
            "usage": report.usage,
            "pegboard": report.as_json,
        }

    def first_chunk(self, report: ChatReport) -> JsonObject:
        return self.chunk(report, {"role": "assistant", "content": ""})

    def event_chunk(self, event: ChatEvent, report: ChatReport) -> JsonObject:
        match event:
            case TurnText(text):
                return self.chunk(report, {"content": text})
            case TurnThought(text):
                return self.chunk(report, {"reasoning_content": text})
            case _:
                # With an empty delta: many clients take for granted that there is one.
                return {**self.chunk(report, {}), "pegboard": {"event": _event_json(event)}}

    def last_chunks(self, answer: ChatAnswer, report: ChatReport) -> list[JsonObject]:
        pieces: list[JsonObject] = []
        if answer.calls:
            calls: list[Json] = [{"index": at, **_tool_call_json(call)} for at, call in enumerate(answer.calls)]
            pieces.append(self.chunk(report, {"tool_calls": calls}))
        return [*pieces, {**self.chunk(report, {}, answer.finish), "pegboard": report.as_json}]

    def usage_chunk(self, report: ChatReport) -> JsonObject:
        return {**self.chunk(report, None), "usage": report.usage}

    def chunk(self, report: ChatReport, delta: JsonObject | None, finish: str | None = None) -> JsonObject:
        choices: list[Json] = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": report.model,
            "choices": choices,
        }


def _tool_call_json(call: ModelCall) -> JsonObject:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}


def _event_json(event: CallStart | ChatTicketWait | CallEnd) -> JsonObject:
    match event:
        case CallStart(id, name, tool, arguments):
            told = None if tool is None else str(tool)
            shown = arguments[:MAX_EVENT_TEXT_CHARS]
            return {"type": "call", "id": id, "name": name, "tool": told, "arguments": shown, "length": len(arguments)}
        case ChatTicketWait(id, ticket):
            return {"type": "ticket", "id": id, "ticket": ticket}
        case CallEnd(made, text):
            return {"type": "result", **made.as_json, "text": text[:MAX_EVENT_TEXT_CHARS], "length": len(text)}
