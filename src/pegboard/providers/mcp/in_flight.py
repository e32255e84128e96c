"""The calls in flight on one connection, and whose client the words of its server are for.

What a server asks or says while it works belongs to a call. Over streamable HTTP it comes on the stream of that call;
over stdio and SSE nothing tells which call it is. Then it goes to a client only if every call in flight is of that
client: whom to ask is never guessed. A call that was given up may still be at work, and what its server asks may be for
that call: until it is answered, or for as long as a person would have had, no other principal is asked in its place.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

import anyio
import anyio.abc
import msgspec
from mcp.client.session import ClientRequestContext
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.dispatcher import DispatchContext, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    SamplingCapability,
    SamplingContextCapability,
    SamplingToolsCapability,
)

from pegboard.core.calls.tickets import ELICITATION, ROOTS, SAMPLING, refuse_question
from pegboard.core.json.values import Json
from pegboard.ports.providers import ClientPeer, PeerRequestError, Progress
from pegboard.providers.mcp.errors import NOT_SENT
from pegboard.providers.mcp.messages import LARGE_MESSAGE_BYTES, Line, is_log_message
from pegboard.providers.mcp.rate import (
    LOG_BURST,
    LOG_RATE_PER_S,
    PROGRESS_BURST,
    PROGRESS_RATE_PER_S,
    MessageRateLimiter,
)

if TYPE_CHECKING:
    from pegboard.providers.mcp.fast.connections import HttpConnection
    from pegboard.providers.mcp.fast.event_stream import CallEventStream

log: Final = logging.getLogger(__name__)

LOG_NOTIFICATION: Final = "notifications/message"
QUESTION_TIMEOUT_S: Final = 600.0
"""Seconds a client has for one question: it is a person who reads it."""

MAX_OPEN_QUESTIONS: Final = 100
"""Open at once on one connection. A server that asks more has lost its way."""


MAX_ABANDONED_CALLS: Final = 1_000


class CallTimer(Protocol):
    """The time that a call has. It stands still while the client is being asked."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class CallDeadline:
    """A timer for whoever works within its scope: `with deadline.scope: …`."""

    def __init__(self, seconds: float) -> None:
        self._remaining_s = seconds
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + seconds)

    def pause(self) -> None:
        self._remaining_s = self.scope.deadline - anyio.current_time()
        self.scope.deadline = float("inf")

    def resume(self) -> None:
        self.scope.deadline = anyio.current_time() + self._remaining_s


class CallInFlight:
    """One call under way: who made it, and which questions are open that may be its own."""

    __slots__ = ("log_limiter", "peer", "principal", "questions", "timer")

    def __init__(self, peer: ClientPeer | None, timer: CallTimer | None, principal: str = "") -> None:
        self.peer = peer
        self.principal = principal
        self.timer = timer
        self.questions: set[Question] | None = None
        self.log_limiter: MessageRateLimiter | None = None
        """Of the log messages on the stream of this call."""

    def pause(self) -> None:
        """Its time stands still."""
        if self.timer is not None:
            self.timer.pause()

    def resume(self) -> None:
        if self.timer is not None:
            self.timer.resume()


class Question:
    """Open until it is answered, until its time is up, or until every call that it may belong to is over."""

    def __init__(self, calls: set[CallInFlight], asked_in: CallInFlight, patience: float) -> None:
        self.calls = calls
        self.delivery_call = asked_in
        """The call on whose way its client hears of this question: what is said after the end of a call is lost."""
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + patience)
        self.closed = anyio.Event()
        """Whoever was asked knows that no answer is wanted any more, or has given it."""


