"""Servers are read from a pasted text and from other clients' lists, and added by where they stand: nothing that is
secret in them travels."""

import json
from pathlib import Path

import pytest
from tests.surfaces.rest.desk import at_desk, problem

from pegboard.core.model.ids import ServerId, ServerKey, ToolsetId
from pegboard.core.model.server import Http, Stdio

pytestmark = pytest.mark.anyio

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
ISSUES = {"command": "npx", "args": ["-y", "issues"], "env": {"TOKEN": SECRET, "LEVEL": "info"}}
LIST = {"mcpServers": {"issues": ISSUES}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def key(id: str) -> ServerKey:
    return ServerKey(ToolsetId(id), ServerId(id))


@pytest.mark.behaviour("servers.read_what_is_pasted", "servers.sources_keep_secrets")
async def test_a_pasted_list_is_told_without_its_secrets() -> None:
    async with at_desk() as desk:
        answer = await desk.ask("POST", "/servers/read", json={"text": json.dumps(LIST)})
    assert answer.status_code == 200
    assert SECRET not in answer.text
    assert answer.json() == {
        "servers": [
            {
                "name": "issues",
                "connection": {
                    "transport": "stdio",
                    "command": "npx",
                    "args": ["-y", "issues"],
                    "env": {"TOKEN": "***", "LEVEL": "info"},
                    "cwd": None,
                },
                "enabled": True,
                "foundAt": "pasted text:1",
                "secrets": ["TOKEN"],
                "existingOrigin": None,
                "problems": [],
            }
        ],
        "problems": [],
    }


async def test_what_is_wrong_with_a_text_is_told_with_its_place() -> None:
    async with at_desk() as desk:
        body = (await desk.ask("POST", "/servers/read", json={"text": '{"mcpServers":\n{"a": 7}}'})).json()
        assert body == {
            "servers": [],
            "problems": [
                {
                    "line": 2,
                    "key": "mcpServers.a",
                    "message": "this should describe a server, and it is 7. Left out.",
                    "text": "pasted text:2: mcpServers.a: this should describe a server, and it is 7. Left out.",
                }
            ],
        }
        assert problem(await desk.ask("POST", "/servers/read", json={"text": 7}))[0] == 422


@pytest.mark.behaviour("servers.sources_keep_secrets")
async def test_a_server_is_added_by_where_it_stands_with_what_is_said_on_top(home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text(json.dumps(LIST))
    async with at_desk() as desk:
        (found,) = (await desk.get("/clients"))["clients"]
        assert (found["client"], found["path"]) == ("Cursor", str(home / ".cursor" / "mcp.json"))
        assert SECRET not in json.dumps(found)
        said = {"from": {"client": found["path"], "server": "issues"}, "env": {"LEVEL": "debug"}, "trust": "strict"}
        answer = await desk.ask("POST", "/servers", json=said)
        assert (answer.status_code, SECRET in answer.text) == (201, False)
        kept = desk.house.board.policy.servers[key("issues")]
        assert kept.connection == Stdio("npx", ("-y", "issues"), {"TOKEN": SECRET, "LEVEL": "debug"})
        assert kept.trust.value == "strict"
        (again,) = (await desk.get("/clients"))["clients"][0]["servers"]
        assert again["existingOrigin"] == "installed by local"


async def test_a_pasted_address_is_added_under_another_name() -> None:
    async with at_desk() as desk:
        said = {"from": {"text": "https://mcp.example.com/mcp"}, "id": "mine", "headers": {"X-Team": "a"}}
        assert (await desk.ask("POST", "/servers", json=said)).status_code == 201
        kept = desk.house.board.policy.servers[key("mine")].connection
        assert kept == Http("https://mcp.example.com/mcp", headers={"X-Team": "a"})


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "id: this is missing. Give it."),
        ({"from": {}}, "from: name the text or the client's list that it is read from, one of both"),
        ({"from": {"text": ""}}, "pasted text: there is nothing in it."),
        (
            {"from": {"text": '{"issues": {"command": "x"}, "notes": {"command": "y"}}'}},
            "from.server: several servers are in it: issues, notes. Name one.",
        ),
        (
            {"from": {"text": '{"issues": {"command": "x"}}', "server": "isues"}},
            "from.server: no server 'isues' is in it. Did you mean 'issues'?",
        ),
        ({"from": {"client": "/etc/passwd"}}, "from.client: no client's list is at '/etc/passwd'"),
    ],
)
async def test_a_place_that_names_no_server_is_refused(said: dict[str, object], words: str, home: Path) -> None:
    async with at_desk() as desk:
        for path in ("/servers", "/servers/try"):
            status, told = problem(await desk.ask("POST", path, json=said))
            assert (status, told[: len(words)]) == (422, words)
        assert desk.house.store.saves == []
