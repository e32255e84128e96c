"""Tickets at the terminal: a call waits, a person looks and decides, and the next process finds it so."""

import json
import os
import pty
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from tests.cli.terminal import PATIENCE, PROGRAM, Pegboard, board, clean_environment, peer

from pegboard.core.commands import SetOverride, apply
from pegboard.core.ids import LOCAL, ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.override import Override
from pegboard.core.policy import Declared, Policy
from pegboard.core.server import DeclaredAt
from pegboard.core.toolset import Toolset
from pegboard.store import open_store

ECHO = "mcp:free~free:echo"
CALL = ("tools", "call", ECHO, "--arg", "text=hi")


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def asking(home: Path, pegboard: Pegboard, monkeypatch: pytest.MonkeyPatch) -> Pegboard:
    """Commands without a gateway, over a store in which a person has said that `echo` must be confirmed."""
    config = board(home / "asks.yaml", servers={"free": peer("crash_on_call", trust="open")})
    monkeypatch.setenv("PEGBOARD_CONFIG", str(config))
    monkeypatch.setenv("PEGBOARD_DATA_DIR", str(home / "data"))
    assert pegboard("tickets", "list").code == 0
    anyio.run(override, home / "data" / "pegboard.db")
    return pegboard


async def override(database: Path) -> None:
    toolset = ToolsetId("free")
    here = Declared(toolsets={toolset: Toolset(toolset, DeclaredAt("asks.yaml", 1))})
    row = Override(toolset, ToolId(ServerKey(toolset, ServerId("free")), "echo"), requires_confirmation=True)
    async with open_store(f"sqlite:///{database}", clock=now) as store:
        before = await store.policy.load()
        after = apply(Policy(here, before), SetOverride(row), LOCAL, now())
        assert isinstance(after, Policy)
        await store.policy.save(before, after.decided, by=LOCAL, what="SetOverride", at=now())


@pytest.mark.behaviour("confirmation.operators", "confirmation.ticket", "confirmation.tickets_kept")
def test_a_call_waits_for_a_decision_and_then_runs_once(asking: Pegboard) -> None:
    refused = asking(*CALL, "--json")
    assert (refused.code, refused.json["ended"]) == (5, "confirmation_required")
    id = refused.json["ticket"]
    assert asking("tickets", "list", "--json").json["tickets"][0]["id"] == id
    listed = asking("tickets", "list").out
    assert f"{id}  waiting  {ECHO}  local with operator" in listed
    shown = asking("tickets", "show", id)
    assert f"pegboard tickets allow {id}   or: pegboard tickets deny {id}" in shown.out
    assert '"text": "hi"' in shown.out
    allowed = asking("tickets", "allow", id)
    assert (allowed.code, allowed.out.startswith(f"Ticket {id} is allowed: ")) == (0, True)
    assert asking(*CALL).code == 0
    again = asking(*CALL)
    assert again.code == 5
    assert "confirmation_required" in again.err
    assert asking("tickets", "allow", id).code == 5
    assert "done" in asking("tickets", "list", "--all").out


@pytest.mark.behaviour("confirmation.operators", "confirmation.remembered")
def test_a_grant_is_remembered_listed_and_taken_back(asking: Pegboard) -> None:
    id = asking(*CALL, "--json").json["ticket"]
    assert "pegboard tickets grants" in asking("tickets", "allow", id, "--always").out
    assert asking("tools", "call", ECHO, "--arg", "text=another").code == 0
    grant = asking("tickets", "grants", "--json").json["grants"][0]["id"]
    assert f"{grant}  {ECHO}  local" in asking("tickets", "grants").out
    assert grant in asking("why", ECHO).out
    assert asking("tickets", "revoke", grant).out == f"{ECHO} asks local again.\n"
    assert asking("tickets", "grants").out == "No grant is remembered.\n"
    assert asking("tickets", "revoke", grant).code == 4
    assert asking("tools", "call", ECHO, "--arg", "text=another").code == 5


@pytest.mark.behaviour("confirmation.operators")
def test_a_denial_is_told_to_whoever_calls_again(asking: Pegboard) -> None:
    id = asking(*CALL, "--json").json["ticket"]
    assert asking("tickets", "deny", id, "--note", "not now").out == f"Ticket {id} is denied.\n"
    refused = asking(*CALL)
    assert refused.code == 5
    assert "'not now'" in refused.err
    assert asking("tickets", "show", "nothing").code == 4


@pytest.mark.behaviour("confirmation.seen_whole")
def test_a_ticket_that_is_not_shown_whole_says_how_to_see_all_of_it(asking: Pegboard) -> None:
    text = "safe " * 1_000 + "\x1b && rm -rf /"
    id = asking("tools", "call", ECHO, json.dumps({"text": text}), "--json").json["ticket"]
    shown = asking("tickets", "show", id).out
    assert shown.startswith(
        f"! Not all arguments of this call are shown. To see all of them: pegboard tickets show {id} --full\n"
    )
    assert shown.count("characters not shown") == 1
    assert '\\u001b && rm -rf /"' in shown
    whole = asking("tickets", "show", id, "--full").out
    assert (whole.startswith(f"ticket {id}: waiting"), json.dumps(text) in whole) == (True, True)
    asking("tickets", "deny", id)
    gone = asking("tickets", "show", id, "--full").out
    assert "The others are not kept, or not any more: they are removed once" in gone


@pytest.mark.parametrize("id", ["", "../../x", "a b", "x" * 65])
@pytest.mark.parametrize("words", [("show",), ("allow",), ("deny",)])
def test_what_cannot_be_a_ticket_is_told_so(asking: Pegboard, words: tuple[str, ...], id: str) -> None:
    refused = asking("tickets", *words, "--", id)
    assert (refused.code, f"There is no ticket {id[:64]!r}. See: pegboard tickets list" in refused.err) == (4, True)


@pytest.mark.behaviour("confirmation.operators")
def test_doctor_tells_of_a_call_that_waits(asking: Pegboard) -> None:
    id = asking(*CALL, "--json").json["ticket"]
    doctor = asking("doctor")
    assert f"! 1 call waits for your decision, first one of {ECHO}.\n    → pegboard tickets show {id}" in doctor.out
    assert doctor.code == 0


@pytest.mark.slow
@pytest.mark.behaviour("confirmation.every_client")
@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 5), (b"\n", 5)])
def test_a_person_at_a_terminal_is_asked_there(asking: Pegboard, home: Path, answer: bytes, code: int) -> None:
    ours, theirs = pty.openpty()
    environ = {**clean_environment(home), "PEGBOARD_DATA_DIR": str(home / "data")}
    process = subprocess.Popen(
        [*PROGRAM, *CALL, "--config", str(home / "asks.yaml")],
        env=environ,
        cwd=home,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    while b"Run it? [y/N]" not in said:
        said += os.read(ours, 4096)
    assert b'"text": "hi"' in said
    os.write(ours, answer)
    out, _ = process.communicate(timeout=PATIENCE)
    os.close(ours)
    assert process.returncode == code
    assert (b"hi" in out) == (code == 0)
