"""`pegboard run` and `pegboard stubs` beside a running gateway: programs, their calls, their ends, and what they are
written by."""

import json
from pathlib import Path

import pytest
from tests.cli.at_terminal import at_terminal
from tests.cli.terminal import Gateway, Pegboard, peer

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
    assert (answer["ended"], answer["result"]["structuredContent"]["result"]) == ("returned", 3)
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
