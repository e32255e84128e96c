"""The client of a session of the SDK, while its call runs: told and asked on the stream of the call, as plain JSON."""

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid4

import anyio
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, Notification, RequestId, ServerNotification
from mcp_types.methods import validate_client_result
from pydantic import ValidationError

from pegboard.core.tool import Json
from pegboard.ports import ClientPeer, PeerRequestError

from .levels import LOG_MESSAGE_METHOD, meets_level
from .progress import EnqueueNotification
from .taking_back import cancel_question
from .wire import sanitize_object, sanitize_text


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
