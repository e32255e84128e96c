"""What reading many tools takes for a moment is given back, and only then."""

import gc
import threading

import anyio
import anyio.lowlevel
import pytest
from tests.core.boards import NOW, key
from tests.support.doubles import named

from pegboard.core.model.catalogue import Listing, ProviderDown, ProviderUp
from pegboard.gateway import maintenance as memory
from pegboard.gateway.board import BoardState
from pegboard.gateway.maintenance import MANY_TOOLS, trim_memory
from pegboard.memory import memory_trimmer, pause_garbage_collection, share_arenas

pytestmark = pytest.mark.anyio

FILES = key("dev~files")
CHOSEN_BY = ("MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


async def test_memory_is_given_back_after_many_tools_came_or_went_and_not_for_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    looked = anyio.Event()
    board = BoardState()

    def give_back() -> None:
        sizes.append(len(board.catalogue.tools))

    async def settle(_: float) -> None:
        nonlocal looked
        looked.set()
        looked = anyio.Event()
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(memory, "memory_trimmer", lambda: give_back)
    monkeypatch.setattr("pegboard.gateway.maintenance.anyio.sleep", settle)
    many = named(FILES, *(f"tool_{number}" for number in range(MANY_TOOLS)))
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(trim_memory, board)
            await anyio.lowlevel.checkpoint()
            for listing in (
                Listing(FILES, ProviderUp(NOW), many[:1]),
                Listing(FILES, ProviderUp(NOW), many),
                Listing(FILES, ProviderDown(NOW, "it fell"), many),
                Listing(FILES, ProviderUp(NOW), ()),
            ):
                waiting = looked
                board.publish(listing)
                await waiting.wait()
                for _ in range(50):
                    await anyio.lowlevel.checkpoint()
            while len(sizes) < 2:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    assert sizes == [MANY_TOOLS, 0]


def test_where_the_c_library_cannot_give_memory_back_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: object) -> object:
        return object()

    monkeypatch.setattr("pegboard.memory.ctypes.CDLL", missing)
    assert memory_trimmer() is None


class _Library:
    def __init__(self) -> None:
        self.set: list[tuple[int, int]] = []

    def mallopt(self, what: int, value: int) -> int:
        self.set.append((what, value))
        return 1


def _on_linux(monkeypatch: pytest.MonkeyPatch, library: object, **chosen: str) -> None:
    monkeypatch.setattr("pegboard.memory.sys.platform", "linux")
    monkeypatch.setattr("pegboard.memory.ctypes.CDLL", lambda _: library)
    for name in CHOSEN_BY:
        monkeypatch.delenv(name, raising=False)
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)


def test_threads_take_memory_from_two_places_and_what_is_large_lies_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _Library()
    _on_linux(monkeypatch, library)
    assert share_arenas()
    assert library.set == [(-8, 2), (-3, 1 << 20)]


@pytest.mark.parametrize("name", CHOSEN_BY)
def test_from_how_many_places_memory_is_taken_can_be_chosen_from_outside(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = _Library()
    _on_linux(monkeypatch, library, **{name: "16"})
    assert not share_arenas()
    assert library.set == []


def test_a_c_library_that_knows_no_such_places_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    _on_linux(monkeypatch, object())
    assert not share_arenas()


def test_no_look_for_rings_begins_while_anybody_builds_something_large() -> None:
    assert gc.isenabled()
    with pause_garbage_collection():
        with pause_garbage_collection():
            assert not gc.isenabled()
        assert not gc.isenabled(), "the other one goes on"
    assert gc.isenabled()
    gc.disable()
    try:
        with pause_garbage_collection():
            pass
        assert not gc.isenabled(), "whoever switched it off did so for a reason"
    finally:
        gc.enable()


async def test_memory_is_given_back_after_a_large_message_that_changed_no_board(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given_back = threading.Event()
    monkeypatch.setattr(memory, "memory_trimmer", lambda: given_back.set)
    monkeypatch.setattr(memory, "LARGE_VALUE_POLL_S", 0.01)
    monkeypatch.setattr(memory, "SETTLE_S", 0.0)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(trim_memory, BoardState())
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            assert not given_back.is_set()
            with pause_garbage_collection():
                pass
            while not given_back.is_set():
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


def test_pauses_of_several_threads_are_counted() -> None:
    inside, leave = threading.Barrier(5), threading.Event()

    def pause() -> None:
        with pause_garbage_collection():
            inside.wait(20)
            assert leave.wait(20)

    threads = [threading.Thread(target=pause) for _ in range(4)]
    for thread in threads:
        thread.start()
    inside.wait(20)
    with pause_garbage_collection():
        pass
    assert not gc.isenabled()
    leave.set()
    for thread in threads:
        thread.join(20)
    assert gc.isenabled()
