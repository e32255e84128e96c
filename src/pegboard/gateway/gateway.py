"""Assembles a gateway: board, providers, operator, callers, and the background tasks between them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import anyio

from pegboard.core.commands.first_sight import awaits_first_sight
from pegboard.core.model.settings import PYTHON_ID
from pegboard.core.policy.policy import DeclaredSettings, Policy
from pegboard.gateway.approvals import InMemoryPendingSinceStore, ListingChangeWatch, PendingSince
from pegboard.gateway.argument_values import ArgumentFiller, ArgumentValueChecker, keep_references
from pegboard.gateway.board import BoardState, DashboardCache, keep_running
from pegboard.gateway.builtins import BuiltinRegistry
from pegboard.gateway.caller import CallExecutor
from pegboard.gateway.change_feed import ChangeNotifier
from pegboard.gateway.confirmation import Confirmation
from pegboard.gateway.databases.lifecycle import DatabaseTools
from pegboard.gateway.embeddings import EmbeddingIndex
from pegboard.gateway.maintenance import StoreWatch, UnknownNames, trim_memory
from pegboard.gateway.operator import Operator
from pegboard.gateway.programs.code_mode import CodeModeService, ProgramBackend
from pegboard.gateway.providers import ProviderRegistry
from pegboard.gateway.resources import ClientSubscriptions, ResourceReader, fits_template
from pegboard.gateway.search import InMemoryQueryStore, ToolSearch
from pegboard.gateway.signals import Subscription
from pegboard.gateway.ticket_tool import TicketTool
from pegboard.gateway.tickets import NoTicketStore, TicketDesk
from pegboard.gateway.tool_calls import ToolCalls
from pegboard.gateway.validation import LockedValidators, Validators
from pegboard.ports.audit import Audit
from pegboard.ports.providers import Clock, Expand, ProviderFor
from pegboard.ports.stores import ConsentStore, PendingSinceStore, PolicyStore, QueryStore, TicketStore

if TYPE_CHECKING:
    from pegboard.gateway.prompts import PromptBuilder
    from pegboard.ports.databases import EngineFactory


@dataclass(frozen=True)
class Gateway:
    """All parts of a running gateway, for the composition root, which hands each surface those that it uses."""

    board: BoardState
    providers: ProviderRegistry
    operator: Operator
    caller: CallExecutor
    calls: ToolCalls
    resources: ResourceReader
    subscriptions: ClientSubscriptions
    search: ToolSearch
    audit: Audit
    clock: Clock
    tickets: TicketDesk
    provider_for: ProviderFor
    value_checker: ArgumentValueChecker
    builtins: BuiltinRegistry
    code_mode: CodeModeService
    databases: DatabaseTools
    dashboards: DashboardCache
    changes: ChangeNotifier
    pending_since: PendingSince
    unknown_names: UnknownNames
    queries: QueryStore = field(default_factory=InMemoryQueryStore)

    @cached_property
    def prompts(self) -> "PromptBuilder":
        """Loaded with the first prompt."""
        from pegboard.gateway.prompts import PromptBuilder

        return PromptBuilder(self.board, self.calls, self.search, self.code_mode)


@asynccontextmanager
async def open_gateway(
    declared: DeclaredSettings,
    store: PolicyStore,
    audit: Audit,
    provider_for: ProviderFor,
    clock: Clock,
    *,
    tickets: TicketStore | None = None,
    consents: ConsentStore | None = None,
    expand: Expand = keep_references,
    prepare: Callable[[Policy], Awaitable[None]] | None = None,
    meanings: EmbeddingIndex | None = None,
    programs: ProgramBackend | None = None,
    engines: "EngineFactory | None" = None,
    queries: QueryStore | None = None,
    waits: PendingSinceStore | None = None,
    required_tokens: bool = False,
) -> AsyncIterator[Gateway]:
    """Runs until the block ends, and then until every provider has stopped. What the block raises is not wrapped.

    `prepare` is told the policy before anything starts by it; `programs` is what it takes to run those of models;
    `required_tokens` says that callers had to show tokens before, whatever file and store say now.
    """
    policy = Policy(declared, await store.load())
    policy = replace(policy, tokens_stay_required=required_tokens or policy.requires_tokens)
    if prepare is not None:
        await prepare(policy)
    filling = ArgumentFiller(expand)
    fitting = ArgumentValueChecker(filling)
    board = BoardState(policy, check_values=fitting)
    operator = Operator(board, store, clock, audit.record_decision)
    heard, unseen = Subscription(), Subscription()
    # Should a task of the group be cancelled by what it calls, the block ends with it: never as if it had been done.
    raised: BaseException | None = RuntimeError(
        "A task of the gateway was cancelled from within; its log may say more."
    )
    async with anyio.create_task_group() as tasks:
        roster = ProviderRegistry(board, provider_for, tasks, heard.notify, clock)
        place = NoTicketStore() if tickets is None else tickets
        confirmation = Confirmation(board, place, clock, roster.credential_identity, consents, operator.catch_up)
        tasks.start_soon(confirmation.consent_usage.run, name="uses of standing permissions")
        ticket_tool = TicketTool(board, confirmation, audit, clock)
        desk = TicketDesk(board, operator, confirmation, clock)
        check = LockedValidators(Validators()).problems
        builtins = BuiltinRegistry(board, clock)
        caller = CallExecutor(board, roster, Validators(), check, audit, confirmation, ticket_tool, builtins, filling)
        code = CodeModeService(board, caller.call, confirmation, builtins, audit, clock, programs)
        calls = ToolCalls(board, caller, code, audit, clock)
        ticket_tool.resume_program = code.resume
        ticket_tool.off_board_tools = {PYTHON_ID: calls.run_program}
        reading = ResourceReader(board, roster, fits_template)
        following = ClientSubscriptions(board, reading)

        def follow(policy: Policy) -> None:
            roster.reconcile(policy)
            code.apply_policy(policy)
            # Another trust, or a server removed and added again, may be a first sight of what runs already.
            heard.notify()

        code.apply_policy(policy)
        roster.reconcile(policy)
        board.on_policy_change = follow
        tasks.start_soon(_publish_listings, heard, unseen, board, roster, name="words")
        tasks.start_soon(_record_first_sights, unseen, roster, operator, name="first sights")
        tasks.start_soon(trim_memory, board, name="memory")
        tasks.start_soon(ListingChangeWatch(board, operator).run, name="changes")
        unknown = UnknownNames(board, clock)
        tasks.start_soon(unknown.run, name="unknown names")
        tasks.start_soon(StoreWatch(store, operator, board, clock, heard.notify).run, name="store")
        tasks.start_soon(following.run, name="followed resources")
        databases = DatabaseTools(board, builtins, engines, clock, meanings)
        tasks.start_soon(databases.run, name="databases")
        bells = ChangeNotifier(board, confirmation.ticket_changes, audit)
        tasks.start_soon(bells.run, name="bells")
        since = PendingSince(board, InMemoryPendingSinceStore() if waits is None else waits, clock)
        tasks.start_soon(since.run, name="waits")
        finder = ToolSearch(board, meanings)
        if meanings is not None:
            tasks.start_soon(meanings.run, board.changes, finder.embeddable, name="meanings")
        try:
            yield Gateway(
                *(board, roster, operator, caller, calls, reading, following, finder),
                *(audit, clock, desk, provider_for, fitting),
                builtins=builtins,
                code_mode=code,
                databases=databases,
                dashboards=DashboardCache(board),
                changes=bells,
                pending_since=since,
                unknown_names=unknown,
                queries=InMemoryQueryStore() if queries is None else queries,
            )
            raised = None
        except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001  raised again outside the group
            raised = error
        finally:
            board.on_policy_change = keep_running
            tasks.cancel_scope.cancel()
    if raised is not None:
        raise raised


async def _publish_listings(
    heard: Subscription, unseen: Subscription, board: BoardState, roster: ProviderRegistry
) -> None:
    """Never waits for the store: a server's health is on the board at once, whatever else is slow."""
    while True:
        await heard.wait()
        for source in roster.sources:
            word = roster.listing_of(source)
            if word is None:
                continue
            # Only whether it is one: what there is to see takes seconds to look through, and is looked at elsewhere.
            if not awaits_first_sight(word, board.policy):
                board.publish(word)
            else:
                unseen.notify()


async def _record_first_sights(unseen: Subscription, roster: ProviderRegistry, operator: Operator) -> None:
    while True:
        await unseen.wait()
        for source in roster.sources:
            await operator.record_first_sight(partial(roster.listing_of, source))
