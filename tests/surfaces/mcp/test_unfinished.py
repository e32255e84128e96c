"""Requests that begin and do not end: waited for only so long, and nothing of them stays."""

import anyio
import httpx2
import pytest
from tests.surfaces.mcp.places import DEADLINE, served
from tests.surfaces.mcp.raw import ask, spoken
from tests.surfaces.mcp.workshop import open_workshop

from pegboard.surfaces.mcp.request_checks import RequestChecks

pytestmark = pytest.mark.anyio


async def test_a_body_that_does_not_come_is_waited_for_only_so_long() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop, RequestChecks(client_timeout_s=0.05)) as url:
            answer = await spoken(
                url,
                b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{",
            )
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"No body within 0.05 seconds. Send the request again." in answer


async def test_a_client_that_leaves_before_its_body_is_complete_leaves_nothing_behind() -> None:
    with anyio.fail_after(DEADLINE):
        async with open_workshop() as workshop, served(workshop) as url, httpx2.AsyncClient(timeout=DEADLINE) as http:
            port = httpx2.URL(url).port
            assert port is not None
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(
                    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    b"Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{"
                )
            assert (await ask(http, url, "tools/list")).status_code == 200
