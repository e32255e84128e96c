"""Reads one turn of a model piece by piece: text, thinking and calls."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from uuid import uuid4

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.settings import CODE_MODE, PYTHON
from pegboard.gateway.chat.request import ChatInput, SpecificTool, ToolChoice, ToolChoiceMode
from pegboard.ports import models
from pegboard.prompts import events
from pegboard.prompts.deltas import NativeCalls
from pegboard.prompts.events import BrokenCallEvent
from pegboard.prompts.formats import FORMATS, Format
from pegboard.prompts.model import Model
from pegboard.prompts.request import chat_request
from pegboard.prompts.results import format_broken_calls, format_error
from pegboard.prompts.spans import parse_lone_call
from pegboard.prompts.system_prompt import BuiltPrompt
from pegboard.prompts.tool_shape import ToolShape

# What was heard of a model in one turn, whatever format it speaks.


@dataclass(frozen=True, slots=True)
class TurnText:
    text: str


@dataclass(frozen=True, slots=True)
class TurnThought:
    text: str


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A whole call. Whether there is such a tool is another question."""

    id: str
    name: str
    arguments: Mapping[str, Json]
    raw: str
    """The arguments as JSON text."""
    repairs: tuple[str, ...] = ()
    """What had to be bent to read it."""
    is_recovered: bool = False
    """Its end never came, though all its arguments did."""


@dataclass(frozen=True, slots=True)
class UnreadableCall:
    """What looked like a call and is none. It is never run."""

    id: str
    name: str
    raw: str
    why: str
    """For the model: what was wrong, and what to write instead."""


@dataclass(frozen=True, slots=True)
class ThoughtOnlyTurn:
    """All that was told of this turn was thinking, which its prompt had opened. Calls in it are none."""

    text: str


TurnPart: TypeAlias = TurnText | TurnThought | ModelCall | UnreadableCall | ThoughtOnlyTurn


@dataclass
class ModelTurn:
    """One turn of the model, as far as it was heard. In parts, because a long one comes in very many."""

    raws: list[str] = field(default_factory=list[str])
    texts: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    calls: list[ModelCall | UnreadableCall] = field(default_factory=list[ModelCall | UnreadableCall])
    first_text_index: int = 0
    """Of its first text among those of the whole answer."""
    stop_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def raw(self) -> str:
        """All that it said, the markup of its calls included, where those are a part of its text."""
        return "".join(self.raws)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def is_truncated(self) -> bool:
        """The model had more to say and was not let."""
        return self.stop_reason == "length"


def sanitize_text(text: str) -> str:
    """Half of a character, which models and tools may well write, could be sent to nobody."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def new_tool_call_id() -> str:
    """For a call to which its server gave none. Nine letters and digits: some models take no other."""
    return uuid4().hex[:9]


# Thinking that a model's prompt has opened: what it writes begins inside, and nothing says so before the end comes.

_QUOTES: Final = ("`", "'", '"')
"""Behind one of these an end is told of, and ends nothing."""


class ThinkingSplitter:
    """Watches a text for an end of thinking that nothing in it began."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._openers = tuple(start for start, _ in pairs)
        self._ends = tuple(end for _, end in pairs)
        self._buffer = ""
        self._before = ""
        """The character before what is held."""
        self.is_over = False
        """Whether it is known where thinking is."""

    def feed(self, text: str) -> tuple[str, str | None]:
        """What goes on as it did, and, where it was thinking all along, what stands behind its end."""
        if self.is_over:
            return self.flush() + text, None
        text = self.flush() + text
        found = min(((at, end) for end in self._ends if (at := self._end(text, end)) >= 0), default=None)
        limit = len(text) if found is None else found[0]
        if any(0 <= text.find(opener) < limit for opener in self._openers):
            self.is_over = True
            return text, None
        if found is not None:
            self.is_over = True
            at, end = found
            return text[:at], text[at + len(end) :]
        sure = next(
            at
            for at in range(max(0, len(text) - self._max_mark_length), len(text) + 1)
            if self._is_partial_mark(text[at:])
        )
        self._buffer = text[sure:]
        self._before = text[sure - 1 : sure] if sure else self._before
        return text[:sure], None

    def flush(self) -> str:
        held, self._buffer = self._buffer, ""
        return held

    def _end(self, text: str, end: str) -> int:
        at = text.find(end)
        while at >= 0 and (text[at - 1] if at else self._before) in _QUOTES:
            at = text.find(end, at + 1)
        return at

    @property
    def _max_mark_length(self) -> int:
        return max(map(len, (*self._ends, *self._openers)), default=1) - 1

    def _is_partial_mark(self, text: str) -> bool:
        """Whether more may make a mark of it; nothing always does."""
        return any(mark.startswith(text) for mark in (*self._ends, *self._openers, ""))


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


# What the model is told: the request of a turn, and what a turn adds to the conversation.
#
# A conversation is kept as OpenAI's API has it, whatever the model speaks; a request puts it into the model's own
# format.


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
