"""How a program is ended: by its caller or by the clock. Nothing of it goes on, and all of it is accounted for."""

import json
from pathlib import Path

import anyio
import pytest
from tests.gateway.programs.programs import Place, ok, place
from tests.support.doubles import held_forever

from pegboard.core.calls.call import AdmittedCall, Outcome, ToolFailure
from pegboard.core.model.settings import CodeLimits, CodeSettings
from pegboard.ports.providers import Progress

pytestmark = pytest.mark.anyio

HELD = "import asyncio\nawait asyncio.gather(files.hold(), files.hold())"
BUSY = "while True:\n    pass"


def holding(here: Place, calls: int) -> anyio.Event:
    """Set when so many calls have reached the server, which answers none of them."""
    reached = anyio.Event()

    async def hold(admitted: AdmittedCall, progress: Progress | None) -> Outcome:
        if len(here.files.calls) >= calls:
            reached.set()
        return await held_forever(admitted, progress)

    here.files.answers["hold"] = hold
    return reached


@pytest.mark.behaviour("programs.cancelled", "programs.accounted_for")
async def test_who_gives_a_program_up_ends_its_calls_and_its_worker(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        async with anyio.create_task_group() as tasks:
            reached = holding(here, 2)
            tasks.start_soon(here.runs, HELD)
            await reached.wait()
            tasks.cancel_scope.cancel()
        assert here.files.given_up == 2
        assert here.records() == [
            ("hold", "run-1", "CallCancellation"),
            ("hold", "run-1", "CallCancellation"),
            ("python_execution", None, "CallCancellation"),
        ]
        assert await here.answers("1 + 1") == ok(2)


@pytest.mark.behaviour("programs.cancelled", "programs.limits")
async def test_a_program_that_takes_too_long_is_ended_with_its_calls(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.answers("1")  # so that there is a worker
        answer = await here.answers(f'print("begun")\n{HELD}', timeout_s=2)
        assert answer["error"]["type"] == "TimeoutError"
        assert "2 seconds" in answer["error"]["message"]
        assert answer["stdout"] == "begun\n"
        given_up = {"name": "files.hold", "ok": False, "error": "it was given up"}
        assert answer["tool_calls"] == [given_up, given_up]
        assert here.files.given_up == 2


@pytest.mark.behaviour("programs.limits")
async def test_a_call_that_was_given_up_is_told_with_how_long_it_ran(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.answers("1")  # so that there is a worker
        ended = await here.runs("await files.hold()", timeout_s=2)
        assert isinstance(ended, ToolFailure)
        (made,) = json.loads(ended.body)["structuredContent"]["tool_calls"]
        assert made.pop("ms") > 0
        assert made == {"name": "files.hold", "ok": False, "error": "it was given up"}
        assert here.records()[-1] == ("python_execution", None, "ToolFailure")


@pytest.mark.behaviour("programs.limits")
async def test_a_program_that_computes_for_ever_is_ended_and_the_next_one_runs(tmp_path: Path) -> None:
    settings = CodeSettings(limits=CodeLimits(cpu=1.0, wall=20.0))
    async with place(tmp_path, settings=settings) as here:
        assert (await here.answers(BUSY))["error"]["type"] == "TimeoutError"
        assert await here.answers("1 + 1") == ok(2)


@pytest.mark.behaviour("programs.limits")
async def test_more_programs_than_may_run_at_once_wait_in_line(tmp_path: Path) -> None:
    async with place(tmp_path, settings=CodeSettings(runs=1)) as here:
        async with anyio.create_task_group() as tasks:
            reached = holding(here, 1)
            tasks.start_soon(here.runs, "await files.hold()")
            await reached.wait()
            late = await here.answers("1 + 1", timeout_s=0.2, id="run-2")
            assert late["error"] == {
                "type": "TimeoutError",
                "message": "So many programs run now that this one got no turn within 0.2 seconds. Nothing of it has "
                "run. Try again.",
                "line": None,
            }
            tasks.cancel_scope.cancel()
        assert await here.answers("1 + 1", id="run-3") == ok(2)


@pytest.mark.behaviour("programs.cancelled")
async def test_a_call_that_nobody_waits_for_ends_with_its_program(tmp_path: Path) -> None:
    code = """
import asyncio
try:
    await asyncio.gather(files.hold(), files.fail())
except RuntimeError as error:
    told = str(error)
told
"""
    async with place(tmp_path) as here:
        assert (await here.answers(code))["result"] == "the disk is full"
        assert here.files.given_up == 1
