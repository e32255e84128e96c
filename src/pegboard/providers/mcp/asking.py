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
from pegboard.ports import PeerRequestError

from .in_flight import LOG_NOTIFICATION, CallsInFlight

QUESTION_METHODS: Final = frozenset({ELICITATION, SAMPLING, ROOTS})
NOTIFICATION_METHODS: Final = frozenset({LOG_NOTIFICATION, "notifications/elicitation/complete"})


class QuestionDispatcher(JSONRPCDispatcher[TransportContext]):
    """A dispatcher that puts a server's questions to the client of the call, and leaves all else to the session."""

    def __init__(
        self,
        read: ReadStream[SessionMessage | Exception],
        write: WriteStream[SessionMessage],
        in_flight: CallsInFlight,
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
        async def answer_question(
            context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
        ) -> dict[str, Any]:
            if method not in QUESTION_METHODS:
                return await on_request(context, method, params)
            try:
                return dict(await self._calls.ask(method, params or {}))
            except PeerRequestError as refused:
                raise MCPError(refused.code, refused.message) from None

        def forward_notification(method: str, params: Mapping[str, Any] | None) -> bool:
            # Here and not in a task of its own: what is said before a call's end must be told before its end.
            if method in NOTIFICATION_METHODS:
                if self._calls.allows(method):
                    self._calls.notify(method, params or {})
                return True
            return on_notify_intercept is not None and on_notify_intercept(method, params)

        await super().run(answer_question, on_notify, forward_notification, task_status=task_status)


FULL_SAMPLING: Final = SamplingCapability(tools=SamplingToolsCapability(), context=SamplingContextCapability())


async def unused_callback(context: ClientRequestContext, params: Any = None) -> NoReturn:
    """Stands for a capability in the handshake: some client may have it. The dispatcher answers in its place."""
    raise AssertionError("A question came past the dispatcher.")
