"""A server that each caller reaches with credentials of its own: one connection for each of them, and none shared."""

import hmac
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

import anyio
from anyio.abc import TaskGroup

from pegboard.children.demand import Demand
from pegboard.core.ask import Failed, Unasked
from pegboard.core.call import Admitted, Outcome, ProviderFailed
from pegboard.core.catalogue import Asleep, Down, Listing, Starting, Up
from pegboard.core.ids import ProviderKey, ToolId
from pegboard.core.server import Server
from pegboard.core.tool import Tool
from pegboard.core.whose import Whose
from pegboard.ports import Clock, ExpandFor, Library, Peer, Progress, Ring, Unresolved

from .callers import Asked, Lent
from .callers_library import CallersLibrary, together
from .server import McpServer

log: Final = logging.getLogger(__name__)

MOST: Final = 64
"""Callers of one server whose connections are kept at once."""

MOST_LISTS: Final = 256

IDLE: Final = 300.0
"""Seconds after which a connection that its caller has not used is closed, and the credentials forgotten."""


@dataclass(eq=False)
class _Kept:
    """One caller's own connection."""

    key: bytes
    provider: McpServer
    demand: Demand = field(default_factory=Demand)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def library(self) -> Library:
        return self.provider.library

    def used(self) -> AbstractContextManager[None]:
        return self.demand.used()


