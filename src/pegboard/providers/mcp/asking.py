"""What a server asks or says of its own accord on a session of the SDK: passed on as plain JSON, past the models."""

from collections.abc import Mapping
from typing import Any, Final, NoReturn

import anyio
import anyio.abc
from mcp.client.session import ClientRequestContext
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.dispatcher import DispatchContext, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import SamplingCapability, SamplingContextCapability, SamplingToolsCapability

from pegboard.core.question import ELICITATION, ROOTS, SAMPLING
from pegboard.ports import CannotAsk

from .in_flight import MESSAGE, InFlight

QUESTIONS: Final = frozenset({ELICITATION, SAMPLING, ROOTS})
NOTES: Final = frozenset({MESSAGE, "notifications/elicitation/complete"})


class AskingDispatcher(JSONRPCDispatcher[TransportContext]):
    """A dispatcher that puts a server's questions to the client of the call, and leaves all else to the session."""

    def __init__(
        self,
        read: ReadStream[SessionMessage | Exception],
        write: WriteStream[SessionMessage],
        in_flight: InFlight,
    ) -> None:
        super().__init__(read, write)
        self._calls = in_flight

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        async def asked(
            context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
        ) -> dict[str, Any]:
            if method not in QUESTIONS:
                return await on_request(context, method, params)
            try:
                return dict(await self._calls.ask(method, params or {}))
            except CannotAsk as refused:
                raise MCPError(refused.code, refused.message) from None

        def noted(method: str, params: Mapping[str, Any] | None) -> bool:
            # Here and not in a task of its own: what is said before a call's end must be told before its end.
            if method in NOTES:
                if self._calls.has_time_for(method):
                    self._calls.note(method, params or {})
                return True
            return on_notify_intercept is not None and on_notify_intercept(method, params)

        await super().run(asked, on_notify, noted, task_status=task_status)


SAMPLING_IN_FULL: Final = SamplingCapability(tools=SamplingToolsCapability(), context=SamplingContextCapability())


async def unused(context: ClientRequestContext, params: Any = None) -> NoReturn:
    """Stands for a capability in the handshake: some client may have it. The dispatcher answers in its place."""
    raise AssertionError("A question came past the dispatcher.")
