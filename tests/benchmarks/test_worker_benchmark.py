"""The benchmark of Python tools calls what it says it calls."""

from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from benchmarks import worker
from pegboard.core.calls.call import ToolSuccess

pytestmark = pytest.mark.anyio


async def test_floor_and_pegboard_answer_each_call_of_many(tmp_path: Path) -> None:
    answers: list[object] = []
    async with worker.floor() as echo, worker.toolset(tmp_path) as tools:

        async def ask(once: worker.Once) -> None:
            answers.append(await once())

        with anyio.fail_after(60):
            for once in (echo, tools("add"), tools("add_async")):
                async with anyio.create_task_group() as tasks:
                    for _ in range(20):
                        tasks.start_soon(ask, once)
    assert answers == [worker.ARGUMENTS] * 20 + [ToolSuccess(worker.ANSWER)] * 40


async def test_a_rate_counts_what_was_answered() -> None:
    asked = 0

    async def once() -> None:
        nonlocal asked
        asked += 1
        await anyio.lowlevel.checkpoint()

    assert await worker.rate(once, 3, 0.01) > 0
    assert asked > 0


def test_the_table_shows_both_and_how_they_compare() -> None:
    rows = [worker.Row("one after another", 40_000.0, 10_000.0)]
    assert worker.as_text(rows).splitlines()[-1].split() == ["one", "after", "another", "40,000", "10,000", "0.25x"]
    assert worker.as_json(rows, 5)["rows"] == [
        {"job": "one after another", "floor": 40_000.0, "pegboard": 10_000.0, "of_floor": 0.25}
    ]
