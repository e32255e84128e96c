"""What the road needs of a request that came around ASGI, whoever listens."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from starlette.types import Message


class FastPathHead(Protocol):
    """What stands before the body."""

    prepared_request: object
    """Kept for the next request with the same head, by whoever listens."""

    @property
    def query(self) -> bytes: ...

    @property
    def raw_headers(self) -> Sequence[tuple[bytes, bytes]]: ...

    @property
    def headers(self) -> Mapping[bytes, bytes]:
        """Those given, by name. If there are fewer of them, a name was given twice."""
        ...


class FastPathSink(Protocol):
    """Where the answer goes."""

    def send_whole(self, status: int, lines: bytes, body: bytes) -> bool:
        """All of it at once, after these lines of headers, if that can be."""
        ...

    async def send(self, message: "Message") -> None: ...
