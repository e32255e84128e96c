"""Log messages on a stream that all calls share: told, or let go before anything is made of them."""

from typing import Final

import msgspec

from .in_flight import LOG_NOTIFICATION, CallsInFlight
from .messages import LARGE_MESSAGE_BYTES, Line, is_log_message


class _LogNotification(msgspec.Struct):
    jsonrpc: str
    method: str
    params: dict[str, object] | None = None
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode_notification: Final = msgspec.json.Decoder(_LogNotification).decode
_DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def handle_log_message(line: Line, in_flight: CallsInFlight) -> bool:
    """Whether this was a log message that needs nobody's further attention.

    A server may write thousands in one call, and a client is told a few of them: most cost no more than a look at their
    beginning.
    """
    if not isinstance(line, bytes) or len(line) > LARGE_MESSAGE_BYTES or not is_log_message(line):
        return False
    if not in_flight.has_listener() or not in_flight.allows(LOG_NOTIFICATION):
        return True
    try:
        if not line.isascii():
            line.decode()
        note = _decode_notification(line)
    except _DECODE_ERRORS:
        return True
    if note.method == LOG_NOTIFICATION and note.id is msgspec.UNSET and note.jsonrpc == "2.0":
        in_flight.notify(LOG_NOTIFICATION, note.params or {})  # type: ignore[arg-type]  # what JSON is read to
    return True
