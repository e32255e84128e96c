"""A turn of the model, read piece by piece: text, thinking and calls, in whatever format it speaks."""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from pegboard.core.prompting import CODE_MODE, PYTHON
from pegboard.core.tool import JsonObject
from pegboard.ports import models
from pegboard.prompts import events
from pegboard.prompts.alone import alone
from pegboard.prompts.deltas import NativeCalls
from pegboard.prompts.formats import Format
from pegboard.prompts.model import Model
from pegboard.prompts.shapes import ToolShape

from .heard import Call, Piece, Rethought, Text, Thinking, Unread, call_id, sound
from .opened import Opened

LONGEST_NAME: Final = 256
"""No tool has a longer one, and a model may write a book in its place."""


class Reader:
    """Reads what the server read out itself as well as what stands in the text: some servers do the one where they are
    asked for the other."""

    def __init__(self, format: Format, tools: Sequence[ToolShape], model: Model) -> None:
        self._format = format
        self._tools = tools
        self._scanner = format.scanner(tools, in_thinking=model.opens_thinking)
        self._opened = Opened(format.thinking)
        self._opened.is_over = model.opens_thinking or not model.thinking
        self._said: list[str] = []
        """While it may yet be thinking."""
        self._beside = NativeCalls(tools)
        self._names: dict[int, str] = {}

    def fed(self, piece: models.Said | models.Thought | models.Wanted) -> list[Piece]:
        match piece:
            case models.Said(text):
                return self._heard(text)
            case models.Thought(text):
                if not self._opened.is_over or not self._said:
                    # Its server tells thinking apart, so that none of it is in the text.
                    self._opened.is_over = True
                    self._scanner = self._scanner if self._said else self._format.scanner(self._tools)
                return [Thinking(sound(text))]
            case models.Wanted(index, id, name, arguments):
                self._names[index] = self._names.get(index, "") or name
                function: JsonObject = {"name": name, "arguments": arguments}
                self._beside.feed({"tool_calls": [{"index": index, "id": id, "function": function}]})
                return []

    def finish(self) -> list[Piece]:
        """What was held back."""
        rest = (*self._scanner.feed(self._opened.rest()), *self._scanner.finish())
        return [*self._pieces(rest), *self._read_out()]

    def _heard(self, text: str) -> list[Piece]:
        before, behind = self._opened.fed(text)
        self._said.append(before)
        if behind is None:
            return self._pieces(self._scanner.feed(before))
        self._scanner = self._format.scanner(self._tools)
        return [Rethought(sound("".join(self._said))), *self._pieces(self._scanner.feed(behind))]

    def _pieces(self, told: Iterable[events.Event]) -> list[Piece]:
        found = _pieces(told)
        return [*map(self._alone, found)] if self._format.name == CODE_MODE else found

    def _alone(self, piece: Piece) -> Piece:
        """A program that is one call of what is no function of a program is that call."""
        code = piece.arguments.get("code") if isinstance(piece, Call) and piece.name == PYTHON else None
        call = alone(code, self._tools) if isinstance(code, str) else None
        return piece if call is None or not isinstance(piece, Call) else _call(piece.id, call)

    def _read_out(self) -> Iterable[Piece]:
        ended = (event for event in self._beside.finish() if isinstance(event, events.Done | events.Broken))
        ids: set[str] = set()
        for index, event in enumerate(ended):
            id = self._beside.ids.get(index) or call_id()
            # Some servers give all calls of a turn one id, by which nobody could tell their results apart.
            id = call_id() if id in ids else id
            ids.add(id)
            match event:
                case events.Done(_, call):
                    yield _call(id, call)
                case events.Broken(_, why):
                    yield Unread(id, self._names.get(index, "")[:LONGEST_NAME], "", sound(why))


def _pieces(told: Iterable[events.Event]) -> list[Piece]:
    found: list[Piece] = []
    for event in told:
        match event:
            case events.Text(text):
                found.append(Text(sound(text)))
            case events.Thinking(text):
                found.append(Thinking(sound(text)))
            case events.Done(_, call):
                found.append(_call(call_id(), call))
            case events.Broken(raw, why):
                found.append(Unread("", "", sound(raw), sound(why)))
            case _:
                # Markup is for nobody to read, and of a call nothing is done before it is whole.
                pass
    return found


def _call(id: str, call: events.Called) -> Call:
    written = sound(json.dumps(dict(call.arguments), ensure_ascii=False))
    return Call(id, sound(call.name)[:LONGEST_NAME], call.arguments, written, call.repairs, call.recovered)
