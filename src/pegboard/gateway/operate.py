"""One command, start to end: applied to the policy, saved, and only then on the board."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import anyio
import anyio.to_thread

from pegboard.core.activity import DONE, NOT_SAVED, REJECTED, STALE, Decision, told, told_by_owner
from pegboard.core.catalogue import Listing
from pegboard.core.commands import Command, Rejected, apply
from pegboard.core.ids import PrincipalId
from pegboard.core.policy import Declared, Policy, clashes
from pegboard.core.running import awaits_first_sight, first_sight
from pegboard.core.unreadable import UNREADABLE_ROW, describe_row
from pegboard.ports import Clock, PolicyStore, Saved, Stale

from .bell import Listener
from .board import Board, Notice, same_policy
from .cancellation import contained

log = logging.getLogger(__name__)

FIRST_SIGHT: Final = PrincipalId("first-sight")
STORE_SECONDS: Final = 15.0
"""How long the store may take for one load or one save."""

NO_TOKENS: Final = "tokens"
NO_TOKENS_TEXT: Final = (
    "Callers had to show tokens here, and there is none any more. The gateway stays closed to them. Make one: pegboard "
    "tokens make NAME --scope call   Or start it open to whoever reaches it: pegboard serve --open"
)

_ATTEMPTS: Final = 20
_CLASH: Final = "clash "
_LONGEST: Final = 300


@dataclass(frozen=True, slots=True)
class NotSaved(Rejected):
    """The store did not take the command, and the board is as it was. No fault of the command: it may be repeated."""


def _unheard(decision: Decision) -> None:
    """Where there is no audit, nobody is told."""


class Operator:
    """The only writer of the policy. Whoever lost a race decides again on what is now true.

    `note` is told of every decision, whatever became of it.
    """

    def __init__(
        self, board: Board, store: PolicyStore, clock: Clock, note: Callable[[Decision], None] = _unheard
    ) -> None:
        self._note = note
        self._board = board
        self._store = store
        self._clock = clock
        self._turn = anyio.Lock()
        self._waiting: Declared | None = None
        self._away = False
        self.doubt = Listener()
        """Rings when a save got no answer: the store may hold more than the board, so it must be loaded again."""
        self._tell_clashes()
        self._report_unreadable()

    async def do(self, command: Command, by: PrincipalId, *, expecting: int | None = None) -> Policy | Rejected | Stale:
        """`expecting` is the version the person looked at; without it the command stands on whatever is true now.

        A store that fails is told as a `NotSaved`, which is a `Rejected`.
        """
        async with self._turn:
            return await self._carried_out(command, by, expecting)

    def record(self, kind: str, about: str | None, said: str, by: PrincipalId, ended: str = DONE) -> None:
        """Whatever happened to the board leaves its trace in the audit here: commands by themselves, and by this what
        is no command. `said` holds no secret: it is kept and shown."""
        self._note(Decision(kind, about, said, by, self._clock(), self._board.policy.version, ended))

    async def reload(self) -> None:
        """Another process decided: take over what the store now holds. Raises what the store raises."""
        async with self._turn:
            await self._reload()

    async def catch_up(self) -> NotSaved | None:
        """The same, for whoever is about to decide on what the board shows; why not, where the store is away."""
        async with self._turn:
            return await self._caught_up()

    async def redeclare(self, declared: Declared) -> tuple[str, ...]:
        """The operator's file changed. A clash with what people installed leaves both as they are, and is told.

        The declaration then waits: it is taken over as soon as a person has removed what it clashes with.
        """
        async with self._turn:
            self._waiting = declared
            self._decide(self._board.policy)
            return () if self._waiting is None else tuple(map(str, clashes(declared, self._board.policy.decided)))

    async def see(self, word: Callable[[], Listing | None]) -> None:
        """Hang a provider's latest word, if it still has one. First sight is recorded before, so that no tool flickers.

        While the store is away the tools hang without it, and so locked; they are seen again when it is back.
        """
        if not self._away and self._awaits_first_sight(word()):
            async with self._turn:
                await self._see_first(word)
        if (listing := word()) is not None:
            self._board.hang(listing)

    def _awaits_first_sight(self, listing: Listing | None) -> bool:
        return listing is not None and awaits_first_sight(listing, self._board.policy)

    async def _see_first(self, word: Callable[[], Listing | None]) -> None:
        """Asked again at each turn, because the server may have been changed or removed while others had theirs."""
        for _ in range(_ATTEMPTS):
            listing = word()
            if listing is None or not self._awaits_first_sight(listing):
                return
            others = tuple(self._board.catalogue.tools.values())
            command = await anyio.to_thread.run_sync(first_sight, listing, self._board.policy, others)
            again = word()
            if command is not None and again is not None and again.tools == listing.tools:
                await self._carried_out(command, FIRST_SIGHT, None)
                return

    async def _carried_out(self, command: Command, by: PrincipalId, expecting: int | None) -> Policy | Rejected | Stale:
        done = await self._repeated(command, by, expecting)
        kind, about, said = told(command)
        match done:
            case NotSaved(why):
                self.record(kind, about, f"{said}. {why}" if said else why, by, NOT_SAVED)
            case Rejected(why):
                self.record(kind, about, why, by, REJECTED)
            case Stale(current):
                self.record(kind, about, f"The policy was at version {current} already.", by, STALE)
            case Policy():
                for each in told_by_owner(command):
                    self.record(*each, by)
        return done

    async def _repeated(self, command: Command, by: PrincipalId, expecting: int | None) -> Policy | Rejected | Stale:
        for _ in range(_ATTEMPTS):
            if expecting is not None and self._board.policy.version != expecting:
                return Stale(self._board.policy.version)
            done = await self._attempt(command, by)
            if not isinstance(done, Stale):
                return done
            if (away := await self._caught_up()) is not None:
                return away
        return Stale(self._board.policy.version)

    async def _attempt(self, command: Command, by: PrincipalId) -> Policy | Rejected | Stale:
        before, at = self._board.policy, self._clock()
        after = apply(before, command, by, at)
        if isinstance(after, Rejected):
            return after
        what = type(command).__name__
        try:
            # Whoever gave the command may leave; a save that has begun is still followed to its end.
            with anyio.fail_after(STORE_SECONDS, shield=True), contained():
                saved = await self._store.save(before.decided, after.decided, by=by, what=what, at=at)
        except Exception as error:  # whatever a store raises, the command ends in words and the board stays true
            log.exception("The store did not take %s by %s", what, by)
            return await self._unanswered(after, error)
        match saved:
            case Saved():
                self._decide(after)
                return after
            case Stale():
                return saved

    async def _unanswered(self, after: Policy, error: Exception) -> Policy | NotSaved:
        """An error says nothing of whether the change was written: only the store can tell."""
        if await self._caught_up() is not None:
            return NotSaved(
                f"The store does not answer: {in_words(error)} It is not known whether this was saved; the board shows "
                f"what was true before, and follows as soon as the store is back. See: pegboard doctor"
            )
        if same_policy(self._board.policy, after):
            return self._board.policy
        return NotSaved(f"The store did not take this: {in_words(error)} Nothing was changed. Try again.")

    async def _caught_up(self) -> NotSaved | None:
        try:
            with anyio.CancelScope(shield=True):
                await self._reload()
        except Exception as error:  # as above: told as a value
            log.exception("The store cannot be read")
            self.doubt.ring()
            return NotSaved(f"The store does not answer: {in_words(error)} Nothing was changed. Try again.")
        return None

    async def _reload(self) -> None:
        try:
            with anyio.fail_after(STORE_SECONDS), contained():
                decided = await self._store.load()
        except Exception:
            self._away = True
            raise
        self._away = False
        self._decide(replace(self._board.policy, decided=decided))

    def _decide(self, policy: Policy) -> None:
        if self._waiting is not None and not clashes(self._waiting, policy.decided):
            policy, self._waiting = replace(policy, declared=self._waiting), None
        if policy.requires_tokens and not policy.closed:
            policy = replace(policy, closed=True)
        self._board.decide(policy)
        self._tell_clashes()
        self._report_unreadable()
        self._report_lost_tokens()

    def _report_lost_tokens(self) -> None:
        policy = self._board.policy
        if not policy.closed or policy.callers or policy.decided.lost.has_token:
            self._board.forget_notice(NO_TOKENS)
        else:
            self._board.notice(Notice(NO_TOKENS, NO_TOKENS_TEXT, self._clock()))

    def _report_unreadable(self) -> None:
        """For as long as a row cannot be read; in the log once."""
        rows = {f"{UNREADABLE_ROW}{row.row.id}": row for row in self._board.policy.decided.unreadable}
        for subject in self._board.notices:
            if subject.startswith(UNREADABLE_ROW) and subject not in rows:
                self._board.forget_notice(subject)
        for subject, row in rows.items():
            text = describe_row(row)
            if subject not in self._board.notices:
                log.error("%s", text)
            self._board.notice(Notice(subject, text, self._clock()))

    def _tell_clashes(self) -> None:
        """A clash is told for as long as it lasts: of the file that holds, and of one that waits."""
        policy = self._board.policy
        files = (policy.declared,) if self._waiting is None else (policy.declared, self._waiting)
        told = {f"{_CLASH}{clash.id}": str(clash) for file in files for clash in clashes(file, policy.decided)}
        for subject in self._board.notices:
            if subject.startswith(_CLASH) and subject not in told:
                self._board.forget_notice(subject)
        for subject, text in told.items():
            self._board.notice(Notice(subject, text, self._clock()))


def in_words(error: Exception) -> str:
    """One sentence. Only its first line: some drivers append the statement with its values, which may be secrets."""
    first = str(error).strip().partition("\n")[0][:_LONGEST].rstrip(" .")
    if not first:
        first = f"no answer within {STORE_SECONDS:g} seconds" if isinstance(error, TimeoutError) else repr(error)
    return f"{first}."
