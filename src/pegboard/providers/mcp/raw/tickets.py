"""Requests that wait for their answers: by id, and until when. One timer serves them all."""

import asyncio
import math
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from mcp.shared.exceptions import MCPError

from pegboard.ports import Peer, Progress
from pegboard.providers.mcp.in_flight import Flight, InFlight, Question
from pegboard.providers.mcp.pace import STEPS_A_SECOND, STEPS_AT_ONCE, Pace
from pegboard.providers.mcp.trouble import UNSENT

if TYPE_CHECKING:
    from .exchange import Exchange
    from .listening import Listening

MOST: Final = 4_096
"""Calls that one server may have in flight. More would only wait for the others, in our memory."""

_STRETCH: Final = 10
"""Progress makes the time of a call count anew, but nobody waits longer than this many times its time."""

_TICK: Final = 0.05


class Ticket(Flight):
    """One call: its id, and the future that it waits on now. It keeps its own time, which stops for questions."""

    __slots__ = (
        *("_left", "_tickets", "deadline", "exchange", "id", "last", "listening"),
        *("progress", "sent", "steps", "waiting"),
    )

    def __init__(
        self, id: str, progress: Progress | None, peer: Peer | None, tickets: "Tickets | None", principal: str = ""
    ) -> None:
        self.peer, self.principal = peer, principal
        self.timer = self.questions = self.pace = None
        self.id = id
        self.progress = progress
        self.steps: Steps | None = None
        self.deadline = self.last = self._left = math.inf
        self.waiting: asyncio.Future[Any] | None = None
        self.sent = False
        """Whether a byte of it may have left: from then on the tool may have run."""
        self.exchange: Exchange | None = None
        self.listening: Listening | None = None
        self._tickets = tickets

    def wait(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Any]:
        self.waiting = future = loop.create_future()
        return future

    def settle(self, what: object) -> None:
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(what)

    def fail(self, error: Exception) -> None:
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_exception(error)

    @property
    def settled(self) -> bool:
        return self.waiting is None or self.waiting.done()

    def hold(self) -> None:
        self._left = self.deadline - asyncio.get_running_loop().time()
        self.deadline = math.inf

    def run_on(self) -> None:
        self.deadline = asyncio.get_running_loop().time() + self._left
        if self._tickets is not None:
            self._tickets.look_at(self.deadline)


class Steps:
    """The progress of one call. Of steps that come faster than anyone can look, the client is told the last."""

    __slots__ = ("_held", "_pace", "_tell", "_timer")

    def __init__(self, tell: Progress) -> None:
        self._tell = tell
        self._pace = Pace(STEPS_AT_ONCE, STEPS_A_SECOND)
        self._held: tuple[float, float | None, str | None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def take(self, done: float, total: float | None, words: str | None) -> None:
        if self._timer is None and self._pace.lets_pass():
            self._tell(done, total, words)
            return
        self._held = done, total, words
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(1 / STEPS_A_SECOND, self.catch_up)

    def catch_up(self) -> None:
        """Tell what was held back."""
        held, self._held = self._held, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if held is not None:
            self._pace.lets_pass()
            self._tell(*held)


class Tickets:
    """The calls of one connection that wait. What they wait for comes from a transport, by their ids."""

    def __init__(self, in_flight: InFlight, within: float = math.inf) -> None:
        self.in_flight = in_flight
        self.within = within
        self._tickets: dict[str, Ticket] = {}
        # Asking for the running loop is a call into the kernel, at every call of a tool.
        self._now = asyncio.get_running_loop().time
        self._numbers = count(1)
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._tickets)

    def get(self, id: object) -> Ticket | None:
        return self._tickets.get(id) if isinstance(id, str) else None

    def begin(self, progress: Progress | None = None, peer: Peer | None = None, principal: str = "") -> Ticket:
        """Raises `MCPError` when there are too many."""
        if len(self._tickets) >= MOST:
            raise MCPError(UNSENT, f"has {MOST:,} calls in flight already. Try again when some have ended")
        # Text, because the SDK's session counts its own requests in numbers.
        ticket = Ticket(f"peg-{next(self._numbers)}", progress, peer, self, principal)
        self._tickets[ticket.id] = ticket
        self.in_flight.enter(ticket)
        if self.within < math.inf:
            now = self._now()
            ticket.deadline, ticket.last = now + self.within, now + _STRETCH * self.within
            if self._timer is None:
                self.look_at(ticket.deadline)
        return ticket

    def end(self, ticket: Ticket) -> Sequence[Question]:
        """As of `InFlight`."""
        if ticket.steps is not None:
            ticket.steps.catch_up()
        self._tickets.pop(ticket.id, None)
        return self.in_flight.end(ticket)

    def advance(self, ticket: Ticket) -> None:
        """The server told of progress: its time counts from now."""
        if ticket.deadline < math.inf:
            ticket.deadline = min(asyncio.get_running_loop().time() + self.within, ticket.last)

    def step(self, ticket: Ticket, done: float, total: float | None, words: str | None) -> None:
        self.advance(ticket)
        if ticket.progress is not None:
            if ticket.steps is None:
                ticket.steps = Steps(ticket.progress)
            ticket.steps.take(done, total, words)

    def break_off(self, why: Callable[[], Exception]) -> None:
        """Nobody gets an answer any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for ticket in tuple(self._tickets.values()):
            ticket.fail(why())

    def look_at(self, moment: float) -> None:
        """See then whose time is up."""
        if moment < math.inf and (self._timer is None or self._timer.when() > moment):
            if self._timer is not None:
                self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_at(moment, self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for ticket in tuple(self._tickets.values()):
            if ticket.deadline <= now:
                ticket.fail(TimeoutError())
        later = (ticket.deadline for ticket in self._tickets.values() if ticket.deadline > now)
        # New calls have later deadlines than those that wait, so whoever begins meanwhile needs no earlier look.
        self.look_at(max(min(later, default=math.inf), now + _TICK))
