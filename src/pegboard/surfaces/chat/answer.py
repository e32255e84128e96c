"""An answer in the shapes of the API: whole, or piece by piece. What is ours is in `pegboard`, beside them."""

from dataclasses import dataclass
from typing import Final

from pegboard.core.tool import Json, JsonObject
from pegboard.gateway.chat.conversation import Answer, Asks, Began, Ended, Event
from pegboard.gateway.chat.heard import Call, Text, Thinking
from pegboard.gateway.chat.report import Report

LONGEST_TOLD: Final = 2_000
"""Characters of arguments and of a result in a stream: for people to see what is done. The tool and the model have all
of them."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What every piece of one answer says of it."""

    id: str
    created: int

    def completion(self, answer: Answer, report: Report) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": answer.text or None}
        if not answer.calls:
            message["content"] = answer.text
        if thinking := answer.thinking:
            message["reasoning_content"] = thinking
        if answer.calls:
            message["tool_calls"] = [_call(call) for call in answer.calls]
        choice: JsonObject = {"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}
        return {
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": report.model,
            "choices": [choice],
            "usage": report.usage,
            "pegboard": report.shape,
        }

    def first(self, report: Report) -> JsonObject:
        return self.chunk(report, {"role": "assistant", "content": ""})

    def event(self, event: Event, report: Report) -> JsonObject:
        match event:
            case Text(text):
                return self.chunk(report, {"content": text})
            case Thinking(text):
                return self.chunk(report, {"reasoning_content": text})
            case _:
                # With an empty delta: many clients take for granted that there is one.
                return {**self.chunk(report, {}), "pegboard": {"event": _told(event)}}

    def last(self, answer: Answer, report: Report) -> list[JsonObject]:
        pieces: list[JsonObject] = []
        if answer.calls:
            calls: list[Json] = [{"index": at, **_call(call)} for at, call in enumerate(answer.calls)]
            pieces.append(self.chunk(report, {"tool_calls": calls}))
        return [*pieces, {**self.chunk(report, {}, answer.finish), "pegboard": report.shape}]

    def usage(self, report: Report) -> JsonObject:
        return {**self.chunk(report, None), "usage": report.usage}

    def chunk(self, report: Report, delta: JsonObject | None, finish: str | None = None) -> JsonObject:
        choices: list[Json] = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": report.model,
            "choices": choices,
        }


def _call(call: Call) -> JsonObject:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.written}}


def _told(event: Began | Asks | Ended) -> JsonObject:
    match event:
        case Began(id, name, tool, arguments):
            told = None if tool is None else str(tool)
            shown = arguments[:LONGEST_TOLD]
            return {"type": "call", "id": id, "name": name, "tool": told, "arguments": shown, "length": len(arguments)}
        case Asks(id, ticket):
            return {"type": "ticket", "id": id, "ticket": ticket}
        case Ended(made, text):
            return {"type": "result", **made.shape, "text": text[:LONGEST_TOLD], "length": len(text)}
