"""The gateway as one thing: its board, its running providers, its operator and its caller, and the tasks between."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import anyio

from pegboard.core.catalogue import Starting
from pegboard.core.code import PYTHON_ID
from pegboard.core.policy import Declared, Policy
from pegboard.core.running import awaits_first_sight
from pegboard.ports import Audit, Clock, ConsentStore, Expand, PolicyStore, ProviderFor, TicketStore
from pegboard.ports.queries import QueryStore
from pegboard.ports.waits import WaitStore

from .bell import Listener
from .bells import Bells
from .board import Board
from .builtins import Builtins
from .caller import Caller
from .changes import Changes
from .code.code import Code, Means
from .confirmation import Confirmation
from .databases import Databases
from .filling import Filling, as_written
from .finder import Finder
from .fitting import Fitting
from .following import Following
from .meanings import Meanings
from .memory import keep_small
from .operate import Operator
from .programs import program
from .queries import KeptQueries
from .reading import Reading
from .roster import Roster
from .store_watch import StoreWatch
from .templates import fits
from .ticket_tool import TicketTool
from .tickets import NoTickets, TicketDesk
from .unknown_names import UnknownNames
from .validation import Serial, Validators
from .waits import KeptWaits, Waits
from .walls import Walls

if TYPE_CHECKING:
    from pegboard.ports.opening import Engines


@dataclass(frozen=True)
class Gateway:
    board: Board
    roster: Roster
    operator: Operator
    caller: Caller
    reading: Reading
    following: Following
    finder: Finder
    audit: Audit
    clock: Clock
    tickets: TicketDesk
    provider_for: ProviderFor
    filling: Filling
    fitting: Fitting
    builtins: Builtins
    code: Code
    databases: Databases
    walls: Walls
    bells: Bells
    waits: Waits
    unknown_names: UnknownNames
    meanings: Meanings | None = None
    queries: QueryStore = field(default_factory=KeptQueries)

    async def settled(self, within: float) -> bool:
        """Whether every server has answered or failed once; waits for it no longer than `within` seconds."""
        with anyio.move_on_after(within), self.board.changed.listen() as bell:
            while any(_first_start(word.health) for word in self.board.catalogue.listings.values()):
                await bell.wait()
            return True
        return False


def _first_start(health: object) -> bool:
    """A second attempt tells that the first one failed."""
    return isinstance(health, Starting) and health.attempt <= 1


@asynccontextmanager
async def open_gateway(
    declared: Declared,
    store: PolicyStore,
    audit: Audit,
    provider_for: ProviderFor,
    clock: Clock,
    *,
    tickets: TicketStore | None = None,
    consents: ConsentStore | None = None,
    expand: Expand = as_written,
    prepare: Callable[[Policy], Awaitable[None]] | None = None,
    meanings: Meanings | None = None,
    programs: Means | None = None,
    engines: "Engines | None" = None,
    queries: QueryStore | None = None,
    waits: WaitStore | None = None,
    required_tokens: bool = False,
) -> AsyncIterator[Gateway]:
    """Runs until the block ends, and then until every provider has stopped. What the block raises is not wrapped.

    `prepare` is told the policy before anything starts by it; `programs` is what it takes to run those of models;
    `required_tokens` says that callers had to show tokens before, whatever file and store say now.
    """
    policy = Policy(declared, await store.load())
    policy = replace(policy, closed=required_tokens or policy.requires_tokens)
    if prepare is not None:
        await prepare(policy)
    filling = Filling(expand)
    fitting = Fitting(filling)
    board = Board(policy, fitting=fitting)
    operator = Operator(board, store, clock, audit.note)
    heard, unseen = Listener(), Listener()
    # Should a task of the group be cancelled by what it calls, the block ends with it: never as if it had been done.
    raised: BaseException | None = RuntimeError(
        "A task of the gateway was cancelled from within; its log may say more."
    )
    async with anyio.create_task_group() as tasks:
        roster = Roster(board, provider_for, tasks, heard.ring, clock)
        place = NoTickets() if tickets is None else tickets
        confirmation = Confirmation(board, place, clock, roster.whose, consents, operator.catch_up)
        tasks.start_soon(confirmation.consent_uses.run, name="uses of standing permissions")
        ticket_tool = TicketTool(board, confirmation, audit, clock)
        desk = TicketDesk(board, operator, confirmation, clock)
        check = Serial(Validators()).problems
        builtins = Builtins(board, clock)
        caller = Caller(board, roster, Validators(), check, audit, confirmation, ticket_tool, builtins, filling)
        code = Code(board, caller.call, confirmation, builtins, audit, clock, programs)
        ticket_tool.go_on = code.resumed
        code.follow(policy)
        reading = Reading(board, roster, fits)
        following = Following(board, reading)
        roster.follow(policy)
        tasks.start_soon(_show_words, heard, unseen, board, roster, name="words")
        tasks.start_soon(_record_first_sights, unseen, roster, operator, name="first sights")
        tasks.start_soon(_follow_policy, policy, board, roster, heard, code, name="policy")
        tasks.start_soon(keep_small, board, name="memory")
        tasks.start_soon(Changes(board, operator).run, name="changes")
        unknown = UnknownNames(board, clock)
        tasks.start_soon(unknown.run, name="unknown names")
        tasks.start_soon(StoreWatch(store, operator, board, clock, heard.ring).run, name="store")
        tasks.start_soon(following.run, name="followed resources")
        databases = Databases(board, builtins, engines, clock, meanings)
        tasks.start_soon(databases.run, name="databases")
        bells = Bells(board, confirmation.decided, audit)
        tasks.start_soon(bells.run, name="bells")
        since = Waits(board, KeptWaits() if waits is None else waits, clock)
        tasks.start_soon(since.run, name="waits")
        finder = Finder(board, meanings)
        if meanings is not None:
            tasks.start_soon(meanings.run, board.changed, finder.readable, name="meanings")
        try:
            gateway = Gateway(
                *(board, roster, operator, caller, reading, following, finder),
                *(audit, clock, desk, provider_for, filling, fitting),
                builtins=builtins,
                code=code,
                databases=databases,
                walls=Walls(board),
                bells=bells,
                waits=since,
                unknown_names=unknown,
                meanings=meanings,
                queries=KeptQueries() if queries is None else queries,
            )
            ticket_tool.off_board = {PYTHON_ID: partial(program, gateway)}
            yield gateway
            raised = None
        except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001  raised again outside the group
            raised = error
        finally:
            tasks.cancel_scope.cancel()
    if raised is not None:
        raise raised


async def _show_words(heard: Listener, unseen: Listener, board: Board, roster: Roster) -> None:
    """Never waits for the store: a server's health is on the board at once, whatever else is slow."""
    while True:
        await heard.wait()
        for source in roster.sources:
            word = roster.word(source)
            if word is None:
                continue
            # Only whether it is one: what there is to see takes seconds to look through, and is looked at elsewhere.
            if not awaits_first_sight(word, board.policy):
                board.hang(word)
            else:
                unseen.ring()


async def _record_first_sights(unseen: Listener, roster: Roster, operator: Operator) -> None:
    while True:
        await unseen.wait()
        for source in roster.sources:
            await operator.see(partial(roster.word, source))


async def _follow_policy(followed: Policy, board: Board, roster: Roster, heard: Listener, code: Code) -> None:
    with board.changed.listen() as bell:
        while True:
            if board.policy is not followed:
                followed = board.policy
                roster.follow(followed)
                code.follow(followed)
                # Another trust, or a server removed and added again, may be a first sight of what runs already.
                heard.ring()
            await bell.wait()
