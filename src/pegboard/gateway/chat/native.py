"""The native format: the model server is told the tools, and reads the calls out of the model's words itself."""

from collections.abc import Sequence
from typing import Final

import msgspec

from pegboard.core.tool import Json, JsonObject
from pegboard.ports import models

from .asked import Choice, Choose, ChooseOne
from .heard import Call, Message, Piece, Text, Thinking, Unread, call_id
from .speech import Fed, Offer

_CUT: Final = "The output ended inside the call, so nothing was called. Call it again, more briefly."


class NativeReader:
    def __init__(self) -> None:
        self._calls: dict[int, list[str]] = {}
        """Of each call: id, name, arguments so far."""
        self._parts: dict[int, list[str]] = {}

    def fed(self, piece: models.Said | models.Thought | models.Wanted) -> list[Piece]:
        match piece:
            case models.Said(text):
                return [Text(text)]
            case models.Thought(text):
                return [Thinking(text)]
            case models.Wanted(index, id, name, arguments):
                known = self._calls.setdefault(index, ["", ""])
                known[0] = known[0] or id
                known[1] += name
                self._parts.setdefault(index, []).append(arguments)
                return []

    def finish(self, stopped: str) -> list[Piece]:
        return [
            _read(id or call_id(), name, "".join(self._parts[index]), stopped)
            for index, (id, name) in sorted(self._calls.items())
        ]


class NativeSpeech:
    name = "native"

    def reader(self, offers: Sequence[Offer]) -> NativeReader:
        return NativeReader()

    def request(
        self, system: str, messages: Sequence[JsonObject], offers: Sequence[Offer], choice: Choice, *, one: bool
    ) -> JsonObject:
        """Everything but the model and what is passed on."""
        body: JsonObject = {"messages": [*([{"role": "system", "content": system}] if system else ()), *messages]}
        if offers:
            body["tools"] = [offer.document for offer in offers]
            body["tool_choice"] = _choice(choice)
            if one:
                body["parallel_tool_calls"] = False
        return body

    def history(self, messages: Sequence[JsonObject]) -> list[JsonObject]:
        return [*messages]

    def turn(self, heard: Message, results: Sequence[Fed]) -> list[JsonObject]:
        calls: list[Json] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _sound(call)}}
            for call in heard.calls
        ]
        said: JsonObject = {"role": "assistant", "content": heard.text or None}
        told: list[JsonObject] = [{"role": "tool", "tool_call_id": fed.call.id, "content": fed.text} for fed in results]
        return [{**said, "tool_calls": calls} if calls else said, *told]


def _choice(choice: Choice) -> Json:
    match choice:
        case ChooseOne(name):
            return {"type": "function", "function": {"name": name}}
        case Choose():
            return choice.value


def _sound(call: Call | Unread) -> str:
    """What goes back to the server as the arguments is JSON: several servers fail on anything else in a history."""
    return call.written if isinstance(call, Call) else "{}"


def _read(id: str, name: str, written: str, stopped: str) -> Call | Unread:
    text = written.strip() or "{}"
    try:
        arguments: Json = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        if stopped == "length":
            return Unread(id, name, written, _CUT)
        return Unread(id, name, written, f"The arguments are no JSON: {error}. Write one JSON object.")
    if not isinstance(arguments, dict):
        return Unread(id, name, written, "The arguments are JSON, but no object. Write one JSON object.")
    return Call(id, name, arguments, text)
