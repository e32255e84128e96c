"""What a process holds is told apart from what one that is gone has left behind."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pegboard.processes.cleanup import create_locked, lock_abandoned
from pegboard.providers.sandbox.jail.sandbox import remove_stale_folders

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders are held on POSIX alone")
_HOLDS = """
import sys, tempfile
from pathlib import Path
from pegboard.processes.cleanup import create_locked
path, descriptor = create_locked(lambda: Path(tempfile.mkdtemp(prefix="pegboard-workers-", dir=sys.argv[1])))
print(path, flush=True)
sys.stdin.read()
"""


def _is_left(path: Path) -> bool:
    with lock_abandoned(path) as descriptor:
        return descriptor is not None


@pytest.mark.behaviour("code.killed_leaves_nothing")
def test_a_folder_is_swept_once_its_process_was_killed_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (foreign := tmp_path / "pegboard-of-somebody").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().decode().strip())
        assert folder.parent == tmp_path
        (folder / "monty").write_text("a worker")
        remove_stale_folders()
        assert (folder / "monty").exists()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert folder.exists()
    remove_stale_folders()
    assert [*tmp_path.iterdir()] == [foreign]


def _folder(root: Path) -> Callable[[], Path]:
    return lambda: Path(tempfile.mkdtemp(dir=root))


def test_what_is_held_is_left_behind_when_it_is_let_go(tmp_path: Path) -> None:
    path, descriptor = create_locked(_folder(tmp_path))
    assert not _is_left(path)
    os.close(descriptor)
    assert _is_left(path)


@pytest.mark.behaviour("code.killed_leaves_nothing")
def test_one_that_is_taken_away_before_it_is_held_is_made_again(tmp_path: Path) -> None:
    made: list[Path] = []

    def make() -> Path:
        path = Path(tempfile.mkdtemp(dir=tmp_path))
        made.append(path)
        if len(made) == 1:
            # As if somebody who clears away came by just now: the same name, and another folder.
            return _exchanged(path)
        return path

    def _exchanged(path: Path) -> Path:
        before = os.open

        def opened(name: Path, flags: int) -> int:
            descriptor = before(name, flags)
            os.open = before
            path.rmdir()
            return descriptor

        os.open = opened  # type: ignore[assignment]  # put back by the first who opens
        return path

    path, descriptor = create_locked(make)
    os.close(descriptor)
    assert path == made[1]


def test_what_is_not_there_is_not_left_behind(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    assert (_is_left(tmp_path / "none"), _is_left(tmp_path / "link")) == (False, False)
