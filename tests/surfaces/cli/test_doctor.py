"""`pegboard doctor`: everything that is wrong, each with what mends it."""

import sys
from pathlib import Path

import pytest
from tests.surfaces.cli.terminal import Done, Pegboard, board, of_folder, peer


def findings(done: Done) -> list[tuple[str, str, str]]:
    return [(finding["message"], finding["fix"], finding["severity"]) for finding in done.json["findings"]]


@pytest.mark.behaviour("cli.doctor")
def test_a_sound_board_has_nothing_wrong(pegboard: Pegboard, home: Path) -> None:
    config = board(home / "pegboard.yaml", {"one": peer("many", "1")})
    done = pegboard("doctor")
    data = home / ".local" / "share" / "pegboard"
    assert (done.code, done.err) == (0, of_folder(home) + "  ● one~one: 1 tool\n")
    assert done.out == (
        f"configuration  {config}\n"
        f"data           {data}\n"
        f"store          sqlite:///{data / 'pegboard.db'}\n"
        "gateway        not running; start it: pegboard serve\n"
        "\n"
        "✓ Nothing is wrong.\n"
    )


@pytest.mark.behaviour("cli.doctor")
def test_every_problem_of_a_broken_file_is_told_with_its_place(pegboard: Pegboard, home: Path) -> None:
    file = home / "pegboard.yaml"
    file.write_text("servers:\n  x: {comand: y}\ndeny: [1]\n")
    done = pegboard("doctor", "--json")
    assert done.code == 1
    assert findings(done) == [
        (f"{file}:2: servers.x.comand: unknown key. Did you mean 'command'?", f"Edit {file}:2", "error"),
        (f"{file}:3: deny[0]: this must be a text, and it is 1. Put it in quotes.", f"Edit {file}:3", "error"),
    ]


@pytest.mark.behaviour("cli.doctor")
def test_servers_that_are_down_are_told_with_their_last_words_and_their_place(pegboard: Pegboard, home: Path) -> None:
    file = home / "pegboard.yaml"
    file.write_text(
        "servers:\n"
        f"  crash: {{command: {sys.executable}, args: {peer('crash_on_start')['args']!r}}}\n"
        "  missing: {command: no-such-program}\n"
        "  unset: {command: x, env: {A: '${NOT_SET_HERE}'}}\n"
    )
    pegboard("servers", "add", "extra", "--", "no-such-program")
    done = pegboard("doctor", "--json")
    # A busy machine may look in the moment of the next attempt, which is told in other words.
    while any(" and this is attempt " in what for what, _, _ in findings(done)):
        done = pegboard("doctor", "--json")
    lacking = "command 'no-such-program' was not found on the PATH. Install it, or write its full path."
    unset = "${NOT_SET_HERE} stands for nothing: the environment variable NOT_SET_HERE is not set. "
    unset += "Set it before the gateway starts, or write ${NOT_SET_HERE:-a default}."

    def mend(key: str, place: str) -> str:
        return f"pegboard servers logs {key}   {place}, then look again: pegboard doctor"

    assert done.code == 1
    assert findings(done) == [
        (
            "Server crash~crash is down: exited with code 3. It last wrote: 'crash_on_start: giving up'",
            mend("crash~crash", f"Correct it at {file}:2"),
            "error",
        ),
        (
            f"Server extra~extra is down: {lacking}",
            mend("extra~extra", "Correct it (pegboard servers remove extra~extra, then add it again)"),
            "error",
        ),
        (f"Server missing~missing is down: {lacking}", mend("missing~missing", f"Correct it at {file}:3"), "error"),
        (f"Server unset~unset is down: {unset}", mend("unset~unset", f"Correct it at {file}:4"), "error"),
    ]


