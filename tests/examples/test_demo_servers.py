"""The demo board and its two servers show what they should: titles, schemas, honest hints, names that exist."""

import sqlite3
from contextlib import closing
from fnmatch import fnmatchcase
from pathlib import Path

import anyio
import jsonschema_rs
import pytest
import yaml
from mcp_types import Tool, ToolAnnotations
from tests.examples.demo import FOLDER, client_of, desk, library
from tests.support.fork_server import python

pytestmark = pytest.mark.anyio


def hints(tools: list[Tool]) -> dict[str, tuple[bool | None, ...]]:
    return {
        tool.name: (each.read_only_hint, each.destructive_hint, each.idempotent_hint, each.open_world_hint)
        for tool in tools
        for each in [tool.annotations or ToolAnnotations()]
    }


async def test_every_demo_tool_has_a_title_a_description_and_sound_schemas(tmp_path: Path) -> None:
    async with library() as shelves, desk(tmp_path) as notes:
        for client in (shelves, notes):
            for tool in (await client.list_tools()).tools:
                assert tool.title
                assert tool.description
                assert tool.output_schema is not None
                jsonschema_rs.Draft202012Validator(tool.input_schema)
                jsonschema_rs.Draft202012Validator(tool.output_schema)
                assert all("description" in each or "$ref" in each for each in tool.input_schema["properties"].values())


async def test_the_demo_tools_say_rightly_whether_they_change_or_destroy(tmp_path: Path) -> None:
    reads = (True, False, True, False)
    async with library() as client:
        assert hints((await client.list_tools()).tools) == {
            "search_books": reads,
            "get_book": reads,
            "list_shelves": reads,
            "count_books": reads,
        }
    async with desk(tmp_path) as client:
        assert hints((await client.list_tools()).tools) == {
            "list_notes": reads,
            "read_note": reads,
            "write_note": (False, True, True, False),
            "append_note": (False, False, False, False),
            "move_note": (False, True, True, False),
            "delete_note": (False, True, True, False),
        }


async def test_the_demo_board_names_only_servers_and_tools_that_exist(tmp_path: Path) -> None:
    board = yaml.safe_load((FOLDER / "pegboard.yaml").read_text())
    assert list(board) == ["servers", "deny", "selection", "databases"]
    tools: dict[str, list[str]] = {}
    for name, declared in board["servers"].items():
        assert declared["command"] == "${PYTHON_FOR_DEMO:-../../.venv/bin/python}"
        assert (FOLDER / declared["cwd"]).samefile(FOLDER)
        async with client_of(declared["args"][0], {"DESK_DIR": str(tmp_path)}) as client:
            tools[name] = [tool.name for tool in (await client.list_tools()).tools]
    assert board["selection"]["toolsets"] == [*tools, "builtin"]
    assert set(board["servers"]["desk"]["disabled_tools"]) <= set(tools["desk"])
    denied = [
        name
        for server, names in tools.items()
        for name in names
        if any(fnmatchcase(f"{server}:{name}", pattern) for pattern in board["deny"])
    ]
    assert denied == ["move_note"]
    await anyio.run_process([python(), str(FOLDER / "lending.py"), str(tmp_path / "lending.db")])
    with closing(sqlite3.connect(tmp_path / "lending.db")) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(readers)")]
        (lent,) = connection.execute("SELECT count(*) FROM loans WHERE returned_on IS NULL").fetchone()
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert board["databases"]["lending"]["deny"] == ["readers.card_number"]
    assert "card_number" in columns
    assert lent == 12