class CallsInFlight:
    """`whose` calls these are, as a sentence begins."""

    def __init__(
        self, whose: str = "A server", patience: float = QUESTION_TIMEOUT_S, most: int = MAX_OPEN_QUESTIONS
    ) -> None:
        self._server_name = whose
        self._question_timeout_s = patience
        self._max_questions = most
        self._log_limiter = MessageRateLimiter(LOG_BURST, LOG_RATE_PER_S)
        self._has_dropped = False
        self._calls: dict[CallInFlight, None] = {}
        self.abandoned_calls: dict[Hashable, tuple[str, float]] = {}
        """Whose calls may still be at work although nobody waits for them, and until when that is reckoned with."""
        self._open_count = 0

    def begin(self, peer: ClientPeer | None, timer: CallTimer | None = None, principal: str = "") -> CallInFlight:
        """Of every call, with or without a client that can be asked: it is whom a question may be from."""
        flight = CallInFlight(peer, timer, principal)
        self.add(flight)
        return flight

    def add(self, flight: CallInFlight) -> None:
        self._calls[flight] = None

    @property
    def is_busy(self) -> bool:
        return bool(self._calls)

    def abandon(self, flight: CallInFlight, key: Hashable) -> None:
        """Nobody waits for this call any more, but its server may go on with it."""
        if len(self.abandoned_calls) >= MAX_ABANDONED_CALLS:
            del self.abandoned_calls[next(iter(self.abandoned_calls))]
        self.abandoned_calls[key] = flight.principal, anyio.current_time() + self._question_timeout_s

    def take_late_answer(self, key: Hashable) -> bool:
        """Whether this is the late answer to a call that was given up, which then is over."""
        return self.abandoned_calls.pop(key, None) is not None

    def end(self, flight: CallInFlight) -> Sequence[Question]:
        """The questions that belonged to this call alone and are over with it. Await that they are closed before the
        call's outcome is told: what is said to a client after the end of its call is heard by nobody."""
        self._calls.pop(flight, None)
        if not flight.questions:
            return ()
        for question in flight.questions:
            question.calls.discard(flight)
            if question.delivery_call is flight and question.calls:
                question.delivery_call = next(iter(question.calls))
        over = tuple(question for question in flight.questions if not question.calls)
        for question in over:
            question.scope.cancel()
        flight.questions.clear()
        return over

    async def ask(
        self, method: str, params: Mapping[str, Json], flight: CallInFlight | None = None
    ) -> Mapping[str, Json]:
        """The client's answer to what the server asks on the stream of that call, or on one that does not tell.

        Raises `PeerRequestError`.
        """
        flights = self._candidate_calls(flight)
        peer = flights[-1].peer
        if peer is None:
            raise PeerRequestError(METHOD_NOT_FOUND, "Whoever made this call cannot be asked anything.")
        if (reason := refuse_question(peer.capabilities, method, params)) is not None:
            raise PeerRequestError(reason.code, reason.why)
        if self._open_count >= self._max_questions:
            raise PeerRequestError(
                INVALID_REQUEST, f"{self._max_questions} questions are open already. Wait for their answers."
            )
        question = Question(set(flights), flights[-1], self._question_timeout_s)
        self._open_question(question)
        try:
            with question.scope:
                return await peer.request(method, params, lambda: question.delivery_call.peer or peer)
        finally:
            self._close_question(question)
        if not question.calls:
            raise PeerRequestError(INVALID_REQUEST, "The call that this was asked for is over.")
        raise PeerRequestError(
            REQUEST_TIMEOUT, f"The client did not answer within {self._question_timeout_s:g} seconds."
        )

    def has_listener(self) -> bool:
        """Whether there is anyone at all to tell something to."""
        return any(flight.peer is not None for flight in self._calls)

    def allows(self, method: str, flight: CallInFlight | None = None) -> bool:
        """Whether nobody is flooded by one more of these; asked before anything is made of it."""
        if method != LOG_NOTIFICATION:
            return True
        if flight is None:
            pace = self._log_limiter
        else:
            pace = flight.log_limiter = flight.log_limiter or MessageRateLimiter(LOG_BURST, LOG_RATE_PER_S)
        if pace.try_acquire():
            return True
        if not self._has_dropped:
            self._has_dropped = True
            log.warning(
                "%s sends more log messages than the %g a second that a client is told. Further ones are dropped.",
                self._server_name,
                LOG_RATE_PER_S,
            )
        return False

    def notify(self, method: str, params: Mapping[str, Json], flight: CallInFlight | None = None) -> None:
        """Tell the client, if it can be told which one that is."""
        try:
            peer = self._candidate_calls(flight)[-1].peer
        except PeerRequestError:
            return
        if peer is not None:
            peer.notify(method, params)

    def _candidate_calls(self, flight: CallInFlight | None) -> list[CallInFlight]:
        """The calls, all of one client, that the server's words may belong to; the newest last."""
        if flight is not None:
            if flight not in self._calls:
                raise PeerRequestError(INVALID_REQUEST, "The call that this was asked for is over.")
            return [flight]
        flights = list(self._calls)
        if not flights:
            raise PeerRequestError(
                INVALID_REQUEST, "No call is in flight, and a client is asked only while its call runs."
            )
        if len({None if flight.peer is None else (flight.peer.connection_key,) for flight in flights}) > 1:
            raise PeerRequestError(
                INVALID_REQUEST,
                "Calls of several clients are in flight here, and nothing tells which of them this is for.",
            )
        if self.abandoned_calls and self._has_abandoned_by_others(flights[-1].principal):
            raise PeerRequestError(
                INVALID_REQUEST,
                "Somebody else's call was given up here and is not answered yet, and this may be for that one.",
            )
        return flights

    def _has_abandoned_by_others(self, principal: str) -> bool:
        now = anyio.current_time()
        self.abandoned_calls = {key: known for key, known in self.abandoned_calls.items() if known[1] > now}
        return any(whose != principal for whose, _ in self.abandoned_calls.values())

    def _open_question(self, question: Question) -> None:
        self._open_count += 1
        for flight in question.calls:
            if not flight.questions:
                flight.pause()
            if flight.questions is None:
                flight.questions = set()
            flight.questions.add(question)

    def _close_question(self, question: Question) -> None:
        self._open_count -= 1
        question.closed.set()
        for flight in question.calls:
            if flight.questions:
                flight.questions.discard(question)
            if not flight.questions:
                flight.resume()


