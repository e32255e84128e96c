"""The way around ASGI for requests that come whole and are answered whole: between a connection and who takes them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from starlette.types import Message

Header: TypeAlias = tuple[bytes, bytes]
Pairs: TypeAlias = Sequence[Header]


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

    def take(
        self, outlet: Outlet, query: bytes, given: Pairs, headers: Mapping[bytes, bytes], body: bytes
    ) -> Taken | None:
        """Serve this POST, or leave it to the application: then nothing has happened. `headers` are those given, by
        name; if there are fewer of them, a name was given twice."""
        ...
