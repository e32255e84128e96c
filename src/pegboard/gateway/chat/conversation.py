"""One answer: asks the model, makes its calls, asks again until it is done."""

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

import anyio
from anyio import to_thread

from pegboard.core.json.values import JsonObject
from pegboard.core.model.ids import PrincipalId, ToolId
from pegboard.core.model.tool import canonical_json
from pegboard.core.presentations.entries import estimate_tokens
from pegboard.gateway.chat.calls import AccessRevokedError, ChatCallResult, ChatToolCalls, ToolOffer
from pegboard.gateway.chat.plans import ChatPlan
from pegboard.gateway.chat.report import ChatCallReport, ChatReport
from pegboard.gateway.chat.request import (
    ChatInput,
    ChatLimit,
    LimitCounter,
    LimitHit,
    ModelRoute,
    ToolChoice,
    ToolChoiceMode,
)
from pegboard.gateway.chat.turn import (
    CallFeedback,
    ModelCall,
    ModelTurn,
    ThoughtOnlyTurn,
    TurnPart,
    TurnReader,
    TurnText,
    TurnThought,
    UnreadableCall,
    correction,
    turn_messages,
    turn_request,
)
from pegboard.gateway.prompts import PromptBuilder
from pegboard.gateway.result_text import outcome_word
from pegboard.ports import models
from pegboard.prompts.formats import FORMATS
from pegboard.prompts.results import EMPTY_RESULT, shorten_result

NO_MORE_CALLS: Final = (
    "No more tools can be called for this answer: {why}. Answer the user now with what you know, and say what could "
    "not be done."
)

UNFINISHED_CALL: Final = "The end of the call never came, so nothing was called. Write the whole call again."
MAX_COUNTED_CHARS: Final = 100_000
MAX_REPORTED_CALLS: Final = 20
"""Calls that were not made, of a model that writes a thousand of them."""
CUT_OFF: Final = "cut_off"
"""How a call ended that the model could not write to its end, or of an answer that was cut there."""


@dataclass(frozen=True, slots=True)
class CallStart:
    """A call is being made."""

    id: str
    name: str
    tool: ToolId | None
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatTicketWait:
    """A person must decide about this call, and it waits for them."""

    id: str
    ticket: str


@dataclass(frozen=True, slots=True)
class CallEnd:
    report: ChatCallReport
    text: str


ChatEvent: TypeAlias = TurnText | TurnThought | CallStart | ChatTicketWait | CallEnd
EventCallback: TypeAlias = Callable[[ChatEvent], Awaitable[None]]


@dataclass
class ChatAnswer:
    """What the client gets. Of an answer that broke off, as much as there was."""

    texts: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    calls: list[ModelCall] = field(default_factory=list[ModelCall])
    """For the client to make."""
    finish: str = "stop"

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def thinking_text(self) -> str:
        return "".join(self.thoughts)


