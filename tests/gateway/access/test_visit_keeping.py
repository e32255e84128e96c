"""Visits outlast a run of the gateway: whatever ended them before ends them still, and the store makes none."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

import anyio
import pytest

from pegboard.gateway.access.sessions import IDLE_TIMEOUT_S, MAX_AGE_S, BrowserSessions, SessionPersistence
from pegboard.ports.audit import StoreUnavailable
from pegboard.ports.stores import StoredSession

pytestmark = pytest.mark.anyio

KEY, START_UP, TOKEN = b"k" * 32, b"s" * 32, b"t" * 32


class Clock:
    now = 1_900_000_000.0

    def __call__(self) -> float:
        return self.now


class MemoryVisits:
    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], StoredSession] = {}
        self.away = False

    async def load(self, place: str) -> Sequence[StoredSession]:
        found = [visit for (where, _), visit in self.kept.items() if where == place]
        return sorted(found, key=lambda visit: visit.last_seen_at)

    async def save(
        self, place: str, visits: Sequence[StoredSession], ended: Collection[str], seen_after: datetime
    ) -> None:
        if self.away:
            raise StoreUnavailable("It is away.")
        for secret in ended:
            self.kept.pop((place, secret), None)
        self.kept = {key: visit for key, visit in self.kept.items() if visit.last_seen_at >= seen_after}
        self.kept.update({(place, visit.secret): visit for visit in visits})

    async def end_all(self) -> None:
        if self.away:
            raise StoreUnavailable("It is away.")
        self.kept = {}


async def run(
    store: MemoryVisits, clock: Clock, start_up: bytes = START_UP, key: bytes = KEY, place: str = "here"
) -> SessionPersistence:
    """One start of a gateway."""
    keeping = SessionPersistence(BrowserSessions(clock, lambda: key), store, lambda: key, place)
    keeping.sessions.startup_token_hash = start_up
    await keeping.load()
    return keeping


@pytest.mark.behaviour("access.sessions_outlast")
async def test_a_visit_goes_on_in_the_next_run_whose_start_up_token_is_another() -> None:
    store, clock = MemoryVisits(), Clock()
    first = await run(store, clock)
    mine, theirs = first.sessions.begin(START_UP), first.sessions.begin(TOKEN)
    await first.write()
    clock.now += 86_400
    anew = b"n" * 32
    second = (await run(store, clock, anew)).sessions
    assert second.token_of(mine, [anew, TOKEN]) == anew
    assert second.token_of(theirs, [anew, TOKEN]) == TOKEN
    # The token that began it is there no more: so is what it allowed.
    third = (await run(store, clock, anew)).sessions
    assert third.token_of(theirs, [anew]) is None


@pytest.mark.behaviour("access.sessions_outlast")
async def test_what_ended_stays_ended_in_the_next_run() -> None:
    store, clock = MemoryVisits(), Clock()
    first = await run(store, clock)
    out, idle = first.sessions.begin(TOKEN), first.sessions.begin(TOKEN)
    await first.write()
    first.sessions.end(out)
    await first.write()
    assert not (await run(store, clock)).sessions.is_active(out)
    clock.now += IDLE_TIMEOUT_S - 1
    assert (await run(store, clock)).sessions.is_active(idle)
    clock.now += 1
    assert not (await run(store, clock)).sessions.is_active(idle)
    busy = first.sessions.begin(TOKEN)
    await first.write()
    began = clock.now
    while clock.now + IDLE_TIMEOUT_S / 2 < began + MAX_AGE_S:
        clock.now += IDLE_TIMEOUT_S / 2
        assert (await run(store, clock)).sessions.is_active(busy)
        first.sessions.token_of(busy)
        await first.write()
    clock.now = began + MAX_AGE_S
    assert not (await run(store, clock)).sessions.is_active(busy)


@pytest.mark.behaviour("access.sign_out_all")
async def test_all_end_at_once_those_of_earlier_runs_included() -> None:
    store, clock = MemoryVisits(), Clock()
    first = await run(store, clock)
    early = first.sessions.begin(TOKEN)
    await first.write()
    # A command without a running gateway, which has read nothing, has no key, and another name for the place.
    await SessionPersistence(BrowserSessions(clock), store, lambda: None, "link to here").end_all()
    assert not (await run(store, clock)).sessions.is_active(early)
    late = first.sessions.begin(TOKEN)
    await first.end_all()
    await first.write()
    assert (first.sessions.is_active(late), store.kept) == (False, {})
    store.away = True
    with pytest.raises(StoreUnavailable):
        await first.end_all()


@pytest.mark.behaviour("access.sign_out_all")
async def test_a_gateway_ends_what_another_one_on_its_store_ended() -> None:
    store, clock = MemoryVisits(), Clock()
    here, there = await run(store, clock), await run(store, clock, place="there")
    old = there.sessions.begin(TOKEN)
    await there.write()
    await here.end_all()
    new = there.sessions.begin(TOKEN)
    assert there.sessions.token_of(old) == TOKEN, "until it looks"
    await there.write()
    assert (there.sessions.is_active(old), there.sessions.is_active(new)) == (False, True)
    assert len(store.kept) == 1
    await there.write()
    assert there.sessions.is_active(new)


@pytest.mark.behaviour("store.visits")
async def test_the_store_makes_no_visit_and_no_other_gateway_takes_one() -> None:
    store, clock = MemoryVisits(), Clock()
    first = await run(store, clock)
    secret = first.sessions.begin(START_UP)
    await first.write()
    assert secret not in repr(store.kept)
    for other in (await run(store, clock, place="there"), await run(store, clock, key=b"x" * 32)):
        assert not other.sessions.is_active(secret)
    # Whoever can write to the store knows no key: a row of theirs is a visit of nobody.
    ((place, _), row) = next(iter(store.kept.items()))
    store.kept[place, "f" * 64] = replace(row, secret="f" * 64)
    assert not (await run(store, clock)).sessions.is_active("f" * 64)


@pytest.mark.behaviour("access.sessions_outlast")
async def test_what_a_store_that_is_away_did_not_take_is_written_later() -> None:
    store, clock = MemoryVisits(), Clock()
    first = await run(store, clock)
    stays, goes = first.sessions.begin(TOKEN), first.sessions.begin(TOKEN)
    await first.write()
    store.away = True
    first.sessions.end(goes)
    late = first.sessions.begin(TOKEN)
    await first.write()
    store.away = False
    await first.write()
    second = (await run(store, clock)).sessions
    assert [second.is_active(secret) for secret in (stays, goes, late)] == [True, False, True]


@pytest.mark.behaviour("access.sessions_outlast")
async def test_a_beginning_and_an_end_are_written_at_once_and_a_look_when_the_run_ends() -> None:
    store, clock = MemoryVisits(), Clock()
    first = await run(store, clock)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first.run)
            await anyio.wait_all_tasks_blocked()
            secret = first.sessions.begin(TOKEN)
            while not store.kept:
                await anyio.lowlevel.checkpoint()
            clock.now += 100
            first.sessions.token_of(secret)
            tasks.cancel_scope.cancel()
    [(_, row)] = store.kept.items()
    assert row.last_seen_at.timestamp() == clock.now
    clock.now -= 10_000
    assert not (await run(store, clock)).sessions.is_active(secret)
