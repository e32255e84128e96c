"""Tells subscribers which topics changed, without data."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

import anyio

from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState
from pegboard.gateway.signals import ChangeSignal, Subscription
from pegboard.ports.audit import Audit, AuditQuery, AuditRow, StoreUnavailable

log = logging.getLogger(__name__)

BURST_PAUSE_S: Final = 0.25
"""Seconds. Changes come in bursts, and one stroke about them is enough."""
ACTIVITY_WAIT_S: Final = 4.0
"""Seconds that a question for what happened waits for an answer."""
RETRY_INTERVAL_S: Final = 2.0
"""Seconds between two questions to a store that does not answer."""


class Topic(StrEnum):
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


_TOOL_TOPICS: Final = (Topic.BOARD, Topic.SERVERS, Topic.TOOLSETS, Topic.APPROVALS)


class TopicSubscription:
    """What one listener has not been told of yet. Strokes for one noun are one, until it is taken."""

    def __init__(self) -> None:
        self._subscription = Subscription()
        self._pending: set[Topic] = set()
        self.is_over = False

    def notify(self, nouns: Iterable[Topic]) -> None:
        self._pending.update(nouns)
        self._subscription.notify()

    def end(self) -> None:
        self.is_over = True
        self._subscription.notify()

    async def wait(self) -> tuple[Topic, ...]:
        """At least one, in one order; none when there will be no more."""
        while not self._pending and not self.is_over:
            await self._subscription.wait()
        rung, self._pending = self._pending, set()
        return tuple(noun for noun in Topic if noun in rung)


class ChangeNotifier:
    def __init__(self, board: BoardState, tickets: ChangeSignal, audit: Audit) -> None:
        self._board = board
        self._tickets = tickets
        self._audit = audit
        self._subscriptions: set[TopicSubscription] = set()
        self._subscribed_event = anyio.Event()
        """Set while somebody listens: the record of what happened is only followed for them."""

    def notify(self, *nouns: Topic) -> None:
        """For what changes beside the board. Harmless when nobody listens."""
        for hearing in tuple(self._subscriptions):
            hearing.notify(nouns)

    @property
    def subscriber_count(self) -> int:
        return len(self._subscriptions)

    @contextmanager
    def subscribe(self) -> Iterator[TopicSubscription]:
        hearing = TopicSubscription()
        if self._board.is_closed:
            hearing.end()
        self._subscriptions.add(hearing)
        self._subscribed_event.set()
        try:
            yield hearing
        finally:
            self._subscriptions.discard(hearing)
            if not self._subscriptions:
                self._subscribed_event = anyio.Event()

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_board, name="bells of the board")
            tasks.start_soon(self._watch_tickets, name="bells of tickets")
            tasks.start_soon(self._watch_activity, name="bells of activity")

    async def _watch_board(self) -> None:
        """What other processes decide comes here too: the board takes it over from the store."""
        board = self._board
        catalogue, policy, notices = board.catalogue, board.policy, board.notices
        with board.changes.subscribe() as bell:
            while True:
                nouns: list[Topic] = []
                if board.catalogue is not catalogue:
                    nouns += _TOOL_TOPICS
                if board.policy is not policy:
                    nouns += (Topic.POLICY, *_TOOL_TOPICS, *_changed_settings_topics(policy, board.policy))
                if board.notices is not notices:
                    nouns += (Topic.BOARD, Topic.SERVERS)
                catalogue, policy, notices = board.catalogue, board.policy, board.notices
                if nouns:
                    self.notify(*nouns)
                if board.is_closed:
                    for hearing in tuple(self._subscriptions):
                        hearing.end()
                await bell.wait()

    async def _watch_tickets(self) -> None:
        with self._tickets.subscribe() as bell:
            while True:
                await bell.wait()
                self.notify(Topic.TICKETS)

    async def _watch_activity(self) -> None:
        """Asked of the store, so that the calls of other processes ring as well, and with them their tickets."""
        while True:
            await self._subscribed_event.wait()
            try:
                after = await self._audit.latest_number()
                while self._subscriptions:
                    told = await self._audit.page_after(AuditQuery(limit=1000), after, ACTIVITY_WAIT_S)
                    after = told.after
                    if told.rows:
                        self.notify(Topic.ACTIVITY, *((Topic.TICKETS,) if any(map(_is_of_ticket, told.rows)) else ()))
                    await anyio.sleep(BURST_PAUSE_S)
            except StoreUnavailable as error:
                log.info("What happens is not followed: %s", error)
                await anyio.sleep(RETRY_INTERVAL_S)


def _changed_settings_topics(before: Policy, after: Policy) -> tuple[Topic, ...]:
    """Which of settings and tokens show something that differs."""
    if (
        before.declared is not after.declared
        or before.decisions.grants != after.decisions.grants
        or before.decisions.tokens != after.decisions.tokens
    ):
        return Topic.SETTINGS, Topic.TOKENS
    return (Topic.SETTINGS,) if before.decisions.trust != after.decisions.trust else ()


def _is_of_ticket(row: AuditRow) -> bool:
    return row.kind == "ticket" or row.outcome.startswith("confirmation_")
