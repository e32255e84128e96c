"""The gateway as one thing: its board, its running providers, its operator and its caller, and the tasks between."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio

from pegboard.core.catalogue import Starting
from pegboard.core.policy import Declared, Policy, clashes
from pegboard.ports import Audit, Clock, PolicyStore, ProviderFor

from .bell import Listener
from .board import Board, Notice
from .caller import Caller
from .operate import Operator
from .roster import Roster
from .validation import Validators

log = logging.getLogger(__name__)

STORE: Final = "store"
_RETRY: Final = 2.0


@dataclass(frozen=True)
class Gateway:
    board: Board
    roster: Roster
    operator: Operator
    caller: Caller
    audit: Audit
    clock: Clock

    async def settled(self, within: float) -> bool:
        """Whether every server has answered or failed once; waits for it no longer than `within` seconds."""
        with anyio.move_on_after(within), self.board.changed.listen() as bell:
            while any(isinstance(word.health, Starting) for word in self.board.catalogue.listings.values()):
                await bell.wait()
            return True
        return False


@asynccontextmanager
async def open_gateway(
    declared: Declared, store: PolicyStore, audit: Audit, provider_for: ProviderFor, clock: Clock
) -> AsyncIterator[Gateway]:
    policy = Policy(declared, await store.load())
    board = Board(policy)
    for clash in clashes(declared, policy.decided):
        board.notice(Notice(f"clash {clash.id}", str(clash), clock()))
    heard = Listener()
    operator = Operator(board, store, clock)
    async with anyio.create_task_group() as tasks:
        roster = Roster(board, provider_for, tasks, heard.ring)
        caller = Caller(board, roster, Validators().problems, audit)
        roster.follow(policy)
        tasks.start_soon(_hear_providers, heard, roster, operator, name="providers")
        tasks.start_soon(_follow_policy, board, roster, name="policy")
        tasks.start_soon(_hear_store, store, operator, board, clock, name="store")
        try:
            yield Gateway(board, roster, operator, caller, audit, clock)
        finally:
            tasks.cancel_scope.cancel()


async def _hear_providers(heard: Listener, roster: Roster, operator: Operator) -> None:
    while True:
        await heard.wait()
        for listing in roster.listings():
            await operator.see(listing)


async def _follow_policy(board: Board, roster: Roster) -> None:
    with board.changed.listen() as bell:
        followed = board.policy
        while True:
            await bell.wait()
            if board.policy is not followed:
                followed = board.policy
                roster.follow(followed)


async def _hear_store(store: PolicyStore, operator: Operator, board: Board, clock: Clock) -> None:
    """A store that is away is told on the board, and asked again; what was decided before still holds."""
    while True:
        try:
            await operator.reload()
            board.forget_notice(STORE)
            async for _ in store.changes():
                await operator.reload()
        except Exception as error:  # supervised: the gateway outlives its store
            log.exception("The store does not answer")
            board.notice(Notice(STORE, f"The store does not answer: {error}", clock()))
        await anyio.sleep(_RETRY)
