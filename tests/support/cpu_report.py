"""`pytest --cpu-report`: CPU seconds per folder, the tests that use most and those that wait longest.

Processes that tests start are included. What a process uses is counted for the test during which it uses it, also where
it serves several tests.
"""

import os
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SLOWEST_SHOWN = 50


def _cpu_seconds() -> float:
    """Of this process and all its descendants. It falls when a process ends for which nobody waits, as those of a
    browser do: what they used was counted before."""
    return _cpu_of_tree(os.getpid())


def _cpu_of_tree(pid: int) -> float:
    process = Path(f"/proc/{pid}")
    fields = _read(process / "stat").rpartition(")")[2].split()
    if not fields:
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    children = (child for task in _threads(process) for child in _read(task / "children").split())
    return own + sum(_cpu_of_tree(int(child)) for child in children)


def _threads(process: Path) -> list[Path]:
    try:
        return list((process / "task").iterdir())
    except OSError:
        return []


def _read(path: Path) -> str:
    """Nothing where the process or thread has just ended."""
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""


class Cost(NamedTuple):
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0

    def plus(self, other: "Cost") -> "Cost":
        return Cost(self.cpu_seconds + other.cpu_seconds, self.wall_seconds + other.wall_seconds)


class CpuReport:
    def __init__(self) -> None:
        self.by_test: dict[str, Cost] = defaultdict(Cost)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        cpu, wall = _cpu_seconds(), time.monotonic()
        result = yield
        cost = Cost(max(0.0, _cpu_seconds() - cpu), time.monotonic() - wall)
        self.by_test[item.nodeid] = self.by_test[item.nodeid].plus(cost)
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["cost_by_test"] = {test: tuple(cost) for test, cost in self.by_test.items()}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for test, cost in getattr(node, "workeroutput", {}).get("cost_by_test", {}).items():
            self.by_test[test] = self.by_test[test].plus(Cost(*cost))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        folders: dict[str, Cost] = defaultdict(Cost)
        for test, cost in self.by_test.items():
            for folder in ("/".join(test.split("/")[:2]), "all"):
                folders[folder] = folders[folder].plus(cost)
        terminalreporter.section("seconds of CPU, and of wall time")
        for title, costs, key, shown in (
            ("by folder", folders, _by_cpu, len(folders)),
            ("the tests that use most", self.by_test, _by_cpu, SLOWEST_SHOWN),
            ("the tests that wait longest", self.by_test, _by_wait, SLOWEST_SHOWN),
        ):
            terminalreporter.write_line(f"{title}:")
            for name, cost in sorted(costs.items(), key=key)[:shown]:
                terminalreporter.write_line(f"{cost.cpu_seconds:8.2f} {cost.wall_seconds:8.2f}  {name}")


def _by_cpu(entry: tuple[str, Cost]) -> float:
    return -entry[1].cpu_seconds


def _by_wait(entry: tuple[str, Cost]) -> float:
    return entry[1].cpu_seconds - entry[1].wall_seconds


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-report", action="store_true", help="print seconds of CPU and wall time by folder and test")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cpu-report"):
        config.pluginmanager.register(CpuReport())
