"""Work on large texts, kept off the event loop: everybody else's calls go on meanwhile."""

from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

_OFF_LOOP_BYTES: Final = 256 * 1024
"""Bytes that are worked through in about as long as a thread takes to start."""

_limiter: Final = RunVar[anyio.CapacityLimiter]("pegboard_docspace_one")
"""One at a time: several would take no less time, and leave less of it to the event loop."""

P = ParamSpec("P")
R = TypeVar("R")


async def run_off_loop(size: int, work: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
    """`work(*given)`, in a thread where `size` is large."""
    if size <= _OFF_LOOP_BYTES:
        return work(*given, **named)
    try:
        one = _limiter.get()
    except LookupError:
        _limiter.set(one := anyio.CapacityLimiter(1))
    return await anyio.to_thread.run_sync(lambda: work(*given, **named), abandon_on_cancel=True, limiter=one)
