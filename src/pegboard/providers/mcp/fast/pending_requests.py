"""Requests that wait for an answer, by id and deadline, with one timer for all."""

import asyncio
import math
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from mcp.shared.exceptions import MCPError

from pegboard.ports.providers import ClientPeer, Progress
from pegboard.providers.mcp.errors import NOT_SENT
from pegboard.providers.mcp.in_flight import CallInFlight, CallsInFlight, Question
from pegboard.providers.mcp.rate import PROGRESS_BURST, PROGRESS_RATE_PER_S, MessageRateLimiter

if TYPE_CHECKING:
    from pegboard.providers.mcp.fast.connection import HttpConnection
    from pegboard.providers.mcp.fast.event_stream import CallEventStream


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
        """As of `InFlight`."""
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
