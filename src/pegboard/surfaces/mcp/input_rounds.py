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
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias
from uuid import uuid4

import anyio
import msgspec

from pegboard.core.calls.call import (
    CallCancellation,
    NeedsInput,
    ProtocolErrorReply,
    ProviderFailure,
    ToolCall,
    ToolFailure,
)
from pegboard.core.calls.tickets import ELICITATION, ROOTS, SAMPLING, refuse_question
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import CallId, PrincipalId
from pegboard.core.model.selection import View
from pegboard.ports.providers import ClientPeer, PeerRequestError, Progress
from pegboard.surfaces.mcp.protocol import INVALID_PARAMS, INVALID_REQUEST, REQUEST_TIMEOUT
from pegboard.surfaces.mcp.results import CallOutcome, error_result
from pegboard.surfaces.mcp.wire import UnreadableJson, parse_result, sanitize_object

# A tool of the 2026-07-28 era for a client of the handshake era: what it needs is asked, then it is called again.

MAX_ROUNDS: Final = 10
ANSWER_TIMEOUT_S: Final = 600.0
"""Seconds for the answers of one round: it is a person who gives them."""
RETRY_PAUSES_S: Final = (0.05, 0.1, 0.2, 0.25)
"""Seconds before a tool is called again that only asked for that; the last one for all further times."""
MAX_MESSAGE_CHARS: Final = 300

RESPONSES_KEY: Final = "inputResponses"
STATE_KEY: Final = "requestState"

ExecuteCall: TypeAlias = Callable[[ToolCall, View, Progress | None, ClientPeer | None], Awaitable[CallOutcome]]
"""One call from the gate to its end: `CallExecutor.call`."""

_TITLES: Final = {
    ELICITATION: "an answer from the user",
    SAMPLING: "a text from the client's model",
    ROOTS: "the folders that the client works in",
}


@dataclass(frozen=True)
class _InputRequest:
    method: str
    params: JsonObject


@dataclass(frozen=True)
class _RequiredInput:
    requests: Mapping[str, _InputRequest]
    state: str | None


async def call_with_input_rounds(
    call: ToolCall, view: View, carry: ExecuteCall, progress: Progress | None = None, peer: ClientPeer | None = None
) -> CallOutcome:
    """The call's end, after as many rounds as the tool needs."""
    return await continue_with_input(await carry(call, view, progress, peer), call, view, carry, progress, peer)


async def continue_with_input(
    ended: CallOutcome,
    call: ToolCall,
    view: View,
    carry: ExecuteCall,
    progress: Progress | None,
    peer: ClientPeer | None,
) -> CallOutcome:
    """The same from the end of the first round on. Every round passes the gate and is recorded."""
    pauses = 0
    for _ in range(MAX_ROUNDS):
        if not isinstance(ended, NeedsInput):
            return ended
        needed = _parse_required_input(ended.body)
        if needed is None:
            return _tool_failure(f"The call of {call.name!r} failed: its tool asked for something that cannot be read.")
        said = {name: text for name, text in call.beside.items() if name not in (RESPONSES_KEY, STATE_KEY)}
        if needed.requests:
            answers = await _collect_answers(call, needed.requests, peer)
            if isinstance(answers, ToolFailure):
                return answers
            said[RESPONSES_KEY] = msgspec.json.encode(answers)
            pauses = 0
        else:
            await anyio.sleep(RETRY_PAUSES_S[min(pauses, len(RETRY_PAUSES_S) - 1)])
            pauses += 1
        if needed.state is not None:
            said[STATE_KEY] = msgspec.json.encode(needed.state)
        again = replace(call, id=CallId(uuid4().hex), parent=call.id, beside=said)
        ended = await carry(again, view, progress, peer)
    if not isinstance(ended, NeedsInput):
        return ended
    return _tool_failure(f"The call of {call.name!r} was given up: its tool asked back more than {MAX_ROUNDS} times.")


