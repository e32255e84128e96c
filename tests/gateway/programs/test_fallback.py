"""From Monty to the full Python: only where the file says so, only before the first call, and told."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from tests.gateway.programs.programs import Place, place
from tests.support.collect_failures import collect_failures

from pegboard.core.model.settings import CodeSettings, PythonSandbox
from pegboard.ports.sandbox import DEFAULT_LIMITS, Program, ProgramHost, RunResult, SandboxLimits, SandboxUnavailable
from pegboard.providers.sandbox.jail.sandbox import FullSandbox

pytestmark = pytest.mark.anyio

FALLS = CodeSettings(fallback=True)
LACKING = "import statistics\nstatistics.mean([1, 2, 3])"


@asynccontextmanager
async def both(folder: Path, settings: CodeSettings) -> AsyncIterator[Place]:
    full = FullSandbox()
    try:
        async with place(folder, settings=settings, sandboxes={PythonSandbox.FULL: full}) as here:
            yield here
    finally:
        with anyio.CancelScope(shield=True):
            await full.aclose()


@pytest.mark.behaviour("programs.falls_back")
@pytest.mark.parametrize("check", [True, False])
async def test_what_monty_lacks_is_run_by_the_full_python_and_the_answer_says_so(tmp_path: Path, check: bool) -> None:
    async with both(tmp_path, CodeSettings(fallback=True, check=check)) as here:
        answer = await here.answers(LACKING)
        assert (answer["result"], answer["error"]) == (2, None)
        assert answer["note"].startswith("This ran in the full Python, because the other one lacks something")
        plain = await here.answers("1 + 1")
        assert (plain["result"], "note" in plain) == (2, False)


@pytest.mark.behaviour("programs.falls_back", "code.told_before")
async def test_what_the_text_shows_to_be_lacking_is_run_by_the_full_python_before_a_call(tmp_path: Path) -> None:
    lacking = {
        "next((x for x in [1, 2] if x > 1), None)": 2,
        "import json\njson.dumps({1}, default=list)": "[1]",
        "from datetime import date\ndate(2026, 1, 1).isocalendar()[0]": 2026,
        "hasattr({}, 'get')": True,
    }
    async with both(tmp_path, FALLS) as here:
        with collect_failures() as failures:
            for number, (code, result) in enumerate(lacking.items()):
                with failures.case(code):
                    answer = await here.answers(f'await files.read(path="{number}")\n{code}', id=f"run-{number}")
                    assert (answer["result"], answer["error"]) == (result, None)
                    assert here.called("read")[number:] == [{"path": str(number)}]


@pytest.mark.behaviour("programs.falls_back")
@pytest.mark.parametrize("wrong", ['await files.read(pat="a")', 'files.read(path="a")["x"]'])
async def test_what_is_wrong_in_either_python_is_told_before_anything_runs(tmp_path: Path, wrong: str) -> None:
    async with both(tmp_path, FALLS) as here:
        answer = await here.answers(f'import statistics\nawait files.read(path="b")\n{wrong}')
        assert answer["error"]["type"] == "TypeCheckError"
        assert "line 3: " in answer["error"]["message"]
        assert here.called("read") == []


@pytest.mark.behaviour("programs.falls_back")
async def test_without_a_word_in_the_file_it_is_an_error(tmp_path: Path) -> None:
    async with both(tmp_path, CodeSettings()) as here:
        answer = await here.answers(LACKING)
        assert answer["error"] is not None
        assert "note" not in answer


@pytest.mark.behaviour("programs.falls_back")
async def test_after_the_first_call_nothing_is_run_again(tmp_path: Path) -> None:
    async with both(tmp_path, CodeSettings(fallback=True, check=False)) as here:
        code = 'read = await files.read(path="a")\nimport statistics\nstatistics.mean([1, 2])'
        answer = await here.answers(code)
        assert answer["error"] is not None
        assert "note" not in answer
        assert here.called("read") == [{"path": "a"}]


@pytest.mark.behaviour("programs.falls_back")
async def test_a_program_of_the_full_python_calls_tools_by_the_same_road(tmp_path: Path) -> None:
    async with both(tmp_path, CodeSettings(python=PythonSandbox.FULL)) as here:
        code = 'import statistics\nsummed = await files.add(a=1, b=2)\nstatistics.mean([summed["sum"], 5])'
        answer = await here.answers(code)
        assert (answer["result"], answer["error"]) == (4, None)
        assert here.records() == [("add", "run-1", "ToolSuccess"), ("python_execution", None, "ToolSuccess")]
        told = await here.answers(
            'try:\n    await files.delete(path="a")\nexcept PermissionError as error:\n    told = str(error)\ntold'
        )
        assert told["result"].startswith("confirmation_required: A person must confirm this call of 'delete' first")


class Nowhere(FullSandbox):
    async def run(self, program: Program, host: ProgramHost, limits: SandboxLimits = DEFAULT_LIMITS) -> RunResult:
        raise SandboxUnavailable("this kernel has no Landlock.")


@pytest.mark.behaviour("programs.falls_back")
async def test_where_there_is_no_full_python_the_first_error_is_told_with_why(tmp_path: Path) -> None:
    async with place(tmp_path, settings=FALLS, sandboxes={PythonSandbox.FULL: Nowhere()}) as here:
        answer = await here.answers(LACKING)
        assert answer["error"] is not None
        assert answer["note"] == "The full Python might run it, but it cannot be had now: this kernel has no Landlock."
