"""Subscriptions to resources: one at each server, however many clients follow it."""

import logging
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup

from pegboard.core.model.ids import SourceKey
from pegboard.core.model.selection import View
from pegboard.core.resources.requests import (
    MissingCallerInput,
    NotVisible,
    ResourceAnswer,
    ResourceFailure,
    ResourceRequest,
    ResourceResult,
    RoutedRequest,
    TemplateMatcher,
    route_request,
    source_for_uri,
)
from pegboard.gateway.board import BoardState
from pegboard.gateway.providers import ProviderRegistry
from pegboard.gateway.signals import Subscription, contain_cancellation
from pegboard.ports.providers import ClientPeer, Progress, ResourceProvider

if TYPE_CHECKING:
    from mcp.shared.uri_template import UriTemplate


# One question for what a source offers beside tools, start to end: let through or not, and carried to its source.

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


MAX_PER_CLIENT: Final = 1_000
"""Resources that one client follows at once."""
MAX_FOLLOWED: Final = 20_000
MAX_PENDING_UPDATES: Final = 1_000
"""Updates that wait for one slow client. Beyond it the oldest is dropped: each only says to read again."""

T = TypeVar("T")
Key: TypeAlias = tuple[SourceKey, str]


@dataclass(eq=False)
class _SharedSubscription:
    source: SourceKey
    uri: str
    followers: set["ResourceFollower"] = field(default_factory=set["ResourceFollower"])
    provider: ResourceProvider | None = None
    """Where it is subscribed."""
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    """Subscribing and unsubscribing of one resource never overtake each other."""

    def notify_followers(self, uri: str) -> None:
        for follower in self.followers:
            follower.notify(uri, self)


class ResourceFollower:
    """One client that follows resources, for as long as it is there."""

    def __init__(self, following: "ClientSubscriptions") -> None:
        self._subscriptions = following
        self._resources: dict[str, tuple[_SharedSubscription, View]] = {}
        self._updates: dict[str, _SharedSubscription] = {}
        self._update_signal = Subscription()

    @property
    def is_idle(self) -> bool:
        return not self._resources

    async def follow(self, uri: str, view: View) -> ResourceAnswer | NotVisible:
        if uri in self._resources:
            return ResourceResult({})
        if len(self._resources) >= MAX_PER_CLIENT:
            return ResourceFailure(f"this client follows {MAX_PER_CLIENT:,} resources already")
        answer = await self._subscriptions.add(uri, self, view)
        if isinstance(answer, _SharedSubscription):
            self._resources[uri] = answer, view
            return ResourceResult({})
        return answer

    def unfollow(self, uri: str) -> None:
        followed, _ = self._resources.pop(uri, (None, None))
        if followed is not None:
            self._subscriptions.remove(followed, self)

    def close(self) -> None:
        for uri in tuple(self._resources):
            self.unfollow(uri)

    def notify(self, uri: str, followed: _SharedSubscription) -> None:
        self._updates[uri] = followed
        if len(self._updates) > MAX_PENDING_UPDATES:
            del self._updates[next(iter(self._updates))]
        self._update_signal.notify()

    async def next_update(self) -> str:
        """The next resource that may differ. What this client is no longer given is not told."""
        while True:
            while self._updates:
                uri = next(iter(self._updates))
                followed = self._updates.pop(uri)
                known, view = self._resources.get(followed.uri, (None, None))
                if known is followed and view is not None and self._subscriptions.can_see(followed, view):
                    return uri
            await self._update_signal.wait()