# Requests that wait for their answers: by id, and until when. One timer serves them all.

MAX_PENDING: Final = 4_096
"""Calls that one server may have in flight. More would only wait for the others, in our memory."""

_MAX_PROGRESS_EXTENSION: Final = 10
"""Progress makes the time of a call count anew, but nobody waits longer than this many times its time."""

_MIN_SWEEP_INTERVAL_S: Final = 0.05


class PendingRequest(CallInFlight):
    """One call: its id, and the future that it waits on now. It keeps its own time, which stops for questions."""

    __slots__ = (
        *("_remaining_s", "_pending", "deadline", "connection", "id", "final_deadline", "event_stream"),
        *("progress", "is_sent", "throttle", "future"),
    )

    def __init__(
        self,
        id: str,
        progress: Progress | None,
        peer: ClientPeer | None,
        tickets: "PendingRequests | None",
        principal: str = "",
    ) -> None:
        self.peer, self.principal = peer, principal
        self.timer = self.questions = self.log_limiter = None
        self.id = id
        self.progress = progress
        self.throttle: ProgressThrottle | None = None
        self.deadline = self.final_deadline = self._remaining_s = math.inf
        self.future: asyncio.Future[Any] | None = None
        self.is_sent = False
        """Whether a byte of it may have left: from then on the tool may have run."""
        self.connection: HttpConnection | None = None
        self.event_stream: CallEventStream | None = None
        self._pending = tickets

    def new_future(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Any]:
        self.future = future = loop.create_future()
        return future

    def resolve(self, what: object) -> None:
        if self.future is not None and not self.future.done():
            self.future.set_result(what)

    def fail(self, error: Exception) -> None:
        if self.future is not None and not self.future.done():
            self.future.set_exception(error)

    @property
    def is_settled(self) -> bool:
        return self.future is None or self.future.done()

    def pause(self) -> None:
        self._remaining_s = self.deadline - asyncio.get_running_loop().time()
        self.deadline = math.inf

    def resume(self) -> None:
        self.deadline = asyncio.get_running_loop().time() + self._remaining_s
        if self._pending is not None:
            self._pending.schedule_sweep(self.deadline)


