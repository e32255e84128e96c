"""`pegboard policy`: all that people decided as one file, looked at before it is taken over."""

import json
from pathlib import Path

import pytest
from tests.surfaces.cli.terminal import Pegboard, board, peer

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture(autouse=True)
def one_board(home: Path) -> Path:
    return board(home / "pegboard.yaml", {"many": peer("many", "2", trust="open")})


@pytest.mark.behaviour("policy.round_trip", "policy.without_secrets")
def test_a_policy_goes_into_a_file_and_comes_back(pegboard: Pegboard, home: Path) -> None:
    assert pegboard("servers", "add", "extra", "--env", f"TOKEN={SECRET}", "--disabled", "--", "x").code == 0
    assert pegboard("tools", "disable", "mcp:many~many:tool_00000").code == 0
    done = pegboard("policy", "export", "--to", "policy.json")
    assert (done.code, done.out) == (0, "The policy, version 2, is in policy.json.\n")
    assert "where you import it: extra: env.TOKEN" in done.err
    assert SECRET not in (home / "policy.json").read_text()
    assert pegboard("policy", "export", "--to", "policy.json").code == 1, "a file that is there stays"
    assert pegboard("servers", "remove", "extra").code == 0
    assert pegboard("tools", "enable", "mcp:many~many:tool_00000").code == 0
    shown = pegboard("policy", "diff", "policy.json")
    assert shown.out == (
        "+ servers: extra~extra\n"
        "+ toolsets: extra\n"
        "+ switches: mcp:many~many:tool_00000\n"
        "- mcp:many~many:tool_00000 for local: open → disabled_by_user\n"
    )
    assert pegboard("policy", "import", "policy.json").out.endswith("\nNothing was changed. Do it: --yes\n")
    assert "extra" not in pegboard("servers", "list").out
    assert pegboard("policy", "import", "policy.json", "--yes").out.endswith("The policy is at version 5.\n")
    assert "extra~extra" in pegboard("servers", "list").out
    same = pegboard("policy", "diff", "policy.json")
    assert same.out.startswith("~ servers: extra~extra\n") or same.out.startswith("Nothing would change")


def test_what_is_no_policy_is_refused_with_what_to_do(pegboard: Pegboard, home: Path) -> None:
    (home / "wrong.json").write_text('{"servers": {}}')
    done = pegboard("policy", "import", "wrong.json", "--yes", "--json")
    assert (done.code, json.loads(done.out)["error"].partition(":")[0]) == (3, "This is no policy")
    assert pegboard("policy", "diff", "nothing.json").code == 3