@pytest.mark.behaviour("cli.doctor")
def test_unknown_names_waiting_tools_and_clashes_are_shown(pegboard: Pegboard, home: Path) -> None:
    pegboard("servers", "add", "one", "--", "no-such-program")
    file = board(
        home / "pegboard.yaml",
        {"one": peer("many", "1", trust="strict")},
        selection={"disabled_tools": ["tool_0000O"]},
    )
    done = pegboard("doctor", "--json")
    told = findings(done)
    assert done.code == 1
    assert [(message, severity) for message, _, severity in told] == [
        (
            f"'one~one' is declared at {file}:3 and also installed by local. "
            "Rename it in the file, or run: pegboard servers remove one~one",
            "error",
        ),
        (
            f"Unknown tool 'tool_0000O' in selection.disabled_tools ({file}:14). Did you mean 'tool_00000'? Until the "
            "entry is corrected or marked as optional, mcp:one~one:tool_00000 is locked.",
            "error",
        ),
        ("1 tool waits for approval, first mcp:one~one:tool_00000.", "warning"),
    ]
    assert all(mend for _, mend, _ in told)
    assert pegboard("servers", "remove", "one~one").code == 0
    assert len(findings(pegboard("doctor", "--json"))) == 2


@pytest.mark.behaviour("cli.doctor")
def test_a_store_that_cannot_be_opened_is_told(pegboard: Pegboard, home: Path) -> None:
    data = home / "data"
    data.mkdir(mode=0o700)
    (data / "pegboard.db").write_text("this is no database, but it is long enough to be looked at as one " * 20)
    (data / "pegboard.db").chmod(0o600)
    done = pegboard("doctor", "--json", "--data-dir", "data")
    assert done.code == 1
    ((message, fix, severity),) = findings(done)
    assert message.startswith(f"sqlite:///{data / 'pegboard.db'} is not a readable SQLite database: ")
    assert (fix, severity) == ("Mend this, then look again: pegboard doctor", "error")
    board(home / "pegboard.yaml", {}, store="postgresql://nobody@127.0.0.1:9/x")
    unreachable = pegboard("doctor", "--json", "--data-dir", "fresh")
    assert unreachable.code == 1
    ((what, _, _),) = findings(unreachable)
    assert "127.0.0.1:9" in what


@pytest.mark.behaviour("cli.doctor")
def test_a_data_directory_that_others_may_use_is_told_with_the_command_that_closes_it(
    pegboard: Pegboard, home: Path
) -> None:
    data = home / "my data"
    pegboard("servers", "list", "--data-dir", data)
    data.chmod(0o777)
    (data / "pegboard.db").chmod(0o644)
    done = pegboard("doctor", "--json", "--data-dir", data)
    assert done.code == 1
    assert findings(done) == [
        (
            f"The data directory {data} is not used: others may write to it, and so could take the gateway over.",
            f"Run: chmod go-w '{data}'",
            "error",
        ),
        (
            f"Others may use {data / 'pegboard.db'}, in which servers' secrets may be kept.",
            f"chmod 600 '{data / 'pegboard.db'}'",
            "error",
        ),
    ]


def test_a_finding_is_shown_with_what_mends_it_below(pegboard: Pegboard, home: Path) -> None:
    board(home / "pegboard.yaml", {"gone": {"command": "no-such-program"}})
    shown = pegboard("doctor").out
    lines = shown.splitlines()
    assert lines[-2].startswith("✗ Server gone~gone is down: command 'no-such-program' was not found on the PATH.")
    assert lines[-1].startswith("    → pegboard servers logs gone~gone   Correct it at ")


@pytest.mark.behaviour("confirmation.hidden_characters", "cli.doctor")
def test_what_does_not_show_in_a_finding_is_written_out(pegboard: Pegboard, home: Path) -> None:
    overrides = {"one": {"one:send\xa0mail": {"renderer": "code"}}}
    board(home / "pegboard.yaml", {"one": peer("many", "1")}, overrides=overrides)
    shown = pegboard("doctor").out
    assert "\xa0" not in shown
    assert "Override of one:send\\xa0mail in one" in shown
