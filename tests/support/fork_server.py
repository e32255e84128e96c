"""A warm Python for tests: one process imports Pegboard once and forks for every program that a test starts.

Starting `pegboard serve` costs two seconds of CPU, of which all but a tenth are imports. `python()` is a command that
takes what `python` takes (`-m MODULE …`, `-c CODE …` or `SCRIPT …`) and behaves like it: standard streams, working
directory, environment, exit code and signals are those of the command that was started. Three things differ, and tests
about them start `sys.executable` instead: the process id is that of the stand-in, which has no children; SIGKILL
reaches the program a moment later; and all modules are loaded already, so memory and start-up time are those of no
fresh process.
"""

import atexit
import os
import subprocess
import sys
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import gettempdir

SERVER_PIDS: list[int] = []

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = Path(__file__).with_name("fork_client.py")
SERVER = Path(__file__).with_name("fork_process.py")


@cache
def python() -> str:
    """The path of an executable that stands in for `sys.executable`; its server ends with this process."""
    folder = _make_folder()
    address = folder / "socket"
    command = folder / "python"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {STAND_IN} {address} "$@"\n', "utf-8")
    command.chmod(0o700)
    server = subprocess.Popen(
        [sys.executable, str(SERVER), str(address)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    SERVER_PIDS.append(server.pid)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n", "the fork server did not start"
    server.stdout.close()
    atexit.register(_end, server, folder)
    return str(command)


def _make_folder() -> Path:
    """Named by a number: an export would take the letters of `mkdtemp` in the command of a server for a secret."""
    for number in count():
        folder = Path(gettempdir()) / f"pegboard-fork-{os.getpid()}-{number}"
        with suppress(FileExistsError):
            folder.mkdir(0o700)
            return folder
    raise AssertionError


def cpu_seconds() -> float:
    """CPU seconds of the fork server and of all its programs that have ended; 0.0 where none was started."""
    return sum(_cpu_of(pid) for pid in SERVER_PIDS)


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _end(server: "subprocess.Popen[bytes]", folder: Path) -> None:
    assert server.stdin is not None
    server.stdin.close()
    server.wait()
    for file in folder.iterdir():
        file.unlink(missing_ok=True)
    folder.rmdir()
