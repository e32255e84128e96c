"""`python -m benchmarks.startup`: what starting Pegboard costs, in seconds of CPU until it answers.

The floor is `python -c pass`; the peer is FastMCP, by its own command and by a server without tools. Each is started in
turn, and again, with its bytecode written; the median counts. CPU and not time: a start waits for nothing, and other
work on the machine hardly shows.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Final
from urllib.error import URLError
from urllib.request import Request, urlopen

import psutil

from benchmarks import table
from benchmarks.gateway.peers.environment import FASTMCP, Ready, Unavailable, fastmcp_environment
from benchmarks.gateway.program import environment, free_port
from benchmarks.sample import ratio
from benchmarks.timing import positive

ROUNDS: Final = 7
DEADLINE_S: Final = 60.0
PEGBOARD: Final = (sys.executable, "-m", "pegboard")
FLOOR: Final = "python -c pass"
GOALS: Final[Mapping[str, float]] = {
    "pegboard --help": 0.15,
    "pegboard tools list": 0.35,
    "pegboard serve, ready": 1.0,
}
"""Seconds of CPU. A gateway runs beside `tools list`; `serve` has an empty board and a new data directory."""
FASTMCP_SERVER: Final = "from fastmcp import FastMCP; import sys; FastMCP('empty').run('http', port=int(sys.argv[1]))"
INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    cpu_s: float | None
    """The median of all rounds; `None` where it could not be measured."""
    of_floor: float | None = None
    goal_s: float | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Served:
    """A server that has just said where it listens."""

    endpoint: str
    pid: int
    cpu_s: float
    """What its start took."""


def cpu_of_command(*command: str, env: Mapping[str, str] | None = None) -> float:
    """All it takes, its own children included."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_environment(env), timeout=DEADLINE_S)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def pegboard_served(folder: Path) -> Iterator[Served]:
    config = folder / "pegboard.yaml"
    config.write_text("", "utf-8")
    words = ("serve", "--config", str(config), "--data-dir", str(folder / "data"), "--port", "0", "--json")
    with _running((*PEGBOARD, *words), folder) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        yield Served(ready["endpoint"], process.pid, _cpu_of_process(process.pid))


@contextmanager
def fastmcp_served(python: Path, folder: Path) -> Iterator[Served]:
    """It says nothing on its standard output, so it is asked until it answers."""
    port = free_port()
    with _running((str(python), "-c", FASTMCP_SERVER, str(port)), folder) as process:
        endpoint = f"http://127.0.0.1:{port}/mcp"
        give_up = time.monotonic() + DEADLINE_S
        while not _listens(endpoint):
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError("FastMCP's server did not start")
            time.sleep(0.005)
        yield Served(endpoint, process.pid, _cpu_of_process(process.pid))


def first_handshake(served: Served) -> tuple[float, float]:
    """Milliseconds until a client that comes at once has its answer, and the server's CPU seconds by then."""
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    began = time.perf_counter()
    with urlopen(Request(served.endpoint, json.dumps(INITIALIZE).encode(), headers), timeout=DEADLINE_S) as answer:
        answer.read()
    return (time.perf_counter() - began) * 1000, _cpu_of_process(served.pid)


def measured(rounds: int, *, peer: bool, warm_up: bool = True) -> tuple[list[Row], list[tuple[str, float]]]:
    """The rows, and the wait of a first client in milliseconds by whom it waits for."""
    fastmcp = fastmcp_environment() if peer else Unavailable("not asked for (--no-peer)")
    spent: dict[str, list[float]] = {}
    waits: dict[str, list[float]] = {}

    def note(what: str, cpu_s: float) -> None:
        spent.setdefault(what, []).append(cpu_s)

    def note_start(who: str, served: Served) -> None:
        note(f"{who}, ready", served.cpu_s)
        wait, cpu_s = first_handshake(served)
        note(f"{who}, first initialize", cpu_s)
        waits.setdefault(who, []).append(wait)

    for number in range(0 if warm_up else 1, rounds + 1):
        if number == 1:
            # What the warm-up measured: it wrote bytecode and read files from the disk.
            spent.clear()
            waits.clear()
        print(f"measuring round {number} of {rounds} …", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            note(FLOOR, cpu_of_command(sys.executable, "-c", "pass"))
            note("pegboard --help", cpu_of_command(*PEGBOARD, "--help"))
            with pegboard_served(folder) as served:
                note_start("pegboard serve", served)
                command = (*PEGBOARD, "tools", "list", "--data-dir", str(folder / "data"))
                note("pegboard tools list", cpu_of_command(*command))
            if isinstance(fastmcp, Ready):
                program = fastmcp.python.with_name("fastmcp")
                note("fastmcp --help", cpu_of_command(str(program), "--help"))
                note("fastmcp version", cpu_of_command(str(program), "version"))
                with fastmcp_served(fastmcp.python, folder) as served:
                    note_start("FastMCP server", served)
    floor = median(spent[FLOOR])
    rows = [
        Row(what, cpu_s := median(each), ratio(cpu_s, floor), GOALS.get(what)) for what, each in sorted(spent.items())
    ]
    if isinstance(fastmcp, Unavailable):
        rows.append(Row(f"FastMCP {FASTMCP}", None, remark=fastmcp.reason))
    return rows, [(who, median(each)) for who, each in sorted(waits.items())]


def as_text(rows: Sequence[Row], waits: Sequence[tuple[str, float]]) -> str:
    cells = [
        (row.what, row.remark)
        if row.cpu_s is None
        else (
            row.what,
            table.number(row.cpu_s, 3),
            table.times(row.of_floor),
            table.number(row.goal_s, 2),
            table.ABSENT if row.goal_s is None else "yes" if row.cpu_s <= row.goal_s else "no",
        )
        for row in rows
    ]
    first = table.render(("start", "CPU s", "of floor", "goal", "met"), cells)
    second = table.render(("a client that comes at once", "waits ms"), [(who, table.number(ms)) for who, ms in waits])
    return f"{first}\n\n{second}"


def as_json(rows: Sequence[Row], waits: Sequence[tuple[str, float]], rounds: int) -> dict[str, object]:
    return {
        "benchmark": "startup",
        "rounds": rounds,
        "rows": [asdict(row) for row in rows],
        "first_client_ms": dict(waits),
    }


@contextmanager
def _running(command: Sequence[str], folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    home = {"HOME": str(folder)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment(home), cwd=folder
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
    return {**environment(os.environ), **(more or {})}


def _listens(endpoint: str) -> bool:
    try:
        with urlopen(endpoint, timeout=DEADLINE_S):
            return True
    except URLError as error:
        return getattr(error, "code", None) is not None


def _cpu_of_process(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description="What a start costs.")
    parser.add_argument("--rounds", type=positive, default=ROUNDS, help=f"starts of each, the median counts ({ROUNDS})")
    parser.add_argument("--no-peer", action="store_true", help="leave FastMCP out")
    parser.add_argument("--quick", action="store_true", help="one cold round without FastMCP: a first look")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    chosen = parser.parse_args(arguments)
    rounds = 1 if chosen.quick else chosen.rounds
    rows, waits = measured(rounds, peer=not (chosen.quick or chosen.no_peer), warm_up=not chosen.quick)
    print(json.dumps(as_json(rows, waits, rounds), indent=2) if chosen.json else as_text(rows, waits))
    return 0


if __name__ == "__main__":
    sys.exit(main())
