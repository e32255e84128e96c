"""What a person decides about one tool at the terminal: switched off and on, and approved as it was read."""

import pytest
from tests.surfaces.cli.terminal import Pegboard, peer

BOARD = {"servers": {"strict": peer("many", "2", trust="strict"), "free": peer("crash_on_call", trust="open")}}
WAITING = "mcp:strict~strict:tool_00001"


@pytest.fixture(autouse=True)
def settled(at_gateway: Pegboard) -> None:
    for name in ("strict", "free"):
        assert "is up" in at_gateway("servers", "enable", name).out


def test_a_tool_is_switched_off_and_on_again(at_gateway: Pegboard) -> None:
    off = at_gateway("tools", "disable", "mcp:free~free:echo", "--note", "too loud")
    assert (off.code, off.out) == (0, "mcp:free~free:echo is switched off.\n")
    refused = at_gateway("tools", "call", "mcp:free~free:echo", "--arg", "text=hi")
    assert refused.code == 5
    assert "disabled_by_user" in refused.err
    assert "too loud" in refused.err
    assert at_gateway("tools", "enable", "mcp:free~free:echo").code == 0
    assert at_gateway("tools", "call", "mcp:free~free:echo", "--arg", "text=hi").code == 0


@pytest.mark.behaviour("approvals.name_the_fingerprint")
def test_a_program_approves_only_what_it_names_by_its_fingerprint(at_gateway: Pegboard) -> None:
    unread = at_gateway("tools", "approve", WAITING)
    assert unread.code == 2
    assert f"pegboard tools approve {WAITING} --fingerprint " in unread.err
    wrong = at_gateway("tools", "approve", WAITING, "--fingerprint", "0" * 64)
    assert wrong.code == 5
    assert "changed while you were reading it" in wrong.err
    read = at_gateway("tools", "show", WAITING, "--json").json["fingerprint"]
    approved = at_gateway("tools", "approve", WAITING, "--fingerprint", read)
    assert (approved.code, approved.out) == (0, f"{WAITING} is approved as it was read.\n")
    assert at_gateway("tools", "show", WAITING, "--json").json["verdict"] == "open"


def test_what_is_not_there_cannot_be_decided_on(at_gateway: Pegboard) -> None:
    for words in (("disable",), ("enable",), ("approve", "--fingerprint", "0" * 64)):
        gone = at_gateway("tools", words[0], "tool_0000l", *words[1:])
        assert gone.code == 4
        assert "tool_00001" in gone.err
