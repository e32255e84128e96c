"""A tool of the handshake era for a client of the 2026-07-28 era: its call is parked while its client is asked.

The tool asks in the middle of its work, and the client can only be asked in an answer. So the answer to the client's
request is the question, and the call waits for the client's next request to bring what it said. It is the same call all
the while: admitted once, recorded once, running on one replica.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio
import msgspec

from pegboard.core.call import Call, Cancelled, Demanded, NeedsInput, ProviderFailed
from pegboard.core.ids import PrincipalId
from pegboard.core.tool import Json, JsonObject
from pegboard.core.view import View
from pegboard.ports import CannotAsk, Peer, Progress

from .answer import Ended
from .protocol import INVALID_PARAMS, INVALID_REQUEST, REQUEST_TIMEOUT
from .rounds import RESPONSES, STATE, Carry
from .wire import sound_object

MOST: Final = 1_000
"""Calls parked at once, and how many of them may be of one principal."""
MOST_OF_ONE: Final = 20
PATIENCE: Final = 600.0
"""Seconds that a call stays parked: it is a person who answers."""

OURS: Final = "pegboard:"
"""How our own states begin. All others are a server's, and are passed on to it."""

log: Final = logging.getLogger(__name__)


class _Turn:
    """One request of the client: what it hears while it waits, and the answer that it gets."""

    __slots__ = ("given", "peer", "progress")

    def __init__(self, progress: Progress | None, peer: Peer) -> None:
        self.progress = progress
        self.peer = peer
        self.given: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()

    def answer(self, ended: Ended) -> None:
        if not self.given.done():
            self.given.set_result(ended)


@dataclass(eq=False)
class _Question:
    method: str
    params: Mapping[str, Json]
    given: anyio.Event = field(default_factory=anyio.Event)
    answer: Mapping[str, Json] = field(default_factory=dict)


