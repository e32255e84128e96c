"""One answer, from the question to its end: the model is asked, its calls are made, and it is asked again."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

import anyio

from pegboard.core.ids import ToolId
from pegboard.core.tokens import tokens
from pegboard.core.tool import JsonObject, canonical
from pegboard.gateway.gateway import Gateway
from pegboard.ports import models
from pegboard.prompts.feeding import NOTHING, shortened
from pegboard.prompts.formats import FORMATS

from .asked import Asked, Choice, Choose
from .calling import Calling, Came, NotLetIn
from .heard import Call, Message, Piece, Rethought, Text, Thinking, Unread
from .limits import Limit, Reached, Tally
from .offering import Offering
from .planning import Plan
from .reading import Reader
from .report import Made, Report
from .results import word
from .serving import Served
from .telling import Fed, mended, request, turn

ENOUGH: Final = (
    "No more tools can be called for this answer: {why}. Answer the user now with what you know, and say what could "
    "not be done."
)

UNENDED: Final = "The end of the call never came, so nothing was called. Write the whole call again."
COUNTED: Final = 100_000
MOST_TOLD: Final = 20
"""Calls that were not made, of a model that writes a thousand of them."""
CUT_OFF: Final = "cut_off"
"""How a call ended that the model could not write to its end, or of an answer that was cut there."""


@dataclass(frozen=True, slots=True)
class Began:
    """A call is being made."""

    id: str
    name: str
    tool: ToolId | None
    arguments: str


@dataclass(frozen=True, slots=True)
class Asks:
    """A person must decide about this call, and it waits for them."""

    id: str
    ticket: str


@dataclass(frozen=True, slots=True)
class Ended:
    made: Made
    text: str


Event: TypeAlias = Text | Thinking | Began | Asks | Ended
Tell: TypeAlias = Callable[[Event], Awaitable[None]]


@dataclass
class Answer:
    """What the client gets. Of an answer that broke off, as much as there was."""

    texts: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    calls: list[Call] = field(default_factory=list[Call])
    """For the client to make."""
    finish: str = "stop"

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def thinking(self) -> str:
        return "".join(self.thoughts)


@dataclass
class Conversation:
    gateway: Gateway
    served: Served
    asked: Asked
    plan: Plan
    calling: Calling
    tally: Tally
    report: Report
    tell: Tell
    started: float
    answer: Answer = field(default_factory=Answer)
    messages: list[JsonObject] = field(default_factory=list[JsonObject])
    """Of the client's and of every turn since, as the model reads them."""
    hidden: list[JsonObject] = field(default_factory=list[JsonObject])
    """Of the turns since: what the client does not get to see."""

    async def run(self) -> Answer:
        """Until there is an answer, calls for the client, or a limit. Raises `ModelTrouble`."""
        with anyio.move_on_after(self.tally.limits.seconds) as time:
            await self._turns()
        if time.cancelled_caught:
            told = f"the answer took longer than {self.tally.limits.seconds:g} seconds"
            self.report.stopped = Reached(Limit.TIME, told)
            self.answer.finish = "length"
        return self.answer

    async def _turns(self) -> None:
        while True:
            reached = self.tally.reached if self.tally.turns else None
            if not self.calling.who.is_let_in():
                raise NotLetIn
            offering = self._offering(reached)
            try:
                message = await self._heard(offering, reached)
            except models.ModelTrouble as trouble:
                if not self._takes_no_tools(trouble, offering):
                    raise
                self.plan = self.plan.in_text(trouble.why)
                continue
            if self.asked.one_at_a_time:
                # No server holds a model to it that writes its calls as text.
                del message.calls[1:]
            if not self.asked.runs:
                message.calls = [self.calling.for_client(call, offering) for call in message.calls]
            mine, theirs = _sorted(message, offering)
            if not message.calls or reached is not None or message.is_cut:
                self._leave(message.calls, offering)
                self.answer.finish = self._finish(message)
                return
            if theirs or (not self.asked.runs and any(isinstance(call, Call) for call in mine)):
                await self._hand_over(message, mine, theirs, offering)
                return
            results = [await self._made(call, offering) for call in message.calls]
            self._remember(message, results, offering)

    def _takes_no_tools(self, trouble: models.ModelTrouble, offering: Offering) -> bool:
        """Servers refuse tools for models that they do not know to call any, in words of their own."""
        told = offering.prompt.offered and offering.prompt.capabilities.is_native
        refused = trouble.fault is models.Fault.REFUSED and "tool" in trouble.why.casefold()
        return bool(told and refused and self.tally.turns == 1 and self.plan.refused is None)

    def _offering(self, reached: Reached | None) -> Offering:
        prompt = self.plan.prompt(self.gateway, without_tools=reached is not None)
        offering = Offering(prompt, frozenset(tool.name for tool in self.asked.tools))
        if reached is None:
            self.report.told(offering, self.plan.refused)
        self.report.stopped = self.report.stopped or reached
        return offering

    async def _heard(self, offering: Offering, reached: Reached | None) -> Message:
        """One turn of the model, told on as it comes."""
        message, prompt = Message(place=len(self.answer.texts)), offering.prompt
        asked = [*self.messages]
        if reached is not None:
            asked.append({"role": "user", "content": ENOUGH.format(why=reached.why)})
        body = request(self.asked, prompt, asked, self._choice(reached), self.served.model)
        # Told that no more can be called, a model may write a call all the same: it is read, and not made.
        spoken = prompt.capabilities.primary or (prompt.capabilities.spoken if reached is not None else None)
        reader = Reader(FORMATS[spoken or "native"], prompt.callable, self.plan.model)
        self.tally.turns += 1
        self.report.turns = self.tally.turns
        began = anyio.current_time()
        try:
            async with self.served.server.chat(body) as pieces:
                async for piece in pieces:
                    match piece:
                        case models.Stopped(why):
                            message.stopped = why
                        case models.Used(before, after):
                            message.prompt_tokens, message.completion_tokens = before, after
                        case _:
                            if isinstance(piece, models.Said):
                                message.raws.append(piece.text)
                            for heard in reader.fed(piece):
                                await self._take(message, heard)
            for heard in reader.finish():
                await self._take(message, heard)
        finally:
            self.report.model_seconds += anyio.current_time() - began
            self._count(message, body)
        return message

    def _choice(self, reached: Reached | None) -> Choice:
        """That a tool must be called is said once: else there would never be an answer."""
        if reached is not None:
            return Choose.NEVER
        return self.asked.choice if self.tally.turns == 0 or not self.asked.runs else Choose.AS_IT_LIKES

    async def _take(self, message: Message, heard: Piece) -> None:
        if self.report.first_seconds is None:
            self.report.first_seconds = anyio.current_time() - self.started
        match heard:
            case Call(recovered=True) if not self.plan.settings.run_recovered:
                message.calls.append(Unread("", heard.name, heard.written, UNENDED))
            case Text(text):
                if not message.texts and self.answer.texts and text:
                    # Between what was said before some calls and after them.
                    await self._say("\n\n")
                message.texts.append(text)
                await self._say(text)
            case Thinking(text):
                message.thoughts.append(text)
                self.answer.thoughts.append(text)
                await self.tell(heard)
            case Rethought(text):
                # Of a stream what was told is told; whoever gets all at once gets each in its place.
                del self.answer.texts[message.place :]
                message.texts.clear()
                message.calls.clear()
                message.thoughts.append(text)
                self.answer.thoughts.append(text)
            case Call() | Unread():
                message.calls.append(heard)

    async def _say(self, text: str) -> None:
        self.answer.texts.append(text)
        await self.tell(Text(text))

    async def _made(self, call: Call | Unread, offering: Offering) -> Fed:
        """One call and what the model is told of it."""
        began = anyio.current_time()
        tool = offering.ours.get(call.name)
        if isinstance(call, Unread):
            self.tally.ended(failed=True)
            self.report.calls.append(Made(call.id, call.name, tool, "unreadable", 0.0))
            return mended(call, call.why, offering.shape(call.name), self.plan.settings.result)
        if (refused := self.tally.refuses(call.name, dict(call.arguments))) is not None:
            self.report.stopped = self.report.stopped or refused
            self.tally.ended(failed=True)
            self.report.calls.append(Made(call.id, call.name, tool, refused.limit.value, 0.0))
            return Fed(call, f"Not called, because {refused.why}. Go on without it.")
        await self.tell(Began(call.id, call.name, tool, call.written))
        came: Came | None = None
        try:
            came = await self.calling.made(call, offering, partial(self._asks, call.id))
        finally:
            seconds = anyio.current_time() - began
            self.report.tool_seconds += seconds
            ended = "cancelled" if came is None else word(came.ended)
            found, ticket = (tool, None) if came is None else (came.tool, came.ticket)
            made = Made(call.id, call.name, found, ended, seconds, ticket, call.repairs)
            self.report.calls.append(made)
        self.tally.ended(failed=came.failed)
        self.plan = self.plan.after(came.found, came.ticket)
        await self.tell(Ended(made, came.text))
        if came.shape is not None:
            return mended(call, came.text, came.shape, self.plan.settings.result)
        return Fed(call, shortened(came.text, self.plan.settings.result) or NOTHING)

    async def _asks(self, id: str, ticket: str) -> None:
        await self.tell(Asks(id, ticket))

    async def _hand_over(
        self, message: Message, mine: Sequence[Call | Unread], theirs: Sequence[Call], offering: Offering
    ) -> None:
        """The client makes its own calls. Ours of the same turn are made first, where they are made here at all."""
        self.answer.finish = "tool_calls"
        if not self.asked.runs:
            self.answer.calls += [call for call in message.calls if isinstance(call, Call)]
            return
        results = [await self._made(call, offering) for call in mine]
        self.answer.calls += theirs
        self._remember(message, results, offering)

    def _remember(self, message: Message, results: Sequence[Fed], offering: Offering) -> None:
        added = turn(message, results, offering.prompt, self.plan.settings.result)
        self.messages += added
        self.hidden += added

    def _leave(self, calls: Sequence[Call | Unread], offering: Offering) -> None:
        """They are not made, and the client is told of them."""
        for call in calls[:MOST_TOLD]:
            self.report.calls.append(Made(call.id, call.name, offering.ours.get(call.name), CUT_OFF, 0.0))

    def _finish(self, message: Message) -> str:
        if message.is_cut:
            return "length"
        if message.calls:
            # It was told that no more calls are made, and made some.
            return "length"
        return message.stopped if message.stopped == "content_filter" else "stop"

    def _count(self, message: Message, body: JsonObject) -> None:
        if message.prompt_tokens is None or message.completion_tokens is None:
            self.report.estimated = True
            self.report.prompt_tokens += _estimated(canonical(body).decode("utf-8", "replace"))
            self.report.completion_tokens += _estimated("".join((*message.raws, *message.thoughts)))
            return
        self.report.prompt_tokens += message.prompt_tokens
        self.report.completion_tokens += message.completion_tokens


def _sorted(message: Message, offering: Offering) -> tuple[list[Call | Unread], list[Call]]:
    """Calls to be made here, and those for the client: of its own tools, which go before all others of their name."""
    mine: list[Call | Unread] = []
    theirs: list[Call] = []
    for call in message.calls:
        if isinstance(call, Call) and call.name in offering.client:
            theirs.append(call)
        else:
            mine.append(call)
    return mine, theirs


def _estimated(text: str) -> int:
    """Of a very long text a rough guess: to count would hold up everybody else."""
    return tokens(text) if len(text) <= COUNTED else len(text) // 4
