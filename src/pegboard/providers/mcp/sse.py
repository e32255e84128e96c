"""The older HTTP transport: one event stream for all that arrives, and a POST for each message that leaves.

Not the SDK's own, because that one takes no message over a megabyte, stops sending for good after one failed POST, and
leaves whoever waits for its answer to their deadline.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final

import anyio
import httpx2
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCRequest

from pegboard.core.server import Http

from .authorization import Authorization
from .http_client import HttpClient
from .in_flight import InFlight
from .messages import LONGEST, Reader
from .notes import noted
from .raw.events import Event, Events, TooLarge
from .shared_stream import SharedStream
from .sieve import Sieve
from .streamable import checked
from .transport import Wire
from .trouble import BROKEN_OFF, STATUS, Loss, Trouble

_QUEUE: Final = 256
_UNLIKE: Final = frozenset({400, 404, 405, 406, 415})
"""How streamable HTTP servers answer a GET without a session."""
_NEWER: Final = "A server of streamable HTTP needs transport: http; else check the url"
_STREAM: Final = {"accept": "text/event-stream", "cache-control": "no-store"}


@asynccontextmanager
async def sse(
    server: Http,
    *,
    within: float,
    doubt: Callable[[], None],
    loss: Loss,
    in_flight: InFlight,
    authorization: Authorization | None = None,
) -> AsyncIterator[Wire]:
    url = checked(server.url)
    async with (
        HttpClient(server.headers, doubt, authorization) as client,
        client.stream("GET", url, headers=_STREAM) as response,
    ):
        if response.status_code in _UNLIKE:
            raise Trouble(f"answered HTTP {response.status_code} to the opening of an SSE stream. {_NEWER}")
        if response.status_code >= 400:
            raise Trouble(_error(response).message)
        if response.is_redirect:
            raise Trouble(moved(response))
        async with aclosing(_events(response)) as events:
            endpoint = await _endpoint(events, httpx2.URL(url), within)
            arriving, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            write, leaving = anyio.create_memory_object_stream[SessionMessage](_QUEUE)
            with arriving, read, write, leaving:
                sieve, calls = Sieve(), SharedStream()
                reader = Reader(f"The server at {endpoint.host}", in_flight.hears, sieve.takes)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_read, events, reader, calls, in_flight, arriving, loss)
                    tasks.start_soon(_write, client, endpoint, leaving, arriving, tasks, sieve, calls)
                    yield Wire(read, write)
                    tasks.cancel_scope.cancel()


async def _events(response: httpx2.Response) -> AsyncGenerator[Event]:
    """Raises `TooLarge`."""
    events = Events()
    async for chunk in response.aiter_bytes():
        for event in events.feed(chunk):
            yield event


async def _endpoint(events: AsyncIterator[Event], url: httpx2.URL, within: float) -> httpx2.URL:
    """Where to send: what the server names first, as long as it is the server itself."""
    # A newer server may open a stream for its notices, on which nothing comes.
    with suppress(TooLarge), anyio.move_on_after(within):
        async for event in events:
            if event.kind == b"endpoint":
                endpoint = url.join(event.text.decode("utf-8", "replace"))
                if (endpoint.scheme, endpoint.netloc) != (url.scheme, url.netloc):
                    raise Trouble("wants its messages at another machine than the one we were told to ask")
                return endpoint
    raise Trouble(f"does not speak SSE: it named no endpoint. {_NEWER}")


async def _read(
    events: AsyncIterator[Event],
    reader: Reader,
    calls: SharedStream,
    in_flight: InFlight,
    arriving: MemoryObjectSendStream[SessionMessage | Exception],
    loss: Loss,
) -> None:
    with arriving:
        try:
            async for event in events:
                if event.kind != b"message" or noted(event.text, in_flight):
                    continue
                message = calls.answer(event.text) or await reader.message(event.text)
                if message is not None:
                    await arriving.send(message)
        except TooLarge:
            loss.happen(f"sent a message longer than {LONGEST // 1024 // 1024} MiB")
        except (httpx2.TransportError, anyio.BrokenResourceError):
            pass  # over is over, whichever way it ended
        # Those who wait for an answer are told when the stream closes, so the reason comes first.
        loss.happen("closed the event stream")


async def _write(
    client: HttpClient,
    endpoint: httpx2.URL,
    leaving: MemoryObjectReceiveStream[SessionMessage],
    arriving: MemoryObjectSendStream[SessionMessage | Exception],
    tasks: TaskGroup,
    sieve: Sieve,
    calls: SharedStream,
) -> None:
    async for message in leaving:
        if isinstance(message.message, JSONRPCRequest):
            sieve.ask(message.message.id)
            calls.ask(message.message)
            # Each on its own: some servers answer the POST only when the tool has finished.
            tasks.start_soon(_ask, client, endpoint, message, message.message.id, arriving)
        else:
            await _post(client, endpoint, message)


async def _ask(
    client: HttpClient,
    endpoint: httpx2.URL,
    message: SessionMessage,
    id: int | str,
    arriving: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    """Send a request; what keeps it from the server is its answer."""
    error = await _post(client, endpoint, message)
    if error is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await arriving.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=id, error=error)))


async def _post(client: HttpClient, endpoint: httpx2.URL, message: SessionMessage) -> ErrorData | None:
    body = message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
    try:
        response = await client.post(endpoint, json=body)
    except httpx2.StreamError as error:
        return ErrorData(code=BROKEN_OFF, message=str(error))
    if response.status_code >= 400:
        return _error(response)
    if response.is_redirect:
        return ErrorData(code=STATUS - response.status_code, message=moved(response))
    return None


def _error(response: httpx2.Response) -> ErrorData:
    """Our client has put every refusal into this form."""
    return ErrorData.model_validate(response.json()["error"])


def moved(response: httpx2.Response) -> str:
    return f"answered HTTP {response.status_code}: it has moved. Correct the url"
