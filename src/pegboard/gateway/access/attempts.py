"""Wrong tokens, counted by the address that sent them: guessing is slow, and nobody who is right is shut out by it."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

WINDOW_S: Final = 60.0
MAX_FAILURES: Final = 20
"""Wrong tokens from one address within a window that are answered one by one."""
MAX_ADDRESSES: Final = 4_096

log = logging.getLogger(__name__)

Now: TypeAlias = Callable[[], float]


@dataclass
class _Failures:
    since: float
    count: int = 0


class FailedAttempts:
    """One for every door of a gateway: whoever guesses has as many guesses at all of them together as at one."""

    def __init__(self, now: Now = time.monotonic) -> None:
        self._now = now
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def record_failure(self, address: str) -> int | None:
        """Seconds to wait, once there were too many. Only for what was wrong: a right token always comes in, because
        behind a proxy all have one address, and a stranger must not be able to shut the others out."""
        now = self._now()
        failures = self._failures.get(address)
        if failures is None or now - failures.since >= WINDOW_S:
            failures = self._failures[address] = _Failures(now)
            self._failures.move_to_end(address)
            if len(self._failures) > MAX_ADDRESSES:
                self._failures.popitem(last=False)
        failures.count += 1
        if failures.count <= MAX_FAILURES:
            return None
        if failures.count == MAX_FAILURES + 1:
            log.warning("More than %d wrong tokens within a minute from %s", MAX_FAILURES, address or "one address")
        return max(1, round(failures.since + WINDOW_S - now))


def too_many_attempts_message(wait: int) -> str:
    return f"Too many wrong tokens came from your address. Try again in {wait} seconds, with a token that is right."
