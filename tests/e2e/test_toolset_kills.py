"""Imports cut off at the worst moments, by a real kill of a real process: all of a toolset, or nothing of it."""

import signal
import subprocess
from pathlib import Path

import anyio
import pytest
from tests.support.fork_server import ROOT, python
from tests.support.toolsets import (
    MINE,
    WORDS,
    brought,
    called,
    housed,
    laid_out,
    manifest,
    until_open,
)

from pegboard.bootstrap.application import Application
from pegboard.gateway.toolsets.reader import ImportRefusedError

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PATIENCE = 120
STEPS = ("read", "describe", "put", "placed", "saved", "kept")


def killed(step: str, data: Path, source: Path) -> int:
    done = subprocess.run(
        [python(), "-m", "tests.e2e.killed_import", step, str(data), str(source)],
        cwd=ROOT,
        timeout=PATIENCE,
        capture_output=True,
    )
    return done.returncode


@pytest.mark.behaviour(
    "toolsets.import_again_is_atomic", "toolsets.import_survives_a_kill", "toolsets.leftovers_are_swept"
)
@pytest.mark.parametrize("step", STEPS)
async def test_an_import_that_is_killed_leaves_the_old_one_or_the_new_one(tmp_path: Path, step: str) -> None:
    data, folder = tmp_path / "data", tmp_path / "mine"
    async with housed(data) as house:
        await brought(house, laid_out(folder, manifest()))
        await until_open(house, "mine:shout")
    laid_out(folder, manifest(version="2.0.0"), {"tools/words.py": WORDS.replace(".upper()", ".upper() + '!'")})
    assert await anyio.to_thread.run_sync(killed, step, data, folder) == -signal.SIGKILL
    is_new = step in ("saved", "kept")
    async with housed(data, follow=True) as house:
        await until_open(house, "mine:shout")
        assert house.gateway.board.policy.toolsets[MINE].version == ("2.0.0" if is_new else "1.0.0")
        assert await called(house, "shout", text="a") == ("A!" if is_new else "A")
        left = [path for path in (data / "toolsets").glob("*/*") if path.is_dir()]
        assert [path.parent.name for path in left] == ["mine"]
        staged = [path.name for path in (data / "toolsets").iterdir() if path.name.startswith("staging-")]
        assert staged == []


@pytest.mark.parametrize("step", ["placed", "saved"])
async def test_a_first_import_that_is_killed_is_there_whole_or_not_at_all(tmp_path: Path, step: str) -> None:
    data, folder = tmp_path / "data", laid_out(tmp_path / "mine", manifest())
    assert await anyio.to_thread.run_sync(killed, step, data, folder) == -signal.SIGKILL
    async with housed(data, follow=True) as house:
        assert (MINE in house.gateway.board.policy.toolsets) is (step == "saved")
        if step == "saved":
            await until_open(house, "mine:shout")
        assert len([*(data / "toolsets").glob("mine/*")]) == (1 if step == "saved" else 0)


async def test_a_disk_that_takes_no_more_leaves_all_as_it_was(tmp_path: Path) -> None:
    data, folder = tmp_path / "data", tmp_path / "mine"
    async with housed(data) as house:
        await brought(house, laid_out(folder, manifest()))
        await until_open(house, "mine:shout")
    laid_out(folder, manifest(version="2.0.0"), {"tools/words.py": WORDS, "assets/large": "x" * 2_000_000})
    words = [python(), "-m", "tests.e2e.killed_import", "too large", str(data), str(folder)]
    done = await anyio.run_process(words, cwd=ROOT, check=False)
    assert "assets/large: it cannot be read: File too large" in done.stdout.decode(), done.stderr.decode()
    async with housed(data, follow=True) as house:
        await until_open(house, "mine:shout")
        assert house.gateway.board.policy.toolsets[MINE].version == "1.0.0"


async def test_two_imports_at_once_end_with_one_of_them_whole(tmp_path: Path) -> None:
    data = tmp_path / "data"
    sources = [
        laid_out(
            tmp_path / f"mine{number}",
            manifest(version=f"1.{number}"),
            {"tools/words.py": WORDS.replace(".upper()", f".upper() + '{number}'")},
        )
        for number in range(3)
    ]
    refusals: list[str] = []

    async def bring(house: Application, source: Path) -> None:
        try:
            await brought(house, source, allow_downgrade=True, approve_all=True)
        except ImportRefusedError as refused:
            refusals.append(str(refused))

    async with housed(data) as house:
        async with anyio.create_task_group() as tasks:
            for source in sources:
                tasks.start_soon(bring, house, source)
        # Whoever comes second is told that its plan is of before, and has changed nothing.
        assert len(refusals) < len(sources)
        assert all("was imported or removed by somebody else meanwhile" in why for why in refusals)
        await until_open(house, "mine:shout")
        version = house.gateway.board.policy.toolsets[MINE].version
        assert await called(house, "shout", text="a") == f"A{version.removeprefix('1.')}"
        assert len([*(data / "toolsets" / "mine").iterdir()]) == 1
