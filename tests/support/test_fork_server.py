"""The warm Python of the tests behaves like Python: otherwise what they see would not be what users see."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.fork_server import cpu_seconds, python

SCRIPT = """
import os, sys
print(sys.argv[1:], os.getcwd(), os.environ["NAME"], sys.stdin.read())
print("an error line", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


def run(interpreter: str, script: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [interpreter, str(script), "7", "ü"],
        cwd=script.parent,
        env={"NAME": "value"},
        input="read me",
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_program_sees_and_returns_what_it_would_in_a_process_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, "utf-8")
    code, out, err = run(python(), script)
    assert (code, out, err) == (7, f"['7', 'ü'] {tmp_path} value read me\n", "an error line\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_signal_ends_the_program_and_its_stand_in_alike(tmp_path: Path, number: signal.Signals) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nprint('up', flush=True)\nsys.stdin.read()\n", "utf-8")
    with subprocess.Popen([python(), str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.send_signal(number)
        # Standard output ends only when the program itself has ended: the stand-in has let go of it.
        assert process.stdout.read() == b""
        assert process.wait(60) == -number


def test_an_exception_is_printed_and_ends_with_one(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("raise ValueError('no')\n", "utf-8")
    warm = subprocess.run([python(), str(script)], capture_output=True, text=True, timeout=60)
    fresh = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert (warm.returncode, warm.stderr.splitlines()[-1]) == (fresh.returncode, fresh.stderr.splitlines()[-1])


def test_the_cpu_time_of_a_program_that_ended_is_counted(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import time\nwhile time.process_time() < 0.5: pass\n", "utf-8")
    interpreter = python()
    before = cpu_seconds()
    subprocess.run([interpreter, str(script)], check=True, timeout=60)
    deadline = time.monotonic() + 60
    while cpu_seconds() - before < 0.4:
        assert time.monotonic() < deadline, "what the program used was not added to the fork server's own time"
