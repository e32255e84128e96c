"""Conversations, and what each has found: kept with the session of a client, or in a handle that the client keeps."""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

from pegboard.core.catalogue import Catalogue
from pegboard.core.deferral import Materialised
from pegboard.core.handle import MAX_BREAKS, NEXT_SEARCH, BadHandle, digest, minted, read
from pegboard.core.ids import PrincipalId, ToolId
from pegboard.core.presentations.presenting import MATERIALISED
from pegboard.core.tool import Json
from pegboard.gateway.bell import Bell, Listener
from pegboard.gateway.gateway import Gateway

HANDLE_META_KEY: Final = "pegboard/handle"
"""Under which a request carries its handle, and the answer to a search the next one."""
LIFETIME: Final = timedelta(days=1)
MOST_SESSIONS: Final = 10_000
REMEMBERED: Final = 10_000
"""Tools whose digests are at hand without looking through the board."""


@dataclass(frozen=True, slots=True)
class InSession:
    """With a client of the handshake era, or any other that holds on to one connection."""

    key: str


@dataclass(frozen=True, slots=True)
class Stateless:
    """With a client of the 2026-07-28 era: each request stands for itself, and says by a handle what came before."""

    handle: str | None = None


Conversation: TypeAlias = InSession | Stateless


def stateless(params: Mapping[str, Json] | None) -> Stateless:
    """By what a request says beside its arguments. What is there and is no text is a handle that nobody made."""
    meta = (params or {}).get("_meta")
    handle = meta.get(HANDLE_META_KEY) if isinstance(meta, Mapping) else None
    return Stateless(handle if handle is None or isinstance(handle, str) else "")


class Sessions:
    """What was found in each session, for as long as it lasts; whoever listens there is told of more."""

    def __init__(self) -> None:
        self._found: OrderedDict[str, Materialised] = OrderedDict()
        self._bells: dict[str, Bell] = {}

    def __len__(self) -> int:
        return len(self._found)

    def of(self, key: str) -> Materialised:
        return self._found.get(key, Materialised())

    def add(self, key: str, found: Iterable[ToolId], most: int = MATERIALISED) -> None:
        self._keep(key, self.of(key).with_found(found, most))

    def join(self, key: str, other: Materialised, most: int = MATERIALISED) -> None:
        """What another conversation found, which the client says this one goes on from."""
        self._keep(key, self.of(key).with_searches(other, most))

    def _keep(self, key: str, now: Materialised) -> None:
        former = self.of(key)
        self._found[key] = now
        self._found.move_to_end(key)
        while len(self._found) > MOST_SESSIONS:
            self._found.popitem(last=False)
        if now != former and (bell := self._bells.get(key)) is not None:
            bell.ring()

    @contextmanager
    def telling(self, key: str, listener: Listener) -> Iterator[None]:
        bell = self._bells.setdefault(key, Bell())
        try:
            with bell.ringing(listener):
                yield
        finally:
            if bell.is_unheard:
                self._bells.pop(key, None)

    def forget(self, key: str) -> None:
        self._found.pop(key, None)


class Handles:
    """Made and read here. Gateways that have the same key take each other's."""

    def __init__(self, gateway: Gateway, key: Callable[[], bytes] | None = None) -> None:
        """Without a `key` they are good for as long as this process runs. One is asked for when it is first needed."""
        self._board = gateway.board
        self._clock = gateway.clock
        self._ask = key
        self._key: bytes | None = None
        self._minted: OrderedDict[bytes, ToolId] = OrderedDict()
        self._listed: tuple[Catalogue, Mapping[bytes, ToolId]] = Catalogue(), {}

    def minted(self, found: Materialised, principal: PrincipalId) -> str:
        digests: list[bytes] = []
        for place, search in enumerate(found.searches):
            digests += [NEXT_SEARCH] if 0 < place <= MAX_BREAKS else []
            for id in search:
                digests.append(each := digest(id))
                self._minted[each] = id
                self._minted.move_to_end(each)
        while len(self._minted) > REMEMBERED:
            self._minted.popitem(last=False)
        return minted(digests, principal, self._clock() + LIFETIME, self._signing)

    def read(self, text: str, principal: PrincipalId) -> Materialised | BadHandle:
        """What it tells of; which of that is still there, and open to its caller, is another question."""
        digests = read(text, principal, self._clock(), self._signing)
        if isinstance(digests, BadHandle):
            return digests
        searches: list[list[ToolId]] = [[]]
        for each in digests:
            if each == NEXT_SEARCH:
                searches.append([])
            elif (id := self._minted.get(each) or self._tools.get(each)) is not None:
                searches[-1].append(id)
        return Materialised(tuple(tuple(search) for search in searches if search))

    @property
    def _tools(self) -> Mapping[bytes, ToolId]:
        """For handles that another gateway made, or this one before it was started anew."""
        catalogue, tools = self._listed
        if catalogue is not self._board.catalogue:
            catalogue = self._board.catalogue
            tools = {digest(id): id for id in catalogue.tools}
            self._listed = catalogue, tools
        return tools

    @property
    def _signing(self) -> bytes:
        if self._key is None:
            self._key = secrets.token_bytes(32) if self._ask is None else self._ask()
        return self._key
