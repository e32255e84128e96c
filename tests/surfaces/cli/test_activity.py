"""`pegboard activity`: looking back, following and taking away, beside a running gateway and without one."""

import csv
import io
import json
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cli.terminal import Gateway, Pegboard, board, ended, peer, serving, started

SERVERS = {"many": peer("many", "3", trust="open")}
AUDIT = {"arguments": True, "results": True}
BOARD = {"servers": SERVERS, "audit": AUDIT}
TOOL = "mcp:many~many:tool_00000"
SECRET = "hunter2"


def records(pegboard: Pegboard, *words: str) -> list[dict[str, Any]]:
    body = pegboard("activity", "list", "--json", *words).json
    found: list[dict[str, Any]] = body["activity"]
    return found


def called(pegboard: Pegboard, text: str = "hello") -> None:
    assert pegboard("tools", "call", TOOL, "--arg", f"text={text}").code == 0


@pytest.mark.behaviour("audit.one_stream", "audit.decisions", "cli.activity")
def test_calls_refusals_and_decisions_are_listed_and_shown(at_gateway: Pegboard) -> None:
    called(at_gateway)
    assert at_gateway("tools", "disable", TOOL, "--note", "noisy").code == 0
    assert at_gateway("tools", "call", TOOL, "--arg", "text=x").code == 5
    assert at_gateway("tools", "enable", TOOL).code == 0
    newest = records(at_gateway, "--limit", "4", "--server", "many")
    assert [(one["kind"], one["outcome"], one["subject"], one["principal"]) for one in newest] == [
        ("switch", "done", TOOL, "local"),
        ("refusal", "disabled_by_user", TOOL, "local"),
        ("switch", "done", TOOL, "local"),
        ("call", "returned", TOOL, "local"),
    ]
    on, refused, off, call = newest
    assert (off["message"], on["message"]) == ("switched off: noisy", "switched on")
    assert (off["policyVersion"], refused["policyVersion"]) == (call["policyVersion"] + 1, off["policyVersion"])
    assert (call["arguments"], call["durationMs"] > 0, call["resultTokens"] > 0) == ('{"text": "hello"}', True, True)
    lines = at_gateway("activity", "list", "--limit", "4", "--server", "many").out.splitlines()
    assert lines[0].split() == ["ID", "WHEN", "KIND", "WHO", "WHAT", "OUTCOME", "TOOK", "TOKENS"]
    assert f"{TOOL} switched off: noisy" in lines[3]
    assert lines[-1] == (f"Older ones: the same with --before {call['id']}. One in full: pegboard activity show ID")
    shown = at_gateway("activity", "show", str(call["id"]))
    assert shown.out.splitlines()[0] == f"{call['id']}  call  returned"
    assert 'arguments, redacted:\n{"text": "hello"}' in shown.out
    whole = at_gateway("activity", "show", str(call["id"]), "--json").json
    laps, now = whole.pop("timeline"), whole.pop("currentVerdict")
    assert whole == {**call, "children": []}
    assert [lap["part"] for lap in laps] == ["gate", "provider", "render"]
    assert now == {
        "verdict": "open",
        "status": None,
        "message": "",
        "remedy": "",
        "policyVersion": on["policyVersion"],
        "samePolicy": False,
    }


def test_each_option_narrows_and_what_is_wrong_with_one_is_told(at_gateway: Pegboard) -> None:
    called(at_gateway)
    assert {one["kind"] for one in records(at_gateway, "--kind", "call")} == {"call"}
    assert {one["name"] for one in records(at_gateway, "--tool", "tool_00000")} == {"tool_00000"}
    assert {one["subject"] for one in records(at_gateway, "--tool", TOOL)} == {TOOL}
    assert records(at_gateway, "--principal", "nobody") == []
    assert records(at_gateway, "--since", "1h", "--client", "operator") != []
    assert records(at_gateway, "--until", "2020-01-01") == []
    assert at_gateway("activity", "list", "--outcome", "demanded").out == "Nothing is recorded that fits.\n"
    typo = at_gateway("activity", "list", "--kind", "refusals")
    assert (
        typo.code,
        "There is no kind 'refusals'. Did you mean 'refusal'? There are: call, refusal," in typo.err,
    ) == (
        2,
        True,
    )
    assert at_gateway("activity", "list", "--outcome", "nothing").code == 2
    wrong = at_gateway("activity", "list", "--since", "yesterday")
    assert (wrong.code, "'yesterday' is not a time. Write 15m, 2h or 7d ago" in wrong.err) == (2, True)
    assert at_gateway("activity", "list", "--since", "999999w").code == 2
    assert at_gateway("activity", "list", "--server", "nobody").code == 4
    assert at_gateway("activity", "show", "999999999").err == (
        "pegboard: There is no record 999999999. It may have been removed by age. See: pegboard activity list\n"
    )


