"""Resources that clients follow: one subscription at the source for each, however many clients follow it."""

import logging
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup

from pegboard.core.ask import Answer, Failed, NotOffered, Told
from pegboard.core.ids import Source
from pegboard.core.view import View
from pegboard.ports import Library

from .bell import Listener
from .board import Board
from .cancellation import contained
from .reading import Reading

log = logging.getLogger(__name__)

MOST_EACH: Final = 1_000
"""Resources that one client follows at once."""
MOST: Final = 20_000
MOST_WAITING: Final = 1_000
"""Updates that wait for one slow client. Beyond it the oldest is dropped: each only says to read again."""

T = TypeVar("T")
Key: TypeAlias = tuple[Source, str]


@dataclass(eq=False)
class _Followed:
    source: Source
    uri: str
    followers: set["Follower"] = field(default_factory=set["Follower"])
    at: Library | None = None
    """Where it is subscribed."""
    turn: anyio.Lock = field(default_factory=anyio.Lock)
    """Subscribing and unsubscribing of one resource never overtake each other."""

    def updated(self, uri: str) -> None:
        for follower in self.followers:
            follower.hear(uri, self)


class Follower:
    """One client that follows resources, for as long as it is there."""

    def __init__(self, following: "Following") -> None:
        self._following = following
        self._followed: dict[str, tuple[_Followed, View]] = {}
        self._waiting: dict[str, _Followed] = {}
        self._rung = Listener()

    @property
    def idle(self) -> bool:
        return not self._followed

    async def follow(self, uri: str, view: View) -> Answer | NotOffered:
        if uri in self._followed:
            return Told({})
        if len(self._followed) >= MOST_EACH:
            return Failed(f"this client follows {MOST_EACH:,} resources already")
        answer = await self._following.add(uri, self, view)
        if isinstance(answer, _Followed):
            self._followed[uri] = answer, view
            return Told({})
        return answer

    def unfollow(self, uri: str) -> None:
        followed, _ = self._followed.pop(uri, (None, None))
        if followed is not None:
            self._following.leave(followed, self)

    def leave(self) -> None:
        for uri in tuple(self._followed):
            self.unfollow(uri)

    def hear(self, uri: str, followed: _Followed) -> None:
        self._waiting[uri] = followed
        if len(self._waiting) > MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._rung.ring()

    async def updated(self) -> str:
        """The next resource that may differ. What this client is no longer given is not told."""
        while True:
            while self._waiting:
                uri = next(iter(self._waiting))
                followed = self._waiting.pop(uri)
                known, view = self._followed.get(followed.uri, (None, None))
                if known is followed and view is not None and self._following.may(followed, view):
                    return uri
            await self._rung.wait()


class Following:
    def __init__(self, board: Board, reading: Reading) -> None:
        self._board = board
        self._reading = reading
        self._followed: dict[Key, _Followed] = {}
        self._differ = Listener()

    @property
    def followed(self) -> Sequence[Key]:
        """What is followed now, or was until a moment ago."""
        return tuple(self._followed)

    @contextmanager
    def follower(self) -> Iterator[Follower]:
        follower = Follower(self)
        try:
            yield follower
        finally:
            follower.leave()

    def may(self, followed: _Followed, view: View) -> bool:
        return self._reading.source_of(followed.uri, view) == followed.source

    async def add(self, uri: str, follower: Follower, view: View) -> _Followed | Answer | NotOffered:
        source = self._reading.source_of(uri, view)
        if source is None:
            return NotOffered(uri)
        if len(self._followed) >= MOST and (source, uri) not in self._followed:
            return Failed(f"{MOST:,} resources are followed already")
        followed = self._followed.setdefault((source, uri), _Followed(source, uri))
        followed.followers.add(follower)
        answer: Answer = Failed(f"{source} is not running")
        try:
            async with followed.turn:
                answer = await self._subscribed(followed)
        finally:
            if not isinstance(answer, Told):
                self.leave(followed, follower)
        return followed if isinstance(answer, Told) else answer

    def leave(self, followed: _Followed, follower: Follower) -> None:
        followed.followers.discard(follower)
        if not followed.followers:
            self._differ.ring()

    async def run(self) -> None:
        """Unsubscribes what nobody follows any more, and follows a server to the provider that took another's place."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_board, name="followed sources")
            while True:
                await self._differ.wait()
                self._tidy(tasks)

    async def _watch_board(self) -> None:
        with self._board.changed.listen() as bell:
            while True:
                await bell.wait()
                if self._followed:
                    self._differ.ring()

    def _tidy(self, tasks: TaskGroup) -> None:
        for key, followed in tuple(self._followed.items()):
            if not followed.followers:
                tasks.start_soon(self._let_go, key, followed, name=f"letting {key[1]} go")
            elif followed.at is not None and self._reading.library(followed.source) not in (None, followed.at):
                tasks.start_soon(self._move, followed, name=f"following {key[1]} anew")

    async def _let_go(self, key: Key, followed: _Followed) -> None:
        async with followed.turn:
            if not followed.followers and followed.at is not None:
                library, followed.at = followed.at, None
                await self._guarded(library.unsubscribe(followed.uri), followed)
            # Somebody may have come meanwhile, and waits for its turn.
            if not followed.followers and followed.at is None:
                self._followed.pop(key, None)

    async def _move(self, followed: _Followed) -> None:
        async with followed.turn:
            if followed.followers and isinstance(await self._subscribed(followed), Told):
                followed.updated(followed.uri)

    async def _subscribed(self, followed: _Followed) -> Answer:
        library = self._reading.library(followed.source)
        if library is None:
            return Failed(f"{followed.source} is not running")
        if followed.at is library:
            return Told({})
        answer = await self._guarded(library.subscribe(followed.uri, followed.updated), followed)
        if isinstance(answer, Told):
            followed.at = library
        return answer or Failed(f"{followed.source} broke off")

    async def _guarded(self, work: Awaitable[T], followed: _Followed) -> T | None:
        try:
            with contained():
                return await work
        except Exception:  # a source answers with a value; one that raises must not break whoever follows others
            log.exception("The provider of %s broke over the subscription of %s", followed.source, followed.uri)
        return None
