"""`pegboard run` and `pegboard stubs` beside a running gateway: programs, their calls, their ends, and what they are
written by."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.cli.at_terminal import at_terminal
from tests.surfaces.cli.terminal import Done, Gateway, Pegboard, peer

BOARD = {
    "servers": {
        "everyday": peer("everyday", trust="open"),
        "three": peer("many", "3", trust="open", disabled_tools=["tool_00002"]),
    },
    "grants": {"bob": ["three"]},
}


@pytest.fixture(autouse=True)
def settled(at_gateway: Pegboard) -> None:
    for name in ("everyday", "three"):
        assert "is up" in at_gateway("servers", "enable", name).out


def script(folder: Path, text: str) -> Path:
    file = folder / "script.py"
    file.write_text(text, "utf-8")
    return file


@pytest.mark.behaviour("code.run_command")
def test_a_program_is_run_its_calls_told_and_its_last_value_printed(at_gateway: Pegboard, home: Path) -> None:
    code = "sums = [(await everyday.add(a=int(each), b=1))['total'] for each in args]\nprint('Grüße')\nsums\n"
    done = at_gateway("run", script(home, code), "1", "41")
    assert (done.code, done.out) == (0, "Grüße\n[\n  2,\n  42\n]\n")
    assert done.err.count("everyday.add: ok") == 2


@pytest.mark.behaviour("code.run_command")
def test_a_program_comes_from_standard_input_and_answers_as_json(at_gateway: Pegboard) -> None:
    done = at_gateway("run", "-", "--json", stdin="(await everyday.add(a=1, b=2))['total']")
    assert done.code == 0
    answer = json.loads(done.out)
    assert (answer["outcome"], answer["result"]["structuredContent"]["result"]) == ("returned", 3)
    assert [call["name"] for call in answer["result"]["structuredContent"]["tool_calls"]] == ["everyday.add"]


@pytest.mark.behaviour("code.run_command")
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("args\n1 / 0", "ZeroDivisionError: line 2: "),
        ("args\neveryday.add(a=1, b=2)['total']", "line 2: `await` is missing"),
        ("await everyday.ad(a=1, b=2)", "everyday has no function 'ad'. Did you mean add?"),
        ("await everyday.add(a=1, c=2)", "`add` has no argument `c`"),
        ("this is no program", "Nothing of it has run."),
    ],
)
def test_a_program_that_fails_says_where_and_ends_with_1(
    at_gateway: Pegboard, home: Path, code: str, told: str
) -> None:
    done = at_gateway("run", script(home, code))
    assert (done.code, done.out) == (1, "")
    assert told in done.err


@pytest.mark.behaviour("code.left_out")
def test_a_call_that_a_program_left_out_is_told_beside_its_result_by_its_own_lines(
    at_gateway: Pegboard, home: Path
) -> None:
    ahead = "ahead = everyday.add(a=1, b=1)\n"
    code = f"{ahead}for n in args:\n    x = await ahead\n    {ahead}x"
    done = at_gateway("run", script(home, code), "1")
    assert (done.code, done.out) == (0, '{\n  "total": 2\n}\n')
    assert "! line 4: everyday.add() was called and never awaited, so it was NOT done. Everything else" in done.err


@pytest.mark.behaviour("code.run_command")
def test_a_program_reaches_what_its_caller_may_and_no_more(at_gateway: Pegboard, home: Path) -> None:
    code = script(home, "await everyday.add(a=1, b=2)")
    assert at_gateway("run", code, "--as", "bob").code == 1
    assert at_gateway("run", code, "--toolsets", "three").code == 1
    locked = at_gateway("run", script(home, "await three.tool_00002(text='x')"))
    assert locked.code == 1
    assert "tool_00002" in locked.err


@pytest.mark.behaviour("code.run_command")
def test_what_is_no_program_is_told_before_anything_is_asked(at_gateway: Pegboard, home: Path) -> None:
    missing = at_gateway("run", home / "nothing.py")
    assert (missing.code, "cannot be read" in missing.err) == (4, True)
    (home / "bad.py").write_bytes(b"\xff\xfe")
    bad = at_gateway("run", home / "bad.py")
    assert (bad.code, "not UTF-8" in bad.err) == (2, True)


@pytest.mark.behaviour("code.stubs_command")
def test_stubs_are_printed_for_all_tools_or_those_that_are_named(at_gateway: Pegboard) -> None:
    everything = at_gateway("stubs")
    assert everything.code == 0
    assert "# everyday.pyi\n" in everything.out
    assert "# three.pyi\n" in everything.out
    assert "tool_00002" not in everything.out
    assert at_gateway("stubs").out == everything.out
    one = at_gateway("stubs", "three.tool_00000")
    assert one.out == (
        "# three.pyi\nfrom collections.abc import Sequence\n"
        "from typing import Any, Literal, NotRequired, TypedDict\n\n"
        'async def tool_00000(*, text: str) -> str:\n    """Tool number 0 of many: gives back the text it was handed.\n'
        '    text: What to give back.\n    """\n'
    )
    assert at_gateway("stubs", "mcp:three~three:tool_00000").out == one.out
    wrong = at_gateway("stubs", "thre")
    assert (wrong.code, "Did you mean 'three'" in wrong.err) == (4, True)


