"""One question for what a source offers beside tools, start to end: let through or not, and carried to its source."""

import logging
from dataclasses import dataclass
from typing import TypeAlias

from pegboard.core.ask import (
    MissingCallerInput,
    NotVisible,
    ResourceAnswer,
    ResourceFailure,
    ResourceRequest,
    RoutedRequest,
    TemplateMatcher,
    route_request,
    source_for_uri,
)
from pegboard.core.ids import SourceKey
from pegboard.core.view import View
from pegboard.ports import ClientPeer, Progress, ResourceProvider

from .board import BoardState
from .cancellation import contain_cancellation
from .roster import ProviderRegistry

log = logging.getLogger(__name__)

ResourceReadAnswer: TypeAlias = ResourceAnswer | NotVisible


@dataclass(frozen=True)
class ResourceReader:
    board: BoardState
    providers: ProviderRegistry
    fits_template: TemplateMatcher

    async def request(
        self, ask: ResourceRequest, view: View, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> ResourceReadAnswer:
        """Nothing waits between the decision and the source, so what was let through is what is true when it runs.

        A source that needs what the caller did not send hides nothing that others have too.
        """
        board = self.board
        past: set[SourceKey] = set()
        unasked: MissingCallerInput | None = None
        while True:
            verdict = route_request(ask, board.resource_view(view), board.policy, self.fits_template, past)
            if isinstance(verdict, NotVisible):
                return verdict if unasked is None else unasked
            answer = await self._request_provider(verdict, progress, peer)
            if not isinstance(answer, MissingCallerInput):
                return answer
            unasked = unasked or answer
            past.add(verdict.source)

    def source_of(self, uri: str, view: View) -> SourceKey | None:
        """Who answers for this resource in this view, now."""
        return source_for_uri(uri, self.board.resource_view(view), self.board.policy, self.fits_template)

    def resource_provider(self, source: SourceKey) -> ResourceProvider | None:
        provider = self.providers.provider(source)
        return None if provider is None else provider.resources

    async def _request_provider(
        self, question: RoutedRequest, progress: Progress | None, peer: ClientPeer | None
    ) -> ResourceAnswer:
        library = self.resource_provider(question.source)
        if library is None:
            return ResourceFailure(f"{question.source} is not running")
        try:
            with contain_cancellation():
                return await library.request(question, progress, peer)
        except Exception:  # a source answers with a value; one that raises must not break whoever asked
            log.exception("The provider of %s broke in %s", question.source, question.method.value)
        return ResourceFailure(f"{question.source} broke off")