@dataclass
class Conversation:
    prompts: PromptBuilder
    route: ModelRoute
    input: ChatInput
    plan: ChatPlan
    tool_calls: ChatToolCalls
    tally: LimitCounter
    report: ChatReport
    on_event: EventCallback
    started_at: float
    answer: ChatAnswer = field(default_factory=ChatAnswer)
    messages: list[JsonObject] = field(default_factory=list[JsonObject])
    """Of the client's and of every turn since, as the model reads them."""
    hidden_messages: list[JsonObject] = field(default_factory=list[JsonObject])
    """Of the turns since: what the client does not get to see."""

    async def run(self) -> ChatAnswer:
        """Until there is an answer, calls for the client, or a limit. Raises `ModelServerError`."""
        with anyio.move_on_after(self.tally.limits.seconds) as time:
            await self._run_turns()
        if time.cancelled_caught:
            told = f"the answer took longer than {self.tally.limits.seconds:g} seconds"
            self.report.limit_hit = LimitHit(ChatLimit.TIME, told)
            self.answer.finish = "length"
        return self.answer

    async def _run_turns(self) -> None:
        while True:
            reached = self.tally.turn_limit if self.tally.turns else None
            if not self.tool_calls.caller.is_authorized():
                raise AccessRevokedError
            offering = self._tool_offer(reached)
            try:
                message = await self._receive_turn(offering, reached)
            except models.ModelServerError as trouble:
                if not self._rejects_tools(trouble, offering):
                    raise
                self.plan = self.plan.with_tools_in_text(trouble.why)
                continue
            if self.input.one_at_a_time:
                # No server holds a model to it that writes its calls as text.
                del message.calls[1:]
            if not self.input.executes_tools:
                message.calls = [self.tool_calls.for_client(call, offering) for call in message.calls]
            mine, theirs = _split_calls(message, offering)
            if not message.calls or reached is not None or message.is_truncated:
                self._skip_calls(message.calls, offering)
                self.answer.finish = self._finish(message)
                return
            if theirs or (not self.input.executes_tools and any(isinstance(call, ModelCall) for call in mine)):
                await self._hand_over(message, mine, theirs, offering)
                return
            results = [await self._execute_call(call, offering) for call in message.calls]
            self._add_turn(message, results, offering)

    def _rejects_tools(self, trouble: models.ModelServerError, offering: ToolOffer) -> bool:
        """Servers refuse tools for models that they do not know to call any, in words of their own."""
        told = offering.prompt.offered_tools and offering.prompt.capabilities.is_native
        refused = trouble.fault is models.ModelFault.REFUSED and "tool" in trouble.why.casefold()
        return bool(told and refused and self.tally.turns == 1 and self.plan.refusal is None)

    def _tool_offer(self, reached: LimitHit | None) -> ToolOffer:
        prompt = self.plan.prompt(self.prompts, without_tools=reached is not None)
        offering = ToolOffer(prompt, frozenset(tool.name for tool in self.input.tools))
        if reached is None:
            self.report.record_turn(offering, self.plan.refusal)
        self.report.limit_hit = self.report.limit_hit or reached
        return offering

    async def _receive_turn(self, offering: ToolOffer, reached: LimitHit | None) -> ModelTurn:
        """One turn of the model, told on as it comes."""
        message, prompt = ModelTurn(first_text_index=len(self.answer.texts)), offering.prompt
        asked = [*self.messages]
        if reached is not None:
            asked.append({"role": "user", "content": NO_MORE_CALLS.format(why=reached.why)})
        body = turn_request(self.input, prompt, asked, self._choice(reached), self.route.model)
        # Told that no more can be called, a model may write a call all the same: it is read, and not made.
        spoken = prompt.capabilities.primary or (prompt.capabilities.history_format if reached is not None else None)
        reader = TurnReader(FORMATS[spoken or "native"], prompt.callable, self.plan.model)
        self.tally.turns += 1
        self.report.turns = self.tally.turns
        began = anyio.current_time()
        try:
            async with self.route.server.chat(body) as pieces:
                async for piece in pieces:
                    match piece:
                        case models.StopPiece(why):
                            message.stop_reason = why
                        case models.UsagePiece(before, after):
                            message.prompt_tokens, message.completion_tokens = before, after
                        case _:
                            if isinstance(piece, models.TextPiece):
                                message.raws.append(piece.text)
                            for heard in reader.feed(piece):
                                await self._handle_piece(message, heard)
            for heard in reader.finish():
                await self._handle_piece(message, heard)
        finally:
            self.report.model_seconds += anyio.current_time() - began
            self._count(message, body)
        return message

    def _choice(self, reached: LimitHit | None) -> ToolChoice:
        """That a tool must be called is said once: else there would never be an answer."""
        if reached is not None:
            return ToolChoiceMode.NEVER
        return self.input.choice if self.tally.turns == 0 or not self.input.executes_tools else ToolChoiceMode.AUTO

    async def _handle_piece(self, message: ModelTurn, heard: TurnPart) -> None:
        if self.report.first_seconds is None:
            self.report.first_seconds = anyio.current_time() - self.started_at
        match heard:
            case ModelCall(is_recovered=True) if not self.plan.settings.run_recovered:
                message.calls.append(UnreadableCall("", heard.name, heard.raw, UNFINISHED_CALL))
            case TurnText(text):
                if not message.texts and self.answer.texts and text:
                    # Between what was said before some calls and after them.
                    await self._send_text("\n\n")
                message.texts.append(text)
                await self._send_text(text)
            case TurnThought(text):
                message.thoughts.append(text)
                self.answer.thoughts.append(text)
                await self.on_event(heard)
            case ThoughtOnlyTurn(text):
                # Of a stream what was told is told; whoever gets all at once gets each in its place.
                del self.answer.texts[message.first_text_index :]
                message.texts.clear()
                message.calls.clear()
                message.thoughts.append(text)
                self.answer.thoughts.append(text)
            case ModelCall() | UnreadableCall():
                message.calls.append(heard)

    async def _send_text(self, text: str) -> None:
        self.answer.texts.append(text)
        await self.on_event(TurnText(text))

    async def _execute_call(self, call: ModelCall | UnreadableCall, offering: ToolOffer) -> CallFeedback:
        """One call and what the model is told of it."""
        began = anyio.current_time()
        tool = offering.gateway_tools.get(call.name)
        if isinstance(call, UnreadableCall):
            self.tally.count_result(failed=True)
            self.report.calls.append(ChatCallReport(call.id, call.name, tool, "unreadable", 0.0))
            return correction(call, call.why, offering.shape(call.name), self.plan.settings.result)
        if (refused := self.tally.check_call(call.name, dict(call.arguments))) is not None:
            self.report.limit_hit = self.report.limit_hit or refused
            self.tally.count_result(failed=True)
            self.report.calls.append(ChatCallReport(call.id, call.name, tool, refused.limit.value, 0.0))
            return CallFeedback(call, f"Not called, because {refused.why}. Go on without it.")
        await self.on_event(CallStart(call.id, call.name, tool, call.raw))
        came: ChatCallResult | None = None
        try:
            came = await self.tool_calls.execute(call, offering, partial(self._report_ticket, call.id))
        finally:
            seconds = anyio.current_time() - began
            self.report.tool_seconds += seconds
            ended = "cancelled" if came is None else outcome_word(came.outcome)
            found, ticket = (tool, None) if came is None else (came.tool, came.ticket)
            made = ChatCallReport(call.id, call.name, found, ended, seconds, ticket, call.repairs)
            self.report.calls.append(made)
        self.tally.count_result(failed=came.is_failure)
        self.plan = self.plan.after_turn(came.found_tools, came.ticket)
        await self.on_event(CallEnd(made, came.text))
        if came.shape is not None:
            return correction(call, came.text, came.shape, self.plan.settings.result)
        return CallFeedback(call, shorten_result(came.text, self.plan.settings.result) or EMPTY_RESULT)

    async def _report_ticket(self, id: str, ticket: str) -> None:
        await self.on_event(ChatTicketWait(id, ticket))

    async def _hand_over(
        self,
        message: ModelTurn,
        mine: Sequence[ModelCall | UnreadableCall],
        theirs: Sequence[ModelCall],
        offering: ToolOffer,
    ) -> None:
        """The client makes its own calls. Ours of the same turn are made first, where they are made here at all."""
        self.answer.finish = "tool_calls"
        if not self.input.executes_tools:
            self.answer.calls += [call for call in message.calls if isinstance(call, ModelCall)]
            return
        results = [await self._execute_call(call, offering) for call in mine]
        self.answer.calls += theirs
        self._add_turn(message, results, offering)

    def _add_turn(self, message: ModelTurn, results: Sequence[CallFeedback], offering: ToolOffer) -> None:
        added = turn_messages(message, results, offering.prompt, self.plan.settings.result)
        self.messages += added
        self.hidden_messages += added

    def _skip_calls(self, calls: Sequence[ModelCall | UnreadableCall], offering: ToolOffer) -> None:
        """They are not made, and the client is told of them."""
        for call in calls[:MAX_REPORTED_CALLS]:
            self.report.calls.append(
                ChatCallReport(call.id, call.name, offering.gateway_tools.get(call.name), CUT_OFF, 0.0)
            )

    def _finish(self, message: ModelTurn) -> str:
        if message.is_truncated:
            return "length"
        if message.calls:
            # It was told that no more calls are made, and made some.
            return "length"
        return message.stop_reason if message.stop_reason == "content_filter" else "stop"

    def _count(self, message: ModelTurn, body: JsonObject) -> None:
        if message.prompt_tokens is None or message.completion_tokens is None:
            self.report.is_estimated = True
            self.report.prompt_tokens += _estimate_tokens(canonical_json(body).decode("utf-8", "replace"))
            self.report.completion_tokens += _estimate_tokens("".join((*message.raws, *message.thoughts)))
            return
        self.report.prompt_tokens += message.prompt_tokens
        self.report.completion_tokens += message.completion_tokens


