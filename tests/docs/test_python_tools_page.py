"""The page on `pegboard.tools`: what it shows runs in a worker, and what it lists is all there is."""

import dataclasses
import inspect
import json
import re
import subprocess
from pathlib import Path

import pytest
from tests.docs.pages import page
from tests.providers.python.toolsets import working, written
from tests.support.fork_server import python

from pegboard.core.calls.call import ToolSuccess
from pegboard.core.json.values import materialize
from pegboard.tools import ToolContext, ToolMetadata

PAGE = page("docs/reference/python-tools.md")
EXAMPLE, ARGUMENTS, RESULT, TEST = (block.text for block in PAGE.blocks)


def listed(heading: str) -> list[str]:
    section = PAGE.text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


@pytest.mark.anyio
@pytest.mark.behaviour("providers.python_context", "python.marks")
async def test_the_example_is_described_and_runs_as_the_page_shows(tmp_path: Path) -> None:
    folder, workspace = written(tmp_path / "toolset", {"notes.py": EXAMPLE}), tmp_path / "workspace"
    workspace.mkdir()
    steps: list[tuple[float, float | None, str | None]] = []
    async with working(folder, "notes:add", workspace=workspace) as watched:
        (tool,) = watched.provider.listing().tools
        assert (tool.spec.title, tool.spec.description) == ("Add notes", "Add notes to the notebook.")
        assert json.loads(json.dumps(tool.spec.input_schema, default=materialize)) == json.loads(ARGUMENTS)
        outcome = await watched.call("add", notes=["buy pegs"], kind="task", progress=lambda *step: steps.append(step))
        assert isinstance(outcome, ToolSuccess)
        assert json.loads(outcome.body) == json.loads(RESULT)
        assert watched.provider.log() == ("info: 1 more in the notebook of dev",)
    assert steps == [(1.0, 1.0, "buy pegs")]
    assert (workspace / "task.txt").read_text("utf-8") == "buy pegs\n"


def test_the_test_on_the_page_passes(tmp_path: Path) -> None:
    written(tmp_path, {"notes.py": EXAMPLE})
    subprocess.run([python(), "-c", TEST], cwd=tmp_path, check=True, timeout=60)


@pytest.mark.behaviour("python.marks")
def test_the_page_lists_every_argument_of_the_mark() -> None:
    assert listed("tool") == [field.name for field in dataclasses.fields(ToolMetadata)]


@pytest.mark.behaviour("providers.python_context")
def test_the_page_lists_every_member_of_the_context() -> None:
    fields = [field.name for field in dataclasses.fields(ToolContext)]
    others = [name for name, _ in inspect.getmembers(ToolContext) if name in vars(ToolContext)]
    public = {name for name in (*fields, *others) if not name.startswith("_")}
    assert {*listed("ToolContext")} == public
