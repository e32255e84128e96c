"""A server that each caller uses with their own credentials: one connection for each."""

import hashlib
import hmac
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final, Protocol

import anyio
from anyio.abc import TaskGroup

from pegboard.config.references import header_references
from pegboard.core.calls.call import AdmittedCall, Outcome, ProviderFailure
from pegboard.core.model.catalogue import (
    Listing,
    PromptEntry,
    ProviderAsleep,
    ProviderDown,
    ProviderResources,
    ProviderStart,
    ProviderUp,
    ResourceEntry,
    ResourceTemplate,
)
from pegboard.core.model.ids import ProviderKey, ToolId
from pegboard.core.model.server import Connection, Http, Server
from pegboard.core.model.tool import Tool
from pegboard.core.policy.policy import CredentialIdentity
from pegboard.core.resources.requests import MissingCallerInput, ResourceAnswer, ResourceFailure, RoutedRequest
from pegboard.ports.providers import (
    ChangeCallback,
    ClientPeer,
    Clock,
    ExpandForCaller,
    Progress,
    ResourceCallback,
    ResourceProvider,
    UnresolvedReference,
    ignore,
)
from pegboard.processes.cleanup import IdleTracker
from pegboard.providers.mcp.provider import McpServerProvider

# What a server asks of each caller: headers of the caller's own request, and the key that keeps callers apart.

_SALT: Final = secrets.token_bytes(32)
"""Of this process alone, so that a key says nothing of the credential it was made from."""


@dataclass(frozen=True)
class CallerHeaders:
    """Of one caller: the headers it lends us, and nothing else of its request."""

    key: bytes
    headers: Mapping[bytes, bytes]


