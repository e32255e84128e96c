"""`pegboard diff`: what another configuration would change, and why."""

import sys
from pathlib import Path

import pytest
from tests.core.boards import key
from tests.support.sentences import not_granted
from tests.surfaces.cli.terminal import Pegboard, board, peer

from pegboard.core.decision.status import DeniedByPattern, DeniedByToolFilter, explain_reason
from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import DeclaredAt

BEFORE = {
    "kept": peer("many", "3", trust="open", disabled_tools=["tool_00000"]),
    "talker": peer("crash_on_call", trust="open"),
    "gone": {"command": "no-such-program"},
    "off": peer("many", "1", enabled=False),
}


@pytest.fixture
def before(home: Path) -> Path:
    return board(home / "pegboard.yaml", BEFORE)


@pytest.mark.behaviour("cli.diff")
def test_every_kind_of_change_is_told_with_its_reason(pegboard: Pegboard, home: Path, before: Path) -> None:
    other = board(
        home / "other.yaml",
        {
            "talker": peer("crash_on_call", trust="open", timeouts={"call": 5}),
            "kept": peer("many", "3", trust="open"),
            "off": peer("many", "1"),
            "fresh": {"command": "x"},
        },
        deny=["*:crash*"],
        selection={"disabled_tools": ["echo", "ecko"]},
    )
    done = pegboard("diff", "other.yaml")
    assert done.code == 0
    assert "! selection: Unknown disabled tool 'ecko'. Did you mean 'echo'?\n" in done.err
    lines = other.read_text().splitlines()
    deny = next(number for number, line in enumerate(lines, start=1) if '"*:crash*"' in line)
    kept = next(
        number for number, line in enumerate(before.read_text().splitlines(), start=1) if "disabled_tools" in line
    )
    of_kept, of_talker = ToolId(key("kept~kept"), "tool_00000"), ToolId(key("talker~talker"), "crash")
    limited = DeniedByToolFilter(of_kept, "among the disabled_tools", DeclaredAt("pegboard.yaml", kept))
    denied = DeniedByPattern(of_talker, Pattern("*", "crash*"), DeclaredAt("other.yaml", deny))
    assert done.out == (
        "+ mcp:kept~kept:tool_00000  disabled_by_config → open\n"
        f"    no longer: {explain_reason(limited)}\n"
        "- mcp:talker~talker:crash  open → disabled_by_config\n"
        f"    {explain_reason(denied)}\n"
        "- mcp:talker~talker:crash_halfway  open → disabled_by_config\n"
        f"    mcp:talker~talker:crash_halfway is denied by the operator: deny pattern '*:crash*' (other.yaml:{deny}).\n"
        "- mcp:talker~talker:echo  open → hidden\n"
        "    The board's selection leaves it out.\n"
        "- gone~gone: the server and its tools would leave the board\n"
        "+ fresh~fresh: a new server; its tools are known once it runs\n"
        "+ off~off: the server would start; its tools are known once it runs\n"
        "~ talker~talker: the server would be started anew, and may list other tools\n"
    )


@pytest.mark.behaviour("cli.diff", "cli.json_everywhere")
def test_a_file_that_only_moves_its_lines_changes_nothing(pegboard: Pegboard, home: Path, before: Path) -> None:
    (home / "moved.yaml").write_text("# a comment\n\n" + before.read_text())
    done = pegboard("diff", "moved.yaml")
    assert (done.code, done.out) == (0, "No tool would open or lock, and no server would start or stop.\n")
    assert pegboard("diff", "moved.yaml", "--json").json == {
        "changes": [],
        "removedServers": [],
        "addedServers": [],
        "startedServers": [],
        "changedServers": [],
        "conflicts": [],
        "unknownNames": [],
        "warnings": [],
    }


def test_another_callers_view_is_compared(pegboard: Pegboard, home: Path) -> None:
    board(home / "pegboard.yaml", {"one": peer("many", "1", trust="open")})
    other = board(home / "other.yaml", {"one": peer("many", "1", trust="open")}, grants={"bob": []})
    line = next(at for at, text in enumerate(other.read_text("utf-8").splitlines(), 1) if '"bob"' in text)
    assert pegboard("diff", "other.yaml", "--json").json["changes"] == []
    assert pegboard("diff", "other.yaml", "--as", "bob", "--json").json["changes"] == [
        {
            "id": "mcp:one~one:tool_00000",
            "before": {"verdict": "open"},
            "after": {
                "verdict": "hidden",
                "message": not_granted("bob", "one"),
                "remedy": f"This is operator policy: in {other}:{line}, add one to what bob may use (now nothing).",
            },
        }
    ]


def test_a_server_that_people_installed_clashes_with_one_of_the_other_file(pegboard: Pegboard, home: Path) -> None:
    pegboard("servers", "add", "mine", "--", "no-such-program")
    other = board(home / "other.yaml", {"mine": {"command": "no-such-program"}})
    assert pegboard("diff", "other.yaml", "--json").json["conflicts"] == [
        f"'mine~mine' is declared at {other}:3 and also installed by local. "
        "Rename it in the file, or run: pegboard servers remove mine~mine"
    ]


def test_a_broken_other_file_is_told_before_a_server_starts(pegboard: Pegboard, home: Path, before: Path) -> None:
    (home / "broken.yaml").write_text(f"servers: {{x: {{command: {sys.executable}, cwdd: '${{HERE}}'}}}}\n")
    done = pegboard("diff", "broken.yaml")
    assert (done.code, done.out) == (3, "")
    assert done.err == f"pegboard: {home / 'broken.yaml'}:1: servers.x.cwdd: unknown key. Did you mean 'cwd'?\n"


def test_the_references_of_the_other_file_are_not_resolved(pegboard: Pegboard, home: Path) -> None:
    board(home / "other.yaml", {}, store="${NOT_SET_HERE}")
    done = pegboard("diff", "other.yaml", "--json")
    assert (done.code, done.json["warnings"]) == (0, [])
