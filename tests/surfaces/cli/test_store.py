"""`pegboard store check`: rows of the policy that cannot be read, and deleting them after a yes."""

import json
import sqlite3
from pathlib import Path

import pytest
from tests.surfaces.cli.terminal import Pegboard, board, peer

TOOL = "mcp:many~many:tool_00000"


@pytest.mark.behaviour("store.unreadable_row_is_reported", "cli.store_check")
def test_an_unreadable_approval_locks_its_tool_is_named_and_can_be_deleted(pegboard: Pegboard, home: Path) -> None:
    board(home / "pegboard.yaml", {"many": peer("many", "2", trust="strict")})
    (server,) = pegboard("approvals", "list", "--json").json["servers"]
    assert pegboard("approvals", "approve", "--server", "many", "--fingerprint", server["fingerprint"]).code == 0
    assert pegboard("store", "check").out == "Every row of the policy can be read.\n"
    (file,) = home.rglob("pegboard.db")
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE approvals SET spec = substr(spec, 1, 9) WHERE tool_id = ?", [TOOL])
    named = f"table approvals, row tool_id='{TOOL}', kind='mcp_tool'"
    tools = {tool["id"]: tool for tool in json.loads(pegboard("tools", "list", "--json").out)["tools"]}
    assert tools[TOOL]["status"] == "disabled_unknown"
    assert tools["mcp:many~many:tool_00001"]["verdict"] == "open"
    assert named in pegboard("why", TOOL).out
    found = pegboard("doctor")
    assert (found.code, named in found.out) == (1, True)
    checked = pegboard("store", "check", "--json")
    assert (checked.code, json.loads(checked.out)["rows"][0]["row"]) == (1, named)
    assert pegboard("store", "check", "--repair", "--yes").code == 0
    assert pegboard("store", "check").code == 0
    tools = {tool["id"]: tool for tool in json.loads(pegboard("tools", "list", "--json").out)["tools"]}
    assert tools[TOOL]["status"] == "pending_approval"


def test_only_a_yes_deletes_a_row(pegboard: Pegboard, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board(home / "pegboard.yaml", {"many": peer("many", "1", trust="open")})
    assert pegboard("tools", "disable", TOOL).code == 0
    (file,) = home.rglob("pegboard.db")
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE switches SET at = 'never'")
    asked: list[str] = []

    async def no(question: str, *, err: bool = False) -> bool:
        asked.append(question)
        return False

    monkeypatch.setattr("pegboard.surfaces.cli.policy.ask_yes_no", no)
    refused = pegboard("store", "check", "--repair")
    assert (refused.code, asked) == (1, ["Delete 1 row? What they closed may open."])
    assert pegboard("store", "check").code == 1
