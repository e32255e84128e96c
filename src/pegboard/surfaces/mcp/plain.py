"""Answers of the handshake era as plain JSON, where the SDK would open a stream for a single message."""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import Message, Send

EVENT_PREFIX: Final = b"event: message\r\ndata: "
EVENT_END: Final = b"\r\n\r\n"
# A question to the client has an id as well; what comes after it tells the two apart.
RESPONSE_PATTERN: Final = re.compile(
    rb'\{"jsonrpc":"2\.0","id":(?:-?[0-9]+|null|"(?:[^"\\]|\\.)*"),"(?:result|error)":'
)
STREAM_HEADERS: Final = frozenset({b"content-type", b"cache-control", b"connection", b"x-accel-buffering"})


def json_instead_of_sse(send: "Send") -> "Send":
    """Holds the start of a stream back until its first event. If that is the answer already, it is sent as JSON.

    Clients bound the size of an event in a stream, and often to less than an answer may have. Anything that comes
    before the answer (a notification, a question, a sign of life) makes it the stream that it set out to be.
    """
    held: list[Message] = []
    done = False

    async def send_as_json(message: "Message") -> None:
        nonlocal done
        if done:
            return
        if message["type"] == "http.response.start":
            if _is_event_stream(message):
                held.append(message)
                return
        elif held:
            start = held.pop()
            answer = _response_in_event(message.get("body", b""))
            if answer is not None:
                done = True
                await send({**start, "headers": _json_headers(start, len(answer))})
                await send({"type": "http.response.body", "body": answer})
                return
            await send(start)
        await send(message)

    return send_as_json


def _is_event_stream(start: "Message") -> bool:
    return start["status"] == 200 and any(
        name == b"content-type" and value.startswith(b"text/event-stream") for name, value in start["headers"]
    )


def _response_in_event(event: bytes) -> bytes | None:
    answer = event.removeprefix(EVENT_PREFIX).removesuffix(EVENT_END)
    whole = len(answer) == len(event) - len(EVENT_PREFIX) - len(EVENT_END) and b"\n" not in answer
    return answer if whole and RESPONSE_PATTERN.match(answer) else None


def _json_headers(start: "Message", length: int) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in start["headers"] if name not in STREAM_HEADERS]
    return [*kept, (b"content-type", b"application/json"), (b"content-length", b"%d" % length)]
