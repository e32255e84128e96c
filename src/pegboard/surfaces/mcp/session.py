"""The client of an SDK session during a call: progress, log messages and questions."""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast
from uuid import uuid4

import anyio
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, Notification, RequestId, ServerNotification
from mcp_types.methods import validate_client_result
from pydantic import ValidationError

from pegboard.core.json.values import Json
from pegboard.ports.providers import ClientPeer, PeerRequestError, Progress
from pegboard.surfaces.mcp.session_state import LOG_MESSAGE_METHOD, cancel_question, meets_level
from pegboard.surfaces.mcp.wire import sanitize_object, sanitize_text

# Words on their way to a client: a provider says them without waiting, and a slow client holds up nothing.

MAX_QUEUED: Final = 256
"""What waits for a slow client at most; beyond it the oldest is dropped, because only the newest says how far it is.
More than a server may log at once: a burst that arrives in one piece is no sign of a slow client."""

ReportProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
SendNotification: TypeAlias = Callable[[], Awaitable[None]]
"""Sends one notification."""
EnqueueNotification: TypeAlias = Callable[[SendNotification], None]


@asynccontextmanager
async def open_notification_queue() -> AsyncIterator[EnqueueNotification]:
    """What was said within the block is delivered, in order, before the block ends."""
    send, receive = anyio.create_memory_object_stream[SendNotification](MAX_QUEUED)
    over = False

    def say(word: SendNotification) -> None:
        # A provider may still speak of a call that has ended; nobody listens then.
        if over:
            return
        if send.statistics().current_buffer_used == MAX_QUEUED:
            receive.receive_nowait()
        send.send_nowait(word)

    async def deliver() -> None:
        async for word in receive:
            await word()

    with receive:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deliver, name="words")
            try:
                yield say
            finally:
                over = True
                send.close()


def progress_reporter(say: EnqueueNotification, report: ReportProgress) -> Progress:
    def tell(done: float, total: float | None, told: str | None) -> None:
        if not math.isfinite(done):
            return
        known_total = total if total is not None and math.isfinite(total) else None
        text = None if told is None else sanitize_text(told)
        say(lambda: report(done, known_total, text))

    return tell


@asynccontextmanager
async def open_progress_reporter(report: ReportProgress) -> AsyncIterator[Progress]:
    async with open_notification_queue() as say:
        yield progress_reporter(say, report)


@dataclass(frozen=True, eq=False)
class SessionPeer:
    session: ServerSession
    request_id: RequestId
    enqueue: EnqueueNotification
    capabilities: Mapping[str, Json]
    connection_key: Hashable
    level: str | None = None
    """From which level on it hears log messages: `NO_LOGS` for none, `None` for all."""
    is_pipe: bool = False
    """Whether all its calls share one stream, which outlives them."""

    def notify(self, method: str, params: Mapping[str, Json]) -> None:
        if method == LOG_MESSAGE_METHOD and not meets_level(params, self.level):
            return
        # The session only asks for the members of a notification, so one of any kind will do.
        notification = Notification[dict[str, Any], str](method=method, params=sanitize_object(dict(params)))
        self.enqueue(lambda: self.session.send_notification(cast(ServerNotification, notification), self.request_id))

    async def request(
        self, method: str, params: Mapping[str, Json], last: Callable[[], ClientPeer] | None = None
    ) -> Mapping[str, Json]:
        id = f"pegboard-{uuid4().hex}"
        options: CallOptions = {"request_id": id}
        try:
            # The session itself has no way to name the id, by which the question is taken back.
            answer = await self.session._request_outbound.send_raw_request(
                method, sanitize_object(dict(params)), options
            )
            with suppress(KeyError):
                validate_client_result(method, self.session.protocol_version, answer)
        except MCPError as error:
            raise PeerRequestError(error.code, sanitize_text(error.message)) from None
        except ValidationError:
            raise PeerRequestError(
                INVALID_PARAMS, "The client answered with something that is no answer to this."
            ) from None
        except anyio.get_cancelled_exc_class():
            # The SDK takes it back on the stream of this call, which over HTTP is gone with the call.
            if not self.is_pipe and last is not None and (peer := last()) is not self:
                cancel_question(id, peer)
            raise
        return answer


def capabilities_of(session: ServerSession) -> Mapping[str, Json]:
    declared = session.client_capabilities
    return {} if declared is None else declared.model_dump(by_alias=True, mode="json", exclude_none=True)
