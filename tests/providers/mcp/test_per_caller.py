"""A server that every caller reaches with their own credentials: nobody's are used for anybody else."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from tests.providers.mcp.running import KEY, PATIENCE, nothing_left, server
from tests.support.fork_server import python
from tests.support.house import call_of

from pegboard.config.references import expander_for_callers
from pegboard.core.calls.call import AdmittedCall, Outcome, ProviderFailure, ToolFailure, ToolSuccess
from pegboard.core.json.values import Json
from pegboard.core.model.catalogue import Listing, ProviderAsleep, ProviderUp
from pegboard.core.model.ids import ToolId
from pegboard.core.model.server import Http, Server, Transport
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.providers.mcp import lifecycle as connect
from pegboard.providers.mcp.per_caller import PerCallerProvider, header_requirements

pytestmark = pytest.mark.anyio

OWNERS = Path(__file__).parent / "peers" / "owners.py"
OWN = {"Authorization": "Bearer ${request:X-Owner-Token}"}
ERAS = ("2026-07-28", "2025-11-25")


def token(name: str) -> dict[bytes, bytes]:
    return {b"x-owner-token": f"token-of-{name}".encode(), b"x-other": b"never passed on"}


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "2025-11-25":
        monkeypatch.setattr(connect, "_PROBE_TIMEOUT_S", 0.0)
    return str(request.param)


@asynccontextmanager
async def owners(*arguments: str, transport: str = "http", port: int = 0) -> AsyncIterator[str]:
    """The address of the real server in a process of its own."""
    command = [python(), str(OWNERS), f"--{transport}", str(port), *arguments]
    process = await anyio.open_process(command, stdout=None)
    async with process, anyio.create_task_group() as tasks:
        try:
            assert process.stderr is not None
            stderr = BufferedByteReceiveStream(process.stderr)
            with anyio.fail_after(PATIENCE):
                while not (line := await stderr.receive_until(b"\n", 10_000_000)).startswith(b"PORT "):
                    pass
            tasks.start_soon(_drain, stderr)
            yield f"http://127.0.0.1:{int(line.split()[1])}/{'mcp' if transport == 'http' else 'sse'}"
        finally:
            tasks.cancel_scope.cancel()
            if process.returncode is None:
                process.kill()


async def _drain(stream: BufferedByteReceiveStream) -> None:
    async for _ in stream:
        pass


class Callers:
    """A running provider, and calls in the names of several callers."""

    def __init__(self, provider: PerCallerProvider) -> None:
        self.provider = provider
        self._rung = anyio.Event()

    def ring(self) -> None:
        self._rung.set()
        self._rung = anyio.Event()

    async def until(self, kind: type) -> Listing:
        with anyio.fail_after(PATIENCE):
            while not isinstance(self.provider.listing().health, kind):
                await self._rung.wait()
        return self.provider.listing()

    async def call(self, headers: dict[bytes, bytes], name: str, **arguments: Json) -> Outcome:
        known = self.provider.listing().by_id
        tool = known.get(ToolId(KEY, name)) or Tool(ToolId(KEY, name), ToolSpec(name))
        call = call_of(name, arguments)
        object.__setattr__(call, "headers", headers)
        with anyio.fail_after(PATIENCE):
            return await self.provider.call(AdmittedCall(call, tool))


@asynccontextmanager
async def running(declared: Server, **options: Any) -> AsyncIterator[Callers]:
    wants = header_requirements(declared.connection)
    assert wants is not None
    expand_for = expander_for_callers({"SHARED": "all-of-us"}, Path())
    provider = PerCallerProvider(declared, wants, expand_for, lambda: datetime.now(UTC), **options)
    callers = Callers(provider)
    async with nothing_left(), anyio.create_task_group() as tasks:
        tasks.start_soon(provider.run, callers.ring)
        try:
            yield callers
        finally:
            tasks.cancel_scope.cancel()


def said(outcome: Outcome) -> str:
    assert isinstance(outcome, ToolSuccess), outcome
    text = json.loads(outcome.body)["content"][0]["text"]
    assert isinstance(text, str)
    return text


@pytest.mark.behaviour("per_caller.own_credentials")
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_each_caller_is_served_with_its_own_rights(transport: str) -> None:
    async with (
        owners("--open", transport=transport) as url,
        running(server(Http(url, Transport(transport), OWN))) as callers,
    ):
        await callers.until(ProviderUp)
        names = ["alice", "bob", "alice", "carol", "bob"]
        assert [said(await callers.call(token(name), "whose")) for name in names] == names


@pytest.mark.behaviour("per_caller.missing_header_is_told")
async def test_a_caller_without_the_header_is_told_to_send_it_and_the_server_is_not_asked() -> None:
    async with owners("--open") as url, running(server(Http(url, headers=OWN))) as callers:
        await callers.until(ProviderUp)
        told = f"{KEY} was not asked: it needs a header of your own: send X-Owner-Token with your request."
        for headers in ({}, {b"x-owner-token": b""}, {b"x-owner-token": b" \t"}):
            assert await callers.call(headers, "whose") == ProviderFailure(told, may_have_run=False)
        bad = (
            f"{KEY} was not asked: your header X-Owner-Token holds what cannot be passed on. "
            "Send one line of printable ASCII characters."
        )
        for value in (b"a\r\nX-Admin: yes", b"a\nb", "schlüssel".encode(), b"\x00", b"a\tb"):
            assert await callers.call({b"x-owner-token": value}, "whose") == ProviderFailure(bad, may_have_run=False)
        long = (
            f"{KEY} was not asked: your header X-Owner-Token has 8193 bytes, and 8192 are the most. "
            "Send a shorter value."
        )
        asked = await callers.call({b"x-owner-token": b"x" * 8193}, "whose")
        assert asked == ProviderFailure(long, may_have_run=False)


async def test_what_a_caller_sends_is_never_read_as_a_reference_of_the_operators() -> None:
    headers = {"Authorization": "Bearer ${request:A}${request:B}", "X-Shared": "${SHARED}"}
    async with owners("--open") as url, running(server(Http(url, headers=headers))) as callers:
        await callers.until(ProviderUp)
        sent = {b"a": b"token-of-x$", b"b": b"{SHARED}"}
        assert said(await callers.call(sent, "whose")) == "x${SHARED}"
        assert said(await callers.call({b"a": b"token-of-", b"b": b"${SHARED}"}, "whose")) == "${SHARED}"


@pytest.mark.behaviour("per_caller.listed_by_the_first_caller")
async def test_a_server_that_lists_for_nobody_is_listed_by_the_first_caller_who_can(era: str) -> None:
    async with owners() as url, running(server(Http(url, headers=OWN))) as callers:
        waiting = await callers.until(ProviderAsleep)
        assert waiting.tools == ()
        assert isinstance(waiting.health, ProviderAsleep)
        assert waiting.health.why.startswith("it lists its tools when a caller sends X-Owner-Token; without, it ")
        assert callers.provider.announce_caller({}) is False
        assert callers.provider.announce_caller(token("alice")) is True
        assert callers.provider.announce_caller(token("alice")) is False, "once is enough"
        listing = await callers.until(ProviderUp)
        assert sorted(tool.id.name for tool in listing.tools) == ["blurt", "crossings", "whose"]
        assert said(await callers.call(token("bob"), "whose")) == "bob"


async def test_a_default_stands_for_callers_who_send_nothing() -> None:
    own = {"Authorization": "Bearer ${request:X-Owner-Token:-token-of-everybody}"}
    async with owners() as url, running(server(Http(url, headers=own))) as callers:
        await callers.until(ProviderUp)
        assert said(await callers.call({}, "whose")) == "everybody"
        assert said(await callers.call(token("alice"), "whose")) == "alice"


@pytest.mark.behaviour("per_caller.bounded_and_forgotten")
async def test_only_so_many_connections_are_kept_and_the_one_unused_for_longest_goes_first() -> None:
    async with owners("--open") as url, running(server(Http(url, headers=OWN)), most=2) as callers:
        await callers.until(ProviderUp)
        for name in ("a", "b", "a", "c", "a", "d", "b"):
            assert said(await callers.call(token(name), "whose")) == name
            assert len(callers.provider._connections) <= 2
        ended: dict[str, Outcome] = {}

        async def slow(name: str) -> None:
            ended[name] = await callers.call(token(name), "whose", pause=0.5)

        async with anyio.create_task_group() as tasks:
            for name in ("x", "y"):
                tasks.start_soon(slow, name)
            with anyio.fail_after(PATIENCE):
                while [kept.idle_tracker.user_count > 1 for kept in callers.provider._connections.values()] != [
                    True,
                    True,
                ]:
                    await anyio.lowlevel.checkpoint()
            assert await callers.call(token("z"), "whose") == ProviderFailure(
                f"2 callers use {KEY} at this moment, which is the most at once. Try again later",
                may_have_run=False,
            )
        assert {name: said(outcome) for name, outcome in ended.items()} == {"x": "x", "y": "y"}


@pytest.mark.behaviour("per_caller.bounded_and_forgotten")
async def test_a_connection_that_its_caller_does_not_use_is_closed_and_made_anew() -> None:
    async with owners("--open") as url, running(server(Http(url, headers=OWN)), idle=0.05) as callers:
        await callers.until(ProviderUp)
        for _ in range(3):
            assert said(await callers.call(token("alice"), "whose")) == "alice"
            with anyio.fail_after(PATIENCE):
                while callers.provider._connections:
                    await anyio.lowlevel.checkpoint()


@pytest.mark.behaviour("per_caller.credentials_are_not_told")
async def test_a_callers_credentials_are_in_no_error_no_log_and_no_listing(caplog: pytest.LogCaptureFixture) -> None:
    secret = {b"x-owner-token": b"nobody-knows-this-secret"}
    with caplog.at_level(logging.DEBUG, "pegboard"):
        async with owners() as url, running(server(Http(url, headers=OWN))) as callers:
            await callers.until(ProviderAsleep)
            refused = await callers.call(secret, "whose")
            assert isinstance(refused, ProviderFailure)
            assert refused.may_have_run is False
            assert "401" in refused.why
            assert callers.provider.announce_caller(token("alice"))
            await callers.until(ProviderUp)
            blurted = await callers.call(token("alice"), "blurt")
            assert isinstance(blurted, ToolFailure), "the tool's own answer is its caller's"
            texts = (repr(refused), repr(callers.provider.listing()), *callers.provider.log(), caplog.text)
            assert not [text for text in texts if "nobody-knows" in text or "token-of-alice" in text]


@pytest.mark.behaviour("per_caller.never_crossed")
async def test_hundreds_of_calls_of_two_callers_at_once_with_reconnects_never_cross(era: str) -> None:
    async with owners() as url, running(server(Http(url, headers=OWN)), idle=0.2) as callers:
        await callers.until(ProviderAsleep)
        callers.provider.announce_caller(token("alice"))
        await callers.until(ProviderUp)
        answers: dict[str, list[str]] = {"alice": [], "bob": []}
        lost = 0

        async def work(name: str, turn: int) -> None:
            nonlocal lost
            for step in range(20):
                outcome = await callers.call(token(name), "whose", pause=0.002 * ((turn + step) % 4))
                if isinstance(outcome, ToolSuccess):
                    answers[name].append(said(outcome))
                else:
                    assert isinstance(outcome, ProviderFailure), outcome
                    lost += 1
                if turn == 0 and step % 4 == 3:
                    for kept in tuple(callers.provider._connections.values()):
                        kept.provider.restart()

        async with anyio.create_task_group() as tasks:
            for turn in range(8):
                tasks.start_soon(work, "alice", turn)
                tasks.start_soon(work, "bob", turn)
        assert {name: set(heard) for name, heard in answers.items()} == {"alice": {"alice"}, "bob": {"bob"}}
        assert sum(map(len, answers.values())) + lost == 320
        assert sum(map(len, answers.values())) >= 100
        told = json.loads(said(await callers.call(token("alice"), "crossings")))
        assert told["crossed"] == 0
        if era == "2025-11-25":
            assert told["opened"] > 4, "each of the two has reconnected, with a session of its own each time"
