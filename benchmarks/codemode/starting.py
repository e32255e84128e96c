"""What it takes to run the smallest program in a warm sandbox, beside a session of Monty that nobody bounds."""

import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Final

from pydantic_monty import AsyncMonty, ExternalModule

from benchmarks.codemode.row import Row
from benchmarks.sandboxes import Tools
from pegboard.ports.sandbox import Program, RunResult, SandboxFunction
from pegboard.providers.sandbox.monty.sandbox import MontySandbox

HEAD: Final = "from typing import Any, Literal, NotRequired, TypedDict"
STUB: Final = """\
class Issue(TypedDict):
    id: int
    title: str
    state: Literal["open", "closed"]
    body: NotRequired[str]

async def create_issue(*, title: str, labels: list[str] | None = None) -> Issue: ..."""
CODE: Final = "async def later():\n    issue = await gh.create_issue(title='a')\n    return issue['title']\n1"
PROGRAM: Final = Program(CODE, (SandboxFunction("gh", "create_issue", STUB),), HEAD)
GOALS: Final = {"start": 5.0, "start with type check": 40.0}
"""Milliseconds."""

Act = Callable[[], Awaitable[object]]


async def _bare(pool: AsyncMonty, type_check: bool) -> None:
    modules = {"gh": ExternalModule({"create_issue": print}, stubs=f"{HEAD}\n{STUB}\n")}
    async with pool.checkout(type_check=type_check, external_modules=modules) as session:
        assert await session.feed_run(f"import gh\n{CODE}") == 1


async def _ours(sandbox: MontySandbox, type_check: bool) -> None:
    if type_check:
        assert await sandbox.check(PROGRAM) == ()
    assert await sandbox.run(PROGRAM, Tools()) == RunResult(1)


async def measured(rounds: int) -> list[Row]:
    sandbox = MontySandbox()
    rows: list[Row] = []
    try:
        async with AsyncMonty(min_processes=1, max_processes=2, max_checkouts_per_worker=50) as pool:
            for job, type_check in (("start", False), ("start with type check", True)):
                # The first check of a worker loads what it knows of Python, and is not warm.
                acts: dict[str, Act] = {
                    "floor": lambda type_check=type_check: _bare(pool, type_check),  # type: ignore[misc]
                    "Pegboard": lambda type_check=type_check: _ours(sandbox, type_check),  # type: ignore[misc]
                }
                spent: dict[str, list[float]] = {who: [] for who in acts}
                for round in range(rounds + 2):
                    for who, act in acts.items():
                        started = time.perf_counter()
                        await act()
                        if round >= 2:
                            spent[who].append((time.perf_counter() - started) * 1e3)
                rows.append(Row(job, median(spent["floor"]), median(spent["Pegboard"]), GOALS[job], 1))
    finally:
        await sandbox.aclose()
    return rows
