"""Requests that bypass ASGI, read whole and answered whole: between a listener and the surface that takes them."""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Protocol, TypeAlias

HeaderPair: TypeAlias = tuple[bytes, bytes]
HeaderPairs: TypeAlias = Sequence[HeaderPair]


class RequestHead:
    """What stands before the body of a request, but for how long that is."""

    __slots__ = ("headers", "prepared_request", "query", "raw_headers")

    def __init__(self, query: bytes, raw_headers: HeaderPairs, headers: Mapping[bytes, bytes]) -> None:
        self.query = query
        self.raw_headers = raw_headers
        self.headers = headers
        """Those given, by name. If there are fewer of them, a name was given twice."""
        self.prepared_request: object = None
        """For whoever takes such requests to remember what this head means to it."""


class ResponseSink(Protocol):
    """Where the answer to one request goes."""

    def send_whole(self, status: int, lines: bytes, body: bytes) -> bool:
        """The whole answer at once, with lines of headers that are known to be sound. False when it must be sent bit by
        bit."""
        ...

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """The answer bit by bit, as an ASGI application sends it."""
        ...


class InFlightRequest(Protocol):
    """A request that is being served."""

    def on_disconnect(self) -> None:
        """Its client has gone."""
        ...


class FastPathHandler(Protocol):
    @property
    def path(self) -> bytes: ...

    @property
    def principals(self) -> object:
        """Who may call. Another object, once they are others: nothing that was kept of them holds any more."""
        ...

    def forget_callers(self) -> None:
        """Asked every few minutes to forget what is only kept because a caller may come again."""
        ...

    def try_handle(self, outlet: ResponseSink, head: RequestHead, body: bytes) -> InFlightRequest | None:
        """Serve this POST, or leave it to the application: then nothing has happened."""
        ...
