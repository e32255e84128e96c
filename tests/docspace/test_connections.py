"""Connections that fail: told in the words that Node's fetch has for them, which DocSpace's own server passes on."""

import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from pegboard.core.calls.caller_credentials import ApiAccess, ApiKey
from pegboard.providers.docspace.api import DocSpaceApi
from pegboard.providers.docspace.client import DocSpaceClient
from pegboard.providers.docspace.files import CHUNK_BYTES, upload
from pegboard.providers.docspace.limits import DocSpaceError, DocSpaceLimits
from pegboard.providers.docspace.validation import AnyValueType

pytestmark = pytest.mark.anyio
Conduct = Callable[[SocketStream], Awaitable[None]]
RESET = struct.pack("ii", 1, 0)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
FETCHING = ["Fetching request.", "Making bare fetch.", "Fetching request.", "fetch failed"]
READING = ["Fetching request.", "Parsing response.", "Parsing response body.", "terminated"]


@asynccontextmanager
async def behaving(conduct: Conduct) -> AsyncIterator[str]:
    """The base URL of a server that does this with each connection."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, conduct)
        yield f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/"
        tasks.cancel_scope.cancel()


async def reset(stream: SocketStream) -> None:
    stream.extra(SocketAttribute.raw_socket).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    await stream.aclose()


async def reset_when_asked(stream: SocketStream) -> None:
    await stream.receive()
    await reset(stream)


async def close_when_asked(stream: SocketStream) -> None:
    await stream.receive()
    await stream.aclose()


async def close_in_the_head(stream: SocketStream) -> None:
    await stream.receive()
    await stream.send(HEAD[:20])
    await stream.aclose()


async def close_in_the_body(stream: SocketStream) -> None:
    await stream.receive()
    await stream.send(HEAD)
    await stream.aclose()


@asynccontextmanager
async def reaching(base: str) -> AsyncIterator[DocSpaceApi]:
    def now() -> datetime:
        return datetime.now(UTC)

    limits = DocSpaceLimits(retry_pause_s=0.0)
    client = DocSpaceClient(limits, now)
    try:
        yield DocSpaceApi(client, ApiAccess(base, ApiKey("k")), limits, now)
    finally:
        await client.close()


async def lines(base: str) -> list[str]:
    async with reaching(base) as api:
        with pytest.raises(DocSpaceError) as raised:
            await api.get("api/2.0/files/file/101", AnyValueType())
    return [line.lstrip("\t") for line in str(raised.value).split("\n")]


@pytest.mark.behaviour("docspace.connection_errors")
@pytest.mark.parametrize(
    ("conduct", "told"),
    [
        (reset_when_asked, [*FETCHING, "read ECONNRESET"]),
        (close_when_asked, [*FETCHING, "other side closed"]),
        (close_in_the_head, [*FETCHING, "other side closed"]),
        (close_in_the_body, [*READING, "other side closed"]),
    ],
)
async def test_a_connection_that_breaks_is_told_as_recorded(conduct: Conduct, told: list[str]) -> None:
    async with behaving(conduct) as base:
        assert await lines(base) == told


@pytest.mark.behaviour("docspace.connection_errors")
@pytest.mark.parametrize("port", [1, 22, 6000, 10080])
async def test_a_port_that_no_browser_asks_is_refused_before_it_is_asked(port: int) -> None:
    assert await lines(f"http://127.0.0.1:{port}/") == [*FETCHING, "bad port"]


@pytest.mark.behaviour("docspace.connection_errors")
async def test_a_closed_port_is_told_with_its_address() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        at = held.getsockname()[1]
        assert await lines(f"http://127.0.0.1:{at}/") == [*FETCHING, f"connect ECONNREFUSED 127.0.0.1:{at}"]
        # A name is told by the address that it stands for.
        told = await lines(f"http://localhost:{at}/")
        assert (told[:-1], told[-1]) == (FETCHING, f"connect ECONNREFUSED 127.0.0.1:{at}")


@pytest.mark.behaviour("docspace.connection_errors", "docspace.uploads")
async def test_a_piece_that_fails_is_told_with_its_number() -> None:
    begun = (
        b'{"response": {"success": true, "data": {"id": "s"}}, "status": 0, "statusCode": 200, "links": [], "count": 1}'
    )
    kept = b'{"success": true, "data": {"bytes_uploaded": 1}, "message": ""}'
    failed = b'{"success": false, "message": "boom"}'
    answers = iter((begun, kept, failed))

    async def answer(stream: SocketStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await stream.receive()
            head, _, body = head.partition(b"\r\n\r\n")
            (size,) = (int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
            left = size - len(body)
            while left > 0:
                left -= len(await stream.receive())
            said = next(answers)
            kind = b"Content-Type: application/json\r\nConnection: close"
            await stream.send(b"HTTP/1.1 200 OK\r\n%b\r\nContent-Length: %d\r\n\r\n%b" % (kind, len(said), said))

    async with behaving(answer) as base, reaching(base) as api:
        with pytest.raises(DocSpaceError) as raised:
            await upload(api, {"parentId": 10, "filename": "a.txt", "content": "x" * (CHUNK_BYTES + 1)})
    assert str(raised.value).split("\n") == [
        "Uploading file.",
        "\tUploading chunk 2 of 2.",
        "\t\tFetching request.",
        "\t\t\tMaking bare fetch.",
        "\t\t\t\tChecking response.",
        f"\t\t\t\t\tPOST {base}ChunkedUploader.ashx?uid=s: 200 boom",
    ]
