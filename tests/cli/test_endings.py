"""How a command ends: one exit code that means the same everywhere, one message, and never a traceback."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.terminal import (
    PATIENCE,
    PROGRAM,
    Pegboard,
    board,
    clean_environment,
    ended,
    of_folder,
    peer,
    program,
    started,
    usual_board,
)

from pegboard.surfaces.cli.output import Exit

USAGE = {
    "an unknown command": ("bogus",),
    "an unknown option": ("servers", "list", "--bogus"),
    "a missing argument": ("why",),
    "no command of a group": ("servers",),
    "arguments that are no JSON": ("tools", "call", "x", "{bad"),
    "arguments that are no object": ("tools", "call", "x", "[1]"),
    "arguments with what JSON does not know": ("tools", "call", "x", '{"a": NaN}'),
    "arguments nested without end": ("tools", "call", "x", "[" * 100_000),
    "a pair without a value": ("tools", "call", "x", "--arg", "name"),
    "a pair given twice": ("servers", "add", "x", "--env", "A=1", "--env", "A=2", "--", "x"),
    "text that is no text": ("why", "\udcff"),
    "a server without a way to reach it": ("servers", "add", "x"),
    "a server reached in two ways": ("servers", "add", "x", "--url", "http://x", "--", "x"),
    "a server at no address": ("servers", "add", "x", "--url", "ftp://x"),
    "a server with a name that cannot be": ("servers", "add", "Not a name", "--", "x"),
    "a header that cannot be sent": ("servers", "add", "x", "--url", "http://x", "--header", "a=b\nc"),
    "a reference that is not closed": ("servers", "add", "x", "--env", "A=${B", "--", "x"),
    "a port that cannot be": ("serve", "--port", "99999"),
    "a data directory that is a file": ("servers", "list", "--data-dir", "file"),
}
CONFIG = {
    "a file that is not there": ("tools", "list", "--config", "nothing.yaml"),
    "a folder": ("servers", "list", "--config", "."),
    "a broken file": ("serve", "--config", "broken.yaml"),
    "another file that is not there": ("diff", "nothing.yaml"),
    "another folder": ("diff", "."),
    "another broken file": ("diff", "broken.yaml"),
}
NOT_FOUND = {
    "no such tool": ("tools", "show", "nothing"),
    "no such tool to explain": ("why", "nothing"),
    "no such tool to call": ("tools", "call", "nothing"),
    "no such toolset": ("tools", "list", "--toolsets", "nothing"),
    "no such server": ("servers", "remove", "nothing"),
    "no such server to import": ("import", "--only", "nothing"),
}
UNREACHABLE = {
    "nothing to restart": ("servers", "restart", "x"),
    "a data directory that cannot be made": ("servers", "list", "--data-dir", "file/below"),
    "a gateway that has no place": ("serve", "--port", "0", "--data-dir", "file/below"),
}
CASES = {
    f"{code.name}: {name}": (code, words)
    for code, cases in (
        (Exit.USAGE, USAGE),
        (Exit.CONFIG, CONFIG),
        (Exit.NOT_FOUND, NOT_FOUND),
        (Exit.UNREACHABLE, UNREACHABLE),
    )
    for name, words in cases.items()
}


@pytest.fixture
def files(home: Path) -> None:
    (home / "file").touch()
    (home / "broken.yaml").write_text("servrs: {}\ndeny: [1]\n")


@pytest.mark.behaviour("cli.exit_codes", "cli.json_everywhere")
@pytest.mark.parametrize("case", CASES)
def test_each_kind_of_trouble_has_its_exit_code_and_one_message(
    pegboard: Pegboard, home: Path, files: None, case: str
) -> None:
    code, words = CASES[case]
    plain = pegboard(*words)
    assert (plain.code, plain.out) == (code, "")
    assert plain.err.strip()
    assert "Traceback" not in plain.err
    if words == ("servers",):
        return  # what it lacks is a command, so there is nothing yet that could take --json
    before = words.index("--") if "--" in words else len(words)
    body = pegboard(*words[:before], "--json", *words[before:])
    assert (body.code, body.json["exit"]) == (code, code)
    assert body.json["error"].strip()
    told = usual_board(home) if code == Exit.NOT_FOUND and words[0] == "tools" else ""
    assert body.err == told, "a failure is told in the document, and on standard error just which board it is of"


@pytest.mark.behaviour("config.errors_name_the_place")
def test_a_broken_configuration_is_told_whole(pegboard: Pegboard, home: Path) -> None:
    (home / "pegboard.yaml").write_text("servrs: {}\ndeny: [1]\n")
    file = home / "pegboard.yaml"
    told = [
        f"{file}:1: servrs: unknown key. Did you mean 'servers'?",
        f"{file}:2: deny[0]: this must be a text, and it is 1. Put it in quotes.",
    ]
    assert pegboard("tools", "list").err == "\n".join(("pegboard: the configuration cannot be used.", *told, ""))
    assert pegboard("tools", "list", "--json").json == {
        "error": "\n".join(("the configuration cannot be used.", *told)),
        "exit": 3,
        "errors": told,
    }


def test_a_secret_in_a_wrong_option_is_not_repeated(pegboard: Pegboard) -> None:
    for words in (
        ("servers", "add", "x", "--env", "swordfish", "--", "x"),
        ("servers", "add", "x", "--url", "ftp://swordfish@host"),
        ("servers", "add", "x", "--url", "http://x", "--header", "Authorization=swordfish\n"),
    ):
        done = pegboard(*words)
        assert done.code == Exit.USAGE
        assert "swordfish" not in done.err + done.out


def test_json_after_two_dashes_belongs_to_the_command_that_is_added(pegboard: Pegboard) -> None:
    added = pegboard("servers", "add", "x", "--", "x", "--json")
    assert (added.code, added.out) == (0, "Added x~x. It starts with the gateway: pegboard serve\n")


@pytest.mark.behaviour("cli.stdio")
def test_stdio_says_nothing_on_standard_output_even_when_it_is_misused(pegboard: Pegboard, files: None) -> None:
    for words in (("stdio", "--json"), ("stdio", "--config", "broken.yaml"), ("stdio", "--data-dir", "file/below")):
        done = pegboard(*words)
        assert (done.code > 0, done.out) == (True, "")
        assert done.err


def test_the_program_ends_as_its_commands_do(home: Path) -> None:
    done = program(home, "why", "nothing", "--json")
    assert (done.code, done.err) == (4, "")
    assert done.json == {"error": "Unknown tool 'nothing'. See: pegboard tools list", "exit": 4}


def test_a_reader_that_leaves_ends_the_command_quietly(home: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "version"], env=clean_environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == Exit.READER_LEFT


def test_output_that_the_terminal_cannot_show_is_escaped(pegboard: Pegboard, home: Path) -> None:
    board(home / "pegboard.yaml", {"talker": peer("crash_on_call", trust="open")})
    words = ("tools", "call", "mcp:talker~talker:echo", '{"text": "\\u001b[31m\\u202e \\u9b3c"}')
    assert pegboard(*words).out == "\\x1b[31m\\u202e 鬼\n"
    assert program(home, *words, PYTHONIOENCODING="latin-1").out == "\\x1b[31m\\u202e \\u9b3c\n"
    narrow = program(home, *words, "--json", PYTHONIOENCODING="latin-1")
    assert narrow.out.isascii()
    assert narrow.json["result"]["content"][0]["text"] == "\x1b[31m\u202e \u9b3c"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_interrupted_ends_at_once_and_takes_its_servers_along(
    home: Path, number: signal.Signals, code: int
) -> None:
    board(home / "pegboard.yaml", {"quick": peer("many", "1"), "hung": peer("hung")})
    with started(home, "tools", "list") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == of_folder(home)
        assert process.stderr.readline() == "  ● quick~quick: 1 tool\n"
        done = ended(process, number)
    assert (done.code, done.out) == (code, "")
    assert "Traceback" not in done.err


def test_a_call_that_is_interrupted_is_given_up(home: Path) -> None:
    board(home / "pegboard.yaml", {"hung": peer("hung", "--after-initialize", trust="open")})
    with started(home, "tools", "call", "mcp:hung~hung:wait") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == of_folder(home)
        assert process.stderr.readline() == "  ● hung~hung: 1 tool\n"
        assert process.stderr.readline() == usual_board(home)
        assert "waiting for mcp:hung~hung:wait (Ctrl-C gives it up)" in process.stderr.readline()
        done = ended(process, signal.SIGINT)
    assert (done.code, done.out, done.err) == (130, "", "")


@pytest.mark.behaviour("cli.version")
def test_what_is_not_needed_is_not_loaded(home: Path) -> None:
    loads = "import sys; sys.argv[1:] = ['version']; import pegboard.__main__ as m, atexit; "
    asks = "atexit.register(lambda: print(sorted({'anyio', 'yaml', 'fastapi', 'mcp', 'sqlalchemy'} & {*sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{loads}{asks}; m.main()"],
        env=clean_environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout == "pegboard 0.1.0\n[]\n"