@pytest.mark.behaviour("audit.export", "audit.content_redacted")
def test_an_export_holds_everything_that_fits_once_and_no_secret(at_gateway: Pegboard, home: Path) -> None:
    for number in range(3):
        called(at_gateway, f"=cmd() password={SECRET} {number}")
    whole = [json.loads(line) for line in at_gateway("activity", "export", "--kind", "call").out.splitlines()]
    assert [one["id"] for one in whole] == sorted({one["id"] for one in whole})
    assert whole[::-1] == records(at_gateway, "--kind", "call", "--limit", "1000")
    assert SECRET not in json.dumps(whole)

    file = home / "out.csv"
    done = at_gateway("activity", "export", "--kind", "call", "--format", "csv", "--to", file, "--json")
    assert done.json == {"file": str(file), "format": "csv", "records": len(whole)}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    rows = [*csv.DictReader(io.StringIO(file.read_text()))]
    assert [int(row["id"]) for row in rows] == [one["id"] for one in whole]
    again = at_gateway("activity", "export", "--to", file)
    assert (again.code, again.err) == (5, f"pegboard: {file} is there already. Name a new file, or remove that one.\n")
    nowhere = at_gateway("activity", "export", "--to", home / "no" / "out")
    assert (nowhere.code, "No such file or directory" in nowhere.err) == (1, True)


@pytest.mark.behaviour("cli.activity")
def test_without_a_gateway_the_store_is_looked_at_and_commands_record_what_they_do(
    pegboard: Pegboard, home: Path
) -> None:
    board(home / "pegboard.yaml", {"many": peer("many", "1", trust="open")})
    called(pegboard)
    assert pegboard("servers", "disable", "many").code == 0
    assert [(one["kind"], one["arguments"]) for one in records(pegboard)] == [("switch", None), ("call", None)]


# Following


class Following:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._out = process.stdout
        self.process = process

    def next(self) -> dict[str, Any]:
        line = self._out.readline()
        assert line, self.process.communicate()[1]
        record: dict[str, Any] = json.loads(line)
        return record

    def until_text(self, text: str) -> list[dict[str, Any]]:
        """All that came up to the call with this text."""
        found = [self.next()]
        while json.dumps({"text": text}) != found[-1]["arguments"]:
            found.append(self.next())
        return found


@contextmanager
def following(home: Path, data_dir: Path, *words: str) -> Iterator[Following]:
    with started(home, "activity", "follow", "--json", "--data-dir", data_dir, *words) as process:
        yield Following(process)


def latest(pegboard: Pegboard) -> str:
    return str(records(pegboard, "--limit", "1")[0]["id"])


@pytest.mark.behaviour("audit.follow_without_a_gap", "cli.activity")
def test_what_is_followed_comes_as_it_happens_and_ctrl_c_ends_it_cleanly(
    at_gateway: Pegboard, gateway: Gateway, home: Path
) -> None:
    called(at_gateway, "first")
    with following(home, gateway.data_dir, "--kind", "call", "--after", latest(at_gateway)) as follower:
        for text in ("one", "two"):
            called(at_gateway, text)
            assert [json.loads(one["arguments"]) for one in follower.until_text(text)] == [{"text": text}]
        done = ended(follower.process, signal.SIGINT)
    assert (done.code, done.out, done.err) == (130, "", "")


@pytest.mark.slow
@pytest.mark.behaviour("audit.follow_without_a_gap")
def test_a_follower_outlives_a_restart_of_the_gateway_and_misses_nothing(pegboard: Pegboard, home: Path) -> None:
    config, data = board(home / "board.yaml", SERVERS, audit=AUDIT), home / "data"
    at = ("--config", str(config), "--data-dir", str(data))

    def call(text: str) -> None:
        assert pegboard("tools", "call", TOOL, "--arg", f"text={text}", *at).code == 0

    with ExitStack() as stack:
        with serving(home, config, data):
            call("before")
            follower = stack.enter_context(following(home, data, "--after", "0", "--tool", TOOL))
            found = follower.until_text("before")
        call("between")
        with serving(home, config, data):
            call("after")
            found += follower.until_text("after")
            done = ended(follower.process, signal.SIGINT)
    texts = [json.loads(one["arguments"])["text"] for one in found]
    assert texts == ["before", "between", "after"]
    assert done.code == 130
    assert "! The gateway broke off. Waiting for it to come back" in done.err


def test_following_without_a_gateway_tells_what_others_write(pegboard: Pegboard, home: Path) -> None:
    config, data = board(home / "board.yaml", SERVERS, audit=AUDIT), home / "data"
    with following(home, data, "--config", str(config), "--after", "0") as follower:
        assert follower.process.stderr is not None
        assert "No gateway is running here" in follower.process.stderr.readline()
        at = ("--config", str(config), "--data-dir", str(data))
        assert pegboard("tools", "call", TOOL, "--arg", "text=there", *at).code == 0
        assert [one["kind"] for one in follower.until_text("there")] == ["call"]
        assert ended(follower.process, signal.SIGTERM).code == 143


def test_times_are_those_of_this_machine_unless_they_say_otherwise(at_gateway: Pegboard) -> None:
    called(at_gateway)
    at = datetime.fromisoformat(records(at_gateway, "--limit", "1")[0]["at"])
    here = at.astimezone().replace(tzinfo=None).isoformat()
    assert records(at_gateway, "--since", here) != []
    refused = at_gateway("activity", "list", "--since", here, "--until", at.astimezone(UTC).isoformat())
    assert (refused.code, refused.err.startswith("pegboard: Nothing is since ")) == (4, True)
