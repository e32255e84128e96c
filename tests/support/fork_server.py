"""A warm Python for tests: one process imports Pegboard once and forks for every program that a test starts.

Starting `pegboard serve` costs two seconds of CPU, of which all but a tenth are imports. `python()` is a command that
takes what `python` takes (`-m MODULE …` or `SCRIPT …`) and behaves like it: standard streams, working directory,
environment, exit code and signals are those of the command that was started. Three things differ, and tests about them
start `sys.executable` instead: the process id is that of the stand-in, which has no children; SIGKILL reaches the
program a moment later; and all modules are loaded already, so memory and start-up time are those of no fresh process.
"""

import atexit
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = Path(__file__).with_name("fork_client.py")
SERVER = Path(__file__).with_name("fork_process.py")


@cache
def python() -> str:
    """The path of an executable that stands in for `sys.executable`; its server ends with this process."""
    folder = Path(mkdtemp(prefix="pegboard-fork-"))
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
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n", "the fork server did not start"
    server.stdout.close()
    atexit.register(_end, server, folder)
    return str(command)


def _end(server: "subprocess.Popen[bytes]", folder: Path) -> None:
    assert server.stdin is not None
    server.stdin.close()
    server.wait()
    for file in folder.iterdir():
        file.unlink(missing_ok=True)
    folder.rmdir()
