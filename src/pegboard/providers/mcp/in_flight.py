"""The calls in flight on one connection, and whose client the words of its server are for.

What a server asks or says while it works belongs to a call. Over streamable HTTP it comes on the stream of that call;
over stdio and SSE nothing tells which call it is. Then it goes to a client only if every call in flight is of that
client: whom to ask is never guessed. A call that was given up may still be at work, and what its server asks may be for
that call: until it is answered, or for as long as a person would have had, no other principal is asked in its place.
"""

import logging
from collections.abc import Hashable, Mapping, Sequence
from typing import Final, Protocol

import anyio
from mcp_types import INVALID_REQUEST, METHOD_NOT_FOUND, REQUEST_TIMEOUT

from pegboard.core.question import unaskable
from pegboard.core.tool import Json
from pegboard.ports import CannotAsk, Peer

from .pace import MESSAGES_A_SECOND, MESSAGES_AT_ONCE, Pace

log: Final = logging.getLogger(__name__)

MESSAGE: Final = "notifications/message"
PATIENCE: Final = 600.0
"""Seconds a client has for one question: it is a person who reads it."""

MOST_QUESTIONS: Final = 100
"""Open at once on one connection. A server that asks more has lost its way."""


MOST_GIVEN_UP: Final = 1_000


class Timer(Protocol):
    """The time that a call has. It stands still while the client is being asked."""

    def hold(self) -> None: ...

    def run_on(self) -> None: ...


