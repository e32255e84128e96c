"""Log configuration: rate limits for messages that strangers can cause, and no secrets."""

import asyncio
import logging
import re
import sys
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import Final, TypeAlias

from pegboard.surfaces.cli.output import clean

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


# Where log lines go: standard error, and nowhere else. What others wrote is made safe for a terminal.

ExcInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

LINE_FORMAT: Final = "%(asctime)s %(levelname)s %(message)s"


class _SafeFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record))


class _BriefFormatter(_SafeFormatter):
    """For a command that a person waits for: what went wrong, not where in the program."""

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802  the library's name
        return "" if ei[1] is None else f"{type(ei[1]).__name__}: {ei[1]}"


def log_while_serving() -> None:
    """Ours from the first word; of the libraries only what is wrong."""
    _replace_handlers(logging.getLogger(), _SafeFormatter(LINE_FORMAT), logging.WARNING)
    logging.getLogger("pegboard").setLevel(logging.INFO)


def log_warnings() -> None:
    _replace_handlers(logging.getLogger(), _SafeFormatter(LINE_FORMAT), logging.WARNING)


def log_errors_briefly() -> None:
    """A command tells what is wrong itself; a library's own complaints while it ends are noise."""
    root = logging.getLogger()
    root.handlers = [logging.NullHandler()]
    _replace_handlers(logging.getLogger("pegboard"), _BriefFormatter("! %(message)s"), logging.ERROR)


def _replace_handlers(logger: logging.Logger, formatter: logging.Formatter, level: int) -> None:
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(formatter)
    stream.addFilter(RateLimitFilter())
    logger.handlers = [stream]
    logger.setLevel(level)