@dataclass(frozen=True)
class HeaderRequirements:
    """What one server's connection asks of its callers."""

    connection: Http
    names: tuple[bytes, ...]
    """In lower case, as requests have them."""

    def credentials_of(
        self, headers: Mapping[bytes, bytes], expand_for: ExpandForCaller
    ) -> CallerHeaders | UnresolvedReference:
        """A caller's credentials, or what it should send instead."""
        own = self.headers_of(headers)
        expand = expand_for(own)
        for text in self.connection.headers.values():
            if header_references(text) and isinstance(missing := expand(text), UnresolvedReference):
                return missing
        return CallerHeaders(self._caller_key(own), own)

    def headers_of(self, headers: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
        return {name: headers[name] for name in self.names if name in headers}

    def anonymous_connection(self) -> Http:
        """The connection as nobody in particular makes it: what only a caller can say is left out."""
        kept = {
            name: text
            for name, text in self.connection.headers.items()
            if all(part.default for part in header_references(text))
        }
        return replace(self.connection, headers=kept)

    def _caller_key(self, own: Mapping[bytes, bytes]) -> bytes:
        return hashlib.blake2b(self.identity_bytes(own), key=_SALT, digest_size=32).digest()

    def identity_bytes(self, own: Mapping[bytes, bytes]) -> bytes:
        """With its length before it, no value can be taken for parts of two."""
        values = (own.get(name) for name in self.names)
        return b"".join(b"-" if value is None else b"%d:%b" % (len(value), value) for value in values)


def header_requirements(connection: Connection) -> HeaderRequirements | None:
    """`None` for a server that is the same to every caller."""
    if not isinstance(connection, Http):
        return None
    names = {part.header.lower().encode() for text in connection.headers.values() for part in header_references(text)}
    return HeaderRequirements(connection, tuple(sorted(names))) if names else None


# What a server with callers of its own offers beside tools: asked in each caller's name, followed in nobody's.


class CallerConnection(Protocol):
    """One caller's own connection, kept open within `used`."""

    @property
    def resources(self) -> ResourceProvider: ...

    def in_use(self) -> AbstractContextManager[None]: ...


class CallerResources:
    """`borrow` finds the connection of the caller with these headers, or says why there is none.

    A subscription only says that there is something to read anew, and serves all who follow: it is made on the `front`,
    the connection in nobody's name. What there is to read is then asked for by each caller.
    """

    def __init__(
        self, front: ResourceProvider, borrow: Callable[[Mapping[bytes, bytes]], CallerConnection | ResourceFailure]
    ) -> None:
        self._anonymous = front
        self._connection_for = borrow

    async def request(
        self, directed: RoutedRequest, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> ResourceAnswer:
        borrowed = self._connection_for(directed.headers)
        if isinstance(borrowed, ResourceFailure):
            return borrowed
        with borrowed.in_use():
            return await borrowed.resources.request(directed, progress, peer)

    async def subscribe(self, uri: str, updated: ResourceCallback) -> ResourceAnswer:
        return await self._anonymous.subscribe(uri, updated)

    async def unsubscribe(self, uri: str) -> None:
        await self._anonymous.unsubscribe(uri)


def merge_offers(lists: Iterable[ProviderResources]) -> ProviderResources:
    """What callers were listed, of what several were the newest."""
    prompts: dict[str, PromptEntry] = {}
    resources: dict[str, ResourceEntry] = {}
    templates: dict[str, ResourceTemplate] = {}
    for each in lists:
        prompts |= {prompt.name: prompt for prompt in each.prompts}
        resources |= {resource.uri: resource for resource in each.resources}
        templates |= {template.pattern: template for template in each.templates}
    return ProviderResources(tuple(prompts.values()), tuple(resources.values()), tuple(templates.values()))


log: Final = logging.getLogger(__name__)

MAX_CALLERS: Final = 64
"""Callers of one server whose connections are kept at once."""

MAX_LISTS: Final = 256

IDLE_TIMEOUT_S: Final = 300.0
"""Seconds after which a connection that its caller has not used is closed, and the credentials forgotten."""


@dataclass(eq=False)
class _KeptConnection:
    """One caller's own connection."""

    key: bytes
    provider: McpServerProvider
    idle_tracker: IdleTracker = field(default_factory=IdleTracker)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def resources(self) -> ResourceProvider:
        return self.provider.resources

    def in_use(self) -> AbstractContextManager[None]:
        return self.idle_tracker.in_use()


class PerCallerProvider:
    """The board's list comes from a connection in nobody's name, if the server lists for nobody; else from callers'."""

    def __init__(
        self,
        server: Server,
        asked: HeaderRequirements,
        expand_for: ExpandForCaller,
        clock: Clock,
        *,
        tag_key: Callable[[], bytes] = secrets.token_bytes,
        make: Callable[..., McpServerProvider] = McpServerProvider,
        most: int = MAX_CALLERS,
        idle: float = IDLE_TIMEOUT_S,
    ) -> None:
        self._server = server
        self._requirements = asked
        self._expand_for = expand_for
        self._clock = clock
        self._tag_key = cache(tag_key)
        """By which a person's yes is bound to credentials, of which nothing can be read then."""
        self._make_provider = make
        self._max_callers = most
        self._idle_timeout_s = idle
        self._anonymous = make(replace(server, connection=asked.anonymous_connection()), expand_for({}), clock)
        self._accepts_credentials = asked.anonymous_connection() != asked.connection
        """Whether a caller can say more than nobody can."""
        self.resources: ResourceProvider = CallerResources(self._anonymous.resources, self._connection_for)
        self._connections: OrderedDict[bytes, _KeptConnection] = OrderedDict()
        self._listings: OrderedDict[bytes, Listing] = OrderedDict()
        """What each caller was last listed, the newest word at the end. Keys are hashes: they keep no credential."""
        self._refusal: ProviderDown | None = None
        self._tasks: TaskGroup | None = None
        self._notify: ChangeCallback = ignore

    @property
    def source(self) -> ProviderKey:
        return self._server.key

    def listing(self) -> Listing:
        """A caller's list is no other's right: each call is answered by the server for its own caller."""
        front = self._anonymous.listing()
        if isinstance(front.health, ProviderUp | ProviderAsleep):
            return front
        if self._listings:
            tools: dict[ToolId, Tool] = {}
            for listed in self._listings.values():
                tools |= listed.by_id
            offers = merge_offers(listed.resources for listed in self._listings.values())
            return Listing(self.source, self._health(), tuple(tools.values()), listed.problems, offers)
        starting = [
            word.health
            for kept in self._connections.values()
            if isinstance((word := kept.provider.listing()).health, ProviderStart)
        ]
        if starting:
            return Listing(self.source, starting[0])
        if self._accepts_credentials and self._refusal is not None:
            names = " and ".join(name.decode().title() for name in self._requirements.names)
            waits = f"it lists its tools when a caller sends {names}; without, it {self._refusal.why}"
            return Listing(self.source, ProviderAsleep(self._refusal.since, waits))
        return front

    def _health(self) -> ProviderUp | ProviderAsleep:
        up = [
            word.health
            for kept in self._connections.values()
            if isinstance((word := kept.provider.listing()).health, ProviderUp)
        ]
        newest = [*self._listings.values()][-1].health
        assert isinstance(newest, ProviderUp)
        return up[0] if up else ProviderAsleep(newest.since)

    def log(self) -> Sequence[str]:
        return self._anonymous.log()

    def restart(self) -> None:
        for kept in tuple(self._connections.values()):
            self._close(kept)
        self._anonymous.restart()

    def drain(self, why: str) -> None:
        for kept in tuple(self._connections.values()):
            kept.provider.drain(why)
        self._anonymous.drain(why)

    async def run(self, ring: ChangeCallback) -> None:
        self._notify = ring
        try:
            async with anyio.create_task_group() as self._tasks:
                await self._anonymous.run(self._on_anonymous_change)
        finally:
            self._tasks = None
            self._connections.clear()

    def credential_identity(self, headers: Mapping[bytes, bytes]) -> CredentialIdentity | None:
        """A yes to a call with one caller's credentials is none to the same call with another's."""
        own = self._requirements.headers_of(headers)
        if isinstance(self._requirements.credentials_of(headers, self._expand_for), UnresolvedReference):
            return None
        bound = b"%b\n%b" % (self._requirements.connection.url.encode(), self._requirements.identity_bytes(own))
        names = " and ".join(name.decode().title() for name in own)
        told = f"{self.source} with {f'the {names} of the caller' if names else 'nothing of the caller'}"
        return CredentialIdentity(hmac.digest(self._tag_key(), bound, "sha256").hex(), told)

    def announce_caller(self, headers: Mapping[bytes, bytes]) -> bool:
        """The first caller who can lets us know what the server has."""
        if (
            not self._accepts_credentials
            or self._listings
            or isinstance(self._anonymous.listing().health, ProviderUp | ProviderAsleep)
        ):
            return False
        credentials = self._requirements.credentials_of(headers, self._expand_for)
        if isinstance(credentials, UnresolvedReference) or credentials.key in self._connections:
            return False
        return isinstance(self._connection_with(credentials), _KeptConnection)

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        kept = self._connection_for(admitted.call.headers)
        if isinstance(kept, ResourceFailure):
            return ProviderFailure(kept.why, may_have_run=False)
        with kept.in_use():
            return await kept.provider.call(admitted, progress, peer)

    def _connection_for(self, headers: Mapping[bytes, bytes]) -> _KeptConnection | ResourceFailure:
        credentials = self._requirements.credentials_of(headers, self._expand_for)
        if isinstance(credentials, UnresolvedReference):
            return MissingCallerInput(f"{self.source} was not asked: {credentials.why}")
        return self._connection_with(credentials)

    def _connection_with(self, credentials: CallerHeaders) -> _KeptConnection | ResourceFailure:
        """The caller's own connection, made now if there is none. Nothing waits here, so one caller has one."""
        kept = self._connections.get(credentials.key)
        if kept is not None:
            self._connections.move_to_end(credentials.key)
            return kept
        if self._tasks is None:
            return ResourceFailure(f"{self.source} is not running")
        if len(self._connections) >= self._max_callers and not self._evict_idle():
            told = (
                f"{self._max_callers} callers use {self.source} at this moment, which is the most at once. Try "
                "again later"
            )
            return ResourceFailure(told)
        # What the caller says is expanded anew at each start, from its own headers and from nothing else of it.
        provider = self._make_provider(self._server, self._expand_for(credentials.headers), self._clock, patient=True)
        kept = self._connections[credentials.key] = _KeptConnection(credentials.key, provider)
        self._tasks.start_soon(self._run_connection, kept, name=f"a caller of {self.source}")
        return kept

    def _evict_idle(self) -> bool:
        for kept in tuple(self._connections.values()):
            if not kept.idle_tracker.user_count:
                self._close(kept)
                return True
        return False

    async def _run_connection(self, kept: _KeptConnection) -> None:
        """Until its caller has not used it for a while. One that breaks takes no other caller along."""
        try:
            with kept.scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(
                        kept.provider.run, lambda: self._on_caller_change(kept), name=f"connection to {self.source}"
                    )
                    # One that was made to list for all is not idle before it had the time to.
                    with kept.idle_tracker.in_use():
                        await kept.provider.wait_until_settled()
                    await kept.idle_tracker.wait_until_idle(self._idle_timeout_s)
                    self._close(kept)
        except Exception:  # a caller's connection is supervised here: its end must not take the others along
            log.exception("A caller's connection to %s ended unexpectedly", self.source)
            self._close(kept)

    def _close(self, kept: _KeptConnection) -> None:
        if self._connections.get(kept.key) is kept:
            del self._connections[kept.key]
        kept.scope.cancel()
        self._notify()

    def _on_anonymous_change(self) -> None:
        match self._anonymous.listing().health:
            case ProviderDown() as refused if self._refusal is None or self._refusal.why != refused.why:
                self._refusal = refused
            case ProviderUp():
                self._refusal = None
            case _:
                pass
        self._notify()

    def _on_caller_change(self, kept: _KeptConnection) -> None:
        word = kept.provider.listing()
        if isinstance(word.health, ProviderUp):
            self._listings[kept.key] = word
            self._listings.move_to_end(kept.key)
            while len(self._listings) > MAX_LISTS:
                self._listings.popitem(last=False)
        self._notify()
