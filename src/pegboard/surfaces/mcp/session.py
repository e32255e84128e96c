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
from pegboard.ports import CannotAsk, Peer

from .levels import MESSAGE, is_heard
from .progress import Say
from .taking_back import take_back
from .wire import sound_object, sound_text


@dataclass(frozen=True, eq=False)
class SessionPeer:
    session: ServerSession
    request: RequestId
    say: Say
    can: Mapping[str, Json]
    who: Hashable
    level: str | None = None
    """From which level on it hears log messages: `NO_LOGS` for none, `None` for all."""
    piped: bool = False
    """Whether all its calls share one stream, which outlives them."""

    def note(self, method: str, params: Mapping[str, Json]) -> None:
        if method == MESSAGE and not is_heard(params, self.level):
            return
        # The session only asks for the members of a notification, so one of any kind will do.
        notification = Notification[dict[str, Any], str](method=method, params=sound_object(dict(params)))
        self.say(lambda: self.session.send_notification(cast(ServerNotification, notification), self.request))

    async def ask(
        self, method: str, params: Mapping[str, Json], last: Callable[[], Peer] | None = None
    ) -> Mapping[str, Json]:
        id = f"pegboard-{uuid4().hex}"
        options: CallOptions = {"request_id": id}
        try:
            # The session itself has no way to name the id, by which the question is taken back.
            answer = await self.session._request_outbound.send_raw_request(method, sound_object(dict(params)), options)
            with suppress(KeyError):
                validate_client_result(method, self.session.protocol_version, answer)
        except MCPError as error:
            raise CannotAsk(error.code, sound_text(error.message)) from None
        except ValidationError:
            raise CannotAsk(INVALID_PARAMS, "The client answered with something that is no answer to this.") from None
        except anyio.get_cancelled_exc_class():
            # The SDK takes it back on the stream of this call, which over HTTP is gone with the call.
            if not self.piped and last is not None and (peer := last()) is not self:
                take_back(id, peer)
            raise
        return answer


def capabilities_of(session: ServerSession) -> Mapping[str, Json]:
    declared = session.client_capabilities
    return {} if declared is None else declared.model_dump(by_alias=True, mode="json", exclude_none=True)