class Deadline:
    """A timer for whoever works within its scope: `with deadline.scope: …`."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + seconds)

    def hold(self) -> None:
        self._left = self.scope.deadline - anyio.current_time()
        self.scope.deadline = float("inf")

    def run_on(self) -> None:
        self.scope.deadline = anyio.current_time() + self._left


class Flight:
    """One call under way: who made it, and which questions are open that may be its own."""

    __slots__ = ("pace", "peer", "principal", "questions", "timer")

    def __init__(self, peer: Peer | None, timer: Timer | None, principal: str = "") -> None:
        self.peer = peer
        self.principal = principal
        self.timer = timer
        self.questions: set[Question] | None = None
        self.pace: Pace | None = None
        """Of the log messages on the stream of this call."""

    def hold(self) -> None:
        """Its time stands still."""
        if self.timer is not None:
            self.timer.hold()

    def run_on(self) -> None:
        if self.timer is not None:
            self.timer.run_on()


class Question:
    """Open until it is answered, until its time is up, or until every call that it may belong to is over."""

    def __init__(self, flights: set[Flight], asked_in: Flight, patience: float) -> None:
        self.flights = flights
        self.heard_in = asked_in
        """The call on whose way its client hears of this question: what is said after the end of a call is lost."""
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + patience)
        self.closed = anyio.Event()
        """Whoever was asked knows that no answer is wanted any more, or has given it."""


class InFlight:
    """`whose` calls these are, as a sentence begins."""

    def __init__(self, whose: str = "A server", patience: float = PATIENCE, most: int = MOST_QUESTIONS) -> None:
        self._whose = whose
        self._patience = patience
        self._most = most
        self._pace = Pace(MESSAGES_AT_ONCE, MESSAGES_A_SECOND)
        self._dropped = False
        self._flights: dict[Flight, None] = {}
        self.given_up: dict[Hashable, tuple[str, float]] = {}
        """Whose calls may still be at work although nobody waits for them, and until when that is reckoned with."""
        self._open = 0

    def begin(self, peer: Peer | None, timer: Timer | None = None, principal: str = "") -> Flight:
        """Of every call, with or without a client that can be asked: it is whom a question may be from."""
        flight = Flight(peer, timer, principal)
        self.enter(flight)
        return flight

    def enter(self, flight: Flight) -> None:
        self._flights[flight] = None

    @property
    def is_busy(self) -> bool:
        return bool(self._flights)

    def give_up(self, flight: Flight, key: Hashable) -> None:
        """Nobody waits for this call any more, but its server may go on with it."""
        if len(self.given_up) >= MOST_GIVEN_UP:
            del self.given_up[next(iter(self.given_up))]
        self.given_up[key] = flight.principal, anyio.current_time() + self._patience

    def answered(self, key: Hashable) -> bool:
        """Whether this is the late answer to a call that was given up, which then is over."""
        return self.given_up.pop(key, None) is not None

    def end(self, flight: Flight) -> Sequence[Question]:
        """The questions that belonged to this call alone and are over with it. Await that they are closed before the
        call's outcome is told: what is said to a client after the end of its call is heard by nobody."""
        self._flights.pop(flight, None)
        if not flight.questions:
            return ()
        for question in flight.questions:
            question.flights.discard(flight)
            if question.heard_in is flight and question.flights:
                question.heard_in = next(iter(question.flights))
        over = tuple(question for question in flight.questions if not question.flights)
        for question in over:
            question.scope.cancel()
        flight.questions.clear()
        return over

    async def ask(self, method: str, params: Mapping[str, Json], flight: Flight | None = None) -> Mapping[str, Json]:
        """The client's answer to what the server asks on the stream of that call, or on one that does not tell.

        Raises `CannotAsk`.
        """
        flights = self._meant(flight)
        peer = flights[-1].peer
        if peer is None:
            raise CannotAsk(METHOD_NOT_FOUND, "Whoever made this call cannot be asked anything.")
        if (reason := unaskable(peer.can, method, params)) is not None:
            raise CannotAsk(reason.code, reason.why)
        if self._open >= self._most:
            raise CannotAsk(INVALID_REQUEST, f"{self._most} questions are open already. Wait for their answers.")
        question = Question(set(flights), flights[-1], self._patience)
        self._begin(question)
        try:
            with question.scope:
                return await peer.ask(method, params, lambda: question.heard_in.peer or peer)
        finally:
            self._end(question)
        if not question.flights:
            raise CannotAsk(INVALID_REQUEST, "The call that this was asked for is over.")
        raise CannotAsk(REQUEST_TIMEOUT, f"The client did not answer within {self._patience:g} seconds.")

    def hears(self) -> bool:
        """Whether there is anyone at all to tell something to."""
        return any(flight.peer is not None for flight in self._flights)

    def has_time_for(self, method: str, flight: Flight | None = None) -> bool:
        """Whether nobody is flooded by one more of these; asked before anything is made of it."""
        if method != MESSAGE:
            return True
        if flight is None:
            pace = self._pace
        else:
            pace = flight.pace = flight.pace or Pace(MESSAGES_AT_ONCE, MESSAGES_A_SECOND)
        if pace.lets_pass():
            return True
        if not self._dropped:
            self._dropped = True
            log.warning(
                "%s sends more log messages than the %g a second that a client is told. Further ones are dropped.",
                self._whose,
                MESSAGES_A_SECOND,
            )
        return False

    def note(self, method: str, params: Mapping[str, Json], flight: Flight | None = None) -> None:
        """Tell the client, if it can be told which one that is."""
        try:
            peer = self._meant(flight)[-1].peer
        except CannotAsk:
            return
        if peer is not None:
            peer.note(method, params)

    def _meant(self, flight: Flight | None) -> list[Flight]:
        """The calls, all of one client, that the server's words may belong to; the newest last."""
        if flight is not None:
            if flight not in self._flights:
                raise CannotAsk(INVALID_REQUEST, "The call that this was asked for is over.")
            return [flight]
        flights = list(self._flights)
        if not flights:
            raise CannotAsk(INVALID_REQUEST, "No call is in flight, and a client is asked only while its call runs.")
        if len({None if flight.peer is None else (flight.peer.who,) for flight in flights}) > 1:
            raise CannotAsk(
                INVALID_REQUEST,
                "Calls of several clients are in flight here, and nothing tells which of them this is for.",
            )
        if self.given_up and self._others_given_up(flights[-1].principal):
            raise CannotAsk(
                INVALID_REQUEST,
                "Somebody else's call was given up here and is not answered yet, and this may be for that one.",
            )
        return flights

    def _others_given_up(self, principal: str) -> bool:
        now = anyio.current_time()
        self.given_up = {key: known for key, known in self.given_up.items() if known[1] > now}
        return any(whose != principal for whose, _ in self.given_up.values())

    def _begin(self, question: Question) -> None:
        self._open += 1
        for flight in question.flights:
            if not flight.questions:
                flight.hold()
            if flight.questions is None:
                flight.questions = set()
            flight.questions.add(question)

    def _end(self, question: Question) -> None:
        self._open -= 1
        question.closed.set()
        for flight in question.flights:
            if flight.questions:
                flight.questions.discard(question)
            if not flight.questions:
                flight.run_on()
