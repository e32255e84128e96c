"""Calls whose course a test writes: what is carried, asked and answered, without a server."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias

import msgspec

from pegboard.core.calls.call import NeedsInput, ToolCall, ToolSuccess
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import LOCAL_PRINCIPAL, CallId, PrincipalId, WireName
from pegboard.core.model.selection import View
from pegboard.ports.providers import ClientPeer, Progress
from pegboard.surfaces.mcp.results import CallOutcome

Course: TypeAlias = Callable[[ToolCall, ClientPeer, Progress | None], Awaitable[CallOutcome]]
DONE = ToolSuccess(b'{"content":[]}')
ASK = "elicitation/create"


def asked(name: str = "ask", principal: PrincipalId = LOCAL_PRINCIPAL, **beside: Json) -> ToolCall:
    call = ToolCall(CallId("first"), WireName(name), {}, principal, datetime(2026, 1, 1, tzinfo=UTC))
    return replace(call, beside={key: msgspec.json.encode(value) for key, value in beside.items()})


def needs(state: str | None = None, **requests: Json) -> NeedsInput:
    body: JsonObject = {"resultType": "input_required"}
    if requests:
        body["inputRequests"] = {key: {"method": ASK, "params": value} for key, value in requests.items()}
    return NeedsInput(msgspec.json.encode(body if state is None else body | {"requestState": state}))


class Carrier:
    """Carries every call along one course, and remembers each."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self.calls: list[ToolCall] = []
        self.cancelled = 0

    async def __call__(
        self, call: ToolCall, view: View, progress: Progress | None, peer: ClientPeer | None
    ) -> CallOutcome:
        assert peer is not None
        self.calls.append(call)
        ended: CallOutcome | None = None
        try:
            ended = await self._course(call, peer, progress)
        finally:
            self.cancelled += ended is None
        return ended
