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

from pegboard.core.model.server import Http
from pegboard.http_parsing import EventStreamParser, EventTooLargeError, ServerSentEvent
from pegboard.providers.mcp.credentials import Authorization
from pegboard.providers.mcp.errors import CONNECTION_BROKEN, HTTP_STATUS_BASE, ConnectionLoss, McpServerError
from pegboard.providers.mcp.fast.response import SharedStreamCalls
from pegboard.providers.mcp.http_client import McpHttpClient
from pegboard.providers.mcp.in_flight import CallsInFlight, handle_log_message
from pegboard.providers.mcp.messages import MAX_MESSAGE_BYTES, McpMessageReader, UnsolicitedFilter
from pegboard.providers.mcp.transport import McpTransport
from pegboard.providers.mcp.transports.streamable_http import checked_url

_MAX_QUEUED_MESSAGES: Final = 256
_STREAMABLE_HTTP_STATUSES: Final = frozenset({400, 404, 405, 406, 415})
"""How streamable HTTP servers answer a GET without a session."""
_TRANSPORT_HINT: Final = "A server of streamable HTTP needs transport: http; else check the url"
_STREAM_HEADERS: Final = {"accept": "text/event-stream", "cache-control": "no-store"}


@asynccontextmanager
async def open_sse(
    server: Http,
    *,
    within: float,
    doubt: Callable[[], None],
    loss: ConnectionLoss,
    in_flight: CallsInFlight,
    authorization: Authorization | None = None,
) -> AsyncIterator[McpTransport]:
    url = checked_url(server.url)
    async with (
        McpHttpClient(server.headers, doubt, authorization) as client,
        client.stream("GET", url, headers=_STREAM_HEADERS) as response,
    ):
        if response.status_code in _STREAMABLE_HTTP_STATUSES:
            raise McpServerError(
                f"answered HTTP {response.status_code} to the opening of an SSE stream. {_TRANSPORT_HINT}"
            )
        if response.status_code >= 400:
            raise McpServerError(_error_data(response).message)
        if response.is_redirect:
            raise McpServerError(moved_message(response))
        async with aclosing(_parse_events(response)) as events:
            endpoint = await _read_endpoint(events, httpx2.URL(url), within)
            arriving, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            write, leaving = anyio.create_memory_object_stream[SessionMessage](_MAX_QUEUED_MESSAGES)
            with arriving, read, write, leaving:
                sieve, calls = UnsolicitedFilter(), SharedStreamCalls()
                reader = McpMessageReader(f"The server at {endpoint.host}", in_flight.has_listener, sieve.take_expected)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_read_events, events, reader, calls, in_flight, arriving, loss)
                    tasks.start_soon(_write_messages, client, endpoint, leaving, arriving, tasks, sieve, calls)
                    yield McpTransport(read, write)
                    tasks.cancel_scope.cancel()


async def _parse_events(response: httpx2.Response) -> AsyncGenerator[ServerSentEvent]:
    """Raises `EventTooLargeError`."""
    events = EventStreamParser(MAX_MESSAGE_BYTES)
    async for chunk in response.aiter_bytes():
        for event in events.feed(chunk):
            yield event


async def _read_endpoint(events: AsyncIterator[ServerSentEvent], url: httpx2.URL, within: float) -> httpx2.URL:
    """Where to send: what the server names first, as long as it is the server itself."""
    # A newer server may open a stream for its notices, on which nothing comes.
    with suppress(EventTooLargeError), anyio.move_on_after(within):
        async for event in events:
            if event.kind == b"endpoint":
                endpoint = url.join(event.text.decode("utf-8", "replace"))
                if (endpoint.scheme, endpoint.netloc) != (url.scheme, url.netloc):
                    raise McpServerError("wants its messages at another machine than the one we were told to ask")
                return endpoint
    raise McpServerError(f"does not speak SSE: it named no endpoint. {_TRANSPORT_HINT}")


async def _read_events(
    events: AsyncIterator[ServerSentEvent],
    reader: McpMessageReader,
    calls: SharedStreamCalls,
    in_flight: CallsInFlight,
    arriving: MemoryObjectSendStream[SessionMessage | Exception],
    loss: ConnectionLoss,
) -> None:
    with arriving:
        try:
            async for event in events:
                if event.kind != b"message" or handle_log_message(event.text, in_flight):
                    continue
                message = calls.wrap_answer(event.text) or await reader.read_message(event.text)
                if message is not None:
                    await arriving.send(message)
        except EventTooLargeError:
            loss.report(f"sent a message longer than {MAX_MESSAGE_BYTES // 1024 // 1024} MiB")
        except (httpx2.TransportError, anyio.BrokenResourceError):
            pass  # over is over, whichever way it ended
        # Those who wait for an answer are told when the stream closes, so the reason comes first.
        loss.report("closed the event stream")


async def _write_messages(
    client: McpHttpClient,
    endpoint: httpx2.URL,
    leaving: MemoryObjectReceiveStream[SessionMessage],
    arriving: MemoryObjectSendStream[SessionMessage | Exception],
    tasks: TaskGroup,
    sieve: UnsolicitedFilter,
    calls: SharedStreamCalls,
) -> None:
    async for message in leaving:
        if isinstance(message.message, JSONRPCRequest):
            sieve.expect(message.message.id)
            calls.register_call(message.message)
            # Each on its own: some servers answer the POST only when the tool has finished.
            tasks.start_soon(_send_request, client, endpoint, message, message.message.id, arriving)
        else:
            await _post(client, endpoint, message)


async def _send_request(
    client: McpHttpClient,
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


async def _post(client: McpHttpClient, endpoint: httpx2.URL, message: SessionMessage) -> ErrorData | None:
    body = message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
    try:
        response = await client.post(endpoint, json=body)
    except httpx2.StreamError as error:
        return ErrorData(code=CONNECTION_BROKEN, message=str(error))
    if response.status_code >= 400:
        return _error_data(response)
    if response.is_redirect:
        return ErrorData(code=HTTP_STATUS_BASE - response.status_code, message=moved_message(response))
    return None


def _error_data(response: httpx2.Response) -> ErrorData:
    """Our client has put every refusal into this form."""
    return ErrorData.model_validate(response.json()["error"])


def moved_message(response: httpx2.Response) -> str:
    return f"answered HTTP {response.status_code}: it has moved. Correct the url"
