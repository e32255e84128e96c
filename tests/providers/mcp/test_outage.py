"""An hour in which a server cannot be reached, on the test's own clock: each pause is honoured, then it is back."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import anyio.lowlevel
import pytest
from tests.providers.mcp.running import Watch, Watched, running, server
from tests.providers.mcp.web import Endpoint, served
from tests.servers.peers import command

from pegboard.core.calls.call import ProviderFailure, ToolSuccess
from pegboard.core.model.catalogue import ProviderDown, ProviderStart
from pegboard.core.model.server import Connection, Stdio
from pegboard.providers.mcp.provider import MAX_PAUSE_S, MIN_PAUSE_S, RECOVERED_AFTER

pytestmark = pytest.mark.anyio

HOUR = 3600.0
JUMP = 0.001
"""The clock moves in whole microseconds, a pause does not."""


@dataclass
class Outage:
    """Time passes only while the provider pauses; once an hour of it has passed, the server is mended."""

    mend: Callable[[], None]
    clock: Watch = field(default_factory=Watch)
    drawn: list[float] = field(default_factory=list[float])
    pauses: list[float] = field(default_factory=list[float])
    promised: list[float] = field(default_factory=list[float])
    """Seconds until the next attempt, by what the health said when the pause began."""
    random: Random = field(default_factory=lambda: Random(20260728))
    watched: Watched | None = None

    def chance(self) -> float:
        self.drawn.append(self.random.random())
        return self.drawn[-1]

    async def sleep(self, seconds: float) -> None:
        assert self.watched is not None
        health = self.watched.provider.listing().health
        assert isinstance(health, ProviderDown)
        assert health.retry_at is not None
        self.pauses.append(seconds)
        self.promised.append((health.retry_at - self.clock.time).total_seconds())
        self.clock.move(seconds)
        if sum(self.pauses) >= HOUR:
            self.mend()
        await anyio.lowlevel.checkpoint()

    @property
    def attempts(self) -> list[int]:
        assert self.watched is not None
        healths = [listing.health for listing in self.watched.seen]
        return [health.attempt for health in healths if isinstance(health, ProviderStart)]


async def live_through(outage: Outage, connection: Connection, fail_again: Callable[[], None]) -> None:
    declared = server(connection, start=30.0)
    async with running(declared, clock=outage.clock, chance=outage.chance, sleep=outage.sleep) as watched:
        outage.watched = watched
        await watched.up()

        failures = len(outage.pauses)
        ceilings = [min(MAX_PAUSE_S, MIN_PAUSE_S * 2.0**number) for number in range(failures)]
        assert outage.pauses == [draw * ceiling for draw, ceiling in zip(outage.drawn, ceilings, strict=True)]
        assert outage.promised == pytest.approx(outage.pauses, abs=JUMP)
        assert outage.attempts == list(range(1, failures + 2))
        # Pauses of half a minute on average make an hour of about 120 attempts, not of thousands.
        assert HOUR / MAX_PAUSE_S <= failures < 3 * HOUR / MAX_PAUSE_S
        assert sum(outage.pauses) - outage.pauses[-1] < HOUR <= sum(outage.pauses)

        # Whatever the hour did, a server that held out for a while begins anew with the shortest pause.
        outage.clock.move(RECOVERED_AFTER.total_seconds())
        fail_again()
        assert isinstance(await watched.call("crash"), ProviderFailure)
        await watched.until(lambda _: len(outage.pauses) > failures)
        outage.mend()
        await watched.up()
        assert outage.pauses[failures] == outage.drawn[failures] * MIN_PAUSE_S
        assert outage.attempts[failures + 1] == 1
        assert isinstance(await watched.call("echo", text="back"), ToolSuccess)


@pytest.mark.behaviour("supervision.backoff_with_jitter", "supervision.backoff_is_honoured", "supervision.recovers")
async def test_after_an_hour_without_an_answer_a_server_over_http_is_back_and_every_pause_was_honoured() -> None:
    endpoint = Endpoint(status=503)
    asked: list[int] = []

    def mend() -> None:
        asked.append(len(endpoint.requests))
        endpoint.status = None

    def fail_again() -> None:
        endpoint.status = 503

    outage = Outage(mend)
    async with served(endpoint) as http:
        await live_through(outage, http, fail_again)
    # No attempt asked more than the two eras' first questions.
    assert asked[0] <= 2 * len(outage.pauses)


@pytest.mark.behaviour("supervision.backoff_with_jitter", "supervision.backoff_is_honoured", "supervision.recovers")
async def test_after_an_hour_without_its_program_a_server_over_stdio_is_back_and_every_pause_was_honoured(
    tmp_path: Path,
) -> None:
    program = tmp_path / "server"
    _, script = command("crash_on_call")

    def mend() -> None:
        if not program.exists():
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}"\n')
            os.chmod(program, 0o700)

    await live_through(Outage(mend), Stdio(str(program)), lambda: None)
