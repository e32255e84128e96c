"""Since when tools wait for a person, kept alike by both engines."""

from datetime import timedelta

import anyio
import pytest
from tests.core.boards import GITHUB
from tests.store.calls import NOON
from tests.store.engines import Engine, now

from pegboard.core.model.ids import ToolId
from pegboard.core.model.tool import Fingerprint
from pegboard.store import sessions as waits
from pegboard.store.open import Store, open_store

pytestmark = pytest.mark.anyio

READ, WRITE, LONG = ToolId(GITHUB, "read \ud800\0"), ToolId(GITHUB, "write"), ToolId(GITHUB, "x" * 5_000)
ONE, OTHER = Fingerprint("1" * 64), Fingerprint("2" * 64)
LATER = NOON + timedelta(hours=3)


@pytest.mark.behaviour("approvals.oldest_first", "store.same_contract")
async def test_what_waits_keeps_its_hour_until_it_is_another_also_for_the_next_process(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as store:
        assert await store.pending_since.record_pending({READ: ONE, LONG: ONE}, (), NOON) == {READ: NOON, LONG: NOON}
    async with open_store(engine.url, clock=now) as store:
        told = await store.pending_since.record_pending({READ: ONE, WRITE: ONE, LONG: ONE}, (), LATER)
        assert told == {READ: NOON, WRITE: LATER, LONG: NOON}
        later = LATER + timedelta(hours=1)
        assert await store.pending_since.record_pending({READ: OTHER, WRITE: ONE}, (), later) == {
            READ: later,
            WRITE: LATER,
        }
        # What is not told of may only be away.
        assert await store.pending_since.record_pending({LONG: ONE}, (), later) == {LONG: NOON}


@pytest.mark.behaviour("approvals.oldest_first")
async def test_what_is_settled_begins_anew_when_it_waits_again(store: Store) -> None:
    await store.pending_since.record_pending({READ: ONE, WRITE: ONE}, (), NOON)
    assert await store.pending_since.record_pending({WRITE: ONE}, (READ, ToolId(GITHUB, "unknown")), LATER) == {
        WRITE: NOON
    }
    assert await store.pending_since.record_pending({READ: ONE, WRITE: ONE}, (WRITE,), LATER) == {
        READ: LATER,
        WRITE: NOON,
    }


@pytest.mark.behaviour("approvals.oldest_first")
async def test_of_two_that_see_it_at_once_the_first_is_believed(engine: Engine) -> None:
    async with open_store(engine.url, clock=now) as one, open_store(engine.url, clock=now) as other:
        async with anyio.create_task_group() as tasks:
            for number, store in enumerate((one, other) * 3):
                tasks.start_soon(store.pending_since.record_pending, {READ: ONE}, (), NOON + timedelta(minutes=number))
        (told,) = {*(await one.pending_since.record_pending({READ: ONE}, (), LATER)).values()}
        assert (told < LATER, await other.pending_since.record_pending({READ: ONE}, (), LATER)) == (True, {READ: told})


async def test_no_more_than_so_many_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "MAX_ROWS", 50)
    many = {ToolId(GITHUB, f"tool-{number:02}"): ONE for number in range(52)}
    assert {*(await store.pending_since.record_pending(many, (), NOON)).values()} == {NOON}
    again = await store.pending_since.record_pending(many, (), LATER)
    assert sorted(tool.name for tool, at in again.items() if at == LATER) == ["tool-50", "tool-51"]
