"""The client of a session of the SDK, while its call runs: told and asked on the stream of the call, as plain JSON."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    INVALID_PARAMS,
    Notification,
    Request,
    RequestId,
    ServerNotification,
    ServerRequest,
)
from pydantic import RootModel, ValidationError

from pegboard.core.tool import Json
from pegboard.ports import CannotAsk

from .levels import MESSAGE, is_heard
from .progress import Say
from .wire import sound_object, sound_text

_Plain: Final = RootModel[dict[str, Any]]
"""An answer with whatever is in it."""


@dataclass(frozen=True, eq=False)
class SessionPeer:
    session: ServerSession
    request: RequestId
    say: Say
    can: Mapping[str, Json]
    who: Hashable
    level: str | None = None
    """From which level on it hears log messages: `NO_LOGS` for none, `None` for all."""

    def note(self, method: str, params: Mapping[str, Json]) -> None:
        if method == MESSAGE and not is_heard(params, self.level):
            return
        # The session only asks for the members of a notification, so one of any kind will do.
        notification = Notification[dict[str, Any], str](method=method, params=sound_object(dict(params)))
        self.say(lambda: self.session.send_notification(cast(ServerNotification, notification), self.request))

    async def ask(self, method: str, params: Mapping[str, Json]) -> Mapping[str, Json]:
        question = Request[dict[str, Any], str](method=method, params=sound_object(dict(params)))
        related = ServerMessageMetadata(related_request_id=self.request)
        try:
            answer = await self.session.send_request(cast(ServerRequest, question), _Plain, metadata=related)
        except MCPError as error:
            raise CannotAsk(error.code, sound_text(error.message)) from None
        except ValidationError:
            raise CannotAsk(INVALID_PARAMS, "The client answered with something that is no answer to this.") from None
        return answer.root


def capabilities_of(session: ServerSession) -> Mapping[str, Json]:
    declared = session.client_capabilities
    return {} if declared is None else declared.model_dump(by_alias=True, mode="json", exclude_none=True)
