"""How long to leave a server alone after it failed."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeAlias

RandomFraction: TypeAlias = Callable[[], float]
"""A number from 0 to 1, evenly spread."""

MIN_PAUSE_S: Final = 1.0
MAX_PAUSE_S: Final = 60.0
RECOVERED_AFTER: Final = timedelta(seconds=60)
"""Up for as long as this, a server has recovered: its next failure counts as the first."""


def backoff_delay(failures: int, chance: RandomFraction) -> float:
    """Seconds until the next attempt: anywhere below a ceiling that doubles with each failure in a row.

    The whole range is drawn from, so that servers that fell together do not come back together.
    """
    # The exponent is capped because a float has no room for 2 ** 1024, and a server may fail for a year.
    ceiling = min(MAX_PAUSE_S, MIN_PAUSE_S * 2.0 ** min(failures - 1, 32))
    return chance() * ceiling