async def _collect_answers(
    call: ToolCall, asked: Mapping[str, _InputRequest], peer: ClientPeer | None
) -> JsonObject | ToolFailure:
    """What the client says to each of the questions, or why the call cannot go on."""
    for question in asked.values():
        can = {} if peer is None else peer.capabilities
        if (reason := refuse_question(can, question.method, question.params)) is not None:
            return _cannot_continue(call, question, reason.why)
    assert peer is not None
    answers: dict[str, Json] = {}
    refused: list[tuple[_InputRequest, str]] = []

    async def ask(key: str, question: _InputRequest) -> None:
        try:
            answers[key] = sanitize_object(dict(await peer.request(question.method, question.params)))
        except PeerRequestError as error:
            refused.append((question, f"The client answered with an error: {error.message} ({error.code})."))
            tasks.cancel_scope.cancel()

    with anyio.move_on_after(ANSWER_TIMEOUT_S) as waiting:
        async with anyio.create_task_group() as tasks:
            for key, question in asked.items():
                tasks.start_soon(ask, key, question, name="question")
    if refused:
        return _cannot_continue(call, *refused[0])
    if waiting.cancelled_caught:
        open_one = next(question for key, question in asked.items() if key not in answers)
        return _cannot_continue(call, open_one, f"There was no answer within {ANSWER_TIMEOUT_S:g} seconds.")
    return answers


def _parse_required_input(body: bytes) -> _RequiredInput | None:
    result = parse_result(body)
    if isinstance(result, UnreadableJson):
        return None
    requests, state = result.get("inputRequests") or {}, result.get(STATE_KEY)
    if not isinstance(requests, dict) or not isinstance(state, str | None) or (not requests and state is None):
        return None
    asked: dict[str, _InputRequest] = {}
    for key, request in requests.items():
        method = request.get("method") if isinstance(request, dict) else None
        params = request.get("params", {}) if isinstance(request, dict) else None
        if not isinstance(method, str) or not isinstance(params, dict):
            return None
        if method == ELICITATION and params.get("mode") == "url":
            # The handshake era cannot do without, and the later one has it no more.
            params = {"elicitationId": uuid4().hex, **params}
        asked[key] = _InputRequest(method, params)
    return _RequiredInput(asked, state)


def _cannot_continue(call: ToolCall, question: _InputRequest, why: str) -> ToolFailure:
    what = _TITLES.get(question.method, f"an answer to {question.method[:128]!r}")
    message = question.params.get("message")
    told = f' ("{" ".join(message.split())[:MAX_MESSAGE_CHARS]}")' if isinstance(message, str) else ""
    return _tool_failure(f"The call of {call.name!r} cannot go on: its tool needs {what}{told}. {why}")


def _tool_failure(text: str) -> ToolFailure:
    return ToolFailure(msgspec.json.encode(error_result(text)))


MAX_PENDING_CALLS: Final = 1_000
"""Calls parked at once, and how many of them may be of one principal."""
MAX_PENDING_CALLS_PER_PRINCIPAL: Final = 20
"""Seconds that a call stays parked: it is a person who answers."""

STATE_PREFIX: Final = "pegboard:"
"""How our own states begin. All others are a server's, and are passed on to it."""

log: Final = logging.getLogger(__name__)


class _WaitingRequest:
    """One request of the client: what it hears while it waits, and the answer that it gets."""

    __slots__ = ("outcome", "peer", "progress")

    def __init__(self, progress: Progress | None, peer: ClientPeer) -> None:
        self.progress = progress
        self.peer = peer
        self.outcome: asyncio.Future[CallOutcome] = asyncio.get_running_loop().create_future()

    def respond(self, ended: CallOutcome) -> None:
        if not self.outcome.done():
            self.outcome.set_result(ended)


@dataclass(eq=False)
class _OpenQuestion:
    method: str
    params: Mapping[str, Json]
    is_answered: anyio.Event = field(default_factory=anyio.Event)
    answer: Mapping[str, Json] = field(default_factory=dict)


