"""`pytest --cpu-report`: CPU seconds per folder and the slowest tests, with what the processes they started cost.

What a process uses is counted for the test during which it uses it, also where it serves several tests.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

SLOWEST_SHOWN = 50


def _cpu_seconds() -> float:
    """Of this process and all its descendants. It falls when a process ends for which nobody waits, as those of a
    browser do: what they used was counted before."""
    return _cpu_of_tree(os.getpid())


def _cpu_of_tree(pid: int) -> float:
    process = Path(f"/proc/{pid}")
    try:
        fields = (process / "stat").read_text("utf-8").rpartition(")")[2].split()
        children = " ".join((task / "children").read_text("utf-8") for task in (process / "task").iterdir()).split()
    except OSError:
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_cpu_of_tree(int(child)) for child in children)


class CpuReport:
    def __init__(self) -> None:
        self.by_test: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = _cpu_seconds()
        result = yield
        self.by_test[item.nodeid] += max(0.0, _cpu_seconds() - before)
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["cpu_by_test"] = dict(self.by_test)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for test, seconds in getattr(node, "workeroutput", {}).get("cpu_by_test", {}).items():
            self.by_test[test] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        folders: dict[str, list[float]] = defaultdict(list)
        for test, seconds in self.by_test.items():
            folders["/".join(test.split("/")[:2])].append(seconds)
        write = terminalreporter.write_line
        terminalreporter.section("CPU seconds")
        for folder, costs in sorted(folders.items(), key=lambda entry: -sum(entry[1])):
            write(f"{sum(costs):8.1f}  {len(costs):5} tests  {folder}")
        write(f"{sum(self.by_test.values()):8.1f}  {len(self.by_test):5} tests  all")
        for test, seconds in sorted(self.by_test.items(), key=lambda entry: -entry[1])[:SLOWEST_SHOWN]:
            write(f"{seconds:8.2f}  {test}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-report", action="store_true", help="print CPU seconds per folder and of the slowest tests")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cpu-report"):
        config.pluginmanager.register(CpuReport())
