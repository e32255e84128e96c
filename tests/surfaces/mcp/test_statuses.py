"""The table of answers in the reference, row by row: every status that it names is given, and for its reason."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from tests.surfaces.mcp.places import DEADLINE, ROOT
from tests.surfaces.mcp.raw import INITIALIZE, modern, modern_headers
from tests.surfaces.mcp.test_express import Line
from tests.surfaces.mcp.test_principals import ALICE, GUARDED, bearer
from tests.surfaces.mcp.workshop import open_workshop

from pegboard.surfaces.http.server import HttpServer, bind_socket
from pegboard.surfaces.mcp.endpoint import McpPaths
from pegboard.surfaces.mcp.request_checks import RequestChecks

pytestmark = pytest.mark.anyio
DOOR = RequestChecks(max_sessions=1, client_timeout_s=0.5, max_body_bytes=10_000)
LIST = modern("tools/list")
PLAIN = frozenset({417, 431, 501, 505})


def rows() -> dict[int, str]:
    """Each status of the table, with what the reference says about it."""
    text = Path(ROOT / "docs/reference/http.md").read_text(encoding="utf-8")
    table = text.partition("| status | when |\n|---|---|\n")[2].partition("\n\n")[0]
    found: dict[int, str] = {}
    for statuses, when in re.findall(r"^\| ([0-9, ]+) \| (.+) \|$", table, re.MULTILINE):
        found |= {int(status): when for status in statuses.split(",")}
    return found


class Knocking:
    """Requests written by hand to one endpoint, each on a connection of its own."""

    def __init__(self, port: int) -> None:
        self._port = port

    @asynccontextmanager
    async def line(self) -> AsyncIterator[Line]:
        async with await anyio.connect_tcp("127.0.0.1", self._port) as stream:
            yield Line(stream)

    async def status(self, first: str, headers: Mapping[str, str], body: bytes = b"") -> int:
        async with self.line() as line:
            await line.stream.send(written(first, headers, body))
            status, head, told = await line.answer()
            if status >= 400:
                kind = b"text/plain; charset=utf-8" if status in PLAIN else b"application/json"
                assert b"content-type: " + kind in head
                assert (b"connection: close" in head) >= (status in PLAIN)
                words = told.decode() if status in PLAIN else json.loads(told)["error"]["message"]
                assert words, head
            return status


def written(first: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    lengths = {} if "content-length" in headers or "transfer-encoding" in headers else {"content-length": len(body)}
    every = {"host": "localhost", **bearer(ALICE), **headers, **lengths}
    lines = "".join(f"{name}: {value}\r\n" for name, value in every.items() if value != "-")
    return f"{first} HTTP/1.1\r\n{lines}\r\n".encode() + body


@pytest.fixture
async def place(anyio_backend: str) -> AsyncIterator[Knocking]:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(GUARDED) as workshop:
            app = McpPaths(workshop.gateway, DOOR)
            with bind_socket("127.0.0.1", 0) as listener:
                async with app.lifespan(), HttpServer(app, listener, app.end_streams, app.fast_path):
                    yield Knocking(listener.getsockname()[1])


LISTING = json.dumps(LIST).encode()
HEADERS = modern_headers(LIST)
OLD = {key: value for key, value in HEADERS.items() if not key.startswith("mcp-")}
SIMPLE: list[tuple[int, str, Mapping[str, str], bytes]] = [
    (200, "POST /mcp", HEADERS, LISTING),
    (400, "POST /mcp", HEADERS, b"{"),
    (400, "POST /mcp", {**HEADERS, "host": "-"}, LISTING),
    (400, "POST /mcp?toolsets=nothing", HEADERS, LISTING),
    (401, "POST /mcp", {**HEADERS, "authorization": "-"}, LISTING),
    (403, "POST /mcp", {**HEADERS, "origin": "https://evil.example"}, LISTING),
    (404, "POST /mcp/nowhere", HEADERS, LISTING),
    (404, "POST /mcp%2Fsearch", HEADERS, LISTING),
    (404, "POST /mcp", {**OLD, "mcp-session-id": "unknown"}, b'{"jsonrpc":"2.0","id":1,"method":"ping"}'),
    (404, "POST /mcp", modern_headers(modern("no/method")), json.dumps(modern("no/method")).encode()),
    (405, "PUT /mcp", HEADERS, LISTING),
    (405, "GET /mcp", HEADERS, b""),
    (406, "POST /mcp", {**HEADERS, "accept": "text/html"}, LISTING),
    (408, "POST /mcp", {**HEADERS, "content-length": "100"}, b"{"),
    (413, "POST /mcp", HEADERS, b" " * 10_001),
    (415, "POST /mcp", {**HEADERS, "content-type": "text/plain"}, LISTING),
    (417, "POST /mcp", {**HEADERS, "expect": "tea"}, LISTING),
    (421, "POST /mcp", {**HEADERS, "host": "evil.example"}, LISTING),
    (431, "POST /mcp", {**HEADERS, "x": "a" * 66_000}, LISTING),
    (501, "POST /mcp", {**HEADERS, "transfer-encoding": "gzip"}, LISTING),
    (501, "CONNECT localhost:1", HEADERS, b""),
]


@pytest.mark.behaviour("http.statuses")
@pytest.mark.parametrize(("status", "first", "headers", "body"), SIMPLE, ids=[f"{one[0]} {one[1]}" for one in SIMPLE])
async def test_a_request_gets_the_status_that_the_reference_names(
    place: Knocking, status: int, first: str, headers: Mapping[str, str], body: bytes
) -> None:
    assert await place.status(first, headers, body) == status
    assert await place.status("POST /mcp", HEADERS, LISTING) == 200


async def test_another_version_of_http_is_told_which_one_is_spoken(place: Knocking) -> None:
    async with place.line() as line:
        await line.stream.send(written("POST /mcp", HEADERS, LISTING).replace(b"HTTP/1.1", b"HTTP/2.0", 1))
        assert (await line.answer())[0] == 505


@pytest.mark.behaviour("http.statuses")
async def test_sessions_have_their_own_statuses(place: Knocking) -> None:
    opening = json.dumps(INITIALIZE).encode()
    async with place.line() as line:
        await line.stream.send(written("POST /mcp", OLD, opening))
        status, head, _ = await line.answer()
        assert status == 200
        [session] = [part.partition(b": ")[2].decode() for part in head.split(b"\r\n") if b"mcp-session-id" in part]
        own = {**OLD, "mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
        heard = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
        assert await place.status("POST /mcp", own, heard) == 202
        await line.stream.send(written("GET /mcp", own))
        assert (await line.stream.receive()).startswith(b"HTTP/1.1 200 ")
        assert await place.status("GET /mcp", own) == 409
    async with place.line() as line:
        await line.stream.send(written("POST /mcp", OLD, opening))
        status, head, body = await line.answer()
        assert (status, b"retry-after: 60\r\n" in head, json.loads(body)["error"]["message"]) == (
            503,
            True,
            "All sessions of this gateway are in use. Try again later, or use protocol version 2026-07-28, which needs "
            "none.",
        )


@pytest.mark.behaviour("http.statuses")
async def test_who_guesses_tokens_is_told_to_stop(place: Knocking) -> None:
    wrong = {**HEADERS, "authorization": "Bearer wrong"}
    statuses = [await place.status("POST /mcp", wrong, LISTING) for _ in range(21)]
    assert statuses == [401] * 20 + [429]


def test_every_status_of_the_table_is_provoked_here() -> None:
    assert {one[0] for one in SIMPLE} | {202, 409, 429, 503, 505} == set(rows())