@pytest.mark.behaviour("code.stubs_command")
def test_stubs_are_written_for_editors(at_gateway: Pegboard, home: Path) -> None:
    done = at_gateway("stubs", "--out", home / "typings")
    assert done.code == 0
    assert sorted(file.name for file in (home / "typings").iterdir()) == ["everyday.pyi", "three.pyi"]
    compile((home / "typings" / "everyday.pyi").read_text("utf-8"), "everyday.pyi", "exec")


@pytest.mark.slow
@pytest.mark.behaviour("code.run_command", "confirmation.every_client")
def test_a_person_at_a_terminal_decides_about_a_call_and_the_program_goes_on(
    at_gateway: Pegboard, gateway: Gateway, home: Path
) -> None:
    tool = "mcp:three~three:tool_00001"
    assert at_gateway("overrides", "set", tool, "--requires-confirmation").code == 0
    code = "before = (await everyday.add(a=1, b=2))['total']\n[before, await three.tool_00001(text='asked')]"
    words = ("run", script(home, code))
    try:
        with at_terminal(home, *words, PEGBOARD_DATA_DIR=str(gateway.data_dir)) as person:
            shown = person.until("Run it? [y/N]")
            assert (tool in shown, '"text": "asked"' in shown) == (True, True)
            person.type("y\n")
            assert person.code() == 0
        # It went on where it stopped: what it did before was not done again.
        assert person.seen.endswith('[\n  3,\n  "tool_00001: asked"\n]\n')
        assert person.seen.count("everyday.add: ok") == 1
        with at_terminal(home, *words, PEGBOARD_DATA_DIR=str(gateway.data_dir)) as person:
            person.until("Run it? [y/N]")
            person.type("n\n")
            assert person.code() == 1
        assert "PermissionError: line 2: " in person.seen
    finally:
        assert at_gateway("overrides", "clear", tool).code == 0


ASKS = "mcp:three~three:tool_00001"


@pytest.fixture
def asking(at_gateway: Pegboard) -> Iterator[None]:
    assert at_gateway("overrides", "set", ASKS, "--requires-confirmation").code == 0
    yield
    assert at_gateway("overrides", "clear", ASKS).code == 0


def decision(done: Done, *words: str) -> tuple[str, list[str]]:
    """The ticket, and the command that goes on with the program, as it was told."""
    assert done.code == 5
    (told,) = re.findall(r"^Then go on with it: pegboard (run --ticket (\w+)[^\n]*)$", done.err, re.MULTILINE)
    command = shlex.split(told[0])
    assert command == ["run", "--ticket", told[1], *words]
    assert "pegboard_ticket" not in done.err
    return told[1], command


@pytest.mark.behaviour("code.run_again")
@pytest.mark.usefixtures("asking")
def test_a_program_that_waits_goes_on_by_the_command_that_was_told_without_a_terminal(at_gateway: Pegboard) -> None:
    code = "before = (await everyday.add(a=1, b=2))['total']\n[before, await three.tool_00001(text='again')]"
    ticket, command = decision(at_gateway("run", "-", stdin=code))
    waiting = at_gateway(*command)
    assert (waiting.code, "nobody has decided yet" in waiting.err) == (5, True)
    assert decision(waiting) == (ticket, command)
    assert at_gateway("tickets", "allow", ticket).code == 0
    done = at_gateway(*command)
    assert (done.code, done.out) == (0, '[\n  3,\n  "tool_00001: again"\n]\n')
    assert "everyday.add: ok" not in done.err
    over = at_gateway(*command)
    assert (over.code, over.out) == (5, "")
    assert "confirmation_used: " in over.err


