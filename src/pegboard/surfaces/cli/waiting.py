"""A person who waits is told for what, once it takes longer than a moment."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .output import tell

SLOW: Final = 2.0
"""Seconds after which a person wants to know that something still happens."""


@contextmanager
def told_when_slow(what: str, after: float | None = None) -> Iterator[None]:
    later = asyncio.get_running_loop().call_later(SLOW if after is None else after, tell, f"  … waiting for {what}")
    try:
        yield
    finally:
        later.cancel()
