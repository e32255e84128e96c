"""Work on large texts, kept off the event loop: everybody else's calls go on meanwhile."""

from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import anyio.to_thread

_LARGE: Final = 256 * 1024
"""Bytes that are worked through in about as long as a thread takes to start."""

P = ParamSpec("P")
R = TypeVar("R")


async def off_loop(size: int, work: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
    """`work(*given)`, in a thread where `size` is large."""
    if size <= _LARGE:
        return work(*given, **named)
    return await anyio.to_thread.run_sync(lambda: work(*given, **named), abandon_on_cancel=True)
