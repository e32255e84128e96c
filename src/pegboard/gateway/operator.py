"""Runs a command of an operator: applies it to the policy, saves, and publishes the result."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import anyio
import anyio.to_thread

from pegboard.core.calls.activity import (
    DONE,
    NOT_SAVED,
    REJECTED,
    STALE,
    DecisionRecord,
)
from pegboard.core.commands.base import Command
from pegboard.core.commands.commands import apply_command
from pegboard.core.commands.first_sight import awaits_first_sight, first_sight_command
from pegboard.core.model.catalogue import Listing
from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.policy.policy import DeclaredSettings, Policy, id_clashes
from pegboard.core.policy.unreadable_rows import UNREADABLE_ROW, describe_row
from pegboard.gateway.board import BoardState, Notice, is_same_policy
from pegboard.gateway.signals import Subscription, contain_cancellation
from pegboard.ports.providers import Clock, ignore
from pegboard.ports.stores import PolicyStore, SavedVersion, StaleVersion

log = logging.getLogger(__name__)

FIRST_SIGHT: Final = PrincipalId("first-sight")
STORE_TIMEOUT_S: Final = 15.0
"""How long the store may take for one load or one save."""

NO_TOKENS: Final = "tokens"
NO_TOKENS_TEXT: Final = (
    "Callers had to show tokens here, and there is none any more. The gateway stays closed to them. Make one: pegboard "
    "tokens make NAME --scope call   Or start it open to whoever reaches it: pegboard serve --open"
)

_MAX_ATTEMPTS: Final = 20
_CLASH_PREFIX: Final = "clash "
_MAX_ERROR_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class SaveFailure(CommandRejection):
    """The store did not take the command, and the board is as it was. No fault of the command: it may be repeated."""


class Operator:
    """The only writer of the policy. Whoever lost a race decides again on what is now true.

    `note` is told of every decision, whatever became of it.
    """

    def __init__(
        self,
        board: BoardState,
        store: PolicyStore,
        clock: Clock,
        note: Callable[[DecisionRecord], None] = ignore,
    ) -> None:
        self._record_decision = note
        self._board = board
        self._store = store
        self._clock = clock
        self._lock = anyio.Lock()
        self._pending_declared: DeclaredSettings | None = None
        self._is_store_unavailable = False
        self.store_uncertain = Subscription()
        """Rings when a save got no answer: the store may hold more than the board, so it must be loaded again."""
        self._report_clashes()
        self._report_unreadable()

    async def execute(
        self, command: Command, by: PrincipalId, *, expecting: int | None = None
    ) -> Policy | CommandRejection | StaleVersion:
        """`expecting` is the version the person looked at; without it the command stands on whatever is true now.

        A store that fails is told as a `SaveFailure`, which is a `CommandRejection`.
        """
        async with self._lock:
            return await self._run_and_record(command, by, expecting)

    def record(self, kind: str, about: str | None, said: str, by: PrincipalId, ended: str = DONE) -> None:
        """Whatever happened to the board leaves its trace in the audit here: commands by themselves, and by this what
        is no command. `said` holds no secret: it is kept and shown."""
        self._record_decision(DecisionRecord(kind, about, said, by, self._clock(), self._board.policy.version, ended))

    async def reload(self) -> None:
        """Another process decided: take over what the store now holds. Raises what the store raises."""
        async with self._lock:
            await self._reload()

    async def catch_up(self) -> SaveFailure | None:
        """The same, for whoever is about to decide on what the board shows; why not, where the store is away."""
        async with self._lock:
            return await self._try_reload()

    async def apply_settings(self, declared: DeclaredSettings) -> tuple[str, ...]:
        """The operator's file changed. A clash with what people installed leaves both as they are, and is told.

        The declaration then waits: it is taken over as soon as a person has removed what it clashes with.
        """
        async with self._lock:
            self._pending_declared = declared
            self._decide(self._board.policy)
            return (
                ()
                if self._pending_declared is None
                else tuple(map(str, id_clashes(declared, self._board.policy.decisions)))
            )

    async def record_first_sight(self, word: Callable[[], Listing | None]) -> None:
        """Hang a provider's latest word, if it still has one. First sight is recorded before, so that no tool flickers.

        While the store is away the tools hang without it, and so locked; they are seen again when it is back.
        """
        if not self._is_store_unavailable and self._awaits_first_sight(word()):
            async with self._lock:
                await self._record_first_sight(word)
        if (listing := word()) is not None:
            self._board.publish(listing)

    def _awaits_first_sight(self, listing: Listing | None) -> bool:
        return listing is not None and awaits_first_sight(listing, self._board.policy)

    async def _record_first_sight(self, word: Callable[[], Listing | None]) -> None:
        """Asked again at each turn, because the server may have been changed or removed while others had theirs."""
        for _ in range(_MAX_ATTEMPTS):
            listing = word()
            if listing is None or not self._awaits_first_sight(listing):
                return
            others = tuple(self._board.catalogue.tools.values())
            command = await anyio.to_thread.run_sync(first_sight_command, listing, self._board.policy, others)
            again = word()
            if command is not None and again is not None and again.tools == listing.tools:
                await self._run_and_record(command, FIRST_SIGHT, None)
                return

    async def _run_and_record(
        self, command: Command, by: PrincipalId, expecting: int | None
    ) -> Policy | CommandRejection | StaleVersion:
        done = await self._retry_on_conflict(command, by, expecting)
        kind, about, said = command.describe()
        match done:
            case SaveFailure(why):
                self.record(kind, about, f"{said}. {why}" if said else why, by, NOT_SAVED)
            case CommandRejection(why):
                self.record(kind, about, why, by, REJECTED)
            case StaleVersion(current):
                self.record(kind, about, f"The policy was at version {current} already.", by, STALE)
            case Policy():
                for each in command.describe_by_owner():
                    self.record(*each, by)
        return done

    async def _retry_on_conflict(
        self, command: Command, by: PrincipalId, expecting: int | None
    ) -> Policy | CommandRejection | StaleVersion:
        for _ in range(_MAX_ATTEMPTS):
            if expecting is not None and self._board.policy.version != expecting:
                return StaleVersion(self._board.policy.version)
            done = await self._attempt(command, by)
            if not isinstance(done, StaleVersion):
                return done
            if (away := await self._try_reload()) is not None:
                return away
        return StaleVersion(self._board.policy.version)

    async def _attempt(self, command: Command, by: PrincipalId) -> Policy | CommandRejection | StaleVersion:
        before, at = self._board.policy, self._clock()
        after = apply_command(before, command, by, at)
        if isinstance(after, CommandRejection):
            return after
        what = type(command).__name__
        try:
            # Whoever gave the command may leave; a save that has begun is still followed to its end.
            with anyio.fail_after(STORE_TIMEOUT_S, shield=True), contain_cancellation():
                saved = await self._store.save(before.decisions, after.decisions, by=by, what=what, at=at)
        except Exception as error:  # whatever a store raises, the command ends in words and the board stays true
            log.exception("The store did not take %s by %s", what, by)
            return await self._check_if_saved(after, error)
        match saved:
            case SavedVersion():
                self._decide(after)
                return after
            case StaleVersion():
                return saved

    async def _check_if_saved(self, after: Policy, error: Exception) -> Policy | SaveFailure:
        """An error says nothing of whether the change was written: only the store can tell."""
        if await self._try_reload() is not None:
            return SaveFailure(
                f"The store does not answer: {error_text(error)} It is not known whether this was saved; the board "
                "shows "
                f"what was true before, and follows as soon as the store is back. See: pegboard doctor"
            )
        if is_same_policy(self._board.policy, after):
            return self._board.policy
        return SaveFailure(f"The store did not take this: {error_text(error)} Nothing was changed. Try again.")

    async def _try_reload(self) -> SaveFailure | None:
        try:
            with anyio.CancelScope(shield=True):
                await self._reload()
        except Exception as error:  # as above: told as a value
            log.exception("The store cannot be read")
            self.store_uncertain.notify()
            return SaveFailure(f"The store does not answer: {error_text(error)} Nothing was changed. Try again.")
        return None

    async def _reload(self) -> None:
        try:
            with anyio.fail_after(STORE_TIMEOUT_S), contain_cancellation():
                decided = await self._store.load()
        except Exception:
            self._is_store_unavailable = True
            raise
        self._is_store_unavailable = False
        self._decide(replace(self._board.policy, decisions=decided))

    def _decide(self, policy: Policy) -> None:
        if self._pending_declared is not None and not id_clashes(self._pending_declared, policy.decisions):
            policy, self._pending_declared = replace(policy, declared=self._pending_declared), None
        if policy.requires_tokens and not policy.tokens_stay_required:
            policy = replace(policy, tokens_stay_required=True)
        self._board.set_policy(policy)
        self._report_clashes()
        self._report_unreadable()
        self._report_lost_tokens()

    def _report_lost_tokens(self) -> None:
        policy = self._board.policy
        if not policy.tokens_stay_required or policy.callers or policy.decisions.unreadable_index.has_token:
            self._board.remove_notice(NO_TOKENS)
        else:
            self._board.add_notice(Notice(NO_TOKENS, NO_TOKENS_TEXT, self._clock()))

    def _report_unreadable(self) -> None:
        """For as long as a row cannot be read; in the log once."""
        rows = {f"{UNREADABLE_ROW}{row.row.id}": row for row in self._board.policy.decisions.unreadable}
        for subject in self._board.notices:
            if subject.startswith(UNREADABLE_ROW) and subject not in rows:
                self._board.remove_notice(subject)
        for subject, row in rows.items():
            text = describe_row(row)
            if subject not in self._board.notices:
                log.error("%s", text)
            self._board.add_notice(Notice(subject, text, self._clock()))

    def _report_clashes(self) -> None:
        """A clash is told for as long as it lasts: of the file that holds, and of one that waits."""
        policy = self._board.policy
        files = (policy.declared,) if self._pending_declared is None else (policy.declared, self._pending_declared)
        told = {
            f"{_CLASH_PREFIX}{clash.id}": str(clash) for file in files for clash in id_clashes(file, policy.decisions)
        }
        for subject in self._board.notices:
            if subject.startswith(_CLASH_PREFIX) and subject not in told:
                self._board.remove_notice(subject)
        for subject, text in told.items():
            self._board.add_notice(Notice(subject, text, self._clock()))


def error_text(error: Exception) -> str:
    """One sentence. Only its first line: some drivers append the statement with its values, which may be secrets."""
    first = str(error).strip().partition("\n")[0][:_MAX_ERROR_CHARS].rstrip(" .")
    if not first:
        first = f"no answer within {STORE_TIMEOUT_S:g} seconds" if isinstance(error, TimeoutError) else repr(error)
    return f"{first}."
