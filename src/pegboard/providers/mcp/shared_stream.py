"""Answers to calls on a stream that the SDK's session reads too: passed through it whole, as the bytes they came in.

So they mean what they mean on every other transport, and nothing of them is written anew.
"""

from typing import Final, NamedTuple

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse

from .messages import LARGE_MESSAGE_BYTES, answer_id_in, is_present
from .raw.reply import try_decode_message

RAW_ANSWER_KEY: Final = "pegboard/whole"
"""Where the session finds an answer in place of a result."""

_MAX_OPEN_CALLS: Final = 8_192


class RawAnswer(NamedTuple):
    id: int | str
    body: bytes


class SharedStreamCalls:
    """Knows the calls of one stream by their ids."""

    def __init__(self) -> None:
        self._open_calls: dict[str, None] = {}
        """As texts: to some servers "7" and 7 are the same."""

    def register_call(self, request: JSONRPCRequest) -> None:
        """This is about to be sent."""
        if request.method == "tools/call":
            if len(self._open_calls) >= _MAX_OPEN_CALLS:
                del self._open_calls[next(iter(self._open_calls))]
            self._open_calls[str(request.id)] = None

    def wrap_answer(self, body: bytes) -> SessionMessage | None:
        """What the session is given for the result of a call; None for everything else, and for an error."""
        if not self._open_calls:
            return None
        # A large one is read beside the event loop by whoever waits for it.
        id = answer_id_in(body) if len(body) > LARGE_MESSAGE_BYTES else _id_of_result(body)
        if id is None or str(id) not in self._open_calls:
            return None
        del self._open_calls[str(id)]
        return SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=id, result={RAW_ANSWER_KEY: RawAnswer(id, body)}))


def _id_of_result(body: bytes) -> int | str | None:
    message = try_decode_message(body)
    return None if message is None or message.method or not message.result or is_present(message.error) else message.id
