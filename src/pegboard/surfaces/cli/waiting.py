"""A person who waits is told for what, once it takes longer than a moment."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .output import print_progress

SLOW_S: Final = 2.0
"""Seconds after which a person wants to know that something still happens."""


@contextmanager
def print_when_slow(what: str, after: float | None = None) -> Iterator[None]:
    later = asyncio.get_running_loop().call_later(
        SLOW_S if after is None else after, print_progress, f"  … waiting for {what}"
    )
    try:
        yield
    finally:
        later.cancel()
