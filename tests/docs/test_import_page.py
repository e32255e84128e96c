"""The page on bringing servers over, lived through: lists of three clients in a home, and the page's commands."""

import json
from pathlib import Path

import anyio
import pytest
from tests.docs.clone import DEADLINE, Reader, cloned
from tests.docs.pages import page

from pegboard.config.settings import Settings, load_settings_text

PAGE = page("docs/how-to/import-servers.md")
SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
FILES = {"command": "npx", "args": ["-y", "files-server", "/srv/notes"]}
LISTS = {
    ".cursor/mcp.json": {"mcpServers": {"files": FILES, "issues": {"command": "issues-server"}}},
    ".codeium/windsurf/mcp_config.json": {
        "mcpServers": {
            "files": FILES,
            "code": {"command": "code-server", "env": {"TOKEN": SECRET}, "autoApprove": ["x"]},
        }
    },
    ".claude.json": {"mcpServers": {"issues": {"type": "http", "url": "https://issues.example.com/mcp"}}},
}
PROJECT = {"servers": {"wiki": {"type": "http", "url": "https://w.example.com", "headers": {"X-Key": "${input:key}"}}}}


@pytest.mark.anyio
async def test_the_page_on_bringing_servers_over_does_what_it_says(tmp_path: Path) -> None:
    reader = Reader(cloned(tmp_path))
    for name, content in {
        **{f"home/{name}": each for name, each in LISTS.items()},
        ".vscode/mcp.json": PROJECT,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content, indent=1), "utf-8")

    async def said(command: str) -> str:
        told = await reader.types(f"PATH=$PWD/.venv/bin:$PATH {command}")
        assert told.code == 0, told.text
        return told.text

    assert PAGE.commands == ["pegboard import"]
    assert {"pegboard import --yes", "pegboard import --yaml"} <= {*PAGE.spans}
    with anyio.fail_after(5 * DEADLINE):
        shown = await said("pegboard import")
        assert json.loads(await said("pegboard servers list --json"))["servers"] == [], "it changes nothing"
        piece = await said("pegboard import --yaml 2>/dev/null")
        assert SECRET not in shown + piece
        loaded = load_settings_text(piece, "pegboard.yaml", tmp_path, {})
        assert isinstance(loaded, Settings), str(loaded)
        assert "# Set these environment variables" in piece
        await said("pegboard import --yes")
        servers = json.loads(await said("pegboard servers list --json"))["servers"]

    once_each = ["code", "files", "issues", "issues-cursor", "wiki"]
    assert sorted(server.id for server in loaded.declared.servers.values()) == once_each
    assert sorted(server["serverId"] for server in servers) == once_each
    attention = [line for line in shown.splitlines() if line.startswith("! ")]
    assert [line for line in attention if ".vscode/mcp.json:7: " in line and "environment variable KEY" in line]
    assert [line for line in attention if "autoApprove" in line and "not carried over" in line]
    (store,) = (tmp_path / "home").rglob("pegboard.db")
    assert store.stat().st_mode & 0o077 == 0, "only the reader can read it"
