"""Answers to calls on a stream that the SDK's session reads too: passed through it whole, as the bytes they came in.

So they mean what they mean on every other transport, and nothing of them is written anew.
"""

from typing import Final, NamedTuple

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse

from .messages import LARGE, id_in, says
from .raw.reply import message_in

WHOLE: Final = "pegboard/whole"
"""Where the session finds an answer in place of a result."""

_MOST_ASKED: Final = 8_192


class Answer(NamedTuple):
    id: int | str
    body: bytes


class SharedStream:
    """Knows the calls of one stream by their ids."""

    def __init__(self) -> None:
        self._asked: dict[str, None] = {}
        """As texts: to some servers "7" and 7 are the same."""

    def ask(self, request: JSONRPCRequest) -> None:
        """This is about to be sent."""
        if request.method == "tools/call":
            if len(self._asked) >= _MOST_ASKED:
                del self._asked[next(iter(self._asked))]
            self._asked[str(request.id)] = None

    def answer(self, body: bytes) -> SessionMessage | None:
        """What the session is given for the result of a call; None for everything else, and for an error."""
        if not self._asked:
            return None
        # A large one is read beside the event loop by whoever waits for it.
        id = id_in(body) if len(body) > LARGE else _id_of_result(body)
        if id is None or str(id) not in self._asked:
            return None
        del self._asked[str(id)]
        return SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=id, result={WHOLE: Answer(id, body)}))


def _id_of_result(body: bytes) -> int | str | None:
    message = message_in(body)
    return None if message is None or message.method or not message.result or says(message.error) else message.id