class ClientSubscriptions:
    def __init__(self, board: BoardState, reading: ResourceReader) -> None:
        self._board = board
        self._reader = reading
        self._resources: dict[Key, _SharedSubscription] = {}
        self._tidy_signal = Subscription()

    @property
    def followed_keys(self) -> Sequence[Key]:
        """What is followed now, or was until a moment ago."""
        return tuple(self._resources)

    @contextmanager
    def open_follower(self) -> Iterator[ResourceFollower]:
        follower = ResourceFollower(self)
        try:
            yield follower
        finally:
            follower.close()

    def can_see(self, followed: _SharedSubscription, view: View) -> bool:
        return self._reader.source_of(followed.uri, view) == followed.source

    async def add(
        self, uri: str, follower: ResourceFollower, view: View
    ) -> _SharedSubscription | ResourceAnswer | NotVisible:
        source = self._reader.source_of(uri, view)
        if source is None:
            return NotVisible(uri)
        if len(self._resources) >= MAX_FOLLOWED and (source, uri) not in self._resources:
            return ResourceFailure(f"{MAX_FOLLOWED:,} resources are followed already")
        followed = self._resources.setdefault((source, uri), _SharedSubscription(source, uri))
        followed.followers.add(follower)
        answer: ResourceAnswer = ResourceFailure(f"{source} is not running")
        try:
            async with followed.lock:
                answer = await self._subscribe(followed)
        finally:
            if not isinstance(answer, ResourceResult):
                self.remove(followed, follower)
        return followed if isinstance(answer, ResourceResult) else answer

    def remove(self, followed: _SharedSubscription, follower: ResourceFollower) -> None:
        followed.followers.discard(follower)
        if not followed.followers:
            self._tidy_signal.notify()

    async def run(self) -> None:
        """Unsubscribes what nobody follows any more, and follows a server to the provider that took another's place."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_board, name="followed sources")
            while True:
                await self._tidy_signal.wait()
                self._tidy(tasks)

    async def _watch_board(self) -> None:
        with self._board.changes.subscribe() as bell:
            while True:
                await bell.wait()
                if self._resources:
                    self._tidy_signal.notify()

    def _tidy(self, tasks: TaskGroup) -> None:
        for key, followed in tuple(self._resources.items()):
            if not followed.followers:
                tasks.start_soon(self._unsubscribe, key, followed, name=f"letting {key[1]} go")
            elif followed.provider is not None and self._reader.resource_provider(followed.source) not in (
                None,
                followed.provider,
            ):
                tasks.start_soon(self._resubscribe, followed, name=f"following {key[1]} anew")

    async def _unsubscribe(self, key: Key, followed: _SharedSubscription) -> None:
        async with followed.lock:
            if not followed.followers and followed.provider is not None:
                library, followed.provider = followed.provider, None
                await self._call_safely(library.unsubscribe(followed.uri), followed)
            # Somebody may have come meanwhile, and waits for its turn.
            if not followed.followers and followed.provider is None:
                self._resources.pop(key, None)

    async def _resubscribe(self, followed: _SharedSubscription) -> None:
        async with followed.lock:
            if followed.followers and isinstance(await self._subscribe(followed), ResourceResult):
                followed.notify_followers(followed.uri)

    async def _subscribe(self, followed: _SharedSubscription) -> ResourceAnswer:
        library = self._reader.resource_provider(followed.source)
        if library is None:
            return ResourceFailure(f"{followed.source} is not running")
        if followed.provider is library:
            return ResourceResult({})
        answer = await self._call_safely(library.subscribe(followed.uri, followed.notify_followers), followed)
        if isinstance(answer, ResourceResult):
            followed.provider = library
        return answer or ResourceFailure(f"{followed.source} broke off")

    async def _call_safely(self, work: Awaitable[T], followed: _SharedSubscription) -> T | None:
        try:
            with contain_cancellation():
                return await work
        except Exception:  # a source answers with a value; one that raises must not break whoever follows others
            log.exception("The provider of %s broke over the subscription of %s", followed.source, followed.uri)
        return None


# Whether a URI has the form of a URI template (RFC 6570), to find the server that answers for it.

MAX_URI_CHARS: Final = 65_536


def fits_template(template: str, uri: str) -> bool:
    """A template that is beyond us is held against a URI by what it begins and ends with."""
    if len(uri) > MAX_URI_CHARS:
        return False
    read = _parse_template(template)
    if read is not None:
        return read.match(uri, max_uri_length=MAX_URI_CHARS) is not None
    begin, _, rest = template.partition("{")
    end = rest.rpartition("}")[2]
    return bool(begin) and len(uri) >= len(begin) + len(end) and uri.startswith(begin) and uri.endswith(end)


@lru_cache(maxsize=4096)
def _parse_template(template: str) -> "UriTemplate | None":
    # The SDK takes its time to load, and most commands never ask.
    from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

    try:
        return UriTemplate.parse(template)
    except InvalidUriTemplate:
        return None
