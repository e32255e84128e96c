"""Callers that the operator takes out while they keep streams and sessions open."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import httpx2
import pytest
from tests.surfaces.mcp.places import DEADLINE, served
from tests.surfaces.mcp.raw import handshake, modern, modern_headers
from tests.surfaces.mcp.test_principals import ALICE, BOB, GUARDED, bearer, named
from tests.surfaces.mcp.workshop import DECLARED, HERE, open_workshop

from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId
from pegboard.core.model.principals import Principal
from pegboard.gateway.access.tokens import TokenHashes
from pegboard.surfaces.mcp.authentication import revoked_principals

pytestmark = pytest.mark.anyio

OTHER_TOKEN = Principal(BOB, HERE, (hashlib.sha256(b"bob-another-0123456789").digest(),))
FURTHER_TOKEN = Principal(BOB, HERE, (*named(BOB)[BOB].hashes, *OTHER_TOKEN.hashes))


def patient() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=None)


class Stream:
    """A stream that a caller keeps open, read by a task of its own until it is over."""

    def __init__(self) -> None:
        self.opened = anyio.Event()
        self.over = anyio.Event()

    async def read(self, http: httpx2.AsyncClient, method: str, url: str, message: object, **headers: str) -> None:
        async with http.stream(method, url, json=message, headers=headers) as answer:
            assert answer.status_code == 200
            self.opened.set()
            async for _ in answer.aiter_bytes():
                pass
        self.over.set()


@asynccontextmanager
async def streams(http: httpx2.AsyncClient, url: str, headers: dict[str, str]) -> AsyncIterator[tuple[Stream, Stream]]:
    """One of each era, open within the block."""
    listen = modern("subscriptions/listen", notifications={"toolsListChanged": True})
    session = await _session(url, headers)
    standing, listening = Stream(), Stream()
    async with anyio.create_task_group() as tasks:
        own = {**session, **headers}

        async def read_standing() -> None:
            await standing.read(http, "GET", url, None, **own)

        async def read_listening() -> None:
            await listening.read(http, "POST", url, listen, **modern_headers(listen), **headers)

        tasks.start_soon(read_standing)
        tasks.start_soon(read_listening)
        await standing.opened.wait()
        await listening.opened.wait()
        yield standing, listening
        tasks.cancel_scope.cancel()


async def _session(url: str, headers: dict[str, str]) -> dict[str, str]:
    async with httpx2.AsyncClient(headers=headers) as http:
        return await handshake(http, url)


@pytest.mark.parametrize(
    "now",
    [named(ALICE), {**named(ALICE), BOB: OTHER_TOKEN}],
    ids=["taken out", "given another token"],
)
@pytest.mark.behaviour("principals.streams_end")
async def test_the_streams_and_sessions_of_a_caller_that_is_taken_out_end_and_no_others_do(
    now: Mapping[PrincipalId, Principal],
) -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(GUARDED) as workshop,
            served(workshop) as url,
            httpx2.AsyncClient(timeout=None) as http,
        ):
            session = await _session(url, bearer(BOB))
            async with streams(http, url, bearer(ALICE)) as alices, streams(http, url, bearer(BOB)) as bobs:
                await workshop.gateway.operator.apply_settings(replace(GUARDED, principals=now))
                for stream in bobs:
                    await stream.over.wait()
                # Bob himself comes back with his former token: his session does not.
                await workshop.gateway.operator.apply_settings(GUARDED)
                ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
                answer = await http.post(url, json=ping, headers={**session, **bearer(BOB)})
                assert answer.status_code == 404
                assert not any(stream.over.is_set() for stream in alices)


@pytest.mark.behaviour("principals.streams_end")
async def test_who_came_in_without_a_name_stays_until_callers_have_names() -> None:
    with anyio.fail_after(DEADLINE):
        async with (
            open_workshop(DECLARED) as workshop,
            served(workshop) as url,
            httpx2.AsyncClient(timeout=None) as http,
            streams(http, url, {}) as open_streams,
        ):
            await workshop.gateway.operator.apply_settings(GUARDED)
            for stream in open_streams:
                await stream.over.wait()


def test_only_who_could_come_in_before_and_could_not_now_has_left() -> None:
    alice, bob = named(ALICE)[ALICE].hashes, named(BOB)[BOB].hashes
    both, further = {ALICE: alice, BOB: bob}, {ALICE: alice, BOB: FURTHER_TOKEN.hashes}
    nobody: TokenHashes = {}
    assert list(revoked_principals(both, both)) == []
    assert list(revoked_principals(both, further)) == []
    assert list(revoked_principals(further, both)) == [BOB]
    assert list(revoked_principals(both, {BOB: bob})) == [ALICE]
    assert list(revoked_principals(both, {ALICE: (), BOB: bob})) == [ALICE]
    assert list(revoked_principals(both, nobody)) == [ALICE, BOB]
    assert list(revoked_principals(nobody, both)) == [LOCAL_PRINCIPAL]
    assert list(revoked_principals(nobody, nobody)) == []