class _SuspendableCall:
    """One call, whoever of the client's requests is waiting for it. It is the peer that the provider sees."""

    def __init__(
        self, parking: "PendingInputCalls", call: ToolCall, view: View, waiting_request: _WaitingRequest
    ) -> None:
        self.call = call
        self.view = view
        self.waiting_request: _WaitingRequest | None = waiting_request
        self.task: asyncio.Task[None] | None = None
        self.capabilities: Mapping[str, Json] = waiting_request.peer.capabilities
        self.connection_key: Hashable = waiting_request.peer.connection_key
        self.outcome: CallOutcome | None = None
        self.state: str | None = None
        self._pending_calls = parking
        self._questions: dict[str, _OpenQuestion] = {}
        self._question_count = 0

    def notify(self, method: str, params: Mapping[str, Json]) -> None:
        """Between two requests there is nobody to tell."""
        if self.waiting_request is not None:
            self.waiting_request.peer.notify(method, params)

    def progress(self, done: float, total: float | None, words: str | None) -> None:
        if self.waiting_request is not None and self.waiting_request.progress is not None:
            self.waiting_request.progress(done, total, words)

    async def request(
        self, method: str, params: Mapping[str, Json], last: Callable[[], ClientPeer] | None = None
    ) -> Mapping[str, Json]:
        self._question_count += 1
        key, question = str(self._question_count), _OpenQuestion(method, params)
        self._questions[key] = question
        try:
            self._request_input()
            with anyio.move_on_after(self._pending_calls.answer_timeout_s):
                await question.is_answered.wait()
                return question.answer
        finally:
            del self._questions[key]
        # Nobody comes back for this call, so it must not go on either.
        self.give_up()
        raise PeerRequestError(
            REQUEST_TIMEOUT, f"The client did not answer within {self._pending_calls.answer_timeout_s:g} seconds."
        )

    def resume(self, turn: _WaitingRequest, answers: Mapping[str, Mapping[str, Json]]) -> None:
        """The client is back. What it left unanswered is asked again."""
        self.waiting_request, self.state = turn, None
        if self.outcome is not None:
            self._respond(self.outcome)
            return
        unanswered = False
        for key, question in self._questions.items():
            if key in answers:
                question.answer = answers[key]
                question.is_answered.set()
            unanswered |= not question.is_answered.is_set()
        if unanswered:
            self._request_input()

    def finish(self, ended: CallOutcome) -> None:
        self.outcome = ended
        if self.waiting_request is not None:
            self._respond(ended)

    def give_up(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def _request_input(self) -> None:
        """All that is open goes into one answer, if a request is waiting for one. Else it is in the next."""
        if self.waiting_request is None:
            return
        self.state = self._pending_calls.suspend(self)
        requests: dict[str, Json] = {
            key: {"method": question.method, "params": dict(question.params)}
            for key, question in self._questions.items()
            if not question.is_answered.is_set()
        }
        body: JsonObject = {"resultType": "input_required", "inputRequests": requests, STATE_KEY: self.state}
        self._respond(NeedsInput(msgspec.json.encode(sanitize_object(body))))

    def _respond(self, ended: CallOutcome) -> None:
        assert self.waiting_request is not None
        self.waiting_request.respond(ended)
        self.waiting_request = None


class PendingInputCalls:
    """Carries the calls of clients of the 2026-07-28 era. What is parked is cancelled when `opened` ends."""

    def __init__(
        self,
        carry: ExecuteCall,
        *,
        most: int = MAX_PENDING_CALLS,
        most_of_one: int = MAX_PENDING_CALLS_PER_PRINCIPAL,
        answer_timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        self.answer_timeout_s: Final = answer_timeout_s
        self._execute = carry
        self._max_calls = most
        self._max_calls_per_principal = most_of_one
        self._calls_by_state: dict[str, _SuspendableCall] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        """Tasks of the event loop's own kind: to start one of a group's would cost more than the call."""
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator["PendingInputCalls"]:
        self._loop = asyncio.get_running_loop()
        try:
            yield self
        finally:
            self._loop = None
            for task in self._tasks:
                task.cancel()
            with anyio.CancelScope(shield=True):
                while self._tasks:
                    await asyncio.wait(self._tasks)

    def call(
        self, call: ToolCall, view: View, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Awaitable[CallOutcome]:
        """The end of the call, or what it needs first. Cancelled, it cancels the call."""
        state = _decode_text(call.beside[STATE_KEY]) if STATE_KEY in call.beside else None
        if state is not None and state.startswith(STATE_PREFIX):
            return self._resume(state, call, view, progress, peer)
        if peer is None or not peer.capabilities:
            return self._execute(call, view, progress, peer)
        return self._start(call, view, progress, peer)

    async def _start(self, call: ToolCall, view: View, progress: Progress | None, peer: ClientPeer) -> CallOutcome:
        assert self._loop is not None, "Calls are carried only while the parking is open."
        turn = _WaitingRequest(progress, peer)
        conversation = _SuspendableCall(self, call, view, turn)
        conversation.task = task = self._loop.create_task(self._run(conversation, progress is not None))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await _wait_for_outcome(conversation, turn)

    def suspend(self, conversation: _SuspendableCall) -> str:
        """A state that only this conversation's client knows, good for one time. Raises `PeerRequestError`."""
        if (
            len(self._calls_by_state) >= self._max_calls
            or self._count_of(conversation.call.principal) >= self._max_calls_per_principal
        ):
            raise PeerRequestError(INVALID_REQUEST, "Too many calls wait for answers already, so no more can be asked.")
        state = STATE_PREFIX + secrets.token_urlsafe(32)
        self._calls_by_state[state] = conversation
        return state

    def _count_of(self, principal: PrincipalId) -> int:
        return sum(conversation.call.principal == principal for conversation in self._calls_by_state.values())

    async def _run(self, conversation: _SuspendableCall, tells_progress: bool) -> None:
        call = conversation.call
        ended: CallOutcome = CallCancellation()
        try:
            progress = conversation.progress if tells_progress else None
            ended = await self._execute(call, conversation.view, progress, conversation)
        except asyncio.CancelledError:
            log.debug("Call %s was given up", call.id)
        except Exception:  # a call is supervised here: its failure must not end the others
            log.exception("Carrying call %s failed", call.id)
            ended = ProviderFailure("the gateway failed on it, and its log says why", may_have_run=True)
        conversation.finish(ended)
        if conversation.state is None:
            return
        if isinstance(ended, CallCancellation) or self._loop is None:
            self._forget(conversation)
        else:
            # It ended while its client was being asked: the next request finds the end.
            self._loop.call_later(self.answer_timeout_s, self._forget, conversation)

    def _forget(self, conversation: _SuspendableCall) -> None:
        if conversation.state is not None:
            self._calls_by_state.pop(conversation.state, None)

    async def _resume(
        self, state: str, call: ToolCall, view: View, progress: Progress | None, peer: ClientPeer | None
    ) -> CallOutcome:
        conversation = self._calls_by_state.get(state)
        # Whoever is not the one that was asked learns nothing, not even that there is such a call.
        if conversation is None or (conversation.call.principal, conversation.view) != (call.principal, view):
            return _invalid_params(
                "The requestState is unknown: it was used already, or its call was given up meanwhile. "
                "Call the tool again without requestState and inputResponses."
            )
        if (conversation.call.name, conversation.call.arguments) != (call.name, call.arguments):
            return _invalid_params(
                f"The requestState belongs to a call of {conversation.call.name!r} with other arguments. "
                "Repeat the request as it was, with inputResponses and requestState added."
            )
        answers = _parse_answers(call.beside.get(RESPONSES_KEY))
        if answers is None:
            return _invalid_params(
                "inputResponses is not an object of objects. Give each answer under the key of its question."
            )
        assert peer is not None
        del self._calls_by_state[state]
        turn = _WaitingRequest(progress, peer)
        conversation.resume(turn, answers)
        return await _wait_for_outcome(conversation, turn)


async def _wait_for_outcome(conversation: _SuspendableCall, turn: _WaitingRequest) -> CallOutcome:
    try:
        return await turn.outcome
    finally:
        if conversation.waiting_request is turn:  # whoever waited has gone, and its call with it
            conversation.waiting_request = None
            conversation.give_up()


def _parse_answers(said: bytes | None) -> Mapping[str, Mapping[str, Json]] | None:
    answers = {} if said is None else msgspec.json.decode(said)
    if not isinstance(answers, dict) or not all(isinstance(answer, dict) for answer in answers.values()):
        return None
    return answers


def _invalid_params(why: str) -> ProtocolErrorReply:
    """A request that cannot go on with what it names: what is wrong with it, and what to do."""
    return ProtocolErrorReply(msgspec.json.encode({"code": INVALID_PARAMS, "message": why}))


def _decode_text(said: bytes | None) -> str | None:
    text = None if said is None else msgspec.json.decode(said)
    return text if isinstance(text, str) else None