class _Conversation:
    """One call, whoever of the client's requests is waiting for it. It is the peer that the provider sees."""

    def __init__(self, parking: "Parking", call: Call, view: View, turn: _Turn) -> None:
        self.call = call
        self.view = view
        self.turn: _Turn | None = turn
        self.task: asyncio.Task[None] | None = None
        self.can: Mapping[str, Json] = turn.peer.can
        self.who: Hashable = turn.peer.who
        self.ended: Ended | None = None
        self.state: str | None = None
        self._parking = parking
        self._questions: dict[str, _Question] = {}
        self._asked = 0

    def note(self, method: str, params: Mapping[str, Json]) -> None:
        """Between two requests there is nobody to tell."""
        if self.turn is not None:
            self.turn.peer.note(method, params)

    def progress(self, done: float, total: float | None, words: str | None) -> None:
        if self.turn is not None and self.turn.progress is not None:
            self.turn.progress(done, total, words)

    async def ask(
        self, method: str, params: Mapping[str, Json], last: Callable[[], Peer] | None = None
    ) -> Mapping[str, Json]:
        self._asked += 1
        key, question = str(self._asked), _Question(method, params)
        self._questions[key] = question
        try:
            self._pose()
            with anyio.move_on_after(self._parking.patience):
                await question.given.wait()
                return question.answer
        finally:
            del self._questions[key]
        # Nobody comes back for this call, so it must not go on either.
        self.give_up()
        raise CannotAsk(REQUEST_TIMEOUT, f"The client did not answer within {self._parking.patience:g} seconds.")

    def resume(self, turn: _Turn, answers: Mapping[str, Mapping[str, Json]]) -> None:
        """The client is back. What it left unanswered is asked again."""
        self.turn, self.state = turn, None
        if self.ended is not None:
            self._end_turn(self.ended)
            return
        unanswered = False
        for key, question in self._questions.items():
            if key in answers:
                question.answer = answers[key]
                question.given.set()
            unanswered |= not question.given.is_set()
        if unanswered:
            self._pose()

    def end(self, ended: Ended) -> None:
        self.ended = ended
        if self.turn is not None:
            self._end_turn(ended)

    def give_up(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def _pose(self) -> None:
        """All that is open goes into one answer, if a request is waiting for one. Else it is in the next."""
        if self.turn is None:
            return
        self.state = self._parking.park(self)
        requests: dict[str, Json] = {
            key: {"method": question.method, "params": dict(question.params)}
            for key, question in self._questions.items()
            if not question.given.is_set()
        }
        body: JsonObject = {"resultType": "input_required", "inputRequests": requests, STATE: self.state}
        self._end_turn(NeedsInput(msgspec.json.encode(sound_object(body))))

    def _end_turn(self, ended: Ended) -> None:
        assert self.turn is not None
        self.turn.answer(ended)
        self.turn = None


class Parking:
    """Carries the calls of clients of the 2026-07-28 era. What is parked is cancelled when `opened` ends."""

    def __init__(
        self, carry: Carry, *, most: int = MOST, most_of_one: int = MOST_OF_ONE, patience: float = PATIENCE
    ) -> None:
        self.patience: Final = patience
        self._carry = carry
        self._most = most
        self._most_of_one = most_of_one
        self._parked: dict[str, _Conversation] = {}
        self._running: set[asyncio.Task[None]] = set()
        """Tasks of the event loop's own kind: to start one of a group's would cost more than the call."""
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Parking"]:
        self._loop = asyncio.get_running_loop()
        try:
            yield self
        finally:
            self._loop = None
            for task in self._running:
                task.cancel()
            with anyio.CancelScope(shield=True):
                while self._running:
                    await asyncio.wait(self._running)

    def call(
        self, call: Call, view: View, progress: Progress | None = None, peer: Peer | None = None
    ) -> Awaitable[Ended]:
        """The end of the call, or what it needs first. Cancelled, it cancels the call."""
        state = _text(call.beside[STATE]) if STATE in call.beside else None
        if state is not None and state.startswith(OURS):
            return self._resumed(state, call, view, progress, peer)
        if peer is None or not peer.can:
            return self._carry(call, view, progress, peer)
        return self._held(call, view, progress, peer)

    async def _held(self, call: Call, view: View, progress: Progress | None, peer: Peer) -> Ended:
        assert self._loop is not None, "Calls are carried only while the parking is open."
        turn = _Turn(progress, peer)
        conversation = _Conversation(self, call, view, turn)
        conversation.task = task = self._loop.create_task(self._run(conversation, progress is not None))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await _heard(conversation, turn)

    def park(self, conversation: _Conversation) -> str:
        """A state that only this conversation's client knows, good for one time. Raises `CannotAsk`."""
        if len(self._parked) >= self._most or self._of(conversation.call.principal) >= self._most_of_one:
            raise CannotAsk(INVALID_REQUEST, "Too many calls wait for answers already, so no more can be asked.")
        state = OURS + secrets.token_urlsafe(32)
        self._parked[state] = conversation
        return state

    def _of(self, principal: PrincipalId) -> int:
        return sum(conversation.call.principal == principal for conversation in self._parked.values())

    async def _run(self, conversation: _Conversation, tells_progress: bool) -> None:
        call = conversation.call
        ended: Ended = Cancelled()
        try:
            progress = conversation.progress if tells_progress else None
            ended = await self._carry(call, conversation.view, progress, conversation)
        except asyncio.CancelledError:
            log.debug("Call %s was given up", call.id)
        except Exception:  # a call is supervised here: its failure must not end the others
            log.exception("Carrying call %s failed", call.id)
            ended = ProviderFailed("the gateway failed on it, and its log says why", may_have_run=True)
        conversation.end(ended)
        if conversation.state is None:
            return
        if isinstance(ended, Cancelled) or self._loop is None:
            self._forget(conversation)
        else:
            # It ended while its client was being asked: the next request finds the end.
            self._loop.call_later(self.patience, self._forget, conversation)

    def _forget(self, conversation: _Conversation) -> None:
        if conversation.state is not None:
            self._parked.pop(conversation.state, None)

    async def _resumed(self, state: str, call: Call, view: View, progress: Progress | None, peer: Peer | None) -> Ended:
        conversation = self._parked.get(state)
        # Whoever is not the one that was asked learns nothing, not even that there is such a call.
        if conversation is None or (conversation.call.principal, conversation.view) != (call.principal, view):
            return _refused(
                "The requestState is unknown: it was used already, or its call was given up meanwhile. "
                "Call the tool again without requestState and inputResponses."
            )
        if (conversation.call.name, conversation.call.arguments) != (call.name, call.arguments):
            return _refused(
                f"The requestState belongs to a call of {conversation.call.name!r} with other arguments. "
                "Repeat the request as it was, with inputResponses and requestState added."
            )
        answers = _answers(call.beside.get(RESPONSES))
        if answers is None:
            return _refused(
                "inputResponses is not an object of objects. Give each answer under the key of its question."
            )
        assert peer is not None
        del self._parked[state]
        turn = _Turn(progress, peer)
        conversation.resume(turn, answers)
        return await _heard(conversation, turn)


async def _heard(conversation: _Conversation, turn: _Turn) -> Ended:
    try:
        return await turn.given
    finally:
        if conversation.turn is turn:  # whoever waited has gone, and its call with it
            conversation.turn = None
            conversation.give_up()


def _answers(said: bytes | None) -> Mapping[str, Mapping[str, Json]] | None:
    answers = {} if said is None else msgspec.json.decode(said)
    if not isinstance(answers, dict) or not all(isinstance(answer, dict) for answer in answers.values()):
        return None
    return answers


def _refused(why: str) -> Demanded:
    """A request that cannot go on with what it names: what is wrong with it, and what to do."""
    return Demanded(msgspec.json.encode({"code": INVALID_PARAMS, "message": why}))


def _text(said: bytes | None) -> str | None:
    text = None if said is None else msgspec.json.decode(said)
    return text if isinstance(text, str) else None
