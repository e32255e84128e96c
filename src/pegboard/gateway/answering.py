"""A call that a presentation answers itself: recorded like any other, though no provider had a part in it."""

from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from datetime import timedelta
from time import perf_counter
from typing import TypeAlias

from pegboard.core.call import (
    BadArguments,
    Call,
    CallRecord,
    Cancelled,
    ProviderFailed,
    Returned,
    ToolIsLocked,
    UnknownTool,
)
from pegboard.core.ids import ToolId

from .gateway import Gateway

Answered: TypeAlias = Returned | BadArguments | UnknownTool | ToolIsLocked
Answer: TypeAlias = Callable[[], Awaitable[Answered]]


async def answered(gateway: Gateway, call: Call, tool: ToolId | None, answer: Answer) -> Answered:
    """The version is that of the policy by which it was asked."""
    started, version = perf_counter(), gateway.board.policy.decided.version
    ended: Answered | Cancelled | ProviderFailed = ProviderFailed("the gateway broke off", may_have_run=False)
    try:
        ended = given = await answer()
    except CancelledError:
        ended = Cancelled()
        raise
    finally:
        refused = isinstance(ended, BadArguments | UnknownTool | ToolIsLocked)
        took = timedelta() if refused else timedelta(seconds=perf_counter() - started)
        gateway.audit.record(CallRecord(call, tool, ended, took, version))
    return given
