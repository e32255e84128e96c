"""Bells: no stroke is lost, many may listen, and whoever stops listening leaves nothing behind."""

import anyio
import pytest

from pegboard.gateway.signals import ChangeSignal, Subscription

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("gateway.bells_carry_nothing")
async def test_a_change_between_two_waits_is_heard_at_the_second() -> None:
    bell = ChangeSignal()
    with bell.subscribe() as listener, anyio.fail_after(30):
        bell.notify()
        await listener.wait()
        bell.notify()
        await listener.wait()


async def test_many_strokes_before_a_wait_are_one() -> None:
    bell = ChangeSignal()
    with bell.subscribe() as listener:
        for _ in range(100):
            bell.notify()
        with anyio.fail_after(30):
            await listener.wait()
        with anyio.move_on_after(0) as second:
            await listener.wait()
        assert second.cancelled_caught


async def test_a_stroke_before_listening_is_not_heard() -> None:
    bell = ChangeSignal()
    bell.notify()
    with bell.subscribe() as listener, anyio.move_on_after(0) as waited:
        await listener.wait()
    assert waited.cancelled_caught


async def test_a_wait_that_was_given_up_loses_no_stroke() -> None:
    bell = ChangeSignal()
    with bell.subscribe() as listener:
        with anyio.move_on_after(0):
            await listener.wait()
        bell.notify()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await listener.wait()
        with anyio.fail_after(30):
            await listener.wait()


async def test_every_listener_hears_each_change() -> None:
    bell, heard = ChangeSignal(), [0] * 50
    told = anyio.Event()

    async def hear(place: int, ready: anyio.Semaphore) -> None:
        with bell.subscribe() as listener:
            ready.release()
            for _ in range(2):
                await listener.wait()
                heard[place] += 1
                if sum(heard) % len(heard) == 0:
                    told.set()

    ready = anyio.Semaphore(0)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for place in range(50):
                tasks.start_soon(hear, place, ready)
            for _ in range(50):
                await ready.acquire()
            bell.notify()
            await told.wait()
            bell.notify()
    assert heard == [2] * 50


async def test_two_who_wait_on_one_listener_both_hear_and_lose_nothing() -> None:
    """The second to wake must not throw away a stroke that came after the first woke."""
    listener, woken = Subscription(), 0

    async def first() -> None:
        nonlocal woken
        await listener.wait()
        woken += 1
        listener.notify()

    async def second() -> None:
        nonlocal woken
        await listener.wait()
        woken += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        tasks.start_soon(second)
        await anyio.wait_all_tasks_blocked()
        listener.notify()
    assert woken == 2
    with anyio.fail_after(30):
        await listener.wait()


async def test_a_cancelled_listener_leaves_nothing() -> None:
    bell = ChangeSignal()

    async def hear() -> None:
        with bell.subscribe() as listener:
            await listener.wait()

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(hear)
        await anyio.wait_all_tasks_blocked()
        assert len(bell._subscriptions) == 10
        tasks.cancel_scope.cancel()
    assert bell._subscriptions == set()


async def test_a_listener_may_leave_while_the_bell_rings() -> None:
    bell = ChangeSignal()
    with bell.subscribe() as stays, anyio.fail_after(30):
        with bell.subscribe() as leaves:
            bell.notify()
            await leaves.wait()
        bell.notify()
        await stays.wait()
