"""How the gateway is set, by the API: each setting with its place, the store with its health."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.house import declared
from tests.surfaces.rest.desk import GITHUB, NOTES, TOOLS, at_desk

from pegboard.config.settings import Settings, load_settings_text
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.ports.audit import StoreUnavailable
from pegboard.ports.stores import Storage
from pegboard.surfaces.rest.settings import _read_storage, _storage_info

pytestmark = pytest.mark.anyio

FILE = """
audit:
  keep_days: 7
store: ${BOARD_DATABASE}
gateway:
  allowed_hosts: [board.example]
servers:
  github: {command: x, env: {TOKEN: ghp_abcdefghijklmnopqrstuvwxyz0123456789}}
search:
  embeddings: {url: "https://me:swordfish@models.example/v1", model: m, api_key: "${BOARD_DATABASE}"}
"""


def loaded(text: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("BOARD_DATABASE", "postgresql://me:swordfish@db.example/board")
    settings = load_settings_text(text, "/srv/pegboard.yaml")
    assert isinstance(settings, Settings), settings
    return settings


@pytest.mark.behaviour("settings.provenance")
async def test_every_setting_says_what_holds_and_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(FILE, monkeypatch)
    async with at_desk() as desk:
        desk.house.board.settings_locations = settings.source
        body = await desk.get("/settings")
    rows: dict[str, Any] = {row["key"]: row for row in body["settings"]}
    assert rows["audit.keep_days"] == {
        "key": "audit.keep_days",
        "description": "Records older than this many days are removed.",
        "value": 7,
        "default": 90,
        "origin": "file",
        "file": "/srv/pegboard.yaml",
        "line": 3,
        "variables": [],
        "readOnly": False,
        "changeHint": "It is written at /srv/pegboard.yaml:3. What is set here holds after the next start.",
        "requiresRestart": True,
        "accepts": {"kind": "integer", "choices": []},
    }
    keep = rows["audit.keep_rows"]
    assert (keep["value"], keep["origin"], keep["line"], keep["file"]) == (1_000_000, "default", None, None)
    assert keep["changeHint"] == "Nobody says it. What is set here holds after the next start."
    store = rows["store"]
    assert (store["value"], store["origin"], store["line"]) == ("${BOARD_DATABASE}", "environment", 4)
    assert store["variables"] == [{"name": "BOARD_DATABASE", "set": True}]
    assert store["changeHint"].startswith("It is owned by the environment (BOARD_DATABASE).")
    assert rows["gateway.allowed_hosts"]["value"] == ["board.example"]
    assert rows["servers"]["value"] == ["github"]
    told = json.dumps(body)
    assert "swordfish" not in told
    assert "ghp_" not in told


@pytest.mark.behaviour("settings.provenance")
async def test_without_a_file_everything_is_the_default() -> None:
    async with at_desk() as desk:
        body = await desk.get("/settings")
    assert {row["origin"] for row in body["settings"]} == {"default"}
    assert body["versions"]["pegboard"] == "0.1.0"
    assert body["locations"]["dataDir"] == {"path": "/srv/data", "origin": "command line"}
    assert body["storage"]["message"] == "Nothing is known of it here."


HEALTHY = Storage(
    "SQLite", "3.40.1", "v0013", 2_500_000, 41, datetime(2026, 1, 2, tzinfo=UTC), 90, 1_000_000, False, True
)


@pytest.mark.behaviour("settings.storage")
async def test_the_store_is_told_with_its_health_or_why_not() -> None:
    async def well() -> Storage:
        return HEALTHY

    async def away() -> Storage:
        raise StoreUnavailable("The database is away.")

    shape = _storage_info("sqlite:///x", await _read_storage(well), 3)
    assert shape == {
        "url": "sqlite:///x",
        "healthy": True,
        "message": "SQLite 3.40.1, 2.5 MB, 41 records of activity.",
        "engine": "SQLite",
        "version": "3.40.1",
        "revision": "v0013",
        "bytes": 2_500_000,
        "calls": 41,
        "oldestCall": "2026-01-02T00:00:00+00:00",
        "keepDays": 90,
        "keepRows": 1_000_000,
        "recordsArguments": False,
        "recordsResults": True,
        "droppedRecords": 3,
    }
    gone = _storage_info("sqlite:///x", await _read_storage(away), 3)
    assert (gone["healthy"], gone["message"], gone["engine"]) == (False, "The database is away.", None)
    assert gone.keys() == shape.keys()


@pytest.mark.behaviour("board.first_run")
async def test_an_empty_board_tells_the_ways_to_a_first_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}')
    async with at_desk(DeclaredSettings()) as desk:
        body = await desk.get("/first-run")
        assert (body["empty"], body["demo"], body["hasCalls"], body["importableServers"]) == (True, False, False, 2)
        assert [(step["kind"], step["done"]) for step in body["steps"]] == [
            ("import", False),
            ("add", False),
            ("demo", False),
        ]
        assert body["steps"][0]["description"].startswith(
            "2 servers are in the lists of other clients on this machine."
        )
        assert body["requiresTokens"] is False
        assert (await desk.ask("POST", "/servers", json={"id": "a", "command": "x"})).status_code == 201
        body = await desk.get("/first-run")
        assert (body["empty"], body["hasCalls"], body["servers"], body["importableServers"]) == (False, False, 1, 1)
        assert [step["done"] for step in body["steps"]] == [False, True, False]
    async with at_desk(declared(GITHUB, NOTES)) as desk:
        board = desk.house.board
        board.settings_locations = replace(board.settings_locations, file="/src/examples/demo/pegboard.yaml")
        await desk.ask("POST", "/call", json={"tool": str(TOOLS[GITHUB][0].id)})
        body = await desk.get("/first-run")
        told = (body["demo"], body["hasCalls"], body["openTools"], body["steps"][2]["done"])
        assert told == (True, True, 3, True)
