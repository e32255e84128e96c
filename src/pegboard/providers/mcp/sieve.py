"""What a server writes that nobody waits for, told from its outside: a flood of it is let go before it costs much."""

from typing import Final

import msgspec

from .messages import LARGE_MESSAGE_BYTES, Line
from .pace import PROGRESS_BURST, PROGRESS_RATE_PER_S, MessageRateLimiter

_LOG_METHOD: Final = "notifications/message"
_PROGRESS_METHOD: Final = "notifications/progress"
_MAX_OPEN_REQUESTS: Final = 8_192


class _Envelope(msgspec.Struct):
    jsonrpc: str = ""
    id: int | str | None = None
    method: str = ""


_decode_envelope: Final = msgspec.json.Decoder(_Envelope).decode
_DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def is_not_json(line: Line) -> bool:
    """Whether this cannot be a message, by its first character."""
    return isinstance(line, bytes) and line[:1] != b"{" and line.lstrip()[:1] != b"{"


class UnsolicitedFilter:
    """For one server's output, chunk by chunk, after its calls have taken what is theirs."""

    def __init__(self) -> None:
        self._open_requests: dict[str, None] = {}
        """The ids of what was asked beside the calls, as texts: to some servers "7" and 7 are the same."""
        self._progress_limiter = MessageRateLimiter(PROGRESS_BURST, PROGRESS_RATE_PER_S)
        self._seen_in_chunk: set[bytes] = set()

    def expect(self, id: int | str) -> None:
        """Somebody waits for an answer to this request, from before it is sent."""
        if len(self._open_requests) >= _MAX_OPEN_REQUESTS:
            del self._open_requests[next(iter(self._open_requests))]
        self._open_requests[str(id)] = None

    def take_expected(self, id: int | str) -> bool:
        """Whether somebody waits for a large answer to this request, of which there is one."""
        if str(id) not in self._open_requests:
            return False
        del self._open_requests[str(id)]
        return True

    def begin_chunk(self) -> None:
        """A new chunk: what it repeats of the last one may be news again."""
        self._seen_in_chunk.clear()

    def can_drop(self, line: Line) -> bool:
        """Whether nothing is lost without this line. What a strict reader refuses may be an answer, and is kept."""
        if not isinstance(line, bytes) or len(line) > LARGE_MESSAGE_BYTES:
            return False
        try:
            if not line.isascii():
                line.decode()
            outside = _decode_envelope(line)
        except _DECODE_ERRORS:
            return False
        if not outside.method:
            return str(outside.id) not in self._open_requests if outside.id is not None else outside.jsonrpc != "2.0"
        if outside.jsonrpc != "2.0":
            return True
        if outside.id is not None or outside.method == _LOG_METHOD:
            return False
        if outside.method == _PROGRESS_METHOD:
            return not self._progress_limiter.try_acquire()
        # The other notifications are bells: two of the same in one chunk ring once.
        if line in self._seen_in_chunk:
            return True
        self._seen_in_chunk.add(line)
        return False
