"""The watch over our children: there while there is one, told of each, and back when somebody ended it."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from pegboard.processes import cleanup as orphans

STAY = (
    "import signal; signal.alarm(600); [signal.signal(number, signal.SIG_IGN) for number in (1, 2, 15)]; "
    "print('here', flush=True); signal.pause()"
)
PARENT = f"""
import json, os, signal, subprocess, sys
from pegboard.processes import cleanup as orphans
signal.alarm(600)
orphans.CHECK_INTERVAL_S = 0
children = []
for told in sys.argv[1:]:
    if told == "end the watch":
        os.kill(orphans._watcher._shell.pid, signal.SIGKILL)
        orphans._watcher._shell.wait()
        continue
    child = subprocess.Popen(
        [sys.executable, "-c", {STAY!r}], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    )
    child.stdout.readline()
    children.append(child.pid)
    if told != "unwatched":
        orphans.watch_group(child.pid)
    if told == "released":
        orphans.release_group(child.pid)
print(json.dumps(children), flush=True)
signal.pause()
"""
PATIENCE = 60


@contextmanager
def staying() -> Iterator[None]:
    """A process that ignores every request to end, in a group of its own, and is watched."""
    with subprocess.Popen([sys.executable, "-c", STAY], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        orphans.watch_group(process.pid)
        try:
            yield
        finally:
            process.kill()
            orphans.release_group(process.pid)


def shells() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "sh" in child.name()]


def _runs(process: psutil.Process) -> bool:
    """A process that nobody reaps, in a container without an init, does not run any more."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def left_by_a_killed(*children: str) -> list[bool]:
    """Of each child of a process that is killed, whether it still runs when the watch is over."""
    with subprocess.Popen([sys.executable, "-c", PARENT, *children], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        processes = [psutil.Process(pid) for pid in json.loads(parent.stdout.readline())]
        (shell,) = [child for child in psutil.Process(parent.pid).children() if "sh" in child.name()]
        parent.kill()
    psutil.wait_procs([shell], PATIENCE)
    stays = [child in ("released", "unwatched") for child in children if child != "end the watch"]
    # The shell leaves as soon as it has sent its last signal.
    until = time.monotonic() + PATIENCE
    while (alive := [_runs(process) for process in processes]) != stays and time.monotonic() < until:
        time.sleep(0.01)
    for process, runs in zip(processes, alive, strict=True):
        if runs:
            process.kill()
    return alive


@pytest.mark.behaviour("supervision.killed_gateway_leaves_nothing")
def test_one_shell_watches_over_all_and_leaves_with_the_last() -> None:
    assert shells() == []
    with staying():
        (shell,) = shells()
        with staying():
            assert shells() == [shell]
        assert shells() == [shell]
    assert shells() == []


@pytest.mark.slow
@pytest.mark.behaviour("supervision.killed_gateway_leaves_nothing")
def test_when_we_are_killed_what_is_watched_ends_and_nothing_else() -> None:
    assert left_by_a_killed("watched", "released", "watched", "unwatched") == [False, True, False, True]


@pytest.mark.slow
@pytest.mark.behaviour("supervision.killed_gateway_leaves_nothing")
def test_a_watch_that_somebody_ended_is_begun_anew_and_knows_all() -> None:
    assert left_by_a_killed("watched", "end the watch", "watched") == [False, False]
