"""A process killed outright, at any moment, takes no acknowledged decision with it."""

import random

import anyio
import pytest
from anyio.streams.text import TextReceiveStream
from tests.store.engines import Engine, now
from tests.store.processes import started
from tests.store.saver import version

from pegboard.ports.audit import AuditQuery
from pegboard.store.open import open_store

SECOND = 1_000_000


async def killed(url: str, after: float) -> list[list[str]]:
    """What the process told, line by line, when it had run so long by its own clock and was killed."""
    told: list[list[str]] = []
    async with await started(url, "endless") as process:
        assert process.stdout is not None
        rest, first = "", 0
        # To the very end: what it told between our decision and its death counts as well.
        async for piece in TextReceiveStream(process.stdout):
            *lines, rest = (rest + piece).split("\n")
            told += [line.split() for line in lines]
            times = [int(words[2]) for words in told[-2:] if words[0] == "recorded"]
            first = first or (times[0] if times else 0)
            if times and times[-1] - first > after * SECOND:
                process.kill()
    return told


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.behaviour(
    "store.kill_loses_no_policy", "audit.kill_loses_a_second_at_most", "toolsets.import_again_is_atomic"
)
@pytest.mark.parametrize("turn", range(3))
async def test_a_killed_process_loses_no_decision_and_a_second_of_audit_at_most(engine: Engine, turn: int) -> None:
    with anyio.fail_after(60):
        told = await killed(engine.url, random.uniform(1.2, 2.2))
    acknowledged = max(int(words[1]) for words in told if words[0] == "saved")
    calls = [(int(words[1]), int(words[2])) for words in told if words[0] == "recorded"]
    last = calls[-1][1]
    async with open_store(engine.url, clock=now) as store:
        decided = await store.policy.load()
        recorded = {int(row.call_id) for row in await store.audit.rows(AuditQuery(limit=10**6))}
        history = await store.policy.history(limit=10**6)
    # The kill may fall between a commit and its acknowledgement, never between an acknowledgement and its commit.
    assert decided.version in (acknowledged, acknowledged + 1)
    assert decided == version(decided.version)
    assert [change.version for change in history] == [*range(decided.version, 0, -1)]
    due = {number for number, at in calls if at < last - SECOND}
    assert due
    assert due - recorded == set()