class ProgressThrottle:
    """The progress of one call. Of steps that come faster than anyone can look, the client is told the last."""

    __slots__ = ("_deliver", "_latest", "_limiter", "_timer")

    def __init__(self, tell: Progress) -> None:
        self._deliver = tell
        self._limiter = MessageRateLimiter(PROGRESS_BURST, PROGRESS_RATE_PER_S)
        self._latest: tuple[float, float | None, str | None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def report(self, done: float, total: float | None, words: str | None) -> None:
        if self._timer is None and self._limiter.try_acquire():
            self._deliver(done, total, words)
            return
        self._latest = done, total, words
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(1 / PROGRESS_RATE_PER_S, self.flush)

    def flush(self) -> None:
        """Tell what was held back."""
        held, self._latest = self._latest, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if held is not None:
            self._limiter.try_acquire()
            self._deliver(*held)


class PendingRequests:
    """The calls of one connection that wait. What they wait for comes from a transport, by their ids."""

    def __init__(self, in_flight: CallsInFlight, timeout_s: float = math.inf) -> None:
        self.in_flight = in_flight
        self.timeout_s = timeout_s
        self._requests: dict[str, PendingRequest] = {}
        # Asking for the running loop is a call into the kernel, at every call of a tool.
        self._now = asyncio.get_running_loop().time
        self._ids = count(1)
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._requests)

    def get(self, id: object) -> PendingRequest | None:
        return self._requests.get(id) if isinstance(id, str) else None

    def begin(
        self, progress: Progress | None = None, peer: ClientPeer | None = None, principal: str = ""
    ) -> PendingRequest:
        """Raises `MCPError` when there are too many."""
        if len(self._requests) >= MAX_PENDING:
            raise MCPError(NOT_SENT, f"has {MAX_PENDING:,} calls in flight already. Try again when some have ended")
        # Text, because the SDK's session counts its own requests in numbers.
        ticket = PendingRequest(f"peg-{next(self._ids)}", progress, peer, self, principal)
        self._requests[ticket.id] = ticket
        self.in_flight.add(ticket)
        if self.timeout_s < math.inf:
            now = self._now()
            ticket.deadline, ticket.final_deadline = (
                now + self.timeout_s,
                now + _MAX_PROGRESS_EXTENSION * self.timeout_s,
            )
            if self._timer is None:
                self.schedule_sweep(ticket.deadline)
        return ticket

    def end(self, ticket: PendingRequest) -> Sequence[Question]:
        """As of `CallsInFlight`."""
        if ticket.throttle is not None:
            ticket.throttle.flush()
        self._requests.pop(ticket.id, None)
        return self.in_flight.end(ticket)

    def extend_deadline(self, ticket: PendingRequest) -> None:
        """The server told of progress: its time counts from now."""
        if ticket.deadline < math.inf:
            ticket.deadline = min(asyncio.get_running_loop().time() + self.timeout_s, ticket.final_deadline)

    def report_progress(self, ticket: PendingRequest, done: float, total: float | None, words: str | None) -> None:
        self.extend_deadline(ticket)
        if ticket.progress is not None:
            if ticket.throttle is None:
                ticket.throttle = ProgressThrottle(ticket.progress)
            ticket.throttle.report(done, total, words)

    def fail_all(self, why: Callable[[], Exception]) -> None:
        """Nobody gets an answer any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for ticket in tuple(self._requests.values()):
            ticket.fail(why())

    def schedule_sweep(self, moment: float) -> None:
        """See then whose time is up."""
        if moment < math.inf and (self._timer is None or self._timer.when() > moment):
            if self._timer is not None:
                self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_at(moment, self._fail_expired)

    def _fail_expired(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for ticket in tuple(self._requests.values()):
            if ticket.deadline <= now:
                ticket.fail(TimeoutError())
        later = (ticket.deadline for ticket in self._requests.values() if ticket.deadline > now)
        # New calls have later deadlines than those that wait, so whoever begins meanwhile needs no earlier look.
        self.schedule_sweep(max(min(later, default=math.inf), now + _MIN_SWEEP_INTERVAL_S))


# What a server asks or says of its own accord on a session of the SDK: passed on as plain JSON, past the models.

QUESTION_METHODS: Final = frozenset({ELICITATION, SAMPLING, ROOTS})
NOTIFICATION_METHODS: Final = frozenset({LOG_NOTIFICATION, "notifications/elicitation/complete"})


class QuestionDispatcher(JSONRPCDispatcher[TransportContext]):
    """A dispatcher that puts a server's questions to the client of the call, and leaves all else to the session."""

    def __init__(
        self,
        read: ReadStream[SessionMessage | Exception],
        write: WriteStream[SessionMessage],
        in_flight: CallsInFlight,
    ) -> None:
        super().__init__(read, write)
        self._calls = in_flight

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        async def answer_question(
            context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
        ) -> dict[str, Any]:
            if method not in QUESTION_METHODS:
                return await on_request(context, method, params)
            try:
                return dict(await self._calls.ask(method, params or {}))
            except PeerRequestError as refused:
                raise MCPError(refused.code, refused.message) from None

        def forward_notification(method: str, params: Mapping[str, Any] | None) -> bool:
            # Here and not in a task of its own: what is said before a call's end must be told before its end.
            if method in NOTIFICATION_METHODS:
                if self._calls.allows(method):
                    self._calls.notify(method, params or {})
                return True
            return on_notify_intercept is not None and on_notify_intercept(method, params)

        await super().run(answer_question, on_notify, forward_notification, task_status=task_status)


FULL_SAMPLING: Final = SamplingCapability(tools=SamplingToolsCapability(), context=SamplingContextCapability())


async def unused_callback(context: ClientRequestContext, params: Any = None) -> NoReturn:
    """Stands for a capability in the handshake: some client may have it. The dispatcher answers in its place."""
    raise AssertionError("A question came past the dispatcher.")


# Log messages on a stream that all calls share: told, or let go before anything is made of them.


class _LogNotification(msgspec.Struct):
    jsonrpc: str
    method: str
    params: dict[str, object] | None = None
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode_notification: Final = msgspec.json.Decoder(_LogNotification).decode
_DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def handle_log_message(line: Line, in_flight: CallsInFlight) -> bool:
    """Whether this was a log message that needs nobody's further attention.

    A server may write thousands in one call, and a client is told a few of them: most cost no more than a look at their
    beginning.
    """
    if not isinstance(line, bytes) or len(line) > LARGE_MESSAGE_BYTES or not is_log_message(line):
        return False
    if not in_flight.has_listener() or not in_flight.allows(LOG_NOTIFICATION):
        return True
    try:
        if not line.isascii():
            line.decode()
        note = _decode_notification(line)
    except _DECODE_ERRORS:
        return True
    if note.method == LOG_NOTIFICATION and note.id is msgspec.UNSET and note.jsonrpc == "2.0":
        in_flight.notify(LOG_NOTIFICATION, note.params or {})  # type: ignore[arg-type]  # what JSON is read to
    return True
