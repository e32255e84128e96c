"""Clients that close their sending side and wait for the answer of their call, in both eras."""

import json
import socket

import anyio
import httpx2
import pytest
from anyio.abc import SocketAttribute
from tests.surfaces.mcp.bench import Bench
from tests.surfaces.mcp.places import DEADLINE, LEGACY, MODES, served
from tests.surfaces.mcp.raw import handshake, modern, modern_headers
from tests.surfaces.mcp.workshop import Workshop, open_workshop

from pegboard.core.calls.call import Arguments, Outcome, ToolSuccess
from pegboard.ports.providers import Progress

pytestmark = pytest.mark.anyio


async def request(url: str, mode: str, tool: str) -> bytes:
    message = modern("tools/call", name=tool, arguments={})
    headers = modern_headers(message)
    if mode == LEGACY:
        message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": tool, "arguments": {}}}
        async with httpx2.AsyncClient() as http:
            headers = await handshake(http, url)
    body = json.dumps(message).encode()
    given = {"host": "127.0.0.1", **headers, "content-length": str(len(body))}
    lines = [f"POST {httpx2.URL(url).path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def hold_up(workshop: Workshop) -> anyio.Event:
    """Calls of `wait` end when the event is set, and not before."""
    goes_on, bench = anyio.Event(), workshop.bench

    async def run(bench: Bench, arguments: Arguments, progress: Progress | None) -> Outcome:
        await goes_on.wait()
        return ToolSuccess(b'{"content":[]}')

    bench._tools["wait"] = bench._tools["wait"][0], run
    return goes_on


async def answered(url: str, mode: str, tool: str, goes_on: anyio.Event) -> bytes:
    port, said = httpx2.URL(url).port, b""
    assert port is not None
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(await request(url, mode, tool))
        stream.extra(SocketAttribute.raw_socket).shutdown(socket.SHUT_WR)
        try:
            while True:
                said += await stream.receive()
                if said == b"HTTP/1.1 ":
                    goes_on.set()
        except anyio.EndOfStream:
            return said


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", ["get_file", "wait"])
@pytest.mark.behaviour("listening.half_closed")
async def test_a_call_of_who_sends_no_more_is_answered(mode: str, tool: str) -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url:
            for _ in range(2):  # the second time its head is known
                said = await answered(url, mode, tool, hold_up(workshop))
                status, _, body = said.partition(b"\r\n\r\n")
                assert status.startswith(b"HTTP/1.1 200 OK\r\n"), said
                assert "content" in json.loads(body)["result"]
            assert (workshop.bench.cancelled, workshop.bench.running) == (0, 0)
