"""What libraries write to the log because of what strangers send: not as often as they like, and without secrets."""

import asyncio
import logging
import re
from collections.abc import Callable
from time import monotonic
from typing import Final

EVERY: Final = 60.0
_OURS: Final = "pegboard"
_MOST: Final = 64
_SESSION: Final = re.compile(r"\b[0-9a-f]{32}\b")


class Quiet(logging.Filter):
    """Of a library's warnings each passes once a minute, and then says how many there were.

    Of a session id, which is as good as a password to the session, the log has the beginning.
    """

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._now = now
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] == _OURS:
            return True
        if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
            # What was broken off because we end, and no fault of anyone.
            return False
        if record.levelno == logging.WARNING and not self._passes(record):
            return False
        told = record.getMessage()
        if _SESSION.search(told) is not None:
            record.msg, record.args = _SESSION.sub(lambda id: f"{id[0][:4]}…", told), ()
        return True

    def _passes(self, record: logging.LogRecord) -> bool:
        now, key = self._now(), (record.name, str(record.msg))
        since, held = self._seen.get(key, (-EVERY, 0))
        if now - since < EVERY:
            self._seen[key] = since, held + 1
            return False
        if len(self._seen) >= _MOST:
            self._seen.clear()
        self._seen[key] = now, 0
        if held:
            record.msg, record.args = f"{record.getMessage()} ({held} more since the last time)", ()
        return True
