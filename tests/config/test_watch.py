"""The bell rings for every way in which a file's content can change, and for nothing else."""

import hashlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from pegboard.config.watch import CLOSE_CHECKS, FileSnapshot, Stamp, WatchState, file_changes, take_snapshot

pytestmark = pytest.mark.anyio
FAST = 0.005


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Bell:
    """Counts rings, and waits for the next one."""

    def __init__(self) -> None:
        self.rings = 0
        self._rung = anyio.Event()

    def ring(self) -> None:
        self.rings += 1
        self._rung.set()
        self._rung = anyio.Event()

    async def wait(self, rings: int) -> None:
        while self.rings < rings:
            await self._rung.wait()


Watching = Callable[[Path, str], AbstractAsyncContextManager[Bell]]


@pytest.fixture
def watching() -> Watching:
    """Watches from the content that was loaded, so that a test can write at once without missing the ring."""

    @asynccontextmanager
    async def watching(path: Path, loaded: str) -> AsyncIterator[Bell]:
        bell = Bell()

        async def listen() -> None:
            async with aclosing(file_changes(path, FAST, seen=digest(loaded))) as rings:
                async for _ in rings:
                    bell.ring()

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listen)
                yield bell
                tasks.cancel_scope.cancel()

    return watching


async def test_a_write_in_place_rings(tmp_path: Path, watching: Watching) -> None:
    path = tmp_path / "pegboard.yaml"
    path.write_text("one")
    async with watching(path, "one") as bell:
        path.write_text("two")
        await bell.wait(1)
        path.write_text("three")
        await bell.wait(2)


async def test_a_file_that_an_editor_replaces_rings(tmp_path: Path, watching: Watching) -> None:
    path = tmp_path / "pegboard.yaml"
    path.write_text("one")
    async with watching(path, "one") as bell:
        for number in range(1, 4):
            (tmp_path / "new").write_text(f"version {number}")
            os.replace(tmp_path / "new", path)
            await bell.wait(number)


async def test_a_file_that_goes_away_and_comes_back_rings_for_both(tmp_path: Path, watching: Watching) -> None:
    path = tmp_path / "pegboard.yaml"
    path.write_text("one")
    async with watching(path, "one") as bell:
        path.unlink()
        await bell.wait(1)
        path.write_text("one")
        await bell.wait(2)


async def test_a_file_that_is_not_there_yet_rings_when_it_comes(tmp_path: Path, watching: Watching) -> None:
    path = tmp_path / "later" / "pegboard.yaml"
    async with watching(path, "what was loaded is gone") as bell:
        await bell.wait(1)
        path.parent.mkdir()
        path.write_text("one")
        await bell.wait(2)


async def test_a_link_that_is_swapped_rings(tmp_path: Path, watching: Watching) -> None:
    """As a mounted configuration map does it: the file links through a folder link that is replaced whole."""
    for name, text in (("first", "one"), ("second", "two")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pegboard.yaml").write_text(text)
    (tmp_path / "..data").symlink_to("first")
    path = tmp_path / "pegboard.yaml"
    path.symlink_to("..data/pegboard.yaml")
    async with watching(path, "one") as bell:
        (tmp_path / "..new").symlink_to("second")
        os.replace(tmp_path / "..new", tmp_path / "..data")
        await bell.wait(1)


STAMP: Stamp = (1, 2, 3, 4, 5)
GONE = FileSnapshot(None, None)
ONE, TWO = FileSnapshot(STAMP, "one"), FileSnapshot((1, 9, 3, 4, 5), "two")


def rings(*looks: FileSnapshot) -> list[bool]:
    """Whether each look after the first rings."""
    memory, heard = WatchState(looks[0], looks[0].stamp is None), list[bool]()
    for now in looks[1:]:
        memory, rang = memory.advance(now)
        heard.append(rang)
    return heard


@pytest.mark.parametrize(
    ("looks", "heard"),
    [
        ((ONE, ONE), [False]),
        ((ONE, TWO, TWO, ONE), [True, False, True]),
        ((ONE, GONE, TWO), [False, True]),
        ((ONE, GONE, ONE), [False, False]),
        ((ONE, GONE, GONE, GONE, ONE), [False, True, False, True]),
        ((ONE, GONE, ONE, GONE, ONE), [False, False, False, False]),
        ((GONE, GONE, ONE), [False, True]),
        ((ONE, FileSnapshot((7, 7, 7, 7, 7), "one")), [False]),
        ((ONE, FileSnapshot(STAMP, "two")), [True]),
        ((ONE, FileSnapshot(STAMP, None), ONE), [True, True]),
    ],
)
async def test_a_look_rings_when_the_content_differs_and_a_file_is_gone_when_it_is_gone_twice(
    looks: tuple[FileSnapshot, ...], heard: list[bool]
) -> None:
    assert rings(*looks) == heard


async def test_after_a_change_the_content_is_compared_for_a_while(tmp_path: Path) -> None:
    memory, _ = WatchState(ONE, False, close_checks=0).advance(TWO)
    assert memory == WatchState(TWO, False, CLOSE_CHECKS)
    for _ in range(CLOSE_CHECKS):
        assert memory.close_checks > 0
        memory, _ = memory.advance(TWO)
    assert memory == WatchState(TWO, False, 0)


async def test_a_close_look_reads_what_the_stamp_cannot_tell(tmp_path: Path) -> None:
    path = tmp_path / "pegboard.yaml"
    path.write_text("one")
    true = take_snapshot(path, None)
    believed = FileSnapshot(true.stamp, "of another content with the same stamp")
    assert take_snapshot(path, believed) == believed
    assert take_snapshot(path, None) == FileSnapshot(true.stamp, digest("one"))


async def test_a_write_that_leaves_size_and_time_as_they_were_rings(tmp_path: Path, watching: Watching) -> None:
    path = tmp_path / "pegboard.yaml"
    path.write_text("one")
    async with watching(path, "one") as bell:
        path.write_text("two")
        await bell.wait(1)
        before = path.stat()
        path.write_text("six")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        await bell.wait(2)


async def test_a_touch_that_changes_no_content_does_not_ring(tmp_path: Path, watching: Watching) -> None:
    path = tmp_path / "pegboard.yaml"
    path.write_text("one")
    async with watching(path, "one") as bell:
        os.utime(path, ns=(1, 1))
        os.replace(_copy(path), path)
        path.write_text("two")
        await bell.wait(1)
        assert bell.rings == 1


async def test_a_change_between_loading_and_watching_rings_at_once(tmp_path: Path, watching: Watching) -> None:
    path = tmp_path / "pegboard.yaml"
    path.write_text("changed meanwhile")
    async with watching(path, "as it was loaded") as bell:
        await bell.wait(1)


async def test_a_folder_in_the_place_of_the_file_is_a_change_and_no_crash(tmp_path: Path, watching: Watching) -> None:
    path = tmp_path / "pegboard.yaml"
    path.write_text("one")
    async with watching(path, "one") as bell:
        path.unlink()
        path.mkdir()
        await bell.wait(1)
        path.rmdir()
        path.write_text("two")
        await bell.wait(2)


def _copy(path: Path) -> Path:
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    return copy
