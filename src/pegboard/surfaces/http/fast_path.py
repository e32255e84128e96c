"""Requests that bypass ASGI: read whole and answered whole."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from starlette.types import Message


HeaderPair: TypeAlias = tuple[bytes, bytes]
HeaderPairs: TypeAlias = Sequence[HeaderPair]


MAX_BODY_BYTES: Final = 65_536
"""Bytes of a body that the express waits for. A larger one is worth the longer way."""
MAX_CACHED_HEAD_BYTES: Final = 2_048
MAX_CACHED_HEADS: Final = 512


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


class RequestHeadCache:
    """Heads as they were written, with what the parser made of them: a client writes the same one again and again, and
    only the length differs. Credentials stand in them, so whose client comes no more is soon forgotten."""

    def __init__(self) -> None:
        self._recent: dict[bytes, RequestHead] = {}
        self._older: dict[bytes, RequestHead] = {}
        """Those that nobody has written since the last turn."""

    def find(self, data: bytes) -> tuple[RequestHead, int, int] | None:
        """The head at the beginning, if it came before, where its body begins and how long that is."""
        parts = _split_head(data)
        if parts is None:
            return None
        key, begins, length = parts
        head = self._recent.get(key)
        if head is None:
            head = self._older.pop(key, None)
            if head is None:
                return None
            self._store(key, head)
        return head, begins, length

    def add(self, data: bytes, head: RequestHead) -> None:
        """One that the parser has read, of a request that is all there is of the data and was good enough."""
        parts = _split_head(data)
        if parts is None or parts[1] + parts[2] != len(data):
            return
        self._store(parts[0], head)

    def drop_unused(self) -> None:
        """Forgets what was not used since the last time."""
        self._older, self._recent = self._recent, {}

    def clear(self) -> None:
        self._recent, self._older = {}, {}

    def _store(self, key: bytes, head: RequestHead) -> None:
        if len(self._recent) >= MAX_CACHED_HEADS:
            del self._recent[next(iter(self._recent))]
        self._recent[key] = head


def _split_head(data: bytes) -> tuple[bytes, int, int] | None:
    """A head without its length, where it ends, and that length. `None` for what must be parsed to be understood."""
    begins = data.find(b"\r\n\r\n", 0, MAX_CACHED_HEAD_BYTES) + 4
    if begins < 4:
        return None
    at = data.find(b"\r\ncontent-length: ", 0, begins)
    if at < 0 and (at := data.find(b"\r\nContent-Length: ", 0, begins)) < 0:
        return None
    at += 18
    end = data.find(b"\r\n", at)
    digits = data[at:end]
    if not digits.isdigit() or len(digits) > 8 or (length := int(digits)) > MAX_BODY_BYTES:
        return None
    return data[:at] + data[end:begins], begins, length


class ResponseSink(Protocol):
    """Where the answer to one request goes."""

    def send_whole(self, status: int, lines: bytes, body: bytes) -> bool:
        """The whole answer at once, with lines of headers that are known to be sound. False when it must be sent bit by
        bit."""
        ...

    async def send(self, message: "Message") -> None:
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
