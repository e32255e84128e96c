"""State of requests and sessions of SDK clients: log levels, changed lists, cancellation."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import anyio

from pegboard.core.calls.call import claimed_client
from pegboard.core.json.values import Json
from pegboard.core.model.selection import View
from pegboard.gateway.board import BoardState
from pegboard.gateway.signals import Subscription
from pegboard.ports.providers import ClientPeer
from pegboard.surfaces.mcp.protocol import LOGGING_LEVELS

# The request being served: through which view it asks, and when its client has gone.


@dataclass(frozen=True)
class RequestScope:
    view: View = field(default_factory=View)
    client_gone: anyio.Event | None = None
    """Set when the client hung up before it had its answer; `None` where the connection itself tells."""
    session: str | None = None
    """The HTTP session of a client of the handshake era."""
    headers: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes], repr=False, compare=False)
    """What the request itself says in its headers, for connections that are made in its caller's name."""
    access_revoked: anyio.Event | None = field(default=None, repr=False, compare=False)
    """Set when its principal is let in no more: a stream that it keeps open ends then."""


@dataclass(frozen=True)
class CheckedRequest:
    """A request that may be served: who asks through which view, and what it says."""

    view: View
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    session: str | None
    version: str | None
    forwarded_headers: dict[bytes, bytes]
    """Headers that may go on in the caller's name; emptied when the request has been served."""
    client_gone: anyio.Event
    """Set when its client hung up."""
    access_revoked: anyio.Event
    """Set when its principal is let in no more."""


CURRENT_REQUEST: Final[ContextVar[RequestScope]] = ContextVar("exchange")
"""Set where a request comes in. The SDK runs what serves it in the same context, in every era and transport."""


def client_text(name: object, version: object) -> str:
    """The name and version a client gives itself, for the audit."""
    return claimed_client(f"{name} {version}")


# Which log messages of servers a client wants to hear: from the level on that it asked for, in the way of its era.

LOG_MESSAGE_METHOD: Final = "notifications/message"
NO_LOGS: Final = "none"
"""In place of a level: this client wants no log messages."""
MAX_SESSIONS: Final = 10_000


class LogLevels(OrderedDict[str | None, str]):
    """The levels that sessions of the handshake era set. `None` is the only session of a pipe."""

    def set_level(self, session: str | None, level: str) -> None:
        self[session] = level
        self.move_to_end(session)
        while len(self) > MAX_SESSIONS:
            self.popitem(last=False)

    def forget(self, session: str | None) -> None:
        self.pop(session, None)


def meets_level(params: Mapping[str, Json], level: str | None) -> bool:
    """Whether a log message is as important as that. `None` hears all of them, as a client does that set no level."""
    if level is None or level == NO_LOGS:
        return level is None
    told = params.get("level")
    # A message without a level of the protocol's is not let go for that.
    return told not in LOGGING_LEVELS or LOGGING_LEVELS.index(str(told)) >= LOGGING_LEVELS.index(level)


def requested_log_level(level: Json) -> str | None:
    """The level that a request of the 2026-07-28 era asks for; without one it wants no log messages."""
    return level if isinstance(level, str) and level in LOGGING_LEVELS else None


# Taking back a question: whoever was asked need not answer any more.

CANCELLED_METHOD: Final = "notifications/cancelled"


def cancel_question(id: str, peer: ClientPeer) -> None:
    """Said in a call that still runs, whichever the question was put in."""
    peer.notify(CANCELLED_METHOD, {"requestId": id, "reason": "The question was taken back."})


PAUSE_S: Final = 0.05
"""Seconds. Changes come in bursts (a server lists, an approval follows), and one word about them is enough."""


ListFingerprints: TypeAlias = Mapping[str, bytes]
"""Of each list that a caller may see, by the name of the list."""


class ListWatch:
    """Remembers what its caller was last told of, and speaks up only when that is no longer what it would see."""

    def __init__(self, bell: Subscription, marks: Callable[[], ListFingerprints], told: ListFingerprints) -> None:
        self._subscription = bell
        self._current_fingerprints = marks
        self._last_fingerprints = {**marks(), **told}
        self._has_notified = False

    async def wait_for_changes(self) -> frozenset[str]:
        """Which of the lists differ now. However fast they change, there is a pause between two words about it."""
        if self._has_notified:
            await anyio.sleep(PAUSE_S)
        while not (differ := self._changed_lists()):
            await self._subscription.wait()
            await anyio.sleep(PAUSE_S)
        self._has_notified = True
        return differ

    def _changed_lists(self) -> frozenset[str]:
        marks = self._current_fingerprints()
        differ = frozenset(name for name, mark in marks.items() if mark != self._last_fingerprints[name])
        self._last_fingerprints.update(marks)
        return differ


SubscribeExtra: TypeAlias = Callable[[Subscription], AbstractContextManager[None]]
"""While it lasts, the listener hears of what else may change a list beside the board."""


def no_extra_changes(_: Subscription) -> AbstractContextManager[None]:
    return nullcontext()


@contextmanager
def watch_lists(
    board: BoardState,
    marks: Callable[[], ListFingerprints],
    told: ListFingerprints,
    telling: SubscribeExtra = no_extra_changes,
) -> Iterator[ListWatch]:
    """`told` are the marks of the lists the caller last saw; for the others, what it would see now."""
    with board.changes.subscribe() as bell, telling(bell):
        yield ListWatch(bell, marks, told)


async def cancel_when(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
