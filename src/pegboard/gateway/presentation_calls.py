"""Records calls that a presentation answers itself, without a provider."""

from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from datetime import timedelta
from time import perf_counter
from typing import TypeAlias

from pegboard.core.calls.call import (
    BadArguments,
    CallCancellation,
    CallRecord,
    LockedToolRefusal,
    ProviderFailure,
    ToolCall,
    ToolSuccess,
    UnknownTool,
)
from pegboard.core.model.ids import ToolId
from pegboard.gateway.gateway import Gateway

PresentationAnswer: TypeAlias = ToolSuccess | BadArguments | UnknownTool | LockedToolRefusal
AnswerCall: TypeAlias = Callable[[], Awaitable[PresentationAnswer]]


async def answer_and_record(
    gateway: Gateway, call: ToolCall, tool: ToolId | None, answer: AnswerCall
) -> PresentationAnswer:
    """The version is that of the policy by which it was asked."""
    started, version = perf_counter(), gateway.board.policy.decisions.version
    ended: PresentationAnswer | CallCancellation | ProviderFailure = ProviderFailure(
        "the gateway broke off", may_have_run=False
    )
    try:
        ended = given = await answer()
    except CancelledError:
        ended = CallCancellation()
        raise
    finally:
        refused = isinstance(ended, BadArguments | UnknownTool | LockedToolRefusal)
        took = timedelta() if refused else timedelta(seconds=perf_counter() - started)
        gateway.audit.record(CallRecord(call, tool, ended, took, version))
    return given
