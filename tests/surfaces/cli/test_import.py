"""`pegboard import`: what other clients know, shown first and added only when a person says so."""

import json
from pathlib import Path

import pytest
from tests.surfaces.cli.terminal import Pegboard, board

from pegboard.config.settings import Settings, load_settings_file

LISTS = {
    ".config/Claude/claude_desktop_config.json": {"mcpServers": {"desktop": {"command": "desk-server"}}},
    ".claude.json": {"mcpServers": {"code": {"command": "code-server", "args": ["--token", "swordfish-1"]}}},
    ".cursor/mcp.json": {"mcpServers": {"cursor": {"url": "https://cursor.example/mcp?api_key=swordfish-2"}}},
    ".config/Code/User/mcp.json": {"servers": {"vs": {"type": "sse", "url": "https://vs.example/sse"}}},
    ".codeium/windsurf/mcp_config.json": {
        "mcpServers": {"surf": {"serverUrl": "https://surf.example/mcp"}, "desktop": {"command": "another"}}
    },
}


@pytest.fixture
def lists(home: Path) -> None:
    for name, body in LISTS.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(body))


@pytest.mark.behaviour("cli.import_clients", "cli.import_preview")
def test_the_lists_of_all_five_clients_are_found_and_nothing_is_written(
    pegboard: Pegboard, home: Path, lists: None
) -> None:
    body = pegboard("import", "--json").json
    assert [found["client"] for found in body["lists"]] == [
        "Claude Desktop",
        "Claude Code",
        "Cursor",
        "VS Code",
        "Windsurf",
    ]
    assert [(server["id"], server["existingOrigin"]) for server in body["servers"]] == [
        ("desktop~desktop", None),
        ("code~code", None),
        ("cursor~cursor", None),
        ("vs~vs", None),
        ("surf~surf", None),
        ("desktop-windsurf~desktop-windsurf", None),
    ]
    assert body["added"] == []
    shown = pegboard("import")
    assert shown.out.splitlines()[-1] == (
        "Nothing was changed. Add them: pegboard import --yes   As a file: pegboard import --yaml"
    )
    assert "desktop-windsurf" in shown.err
    assert pegboard("servers", "list", "--json").json["servers"] == []


@pytest.mark.behaviour("config.secrets_are_not_shown")
def test_no_secret_of_a_list_is_shown_or_written(pegboard: Pegboard, home: Path, lists: None) -> None:
    for words in (("import",), ("import", "--json"), ("import", "--yaml"), ("import", "--yaml", "--json")):
        done = pegboard(*words)
        assert done.code == 0
        assert "swordfish" not in done.out + done.err


@pytest.mark.behaviour("cli.import_clients")
def test_as_a_piece_of_yaml_it_is_a_configuration_that_loads(pegboard: Pegboard, home: Path, lists: None) -> None:
    file = home / "made.yaml"
    file.write_text(pegboard("import", "--yaml").out)
    loaded = load_settings_file(file, {})
    assert isinstance(loaded, Settings)
    assert {str(key) for key in loaded.declared.servers} == {
        *("desktop~desktop", "code~code", "cursor~cursor", "vs~vs", "surf~surf"),
        "desktop-windsurf~desktop-windsurf",
    }
    assert not (home / ".local").exists(), "a piece of a file asks no store"


def test_said_yes_the_servers_are_added_and_what_is_there_already_is_told(
    pegboard: Pegboard, home: Path, lists: None
) -> None:
    config = board(home / "pegboard.yaml", {"vs": {"command": "mine"}})
    one = pegboard("import", "--only", "code", "--yes", "--json")
    assert (one.code, one.json["added"]) == (0, [{"id": "code~code", "error": None}])
    rest = pegboard("import", "--yes")
    assert rest.code == 5
    assert [line.partition(". ")[0] for line in rest.err.splitlines()[-2:]] == [
        "✗ code~code: Server code~code is there already: installed by local",
        f"✗ vs~vs: Server vs~vs is there already: {config}:3",
    ]
    assert [line for line in rest.out.splitlines() if line.startswith("Added")] == [
        "Added desktop~desktop.",
        "Added cursor~cursor.",
        "Added surf~surf.",
        "Added desktop-windsurf~desktop-windsurf.",
    ]
    again = pegboard("import", "--json").json["servers"]
    assert {server["id"]: server["existingOrigin"] for server in again} == {
        "desktop~desktop": "installed by local",
        "code~code": "installed by local",
        "cursor~cursor": "installed by local",
        "vs~vs": "pegboard.yaml:3",
        "surf~surf": "installed by local",
        "desktop-windsurf~desktop-windsurf": "installed by local",
    }


def test_of_one_chosen_server_only_its_own_problems_are_told(pegboard: Pegboard, lists: None) -> None:
    assert pegboard("import", "--only", "code", "--json").json["problems"] == []
    (problem,) = pegboard("import", "--only", "desktop-windsurf", "--json").json["problems"]
    assert problem.endswith("this one becomes 'desktop-windsurf'.")


def test_a_named_file_is_read_alone_and_must_hold_servers(pegboard: Pegboard, home: Path, lists: None) -> None:
    (home / "mine.json").write_text('{"mcpServers": {"own": {"command": "x"}}}')
    (home / "broken.json").write_text('{"mcpServers": {')
    assert [s["id"] for s in pegboard("import", "--from", "mine.json", "--json").json["servers"]] == ["own~own"]
    broken = pegboard("import", "--from", "broken.json", "--json")
    assert (broken.code, broken.json["servers"]) == (1, [])
    assert broken.json["problems"][0].startswith("broken.json:1: ")
    missing = pegboard("import", "--from", "nothing.json")
    assert (missing.code, missing.err.partition(". ")[0]) == (1, "! nothing.json: there is no such file")


def test_a_server_that_no_list_has_is_told_with_the_nearest(pegboard: Pegboard, lists: None) -> None:
    done = pegboard("import", "--only", "cursr")
    assert (done.code, done.err) == (4, "pegboard: no list has a server 'cursr'. Did you mean 'cursor'?\n")
