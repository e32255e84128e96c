"""The way around ASGI for requests that come whole and are answered whole: between a connection and who takes them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from starlette.types import Message

Header: TypeAlias = tuple[bytes, bytes]
Pairs: TypeAlias = Sequence[Header]


LARGEST_BODY: Final = 65_536
"""Bytes of a body that the express waits for. A larger one is worth the longer way."""
LARGEST_HEAD: Final = 2_048
MOST_HEADS: Final = 512


class Head:
    """What stands before the body of a request."""

    __slots__ = ("given", "headers", "length", "meaning", "query")

    def __init__(self, query: bytes, given: Pairs, headers: Mapping[bytes, bytes], length: int) -> None:
        self.query = query
        self.given = given
        self.headers = headers
        """Those given, by name. If there are fewer of them, a name was given twice."""
        self.length = length
        self.meaning: object = None
        """For whoever takes such requests to remember what this head means to it."""


class Heads:
    """Heads as they were written, with what the parser made of them: a client writes the same one again and again."""

    def __init__(self) -> None:
        self._known: dict[bytes, Head] = {}

    def of(self, data: bytes) -> tuple[Head | None, int]:
        """The head at the beginning, if it came before, and where its body begins."""
        begins = data.find(b"\r\n\r\n", 0, LARGEST_HEAD) + 4
        return (None, 0) if begins < 4 else (self._known.get(data[:begins]), begins)

    def keep(self, data: bytes, head: Head) -> None:
        """One that the parser has read, and that was good enough to be served."""
        begins = len(data) - head.length
        if not 4 <= begins <= LARGEST_HEAD or data.find(b"\r\n\r\n") != begins - 4:
            return  # it came in pieces, or something came with it
        if len(self._known) >= MOST_HEADS:
            del self._known[next(iter(self._known))]
        self._known[data[:begins]] = head


class Outlet(Protocol):
    """Where the answer to one request goes."""

    def answer(self, status: int, headers: Pairs, body: bytes) -> bool:
        """The whole answer at once, whose headers are known to be sound. False when it must be sent bit by bit."""
        ...

    async def send(self, message: "Message") -> None:
        """The answer bit by bit, as an ASGI application sends it."""
        ...


class Taken(Protocol):
    """A request that is being served."""

    def leave(self) -> None:
        """Its client has gone."""
        ...


class Express(Protocol):
    @property
    def path(self) -> bytes: ...

    def take(self, outlet: Outlet, head: Head, body: bytes) -> Taken | None:
        """Serve this POST, or leave it to the application: then nothing has happened."""
        ...
