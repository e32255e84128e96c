"""Writes down which functions of Pegboard each test file executes, in the test process and in all it starts.

Every Python of the environment imports it through a `.pth` file while `python -m tests.mutation record` runs. A line
of the log is `TEST FILE<tab>MODULE:FIRST LINE OF THE FUNCTION`. Uses `sys.monitoring`, so it needs Python 3.12.
"""

import os
import sys
from pathlib import Path
from types import CodeType

PACKAGE = f"{os.sep}src{os.sep}pegboard{os.sep}"
TOOL_NAME = "pegboard-mutation"


class Recorder:
    """One process's view of the running test file, and what was executed for it."""

    def __init__(self, log_folder: Path) -> None:
        self.log_folder = log_folder
        self.seen: set[tuple[str, str]] = set()
        self.pid = os.getpid()
        self.test_file = ""
        self.countdown = 0

    def on_function_start(self, code: CodeType, offset: int) -> object:
        if PACKAGE not in code.co_filename:
            return sys.monitoring.DISABLE  # type: ignore[attr-defined]
        self.countdown -= 1
        if self.countdown <= 0:
            self.read_test_file()
        where = code.co_filename.rpartition(PACKAGE)[2]
        entry = (self.test_file, f"{where}:{code.co_firstlineno}")
        if entry not in self.seen:
            self.seen.add(entry)
            # One write each: a process that is killed has written what it executed.
            with open(self.log_folder / f"{self.pid}.log", "a", encoding="utf-8") as log:
                log.write("\t".join(entry) + "\n")
        return None

    def read_test_file(self) -> None:
        """Ask the test process among the ancestors: a shared gateway serves one test file after another."""
        self.countdown = 20
        pid = os.getpid()
        if pid != self.pid:
            self.pid, self.seen = pid, set()
        while pid > 1:
            current = self.log_folder / f"{pid}.current"
            if current.exists():
                self.test_file = current.read_text("utf-8")
                return
            try:
                pid = int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1])
            except OSError:
                return


RECORDERS: list[Recorder] = []


def start(log_folder: str) -> None:
    """Record this process and all that are forked from it."""
    monitoring = sys.monitoring  # type: ignore[attr-defined]
    if monitoring.get_tool(monitoring.COVERAGE_ID):
        return  # Python may read the folder of its packages twice.
    recorder = Recorder(Path(log_folder))
    RECORDERS.append(recorder)
    monitoring.use_tool_id(monitoring.COVERAGE_ID, TOOL_NAME)
    monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.PY_START, recorder.on_function_start)
    monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.PY_START)
    os.register_at_fork(after_in_child=recorder.read_test_file)