@pytest.mark.behaviour("code.run_again")
@pytest.mark.usefixtures("asking")
def test_a_program_goes_on_as_json_after_a_no_and_counts_its_own_lines(at_gateway: Pegboard, home: Path) -> None:
    file = script(home, "# two\nargs\nawait three.tool_00001(text=args[0])")
    first = at_gateway("run", "--json", "--", file, "-x y")
    assert first.code == 5
    said = json.loads(first.out)
    assert f"pegboard run --ticket {said['ticket']} -- {file} '-x y'\n" in said["message"]
    assert at_gateway("tickets", "deny", said["ticket"]).code == 0
    answer = at_gateway("run", "--json", "--ticket", said["ticket"], "--", file, "-x y")
    assert answer.code == 1
    error = json.loads(answer.out)["result"]["structuredContent"]["error"]
    assert (error["type"], error["line"]) == ("PermissionError", 3)


@pytest.mark.behaviour("code.run_again")
@pytest.mark.usefixtures("asking")
def test_a_program_goes_on_for_its_own_caller_alone(at_gateway: Pegboard) -> None:
    ticket, command = decision(
        at_gateway("run", "--as", "bob", "-", stdin="await three.tool_00001(text='b')"), "--as", "bob"
    )
    assert at_gateway("tickets", "allow", ticket).code == 0
    for words in (["--ticket", ticket], ["--ticket", "nothing"]):
        other = at_gateway("run", *words)
        assert (other.code, other.out) == (4, "")
        assert f"You have no ticket '{words[1]}'." in other.err
    done = at_gateway(*command)
    assert (done.code, done.out) == (0, "tool_00001: b\n")


@pytest.mark.behaviour("code.run_again")
def test_a_program_that_goes_on_takes_no_time_of_its_own_and_one_that_begins_a_name(at_gateway: Pegboard) -> None:
    assert "Name the program to run" in at_gateway("run").err
    assert "--timeout is for a program that begins" in at_gateway("run", "--ticket", "a", "--timeout", "1").err
    for nothing in ("", " "):
        done = at_gateway("run", "--ticket", nothing)
        assert (done.code, "--ticket needs the id of a ticket" in done.err) == (2, True)


@pytest.mark.behaviour("code.run_again")
@pytest.mark.usefixtures("asking")
def test_a_script_that_is_not_the_program_that_waits_makes_none_go_on(at_gateway: Pegboard, home: Path) -> None:
    file, other = script(home, "[await three.tool_00001(text=args[0]), 1 / 0]"), home / "other.py"
    other.write_text("args\n1 + 1", "utf-8")
    ticket, command = decision(at_gateway("run", file, "a"), str(file), "a")
    assert at_gateway("tickets", "allow", ticket).code == 0
    for words in ([other, "a"], [other], [file, "b"], [file]):
        done = at_gateway("run", "--ticket", ticket, *words)
        assert (done.code, done.out) == (2, "")
        assert f"The program that waits for ticket {ticket} is not this one" in done.err
    gone = at_gateway("run", "--ticket", ticket, home / "gone.py")
    assert (gone.code, f"To go on without it: pegboard run --ticket {ticket}" in gone.err) == (4, True)
    done = at_gateway(*command)
    assert (done.code, "ZeroDivisionError: line 1: " in done.err) == (1, True)


@pytest.mark.behaviour("code.run_again")
@pytest.mark.usefixtures("asking")
def test_a_program_whose_terminal_was_left_goes_on_at_another(
    at_gateway: Pegboard, gateway: Gateway, home: Path
) -> None:
    file = script(home, "await three.tool_00001(text='left')")
    with at_terminal(home, "run", file, PEGBOARD_DATA_DIR=str(gateway.data_dir)) as person:
        shown = person.until("Run it? [y/N]")
    (ticket,) = re.findall(r"If you leave, it goes on after a decision by: pegboard run --ticket (\w+)\r?\n", shown)
    with at_terminal(home, "run", "--ticket", ticket, PEGBOARD_DATA_DIR=str(gateway.data_dir)) as person:
        person.until("Run it? [y/N]")
        person.type("y\n")
        assert person.code() == 0
    assert person.seen.endswith("tool_00001: left\n")


@pytest.mark.behaviour("code.run_again")
@pytest.mark.usefixtures("asking")
def test_a_call_that_waits_is_told_to_a_person_without_a_tool_that_only_models_have(at_gateway: Pegboard) -> None:
    words = ("tools", "call", ASKS, '{"text": "alone"}')
    first = at_gateway(*words)
    assert (first.code, "pegboard_ticket" in first.err) == (5, False)
    (ticket,) = set(re.findall(r"pegboard tickets allow (\w+)", first.err))
    assert at_gateway("tickets", "allow", ticket).code == 0
    assert at_gateway(*words).out == "tool_00001: alone\n"
