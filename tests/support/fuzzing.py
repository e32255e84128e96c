"""How many cases a fuzz test tries: its usual number in `make test`, 50,000 in `make soak`."""

from hypothesis import settings


def case_count(usual: int) -> int:
    return max(usual, settings.default.max_examples if settings.default else 0)
