"""Calls as the gateway records them."""

from datetime import UTC, datetime, timedelta
from itertools import count

from pegboard.core.calls.call import Arguments, CallRecord, Outcome, Refusal, ToolCall, ToolSuccess
from pegboard.core.model.ids import (
    LOCAL_PRINCIPAL,
    CallId,
    PrincipalId,
    ServerId,
    ServerKey,
    ToolId,
    ToolsetId,
    WireName,
)

TOOL = ToolId(ServerKey(ToolsetId("dev"), ServerId("fs")), "read_file")
NOON = datetime(2026, 7, 28, 12, 0, tzinfo=UTC)
EMPTY = ToolSuccess(b'{"content":[]}')
_numbers = count()


def record(
    ended: Refusal | Outcome = EMPTY,
    *,
    at: datetime = NOON,
    id: str | None = None,
    principal: PrincipalId = LOCAL_PRINCIPAL,
    tool: ToolId | None = TOOL,
    name: str = "read_file",
    arguments: Arguments | None = None,
    raw: bytes | None = b"{}",
    client: str = "claude",
    parent: CallId | None = None,
    took: timedelta = timedelta(milliseconds=3),
    policy_version: int = 1,
    presentation: str = "",
) -> CallRecord:
    call = ToolCall(
        CallId(f"call-{next(_numbers)}" if id is None else id),
        WireName(name),
        arguments or {},
        principal,
        at,
        raw,
        client,
        parent,
        presentation=presentation,
    )
    return CallRecord(call, tool, ended, took, policy_version)
