"""The log of a serving gateway, and what libraries write to it because of what strangers send."""

import io
import logging
from collections.abc import Iterator

import pytest

from pegboard.surfaces.cli.log_setup import INTERVAL_S, RateLimitFilter


class Log:
    """What a person reads, on a clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self._text = io.StringIO()
        self.handler = logging.StreamHandler(self._text)
        self.handler.addFilter(RateLimitFilter(lambda: self.now))

    def lines(self) -> list[str]:
        return self._text.getvalue().splitlines()


@pytest.fixture
def log() -> Iterator[Log]:
    log, root = Log(), logging.getLogger()
    root.addHandler(log.handler)
    try:
        yield log
    finally:
        root.removeHandler(log.handler)


@pytest.mark.behaviour("log.strangers_do_not_fill_it")
def test_a_library_s_warning_comes_once_a_minute_and_says_how_many_there_were(log: Log) -> None:
    library, ours = logging.getLogger("library.error"), logging.getLogger("pegboard.x")
    for _ in range(1_000):
        library.warning("Invalid HTTP request received.")
    library.warning("Unsupported upgrade request.")
    log.now = INTERVAL_S
    for _ in range(3):
        library.warning("Invalid HTTP request received.")
    log.now = 3 * INTERVAL_S
    library.warning("Invalid HTTP request received.")
    library.error("a fault")
    library.error("a fault")
    for _ in range(2):
        ours.warning("our own words")
    assert log.lines() == [
        "Invalid HTTP request received.",
        "Unsupported upgrade request.",
        "Invalid HTTP request received. (999 more since the last time)",
        "Invalid HTTP request received. (2 more since the last time)",
        "a fault",
        "a fault",
        "our own words",
        "our own words",
    ]


@pytest.mark.behaviour("log.strangers_do_not_fill_it")
def test_words_that_are_never_the_same_do_not_fill_the_memory(log: Log) -> None:
    chatty = logging.getLogger("library.error")
    for number in range(500):
        chatty.warning(f"{number}")
    assert len(log.lines()) == 500


@pytest.mark.behaviour("log.no_session_ids")
def test_of_a_session_id_the_log_has_the_beginning(log: Log) -> None:
    sdk = logging.getLogger("library.sessions")
    sdk.error("Session %s crashed", "0123456789abcdef0123456789abcdef")
    sdk.warning("nothing secret: %d%%", 5)
    assert log.lines() == ["Session 0123… crashed", "nothing secret: 5%"]
