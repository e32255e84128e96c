"""A turn of the model, read piece by piece: text, thinking and calls, in whatever format it speaks."""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from pegboard.core.prompting import CODE_MODE, PYTHON
from pegboard.core.tool import JsonObject
from pegboard.ports import models
from pegboard.prompts import events
from pegboard.prompts.alone import parse_lone_call
from pegboard.prompts.deltas import NativeCalls
from pegboard.prompts.formats import Format
from pegboard.prompts.model import Model
from pegboard.prompts.shapes import ToolShape

from .heard import (
    ModelCall,
    ThoughtOnlyTurn,
    TurnPart,
    TurnText,
    TurnThought,
    UnreadableCall,
    new_tool_call_id,
    sanitize_text,
)
from .opened import ThinkingSplitter

MAX_NAME_LENGTH: Final = 256
"""No tool has a longer one, and a model may write a book in its place."""


class TurnReader:
    """Reads what the server read out itself as well as what stands in the text: some servers do the one where they are
    asked for the other."""

    def __init__(self, format: Format, tools: Sequence[ToolShape], model: Model) -> None:
        self._format = format
        self._tools = tools
        self._scanner = format.scanner(tools, in_thinking=model.opens_thinking)
        self._thinking_splitter = ThinkingSplitter(format.thinking_markers)
        self._thinking_splitter.is_over = model.opens_thinking or not model.thinking
        self._text_parts: list[str] = []
        """While it may yet be thinking."""
        self._native_calls = NativeCalls(tools)
        self._names: dict[int, str] = {}

    def feed(self, piece: models.TextPiece | models.ThinkingPiece | models.ToolCallPiece) -> list[TurnPart]:
        match piece:
            case models.TextPiece(text):
                return self._read_text(text)
            case models.ThinkingPiece(text):
                if not self._thinking_splitter.is_over or not self._text_parts:
                    # Its server tells thinking apart, so that none of it is in the text.
                    self._thinking_splitter.is_over = True
                    self._scanner = self._scanner if self._text_parts else self._format.scanner(self._tools)
                return [TurnThought(sanitize_text(text))]
            case models.ToolCallPiece(index, id, name, arguments):
                self._names[index] = self._names.get(index, "") or name
                function: JsonObject = {"name": name, "arguments": arguments}
                self._native_calls.feed({"tool_calls": [{"index": index, "id": id, "function": function}]})
                return []

    def finish(self) -> list[TurnPart]:
        """What was held back."""
        rest = (*self._scanner.feed(self._thinking_splitter.flush()), *self._scanner.finish())
        return [*self._parts(rest), *self._finish_native_calls()]

    def _read_text(self, text: str) -> list[TurnPart]:
        before, behind = self._thinking_splitter.feed(text)
        self._text_parts.append(before)
        if behind is None:
            return self._parts(self._scanner.feed(before))
        self._scanner = self._format.scanner(self._tools)
        return [ThoughtOnlyTurn(sanitize_text("".join(self._text_parts))), *self._parts(self._scanner.feed(behind))]

    def _parts(self, told: Iterable[events.OutputEvent]) -> list[TurnPart]:
        found = _parts_of(told)
        return [*map(self._unwrap_program, found)] if self._format.name == CODE_MODE else found

    def _unwrap_program(self, piece: TurnPart) -> TurnPart:
        """A program that is one call of what is no function of a program is that call."""
        code = piece.arguments.get("code") if isinstance(piece, ModelCall) and piece.name == PYTHON else None
        call = parse_lone_call(code, self._tools) if isinstance(code, str) else None
        return piece if call is None or not isinstance(piece, ModelCall) else _call(piece.id, call)

    def _finish_native_calls(self) -> Iterable[TurnPart]:
        ended = (
            event
            for event in self._native_calls.finish()
            if isinstance(event, events.CallDoneEvent | events.BrokenCallEvent)
        )
        ids: set[str] = set()
        for index, event in enumerate(ended):
            id = self._native_calls.ids.get(index) or new_tool_call_id()
            # Some servers give all calls of a turn one id, by which nobody could tell their results apart.
            id = new_tool_call_id() if id in ids else id
            ids.add(id)
            match event:
                case events.CallDoneEvent(_, call):
                    yield _call(id, call)
                case events.BrokenCallEvent(_, why):
                    yield UnreadableCall(id, self._names.get(index, "")[:MAX_NAME_LENGTH], "", sanitize_text(why))


def _parts_of(told: Iterable[events.OutputEvent]) -> list[TurnPart]:
    found: list[TurnPart] = []
    for event in told:
        match event:
            case events.TextEvent(text):
                found.append(TurnText(sanitize_text(text)))
            case events.ThinkingEvent(text):
                found.append(TurnThought(sanitize_text(text)))
            case events.CallDoneEvent(_, call):
                found.append(_call(new_tool_call_id(), call))
            case events.BrokenCallEvent(raw, why):
                found.append(UnreadableCall("", "", sanitize_text(raw), sanitize_text(why)))
            case _:
                # Markup is for nobody to read, and of a call nothing is done before it is whole.
                pass
    return found


def _call(id: str, call: events.ParsedCall) -> ModelCall:
    written = sanitize_text(json.dumps(dict(call.arguments), ensure_ascii=False))
    return ModelCall(
        id, sanitize_text(call.name)[:MAX_NAME_LENGTH], call.arguments, written, call.repairs, call.recovered
    )
