"""What libraries write to the log because of what strangers send: not as often as they like, and without secrets."""

import asyncio
import logging
import re
from collections.abc import Callable
from time import monotonic
from typing import Final

INTERVAL_S: Final = 60.0
_OWN_LOGGER: Final = "pegboard"
_MAX_MESSAGES: Final = 64
_SESSION_ID: Final = re.compile(r"\b[0-9a-f]{32}\b")


class RateLimitFilter(logging.Filter):
    """Of a library's warnings each passes once a minute, and then says how many there were.

    Of a session id, which is as good as a password to the session, the log has the beginning.
    """

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._now = now
        self._counts: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] == _OWN_LOGGER:
            return True
        if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
            # What was broken off because we end, and no fault of anyone.
            return False
        if record.levelno == logging.WARNING and not self._is_due(record):
            return False
        told = record.getMessage()
        if _SESSION_ID.search(told) is not None:
            record.msg, record.args = _SESSION_ID.sub(lambda id: f"{id[0][:4]}…", told), ()
        return True

    def _is_due(self, record: logging.LogRecord) -> bool:
        now, key = self._now(), (record.name, str(record.msg))
        since, held = self._counts.get(key, (-INTERVAL_S, 0))
        if now - since < INTERVAL_S:
            self._counts[key] = since, held + 1
            return False
        if len(self._counts) >= _MAX_MESSAGES:
            self._counts.clear()
        self._counts[key] = now, 0
        if held:
            record.msg, record.args = f"{record.getMessage()} ({held} more since the last time)", ()
        return True