def _split_calls(message: ModelTurn, offering: ToolOffer) -> tuple[list[ModelCall | UnreadableCall], list[ModelCall]]:
    """Calls to be made here, and those for the client: of its own tools, which go before all others of their name."""
    mine: list[ModelCall | UnreadableCall] = []
    theirs: list[ModelCall] = []
    for call in message.calls:
        if isinstance(call, ModelCall) and call.name in offering.client_tools:
            theirs.append(call)
        else:
            mine.append(call)
    return mine, theirs


def _estimate_tokens(text: str) -> int:
    """Of a very long text a rough guess: to count would hold up everybody else."""
    return estimate_tokens(text) if len(text) <= MAX_COUNTED_CHARS else len(text) // 4


# What a client does not get to see of a conversation that it goes on with: calls made here beside its own.
#
# A client sends all of a conversation each time, and knows nothing of the tools that were called for it. Between
# handing
# it calls of its own tools and its coming back with their results, those are kept, so that nothing is called twice.

MAX_CONVERSATIONS: Final = 500
MAX_BYTES: Final = 64_000_000
LIFETIME_S: Final = 900.0


@dataclass(frozen=True, slots=True)
class _HiddenMessages:
    messages: tuple[JsonObject, ...]
    size: int
    until: float


@dataclass
class HiddenCallMemory:
    """Of this process alone. Who comes back to another one, or too late, is answered without."""

    _by_key: OrderedDict[bytes, _HiddenMessages] = field(default_factory=OrderedDict[bytes, _HiddenMessages])
    _size: int = 0

    async def keep(
        self,
        principal: PrincipalId,
        before: Sequence[JsonObject],
        ids: Iterable[str],
        messages: Sequence[JsonObject],
        now: float,
    ) -> None:
        size, key = await to_thread.run_sync(_size_and_key, principal, before, tuple(ids), messages)
        if size > MAX_BYTES // 4:
            return
        self._forget(key)
        self._by_key[key] = _HiddenMessages(tuple(messages), size, now + LIFETIME_S)
        self._size += size
        while self._by_key and (len(self._by_key) > MAX_CONVERSATIONS or self._size > MAX_BYTES):
            self._forget(next(iter(self._by_key)))

    async def restore(self, principal: PrincipalId, messages: Sequence[JsonObject], now: float) -> list[JsonObject]:
        """The conversation with what was kept in its places."""
        for key in [key for key, kept in self._by_key.items() if kept.until < now]:
            self._forget(key)
        if not self._by_key or not any(_calls_of(message) for message in messages):
            return [*messages]
        keys = await to_thread.run_sync(_keys, principal, messages)
        found: list[JsonObject] = []
        for message, here in zip(messages, keys, strict=True):
            kept = None if here is None else self._by_key.get(here)
            found += [message] if kept is None else kept.messages
        return found

    def _forget(self, key: bytes) -> None:
        if (kept := self._by_key.pop(key, None)) is not None:
            self._size -= kept.size


