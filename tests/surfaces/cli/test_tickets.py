"""Tickets at the terminal: a call waits, a person looks and decides, and the next process finds it so."""

import json
import os
import pty
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from tests.surfaces.cli.terminal import PATIENCE, Pegboard, board, clean_environment, peer, warm_program

from pegboard.core.commands.commands import SetOverride, apply_command
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import DeclaredSettings, Policy
from pegboard.store.open import open_store
from pegboard.surfaces.cli.tickets import end_body

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
    here = DeclaredSettings(toolsets={toolset: Toolset(toolset, DeclaredAt("asks.yaml", 1))})
    row = Override(toolset, ToolId(ServerKey(toolset, ServerId("free")), "echo"), requires_confirmation=True)
    async with open_store(f"sqlite:///{database}", clock=now) as store:
        before = await store.policy.load()
        after = apply_command(Policy(here, before), SetOverride(row), LOCAL_PRINCIPAL, now())
        assert isinstance(after, Policy)
        await store.policy.save(before, after.decisions, by=LOCAL_PRINCIPAL, what="SetOverride", at=now())


@pytest.mark.behaviour("confirmation.operators", "confirmation.ticket", "confirmation.tickets_kept")
def test_a_call_waits_for_a_decision_and_then_runs_once(asking: Pegboard) -> None:
    refused = asking(*CALL, "--json")
    assert (refused.code, refused.json["outcome"]) == (5, "confirmation_required")
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


@pytest.mark.behaviour("confirmation.operators", "confirmation.remembered", "confirmation.standing_last_use")
def test_a_standing_permission_is_given_listed_and_revoked(asking: Pegboard) -> None:
    id = asking(*CALL, "--json").json["ticket"]
    allowed = asking("tickets", "allow", id, "--always", "--for", "7d", "--yes-destructive")
    assert asking("tools", "call", ECHO, "--arg", "text=another").code == 0
    (consent,) = asking("tickets", "consents", "--json").json["consents"]
    given, ends = datetime.fromisoformat(consent["at"]), datetime.fromisoformat(consent["expiresAt"])
    assert ends - given < timedelta(days=7) < ends - given + timedelta(minutes=1), "counted just before it is saved"
    assert allowed.out.splitlines()[1] == (
        f"Further calls by local run without confirmation until {ends:%F %T} UTC. "
        f"To revoke that: pegboard tickets revoke {consent['id']}"
    )
    used = consent["lastUsedAt"][:19].replace("T", " ")
    listed = asking("tickets", "consents").out
    assert f"{consent['id']}  {ECHO}  local   any     local on {given:%Y-%m-%d}  {used} UTC  {ends:%F %T} UTC" in listed
    assert f"revoke: pegboard tickets revoke {consent['id']}" in asking("why", ECHO).out
    revoked = asking("tickets", "revoke", consent["id"]).out
    assert revoked == f"Revoked: calls of {ECHO} by local need confirmation again.\n"
    assert asking("tickets", "consents").out == "No standing permissions.\n"
    assert asking("tickets", "revoke", consent["id"]).code == 4
    assert asking("tools", "call", ECHO, "--arg", "text=another").code == 5


@pytest.mark.behaviour("confirmation.standing_ends")
@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--for", "7d"), "--for and --until are for --client and --always"),
        (("--always", "--for", "7"), "--for '7' is no time. Write a number with m, h, d or w"),
        (("--always", "--until", "soon"), "--until 'soon' is no date. Write it as 2026-12-18, or never."),
        (("--always", "--for", "7d", "--until", "never"), "Give --for or --until, not both."),
    ],
)
def test_an_end_that_cannot_be_read_is_a_usage_error(asking: Pegboard, options: tuple[str, ...], why: str) -> None:
    refused = asking("tickets", "allow", "anything", *options)
    assert (refused.code, why in refused.err) == (2, True)


@pytest.mark.behaviour("confirmation.standing_ends")
@pytest.mark.parametrize(
    ("options", "body"),
    [
        ((None, None), {}),
        (("12h", None), {"expiresInDays": 0.5}),
        (("2w", None), {"expiresInDays": 14}),
        ((None, "2026-12-18"), {"expiresAt": "2026-12-18T23:59:59+00:00"}),
        ((None, "2026-12-18T12:00:00+02:00"), {"expiresAt": "2026-12-18T12:00:00+02:00"}),
        ((None, "never"), {"expiresAt": "never"}),
    ],
)
def test_an_end_is_sent_as_the_api_takes_it(options: tuple[str | None, str | None], body: dict[str, object]) -> None:
    assert end_body("always", *options) == body


@pytest.mark.behaviour("confirmation.standing_second_step")
def test_without_a_terminal_a_second_step_needs_the_exact_flag(asking: Pegboard) -> None:
    """No server runs, so what the tool claims is not known: that takes a second step as a destructive tool does."""
    id = asking(*CALL, "--json").json["ticket"]
    refused = asking("tickets", "allow", id, "--always")
    assert (refused.code, f"pegboard tickets allow {id} --always --yes-destructive" in refused.err) == (5, True)
    assert asking("tickets", "show", id, "--json").json["state"] == "waiting"
    assert asking("tickets", "allow", id).code == 0


@pytest.mark.slow
@pytest.mark.behaviour("confirmation.standing_second_step")
@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"\n", 5)])
def test_a_person_at_a_terminal_is_asked_again_before_a_permission_stands(
    asking: Pegboard, home: Path, answer: bytes, code: int
) -> None:
    id = asking(*CALL, "--json").json["ticket"]
    ours, theirs = pty.openpty()
    environ = {**clean_environment(home), "PEGBOARD_DATA_DIR": str(home / "data")}
    command = [*warm_program(), "tickets", "allow", id, "--client", "--config", str(home / "asks.yaml")]
    process = subprocess.Popen(command, env=environ, cwd=home, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    said = b""
    while b"Allow that? [y/N]" not in said:
        said += os.read(ours, 4096)
    assert b"Every further call of it by local with operator would run" in said
    os.write(ours, answer)
    process.communicate(timeout=PATIENCE)
    os.close(ours)
    assert process.returncode == code
    expected = "waiting" if code else "allowed"
    assert asking("tickets", "show", id, "--json").json["state"] == expected
    assert len(asking("tickets", "consents", "--json").json["consents"]) == (0 if code else 1)


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
        [*warm_program(), *CALL, "--config", str(home / "asks.yaml")],
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
