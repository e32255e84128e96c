"""A bundle made for the system of seed 003 imports and runs as it is: its modules import that system's own."""

import json
from pathlib import Path

import pytest
from tests.e2e.test_toolset_import import policy
from tests.providers.python.toolsets import KEY, entries, text_of, working, written
from tests.support.toolsets import MINE, brought, called, housed, until_open, zipped

from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolId, ToolsetKey
from pegboard.core.model.selection import View
from pegboard.ports.providers import ToolDescriptionError
from pegboard.providers.python.describe import Describer
from pegboard.providers.python.environments import Environments

pytestmark = pytest.mark.anyio

BUNDLE = {
    "toolset.yaml": """
    manifest_version: "1"
    id: mine
    name: Notes
    version: 1.0
    author: Ada
    tools:
      - id: keep
        entrypoint: tools.keeping:keep
        category: files
        renderer:
          type: html
          artifact: artifacts/note.html
          data: {note: $return}
      - id: drop
        name: Throw away
        entrypoint: tools.keeping:drop
      - {id: outline, entrypoint: "tools.outlining:outline"}
      - {id: whereabouts, entrypoint: "tools.outlining:whereabouts"}
    """,
    "artifacts/note.html": "<p>A note</p>",
    "tools/keeping.py": '''
    from covalt_toolset import get_context, tool


    @tool(name="Keep a note", description="Write a note into the workspace", category="files")
    def keep(path: str, text: str) -> dict:
        target = get_context().workspace / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return {"path": path, "size": len(text)}


    @tool(name="Drop", requires_confirmation=True)
    def drop(path: str) -> dict:
        """Throw a note away."""
        (get_context().workspace / path).unlink()
        return {"dropped": path}
    ''',
    "tools/outlining.py": '''
    from __future__ import annotations

    from threading import Thread

    from pydantic import BaseModel, Field
    from covalt_toolset import tool


    class Chapter(BaseModel):
        heading: str = Field(description="What it is about")
        page: int = Field(ge=1)


    @tool
    def outline(title: str, chapters: list[Chapter]) -> dict:
        """An outline.

        Args:
            title: What the whole is called
        """
        return {"title": title, "chapters": [chapter.model_dump() for chapter in chapters]}


    @tool("Whereabouts")
    async def whereabouts() -> dict:
        """Where this runs."""
        from covalt_toolset import ToolContext, get_context

        found: list[ToolContext] = []
        beside = Thread(target=lambda: found.append(get_context()))
        beside.start()
        beside.join()
        here = get_context()
        told = {"toolset": here.toolset_id, "chat": here.chat_id, "extra": here.extra, "same": found == [here]}
        return {**told, "is a folder": here.workspace.is_dir()}
    ''',
}
KEEP, DROP, OUTLINE, WHEREABOUTS = (
    ToolId(ToolsetKey(MINE), name) for name in ("keep", "drop", "outline", "whereabouts")
)


@pytest.mark.behaviour("toolsets.python_of_the_seeds_system")
async def test_a_bundle_of_the_seeds_system_imports_and_runs_as_it_is(tmp_path: Path) -> None:
    bundle = zipped(written(tmp_path / "notes", BUNDLE), top="notes/")
    async with housed(tmp_path / "data") as house:
        await brought(house, bundle)
        await until_open(house, *map(str, (KEEP, OUTLINE, WHEREABOUTS, DROP)))
        board = house.gateway.board
        verdicts = board.resolution(View()).verdicts
        specs = {id.name: verdicts[id].tool.spec for id in (KEEP, DROP, OUTLINE, WHEREABOUTS)}
        assert {name: (spec.title, spec.description) for name, spec in specs.items()} == {
            "keep": ("Keep a note", "Write a note into the workspace"),
            "drop": ("Throw away", "Throw a note away."),
            "outline": (None, "An outline."),
            "whereabouts": ("Whereabouts", "Where this runs."),
        }
        assert [policy(house).overrides.requires_confirmation(each) for each in (KEEP, DROP, OUTLINE, WHEREABOUTS)] == [
            False,
            True,
            False,
            False,
        ]
        kept = json.loads(await called(house, "keep", path="a/b.txt", text="hello"))
        assert kept == {"path": "a/b.txt", "size": 5}
        assert (tmp_path / "data" / "workspaces" / MINE / "a" / "b.txt").read_text() == "hello"
        outlined = json.loads(await called(house, "outline", title="T", chapters=[{"heading": "One", "page": 1}]))
        assert outlined == {"title": "T", "chapters": [{"heading": "One", "page": 1}]}
        assert json.loads(await called(house, "whereabouts")) == {
            "toolset": "mine",
            "chat": "",
            "extra": {},
            "same": True,
            "is a folder": True,
        }
        # The folder that was made for them goes with the toolset.
        await house.installer.remove(MINE, LOCAL_PRINCIPAL, keep_workspace=False)
    assert not (tmp_path / "data" / "workspaces" / MINE).exists()


@pytest.mark.behaviour("toolsets.python_of_the_seeds_system")
async def test_a_file_of_the_toolset_stands_before_the_module_of_that_name(tmp_path: Path) -> None:
    files = {
        "covalt_toolset.py": "def get_context() -> str:\n    return 'its own'\n",
        "one.py": "from covalt_toolset import get_context\ndef one() -> str:\n    return get_context()\n",
    }
    async with working(written(tmp_path / "one", files), "one:one") as watched:
        assert text_of(await watched.call("one")) == "its own"


@pytest.mark.behaviour("toolsets.python_of_the_seeds_system")
async def test_the_module_is_found_by_its_earlier_name_too(tmp_path: Path) -> None:
    text = """
    from agno_toolset import get_context, tool

    @tool(name="Where")
    def one() -> str:
        return get_context().toolset_id
    """
    folder = written(tmp_path / "one", {"one.py": text})
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with working(folder, "one:one", workspace=workspace) as watched:
        assert text_of(await watched.call("one")) == KEY.toolset


@pytest.mark.behaviour("toolsets.python_of_the_seeds_system")
async def test_the_context_is_refused_while_modules_are_imported(tmp_path: Path) -> None:
    text = "from covalt_toolset import get_context\nHERE = get_context()\ndef one() -> str:\n    return ''\n"
    folder = written(tmp_path / "one", {"one.py": text})
    with pytest.raises(ToolDescriptionError) as raised:
        await Describer(Environments(tmp_path))(folder, entries("one:one"), (), print)
    assert raised.value.problems == (
        "one.py:2: importing it raised RuntimeError: get_context() tells where a tool runs. Call it inside the "
        "function, not at import.",
    )


async def test_a_tool_of_ours_makes_no_workspace_that_nobody_asked_for(tmp_path: Path) -> None:
    text = """
    from pegboard.tools import ToolContext

    def one(context: ToolContext) -> str:
        return str(context.workspace)
    """
    manifest = "id: mine\ntools:\n  - {id: one, entrypoint: 'one:one'}\n"
    async with housed(tmp_path / "data") as house:
        await brought(house, written(tmp_path / "notes", {"one.py": text, "toolset.yaml": manifest}))
        await until_open(house, "mine:one")
        assert await called(house, "one") == "None"
    assert not (tmp_path / "data" / "workspaces").exists()
