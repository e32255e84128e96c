"""Reviews at the terminal: what waits, what is shown of it, and what a person or a program may decide."""

import re
import shlex
from typing import Any

import pytest
from tests.servers.peers import command
from tests.surfaces.cli.terminal import Pegboard, peer

SERVER = "strict~strict"
FIRST, SECOND, THIRD = (f"mcp:{SERVER}:tool_0000{number}" for number in range(3))
BOARD = {"servers": {"strict": peer("many", "3", trust="strict"), "other": peer("many", "1", trust="strict")}}


@pytest.fixture(autouse=True)
def settled(at_gateway: Pegboard) -> None:
    for name in ("strict", "other"):
        assert "is up" in at_gateway("servers", "enable", name).out


def shown(pegboard: Pegboard, *words: str) -> Any:
    return pegboard("approvals", "show", *words, "--json").json


@pytest.mark.behaviour("approvals.list", "approvals.several", "approvals.block", "approvals.name_the_fingerprint")
def test_a_person_reads_approves_and_blocks_what_waits(at_gateway: Pegboard) -> None:
    listed = at_gateway("approvals", "list")
    assert listed.code == 0
    assert re.search(rf"^{FIRST}  new   20\d\d-\d\d-\d\d \d\d:\d\d  {SERVER}", listed.out, re.MULTILINE)
    assert f"pegboard approvals show --server {SERVER}" in listed.out
    body = at_gateway("approvals", "list", "--server", "strict", "--json").json
    assert [each["id"] for each in body["pending"]] == [FIRST, SECOND, THIRD]

    text = at_gateway("approvals", "show", FIRST)
    fingerprint = shown(at_gateway, FIRST)["fingerprint"]
    assert text.code == 0
    assert f"{FIRST}\n  new; locked: pending_approval. " in text.out
    assert "\ndescription\n" in text.out
    assert "! soft  The name is also the name of another server's tool.  name" in text.out
    assert (
        "  · The scanner recognised no attack that it knows. It cannot tell that a tool is safe: read it."
        in at_gateway("approvals", "show", SECOND).out
    )
    assert f"pegboard approvals approve {shlex.quote(FIRST)} --fingerprint {fingerprint}" in text.out

    unread = at_gateway("approvals", "approve", FIRST)
    assert (unread.code, "names what was read" in unread.err) == (2, True)
    wrong = at_gateway("approvals", "approve", FIRST, "--fingerprint", "0" * 64)
    assert (wrong.code, "changed while you were reading it" in wrong.err) == (5, True)
    done = at_gateway("approvals", "approve", FIRST, "--fingerprint", fingerprint)
    assert (done.code, done.out) == (0, f"{FIRST} is approved as it was read.\n")
    assert at_gateway("tools", "show", FIRST, "--json").json["verdict"] == "open"

    blocked = at_gateway("approvals", "block", SECOND, "--note", "too many")
    assert (blocked.code, blocked.out) == (0, f"{SECOND} is blocked until you approve it after all.\n")
    assert "was blocked at its review by local" in at_gateway("approvals", "list").out
    refused = at_gateway("tools", "call", SECOND)
    assert (refused.code, "too many" in refused.err, "approvals show" in refused.err) == (5, True, True)
    assert f"Review the tool again: pegboard approvals show {SECOND}\n" in at_gateway("why", SECOND).out

    together = at_gateway("approvals", "show", "--server", "strict")
    assert THIRD in together.out
    assert SECOND not in together.out
    (server,) = at_gateway("approvals", "list", "--server", "strict", "--json").json["servers"]
    assert f"pegboard approvals approve --server {SERVER} --fingerprint {server['fingerprint']}" in together.out
    assert at_gateway("approvals", "approve", "--server", "strict").code == 2
    stale = at_gateway("approvals", "approve", "--server", "strict", "--fingerprint", "0" * 64)
    assert (stale.code, "changed while you were reading it" in stale.err) == (5, True)
    whole = at_gateway("approvals", "approve", "--server", "strict", "--fingerprint", server["fingerprint"])
    assert (whole.code, whole.out) == (0, f"{THIRD} is approved as it was read.\n")

    read = shown(at_gateway, SECOND)
    assert read["block"]["note"] == "too many"
    lifted = at_gateway("approvals", "approve", SECOND, "--fingerprint", read["fingerprint"], "--json")
    assert [each["verdict"] for each in lifted.json["approved"]] == ["open"]
    assert "Nothing waits" not in at_gateway("approvals", "list").out
    assert "Nothing of strict waits" in at_gateway("approvals", "show", "--server", "strict").out


