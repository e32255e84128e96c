"""The benchmark of programs in tokens: both ways are done, come to one answer, and the program costs less."""

import anyio
import pytest
from benchmarks.codemode.tasks import TASKS
from benchmarks.codemode.tokens import WAYS, as_text, rows
from tests.support.fork_server import python


@pytest.mark.slow
@pytest.mark.behaviour("code.costs")
def test_a_task_is_done_with_and_without_a_program_and_the_program_costs_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_FOR_DEMO", python())
    monkeypatch.setenv("DESK_DIR", "set by the benchmark, and set back afterwards")
    found = anyio.run(rows, TASKS[1:2])
    assert [row.way for row in found] == [*WAYS]
    listed, searched, program = found
    assert program.once * 2 < min(listed.once, searched.once)
    assert (listed.calls, program.calls) == (14, 2)
    assert "open ends of a journal: a program" in as_text(found)
