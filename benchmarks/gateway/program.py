"""A process of this benchmark and what it uses: its CPU time and memory with its children's, the upstream left out."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from benchmarks.gateway.placement import pin
from benchmarks.gateway.target import ROOT

STOP_SECONDS = 10
LAST_LINES = 3
LAST_CHARACTERS = 120
UPSTREAM_MODULE = "benchmarks.gateway.upstream."


class Program:
    """One started process, its output in a log of its own."""

    def __init__(self, command: Sequence[str], *, core: int | None, log: Path) -> None:
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if core is not None:
            pin(self._process.pid, core)

    @property
    def exit_status(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def cpu_seconds(self) -> float:
        """User and system time of the gateway's own processes since they started."""
        return sum(_cpu_seconds(process) for process in self._own_processes())

    def resident_bytes(self) -> int:
        return sum(process.memory_info().rss for process in self._own_processes())

    def last_words(self) -> str:
        """The end of its log, for a row that must say why there are no numbers: an error's message comes last."""
        written = [line.strip(" ^~") for line in self._log.read_text(errors="replace").splitlines()]
        told = " | ".join([line for line in written if line][-LAST_LINES:])
        return told if len(told) <= LAST_CHARACTERS else f"…{told[-LAST_CHARACTERS:]}"

    def stop(self) -> None:
        """End it and what it started; a process that ignores the request is killed."""
        if self._process.poll() is None:
            self.signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.signal(signal.SIGKILL)
        self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return

    def _own_processes(self) -> Iterator[psutil.Process]:
        try:
            top = psutil.Process(self._process.pid)
            processes = [top, *top.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in processes:
            try:
                if not is_upstream(process.cmdline()):
                    yield process
            except psutil.NoSuchProcess:
                continue


def _cpu_seconds(process: psutil.Process) -> float:
    """User and system time of one process, all its threads together."""
    if sys.platform != "linux":
        times = process.cpu_times()
        return float(times.user + times.system)
    # The kernel's clock of that process counts nanoseconds; what psutil reads counts hundredths of a second, which is
    # much of a short window. The number is the clock's name as clock_getcpuclockid(3) makes it.
    try:
        return time.clock_gettime(~process.pid << 3 | 2)
    except OSError:
        raise psutil.NoSuchProcess(process.pid) from None


def is_upstream(command: Sequence[str]) -> bool:
    """Whether a process is the upstream itself; a gateway merely names it, further on in its arguments."""
    return command[1:2] == ["-m"] and "".join(command[2:3]).startswith(UPSTREAM_MODULE)


def environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """What a program of this benchmark may see: not our virtual environment, nor settings of Pegboard."""
    # An installed program finds its bytecode ready; without it, the time to the first list is time to compile.
    withheld = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE"}
    return {
        name: value for name, value in inherited.items() if name not in withheld and not name.startswith("PEGBOARD_")
    }


def free_port() -> int:
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def busy_seconds() -> float:
    """CPU time spent by the whole machine, what a hypervisor took away included."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # Linux counts guest time inside user time, so the sum of all fields would count it twice.
    guest = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return float(sum(times) - idle - guest)


def family_seconds() -> float:
    """CPU time of this process and of everything it started that still runs."""
    this = psutil.Process()
    total = 0.0
    for process in [this, *this.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total