@pytest.mark.behaviour("approvals.several")
def test_an_approval_that_stays_locked_says_why(at_gateway: Pegboard) -> None:
    other = "mcp:other~other:tool_00000"
    assert at_gateway("tools", "disable", other).code == 0
    read = shown(at_gateway, other)["fingerprint"]
    done = at_gateway("approvals", "approve", other, "--fingerprint", read)
    assert "is approved as it was read. It stays locked: disabled_by_user." in done.out
    assert at_gateway("tools", "enable", other).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("show", "x", "--server", "strict"),
        ("approve",),
        ("approve", "x", "--server", "strict"),
        ("approve", FIRST, SECOND, "--fingerprint", "0" * 64),
        ("approve", FIRST, "--fingerprint", "abc"),
    ],
)
def test_what_names_nothing_or_too_much_is_a_wrong_command_line(at_gateway: Pegboard, words: tuple[str, ...]) -> None:
    assert at_gateway("approvals", *words).code == 2


def test_what_does_not_exist_is_not_found(at_gateway: Pegboard) -> None:
    assert at_gateway("approvals", "show", "tool_0000l").code == 4
    assert at_gateway("approvals", "block", "tool_0000l").code == 4
    assert at_gateway("approvals", "list", "--server", "nobody").code == 4
    assert at_gateway("servers", "release", "nobody").code == 4


@pytest.mark.behaviour("approvals.quarantine", "approvals.release")
def test_a_server_in_quarantine_is_looked_at_and_let_out(at_gateway: Pegboard) -> None:
    added = at_gateway("servers", "add", "guest", "--quarantine", "--json", "--", *command("many", "2")).json
    assert (added["active"], "in quarantine" in added["review"]) == (False, True)
    assert "pegboard servers review guest~guest" in at_gateway("servers", "list").out

    unstarted = at_gateway("servers", "review", "guest")
    assert unstarted.code == 0
    assert "added by local on" in unstarted.out
    assert "many.py" in unstarted.out
    assert "It was not started. To see its tools: pegboard servers review" in unstarted.out
    assert "tools" in at_gateway("servers", "review", "guest", "--json").json

    looked = at_gateway("servers", "review", "guest", "--start")
    assert looked.code == 0
    assert "\ntool_00001\n" in looked.out
    assert "\n  takes" in looked.out
    assert '\n  says of itself  {"readOnlyHint":true}\n' in looked.out
    assert "\n  risk\n    ! soft" in looked.out
    assert "It lists 2 tools, and was stopped again." in looked.out
    assert at_gateway("tools", "show", "mcp:guest~guest:tool_00001", "--json").json["status"] == "server_quarantined"

    released = at_gateway("servers", "release", "guest")
    assert released.code == 0
    assert "guest~guest is out of quarantine. It is up: 0 callable, 2 pending_approval." in released.out
    assert "pegboard approvals list --server guest~guest" in released.out
    assert at_gateway("servers", "review", "guest").code == 5
    assert at_gateway("servers", "release", "guest").code == 5
    assert at_gateway("servers", "remove", "guest").code == 0


@pytest.mark.behaviour("approvals.quarantine")
def test_a_look_works_without_a_gateway_and_fails_where_the_server_does(pegboard: Pegboard) -> None:
    for name, program in (("good", command("many", "1")), ("bad", command("crash_on_start"))):
        added = pegboard("servers", "add", name, "--quarantine", "--", *program)
        assert f"pegboard servers review {name}~{name}" in added.out
    looked = pegboard("servers", "review", "good", "--start", "--json")
    assert (looked.code, [each["name"] for each in looked.json["tools"]]) == (0, ["tool_00000"])
    fallen = pegboard("servers", "review", "bad", "--start")
    assert (fallen.code, "did not come up" in fallen.err) == (1, True)
