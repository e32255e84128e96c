"""Which log messages of servers a client wants to hear: from the level on that it asked for, in the way of its era."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from pegboard.core.tool import Json

from .protocol import LOGGING_LEVELS

LOG_MESSAGE_METHOD: Final = "notifications/message"
NO_LOGS: Final = "none"
"""In place of a level: this client wants no log messages."""
MAX_SESSIONS: Final = 10_000


class LogLevels:
    """The levels that sessions of the handshake era set. `None` is the only session of a pipe."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str | None, str] = OrderedDict()

    def set_level(self, session: str | None, level: str) -> None:
        self._levels[session] = level
        self._levels.move_to_end(session)
        while len(self._levels) > MAX_SESSIONS:
            self._levels.popitem(last=False)

    def level_of(self, session: str | None) -> str | None:
        return self._levels.get(session)

    def forget(self, session: str | None) -> None:
        self._levels.pop(session, None)


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
