"""Log messages on a stream that all calls share: told, or let go before anything is made of them."""

from typing import Final

import msgspec

from .in_flight import MESSAGE, InFlight
from .messages import LARGE, Line, is_log


class _Note(msgspec.Struct):
    jsonrpc: str
    method: str
    params: dict[str, object] | None = None
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_read: Final = msgspec.json.Decoder(_Note).decode
_UNREAD: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def noted(line: Line, in_flight: InFlight) -> bool:
    """Whether this was a log message that needs nobody's further attention.

    A server may write thousands in one call, and a client is told a few of them: most cost no more than a look at their
    beginning.
    """
    if not isinstance(line, bytes) or len(line) > LARGE or not is_log(line):
        return False
    if not in_flight.hears() or not in_flight.has_time_for(MESSAGE):
        return True
    try:
        if not line.isascii():
            line.decode()
        note = _read(line)
    except _UNREAD:
        return True
    if note.method == MESSAGE and note.id is msgspec.UNSET and note.jsonrpc == "2.0":
        in_flight.note(MESSAGE, note.params or {})  # type: ignore[arg-type]  # what JSON is read to
    return True
