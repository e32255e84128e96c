"""What callers send to be let in, here or further on: kept for the next call, and not for long."""

import gc
import hashlib
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest
from anyio.abc import SocketStream
from tests.surfaces.mcp.places import DEADLINE
from tests.surfaces.mcp.raw import INITIALIZE, modern, modern_headers
from tests.surfaces.mcp.test_express import Line
from tests.surfaces.mcp.test_principals import ALICE, BOB
from tests.surfaces.mcp.workshop import DECLARED, HERE, Workshop, open_workshop

from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.principals import Principal
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.ports.fast_path import RequestHead
from pegboard.surfaces.http import server as listening
from pegboard.surfaces.http.protocol import RequestHeadCache
from pegboard.surfaces.http.server import HttpServer, bind_socket
from pegboard.surfaces.mcp.endpoint import McpPaths

pytestmark = pytest.mark.anyio
ALICES, BOBS = "0123456789-etavirp-seceila", "0123456789-etavirp-sbob"
"""Tokens, written backwards."""


def token_of(who: PrincipalId, nekot: str) -> dict[PrincipalId, Principal]:
    return {who: Principal(who, HERE, (hashlib.sha256(nekot[::-1].encode()).digest(),))}


ON_THE_WAY = ("pegboard", "uvicorn", "starlette", "sse_starlette", "mcp", "anyio", "asyncio", "httptools", "msgspec")


def is_on_the_way(name: str) -> bool:
    """Whether a request passes through this package."""
    return name.partition(".")[0] in ON_THE_WAY


def is_of_the_tests(name: str) -> bool:
    return name.partition(".")[0] in ("tests", "_pytest", "pytest", "pluggy", "xdist", "execnet", "hypothesis")


def holders(nekot: str, *roots: object) -> list[str]:
    """What holds the token that is written backwards here, of all that can be reached from these roots, but not by way
    of the tests, of what runs them and of packages that see no request: that is most of the process.

    Backwards, because whoever looks for something holds it himself.
    """
    text = nekot[::-1]
    data = text.encode()
    aside = [roots, sys.modules, *(vars(module) for name, module in sys.modules.items() if not is_on_the_way(name))]
    seen, row, found = {*map(id, aside)}, list[object](roots), list[str]()
    while row:
        after: list[object] = []
        for one in row:
            for other in gc.get_referents(one):
                if isinstance(other, bytes | bytearray) and data in other:
                    found.append(f"{type(one).__name__}: {bytes(other)[:60]!r}")
                elif isinstance(other, str) and text in other:
                    found.append(f"{type(one).__name__}: {other[:60]!r}")
                elif id(other) not in seen:
                    seen.add(id(other))
                    if not is_of_the_tests(str(type(other).__module__)):
                        after.append(other)
        row = after
    return found


async def call(stream: SocketStream, header: str, nekot: str) -> None:
    """A call with that header, on a connection that stays open."""
    message = modern("tools/call", name="echo", arguments={"text": "x"})
    body = json.dumps(message).encode()
    headers = {"host": "localhost", **modern_headers(message), "content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    credential = header.format(nekot[::-1])
    await stream.send(f"POST /mcp HTTP/1.1\r\n{head}{credential}\r\n\r\n".encode() + body)
    assert await Line(stream).told() == (1, "x")


async def open_session(stream: SocketStream, header: str, nekot: str) -> None:
    """One of the handshake era, which stays open."""
    body = json.dumps(INITIALIZE).encode()
    accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
    head = f"POST /mcp HTTP/1.1\r\nhost: localhost\r\n{accept}content-length: {len(body)}\r\n"
    await stream.send(f"{head}{header.format(nekot[::-1])}\r\n\r\n".encode() + body)
    assert (await Line(stream).answer())[0] == 200


@asynccontextmanager
async def endpoint(declared: DeclaredSettings = DECLARED) -> AsyncIterator[tuple[Workshop, list[object], SocketStream]]:
    with anyio.fail_after(DEADLINE):
        async with open_workshop(declared) as workshop:
            app = McpPaths(workshop.gateway)
            with bind_socket("127.0.0.1", 0) as listener:
                async with (
                    app.lifespan(),
                    HttpServer(app, listener, app.end_streams, app.fast_path) as listens,
                    await anyio.connect_tcp("127.0.0.1", listener.getsockname()[1]) as stream,
                ):
                    yield workshop, [listens, app], stream


async def forgotten(workshop: Workshop, nekot: str, roots: list[object]) -> None:
    # The audit of these tests keeps calls whole, with headers that no store is given.
    workshop.audit.records.clear()
    while holders(nekot, *roots):
        await anyio.lowlevel.checkpoint()


@pytest.mark.behaviour("per_caller.credentials_are_forgotten")
async def test_the_credential_of_a_caller_who_comes_no_more_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "CHECK_INTERVAL_S", 0.01)
    monkeypatch.setattr(listening, "FORGET_INTERVAL_S", 3600.0)
    header = "x-owner-token: {}"
    async with endpoint() as (workshop, roots, stream):
        for _ in range(3):
            await call(stream, header, ALICES)
        assert holders(ALICES, *roots), "or there would be nothing to forget"
        await open_session(stream, header, ALICES)
        for _ in range(2):
            await call(stream, header, BOBS)
        monkeypatch.setattr(listening, "FORGET_INTERVAL_S", 0.0)
        await forgotten(workshop, ALICES, roots)
        await call(stream, header, ALICES)


@pytest.mark.behaviour("per_caller.credentials_are_forgotten")
async def test_the_token_of_a_caller_who_is_taken_out_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "CHECK_INTERVAL_S", 0.01)
    header = "authorization: Bearer {}"
    guarded = replace(DECLARED, principals={**token_of(ALICE, ALICES), **token_of(BOB, BOBS)})
    async with endpoint(guarded) as (workshop, roots, stream):
        for _ in range(3):
            await call(stream, header, BOBS)
        await call(stream, header, ALICES)
        assert holders(BOBS, *roots), "or there would be nothing to forget"
        await workshop.gateway.operator.apply_settings(replace(guarded, principals=token_of(ALICE, ALICES)))
        await forgotten(workshop, BOBS, roots)


def test_a_head_is_remembered_for_as_long_as_it_is_used_between_two_turns() -> None:
    heads = RequestHeadCache()
    used, unused = (b"POST /%b HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody" % path for path in (b"a", b"b"))
    heads.add(used, RequestHead(b"", [], {}))
    heads.add(unused, RequestHead(b"", [], {}))
    for _ in range(3):
        heads.drop_unused()
        assert heads.find(used) is not None
    assert heads.find(unused) is None
    heads.clear()
    assert heads.find(used) is None
