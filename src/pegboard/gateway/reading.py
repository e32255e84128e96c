"""One question for what a source offers beside tools, start to end: let through or not, and carried to its source."""

import logging
from dataclasses import dataclass
from typing import TypeAlias

from pegboard.core.ask import Answer, Ask, Directed, Failed, Fits, NotOffered, Unasked, directed, source_of
from pegboard.core.ids import Source
from pegboard.core.view import View
from pegboard.ports import Library, Peer, Progress

from .board import Board
from .cancellation import contained
from .roster import Roster

log = logging.getLogger(__name__)

Read: TypeAlias = Answer | NotOffered


@dataclass(frozen=True)
class Reading:
    board: Board
    roster: Roster
    fits: Fits

    async def ask(self, ask: Ask, view: View, progress: Progress | None = None, peer: Peer | None = None) -> Read:
        """Nothing waits between the decision and the source, so what was let through is what is true when it runs.

        A source that needs what the caller did not send hides nothing that others have too.
        """
        board = self.board
        past: set[Source] = set()
        unasked: Unasked | None = None
        while True:
            verdict = directed(ask, board.offered(view), board.policy, self.fits, past)
            if isinstance(verdict, NotOffered):
                return verdict if unasked is None else unasked
            answer = await self._carried(verdict, progress, peer)
            if not isinstance(answer, Unasked):
                return answer
            unasked = unasked or answer
            past.add(verdict.source)

    def source_of(self, uri: str, view: View) -> Source | None:
        """Who answers for this resource in this view, now."""
        return source_of(uri, self.board.offered(view), self.board.policy, self.fits)

    def library(self, source: Source) -> Library | None:
        provider = self.roster.provider(source)
        return None if provider is None else provider.library

    async def _carried(self, question: Directed, progress: Progress | None, peer: Peer | None) -> Answer:
        library = self.library(question.source)
        if library is None:
            return Failed(f"{question.source} is not running")
        try:
            with contained():
                return await library.ask(question, progress, peer)
        except Exception:  # a source answers with a value; one that raises must not break whoever asked
            log.exception("The provider of %s broke in %s", question.source, question.method.value)
        return Failed(f"{question.source} broke off")