def _size_and_key(
    principal: PrincipalId, before: Sequence[JsonObject], ids: Sequence[str], messages: Sequence[JsonObject]
) -> tuple[int, bytes]:
    read = _ConversationHash(principal)
    for message in before:
        read.add(message)
    return len(canonical_json([*messages])), read.key(ids)


def _keys(principal: PrincipalId, messages: Sequence[JsonObject]) -> list[bytes | None]:
    """Of each message with calls. In one pass: a conversation may be long, and have many of them."""
    read, keys = _ConversationHash(principal), list[bytes | None]()
    for message in messages:
        ids = _calls_of(message)
        keys.append(read.key(ids) if ids else None)
        read.add(message)
    return keys


class _ConversationHash:
    """Only whoever sends the same conversation as the same caller finds what was kept for it."""

    def __init__(self, principal: PrincipalId) -> None:
        self._hash = hashlib.sha256(canonical_json([principal]))

    def add(self, message: JsonObject) -> None:
        self._hash.update(canonical_json(message) + b"\n")

    def key(self, ids: Iterable[str]) -> bytes:
        here = self._hash.copy()
        here.update(canonical_json(sorted(ids)))
        return here.digest()


def _calls_of(message: JsonObject) -> list[str]:
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
    ids = (call.get("id") for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()
    return [id for id in ids if isinstance(id, str)]
