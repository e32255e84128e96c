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
    """What stands before the body of a request, but for how long that is."""

    __slots__ = ("given", "headers", "meaning", "query")

    def __init__(self, query: bytes, given: Pairs, headers: Mapping[bytes, bytes]) -> None:
        self.query = query
        self.given = given
        self.headers = headers
        """Those given, by name. If there are fewer of them, a name was given twice."""
        self.meaning: object = None
        """For whoever takes such requests to remember what this head means to it."""


class Heads:
    """Heads as they were written, with what the parser made of them: a client writes the same one again and again, and
    only the length differs. Credentials stand in them, so whose client comes no more is soon forgotten."""

    def __init__(self) -> None:
        self._known: dict[bytes, Head] = {}
        self._former: dict[bytes, Head] = {}
        """Those that nobody has written since the last turn."""

    def of(self, data: bytes) -> tuple[Head, int, int] | None:
        """The head at the beginning, if it came before, where its body begins and how long that is."""
        parts = _parts(data)
        if parts is None:
            return None
        key, begins, length = parts
        head = self._known.get(key)
        if head is None:
            head = self._former.pop(key, None)
            if head is None:
                return None
            self._put(key, head)
        return head, begins, length

    def keep(self, data: bytes, head: Head) -> None:
        """One that the parser has read, of a request that is all there is of the data and was good enough."""
        parts = _parts(data)
        if parts is None or parts[1] + parts[2] != len(data):
            return
        self._put(parts[0], head)

    def turn(self) -> None:
        """Forgets what was not used since the last time."""
        self._former, self._known = self._known, {}

    def clear(self) -> None:
        self._known, self._former = {}, {}

    def _put(self, key: bytes, head: Head) -> None:
        if len(self._known) >= MOST_HEADS:
            del self._known[next(iter(self._known))]
        self._known[key] = head


def _parts(data: bytes) -> tuple[bytes, int, int] | None:
    """A head without its length, where it ends, and that length. `None` for what must be parsed to be understood."""
    begins = data.find(b"\r\n\r\n", 0, LARGEST_HEAD) + 4
    if begins < 4:
        return None
    at = data.find(b"\r\ncontent-length: ", 0, begins)
    if at < 0 and (at := data.find(b"\r\nContent-Length: ", 0, begins)) < 0:
        return None
    at += 18
    end = data.find(b"\r\n", at)
    digits = data[at:end]
    if not digits.isdigit() or len(digits) > 8 or (length := int(digits)) > LARGEST_BODY:
        return None
    return data[:at] + data[end:begins], begins, length


class Outlet(Protocol):
    """Where the answer to one request goes."""

    def answer(self, status: int, lines: bytes, body: bytes) -> bool:
        """The whole answer at once, with lines of headers that are known to be sound. False when it must be sent bit by
        bit."""
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

    @property
    def callers(self) -> object:
        """Who may call. Another object, once they are others: nothing that was kept of them holds any more."""
        ...

    def forget(self) -> None:
        """Asked every few minutes to forget what is only kept because a caller may come again."""
        ...

    def take(self, outlet: Outlet, head: Head, body: bytes) -> Taken | None:
        """Serve this POST, or leave it to the application: then nothing has happened."""
        ...
