"""What a server writes that nobody waits for, told from its outside: a flood of it is let go before it costs much."""

from typing import Final

import msgspec

from .messages import LARGE, Line
from .pace import STEPS_A_SECOND, STEPS_AT_ONCE, Pace

_LOG: Final = "notifications/message"
_PROGRESS: Final = "notifications/progress"
_MOST_ASKED: Final = 8_192


class _Outside(msgspec.Struct):
    jsonrpc: str = ""
    id: int | str | None = None
    method: str = ""


_read: Final = msgspec.json.Decoder(_Outside).decode
_UNREAD: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def is_noise(line: Line) -> bool:
    """Whether this cannot be a message, by its first character."""
    return isinstance(line, bytes) and line[:1] != b"{" and line.lstrip()[:1] != b"{"


class Sieve:
    """For one server's output, chunk by chunk, after its calls have taken what is theirs."""

    def __init__(self) -> None:
        self._asked: dict[str, None] = {}
        """The ids of what was asked beside the calls, as texts: to some servers "7" and 7 are the same."""
        self._steps = Pace(STEPS_AT_ONCE, STEPS_A_SECOND)
        self._heard: set[bytes] = set()

    def ask(self, id: int | str) -> None:
        """Somebody waits for an answer to this request, from before it is sent."""
        if len(self._asked) >= _MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        self._asked[str(id)] = None

    def takes(self, id: int | str) -> bool:
        """Whether somebody waits for a large answer to this request, of which there is one."""
        if str(id) not in self._asked:
            return False
        del self._asked[str(id)]
        return True

    def begin(self) -> None:
        """A new chunk: what it repeats of the last one may be news again."""
        self._heard.clear()

    def lets_go(self, line: Line) -> bool:
        """Whether nothing is lost without this line. What a strict reader refuses may be an answer, and is kept."""
        if not isinstance(line, bytes) or len(line) > LARGE:
            return False
        try:
            if not line.isascii():
                line.decode()
            outside = _read(line)
        except _UNREAD:
            return False
        if not outside.method:
            return str(outside.id) not in self._asked if outside.id is not None else outside.jsonrpc != "2.0"
        if outside.jsonrpc != "2.0":
            return True
        if outside.id is not None or outside.method == _LOG:
            return False
        if outside.method == _PROGRESS:
            return not self._steps.lets_pass()
        # The other notifications are bells: two of the same in one chunk ring once.
        if line in self._heard:
            return True
        self._heard.add(line)
        return False
