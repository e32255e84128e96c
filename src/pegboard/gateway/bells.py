"""Which nouns of the gateway changed, told to whoever shows them: no data, so whoever hears a stroke asks again."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

import anyio

from pegboard.core.policy import Policy
from pegboard.ports import Audit, AuditQuery, AuditRow, StoreAway

from .bell import Bell, Listener
from .board import Board

log = logging.getLogger(__name__)

PAUSE: Final = 0.25
"""Seconds. Changes come in bursts, and one stroke about them is enough."""
FOLLOWED: Final = 4.0
"""Seconds that a question for what happened waits for an answer."""
RETRY: Final = 2.0
"""Seconds between two questions to a store that does not answer."""


class Noun(StrEnum):
    BOARD = "board"
    SERVERS = "servers"
    TOOLSETS = "toolsets"
    APPROVALS = "approvals"
    TICKETS = "tickets"
    ACTIVITY = "activity"
    POLICY = "policy"
    SETTINGS = "settings"
    TOKENS = "tokens"
    SEARCH = "search"


_OF_TOOLS: Final = (Noun.BOARD, Noun.SERVERS, Noun.TOOLSETS, Noun.APPROVALS)


class Hearing:
    """What one listener has not been told of yet. Strokes for one noun are one, until it is taken."""

    def __init__(self) -> None:
        self._listener = Listener()
        self._rung: set[Noun] = set()
        self.is_over = False

    def ring(self, nouns: Iterable[Noun]) -> None:
        self._rung.update(nouns)
        self._listener.ring()

    def end(self) -> None:
        self.is_over = True
        self._listener.ring()

    async def wait(self) -> tuple[Noun, ...]:
        """At least one, in one order; none when there will be no more."""
        while not self._rung and not self.is_over:
            await self._listener.wait()
        rung, self._rung = self._rung, set()
        return tuple(noun for noun in Noun if noun in rung)


class Bells:
    def __init__(self, board: Board, tickets: Bell, audit: Audit) -> None:
        self._board = board
        self._tickets = tickets
        self._audit = audit
        self._hearings: set[Hearing] = set()
        self._heard = anyio.Event()
        """Set while somebody listens: the record of what happened is only followed for them."""

    def ring(self, *nouns: Noun) -> None:
        """For what changes beside the board. Harmless when nobody listens."""
        for hearing in tuple(self._hearings):
            hearing.ring(nouns)

    @property
    def listeners(self) -> int:
        return len(self._hearings)

    @contextmanager
    def listen(self) -> Iterator[Hearing]:
        hearing = Hearing()
        if self._board.is_closed:
            hearing.end()
        self._hearings.add(hearing)
        self._heard.set()
        try:
            yield hearing
        finally:
            self._hearings.discard(hearing)
            if not self._hearings:
                self._heard = anyio.Event()

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._hear_board, name="bells of the board")
            tasks.start_soon(self._hear_tickets, name="bells of tickets")
            tasks.start_soon(self._hear_activity, name="bells of activity")

    async def _hear_board(self) -> None:
        """What other processes decide comes here too: the board takes it over from the store."""
        board = self._board
        catalogue, policy, notices = board.catalogue, board.policy, board.notices
        with board.changed.listen() as bell:
            while True:
                nouns: list[Noun] = []
                if board.catalogue is not catalogue:
                    nouns += _OF_TOOLS
                if board.policy is not policy:
                    nouns += (Noun.POLICY, *_OF_TOOLS, *_settled(policy, board.policy))
                if board.notices is not notices:
                    nouns += (Noun.BOARD, Noun.SERVERS)
                catalogue, policy, notices = board.catalogue, board.policy, board.notices
                if nouns:
                    self.ring(*nouns)
                if board.is_closed:
                    for hearing in tuple(self._hearings):
                        hearing.end()
                await bell.wait()

    async def _hear_tickets(self) -> None:
        with self._tickets.listen() as bell:
            while True:
                await bell.wait()
                self.ring(Noun.TICKETS)

    async def _hear_activity(self) -> None:
        """Asked of the store, so that the calls of other processes ring as well, and with them their tickets."""
        while True:
            await self._heard.wait()
            try:
                after = await self._audit.latest()
                while self._hearings:
                    told = await self._audit.onward(AuditQuery(limit=1000), after, FOLLOWED)
                    after = told.after
                    if told.rows:
                        self.ring(Noun.ACTIVITY, *((Noun.TICKETS,) if any(map(_is_of_ticket, told.rows)) else ()))
                    await anyio.sleep(PAUSE)
            except StoreAway as error:
                log.info("What happens is not followed: %s", error)
                await anyio.sleep(RETRY)


def _settled(before: Policy, after: Policy) -> tuple[Noun, ...]:
    """Which of settings and tokens show something that differs."""
    if (
        before.declared is not after.declared
        or before.decided.grants != after.decided.grants
        or before.decided.tokens != after.decided.tokens
    ):
        return Noun.SETTINGS, Noun.TOKENS
    return (Noun.SETTINGS,) if before.decided.trust != after.decided.trust else ()


def _is_of_ticket(row: AuditRow) -> bool:
    return row.kind == "ticket" or row.ended.startswith("confirmation_")
