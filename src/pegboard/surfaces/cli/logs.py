"""Where log lines go: standard error, and nowhere else. What others wrote is made safe for a terminal."""

import logging
import sys
from types import TracebackType
from typing import Final, TypeAlias

from .quiet import RateLimitFilter
from .text import clean

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