class PerCaller:
    """The board's list comes from a connection in nobody's name, if the server lists for nobody; else from callers'."""

    def __init__(
        self,
        server: Server,
        asked: Asked,
        expand_for: ExpandFor,
        clock: Clock,
        *,
        tag_key: Callable[[], bytes] = secrets.token_bytes,
        make: Callable[..., McpServer] = McpServer,
        most: int = MOST,
        idle: float = IDLE,
    ) -> None:
        self._server = server
        self._asked = asked
        self._expand_for = expand_for
        self._clock = clock
        self._tag_key = cache(tag_key)
        """By which a person's yes is bound to credentials, of which nothing can be read then."""
        self._make = make
        self._most = most
        self._idle = idle
        self._front = make(replace(server, connection=asked.without_caller()), expand_for({}), clock)
        self._lends = asked.without_caller() != asked.connection
        """Whether a caller can say more than nobody can."""
        self.library: Library = CallersLibrary(self._front.library, self._borrowed)
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()
        self._lists: OrderedDict[bytes, Listing] = OrderedDict()
        """What each caller was last listed, the newest word at the end. Keys are hashes: they keep no credential."""
        self._refused: Down | None = None
        self._tasks: TaskGroup | None = None
        self._ring: Ring = _unheard

    @property
    def source(self) -> ProviderKey:
        return self._server.key

    def listing(self) -> Listing:
        """A caller's list is no other's right: each call is answered by the server for its own caller."""
        front = self._front.listing()
        if isinstance(front.health, Up | Asleep):
            return front
        if self._lists:
            tools: dict[ToolId, Tool] = {}
            for listed in self._lists.values():
                tools |= listed.by_id
            offers = together(listed.offers for listed in self._lists.values())
            return Listing(self.source, self._health(), tuple(tools.values()), listed.flaws, offers)
        starting = [
            word.health
            for kept in self._kept.values()
            if isinstance((word := kept.provider.listing()).health, Starting)
        ]
        if starting:
            return Listing(self.source, starting[0])
        if self._lends and self._refused is not None:
            names = " and ".join(name.decode().title() for name in self._asked.names)
            waits = f"it lists its tools when a caller sends {names}; without, it {self._refused.why}"
            return Listing(self.source, Asleep(self._refused.since, waits))
        return front

    def _health(self) -> Up | Asleep:
        up = [word.health for kept in self._kept.values() if isinstance((word := kept.provider.listing()).health, Up)]
        newest = [*self._lists.values()][-1].health
        assert isinstance(newest, Up)
        return up[0] if up else Asleep(newest.since)

    def log(self) -> Sequence[str]:
        return self._front.log()

    def restart(self) -> None:
        for kept in tuple(self._kept.values()):
            self._let_go(kept)
        self._front.restart()

    def leave(self, why: str) -> None:
        for kept in tuple(self._kept.values()):
            kept.provider.leave(why)
        self._front.leave(why)

    async def run(self, ring: Ring) -> None:
        self._ring = ring
        try:
            async with anyio.create_task_group() as self._tasks:
                await self._front.run(self._hear_front)
        finally:
            self._tasks = None
            self._kept.clear()

    def whose(self, headers: Mapping[bytes, bytes]) -> Whose | None:
        """A yes to a call with one caller's credentials is none to the same call with another's."""
        own = self._asked.own(headers)
        if isinstance(self._asked.of(headers, self._expand_for), Unresolved):
            return None
        bound = b"%b\n%b" % (self._asked.connection.url.encode(), self._asked.told_apart(own))
        names = " and ".join(name.decode().title() for name in own)
        told = f"{self.source} with {f'the {names} of the caller' if names else 'nothing of the caller'}"
        return Whose(hmac.digest(self._tag_key(), bound, "sha256").hex(), told)

    def meet(self, headers: Mapping[bytes, bytes]) -> bool:
        """The first caller who can lets us know what the server has."""
        if not self._lends or self._lists or isinstance(self._front.listing().health, Up | Asleep):
            return False
        credentials = self._asked.of(headers, self._expand_for)
        if isinstance(credentials, Unresolved) or credentials.key in self._kept:
            return False
        return isinstance(self._kept_for(credentials), _Kept)

    async def call(self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None) -> Outcome:
        kept = self._borrowed(admitted.call.headers)
        if isinstance(kept, Failed):
            return ProviderFailed(kept.why, may_have_run=False)
        with kept.used():
            return await kept.provider.call(admitted, progress, peer)

    def _borrowed(self, headers: Mapping[bytes, bytes]) -> _Kept | Failed:
        credentials = self._asked.of(headers, self._expand_for)
        if isinstance(credentials, Unresolved):
            return Unasked(f"{self.source} was not asked: {credentials.why}")
        return self._kept_for(credentials)

    def _kept_for(self, credentials: Lent) -> _Kept | Failed:
        """The caller's own connection, made now if there is none. Nothing waits here, so one caller has one."""
        kept = self._kept.get(credentials.key)
        if kept is not None:
            self._kept.move_to_end(credentials.key)
            return kept
        if self._tasks is None:
            return Failed(f"{self.source} is not running")
        if len(self._kept) >= self._most and not self._make_room():
            told = f"{self._most} callers use {self.source} at this moment, which is the most at once. Try again later"
            return Failed(told)
        # What the caller says is expanded anew at each start, from its own headers and from nothing else of it.
        provider = self._make(self._server, self._expand_for(credentials.headers), self._clock, patient=True)
        kept = self._kept[credentials.key] = _Kept(credentials.key, provider)
        self._tasks.start_soon(self._keep, kept, name=f"a caller of {self.source}")
        return kept

    def _make_room(self) -> bool:
        for kept in tuple(self._kept.values()):
            if not kept.demand.users:
                self._let_go(kept)
                return True
        return False

    async def _keep(self, kept: _Kept) -> None:
        """Until its caller has not used it for a while. One that breaks takes no other caller along."""
        try:
            with kept.scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(kept.provider.run, lambda: self._hear(kept), name=f"connection to {self.source}")
                    # One that was made to list for all is not idle before it had the time to.
                    with kept.demand.used():
                        await kept.provider.settled()
                    await kept.demand.idle(self._idle)
                    self._let_go(kept)
        except Exception:  # a caller's connection is supervised here: its end must not take the others along
            log.exception("A caller's connection to %s ended unexpectedly", self.source)
            self._let_go(kept)

    def _let_go(self, kept: _Kept) -> None:
        if self._kept.get(kept.key) is kept:
            del self._kept[kept.key]
        kept.scope.cancel()
        self._ring()

    def _hear_front(self) -> None:
        match self._front.listing().health:
            case Down() as refused if self._refused is None or self._refused.why != refused.why:
                self._refused = refused
            case Up():
                self._refused = None
            case _:
                pass
        self._ring()

    def _hear(self, kept: _Kept) -> None:
        word = kept.provider.listing()
        if isinstance(word.health, Up):
            self._lists[kept.key] = word
            self._lists.move_to_end(kept.key)
            while len(self._lists) > MOST_LISTS:
                self._lists.popitem(last=False)
        self._ring()


def _unheard() -> None:
    """Nobody listens before `run`."""
