"""The pieces of a model's message, out of what servers write: each has its own slips, and none of them loses a call."""

import json
from collections.abc import Iterator
from typing import Final

from pegboard.core.tool import Json, JsonObject
from pegboard.ports.models import Piece, StopPiece, TextPiece, ThinkingPiece, ToolCallPiece, UsagePiece

_THINKING_KEYS: Final = ("reasoning_content", "reasoning")
"""The names by which servers tell a model's thinking apart."""


class InvalidAnswerError(Exception):
    """An answer that is no message. The text goes on from: it answers …"""


class PieceParser:
    """Of one message. Servers number its calls carelessly: by nothing, or all of them by 0."""

    def __init__(self) -> None:
        self.has_begun = False
        """Whether anything was said."""
        self.has_ended = False
        self._ids: list[str] = []
        """Of the calls that have begun, in their order."""
        self._by_index: dict[int, int] = {}

    def parse_event(self, value: Json) -> Iterator[Piece]:
        if not isinstance(value, dict):
            raise InvalidAnswerError("with an event that is no object")
        choices = value.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            # One message is asked for; a server that gives several gives too many.
            if isinstance(choice, dict) and choice.get("index", 0) in (0, None):
                yield from self._parse_choice(choice)
        if isinstance(usage := value.get("usage"), dict):
            yield from _usage_pieces(usage)

    def _parse_choice(self, choice: JsonObject) -> Iterator[Piece]:
        # Some call it a message in a stream too.
        if isinstance(delta := choice.get("delta") or choice.get("message"), dict):
            for piece in self.parse_message(delta):
                self.has_begun = True
                yield piece
        if isinstance(why := choice.get("finish_reason"), str) and why and not self.has_ended:
            self.has_begun = self.has_ended = True
            yield StopPiece(why)

    def finish(self) -> Iterator[Piece]:
        """When the server says that it is done. Some never say how the message ended."""
        if not self.has_ended:
            self.has_ended = True
            yield StopPiece("tool_calls" if self._ids else "stop")

    def parse_message(self, message: JsonObject) -> Iterator[Piece]:
        for name in _THINKING_KEYS:
            if thought := _text_of(message.get(name)):
                yield ThinkingPiece(thought)
                break
        if text := _text_of(message.get("content")) or _text_of(message.get("refusal")):
            yield TextPiece(text)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                yield from self._parse_call(call)
        # Before there were several calls there was one, under this name.
        if isinstance(old := message.get("function_call"), dict):
            yield from self._parse_call({"index": 0, "function": old})

    def _parse_call(self, call: JsonObject) -> Iterator[Piece]:
        function = call.get("function")
        told: JsonObject = function if isinstance(function, dict) else {}
        name, id, arguments = _text_of(told.get("name")), _text_of(call.get("id")), told.get("arguments")
        # Some write the arguments as an object, where a text is meant.
        text = arguments if isinstance(arguments, str) else _arguments_text(arguments)
        if not (name or id or text):
            return
        yield ToolCallPiece(self._call_index(call.get("index"), id, name), id, name, text)

    def _call_index(self, index: Json, id: str, name: str) -> int:
        given = index if isinstance(index, int) and not isinstance(index, bool) else None
        known = (len(self._ids) - 1 if self._ids else None) if given is None else self._by_index.get(given)
        begins = known is None or bool(name and id and self._ids[known] and id != self._ids[known])
        if given is None and known is not None and name and not id:
            begins = True
        if begins:
            known = len(self._ids)
            self._ids.append(id)
        assert known is not None
        if given is not None:
            self._by_index[given] = known
        self._ids[known] = self._ids[known] or id
        return known


def parse_whole_message(value: Json) -> Iterator[Piece]:
    """Of an answer that came at once."""
    choices = value.get("choices") if isinstance(value, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(value, dict) or not isinstance(first, dict) or not isinstance(message, dict):
        raise InvalidAnswerError("with something else than a message")
    yield from PieceParser().parse_message(message)
    why = first.get("finish_reason")
    yield StopPiece(why if isinstance(why, str) and why else "stop")
    if isinstance(usage := value.get("usage"), dict):
        yield from _usage_pieces(usage)


def _usage_pieces(usage: JsonObject) -> Iterator[UsagePiece]:
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if _is_count(prompt) and _is_count(completion):
        assert isinstance(prompt, int)
        assert isinstance(completion, int)
        yield UsagePiece(prompt, completion)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _text_of(value: Json) -> str:
    """A text; of a list of parts, the texts in it."""
    if isinstance(value, list):
        return "".join(_text_of(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _arguments_text(value: Json) -> str:
    return "" if value is None else json.dumps(value)
