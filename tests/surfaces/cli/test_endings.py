"""How a command ends: one exit code that means the same everywhere, one message, and never a traceback."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.surfaces.cli.terminal import (
    PATIENCE,
    PROGRAM,
    Gateway,
    Pegboard,
    board,
    clean_environment,
    ended,
    of_folder,
    peer,
    program,
    serving,
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
    assert program(home, *words, python=sys.executable, PYTHONIOENCODING="latin-1").out == "\\x1b[31m\\u202e \\u9b3c\n"
    narrow = program(home, *words, "--json", python=sys.executable, PYTHONIOENCODING="latin-1")
    assert narrow.out.isascii()
    assert narrow.json["result"]["content"][0]["text"] == "\x1b[31m\u202e \u9b3c"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_interrupted_ends_at_once_and_takes_its_servers_along(
    home: Path, number: signal.Signals, code: int
) -> None:
    board(home / "pegboard.yaml", {"quick": peer("many", "1"), "hung": peer("hung")})
    with started(home, "tools", "list", python=sys.executable) as process:
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


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def ask(gateway: Gateway, name: str) -> socket.socket:
    """A call of this tool that is under way, because the gateway has answered what came after it."""
    place = urlsplit(gateway.url)
    called = {"name": name, "arguments": {}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called})
    asked = socket.create_connection((place.hostname or "", place.port or 0), PATIENCE)
    asked.sendall(
        f"POST /mcp HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        f"Mcp-Method: tools/call\r\nMcp-Name: {name}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    for _ in range(3):
        assert httpx2.get(f"{gateway.url}/health", timeout=PATIENCE).json() == {"status": "ok"}
    return asked


@pytest.mark.behaviour("run.ends_quietly")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_gateway_that_is_told_to_end_answers_a_call_that_waits_for_a_start_and_says_nothing(
    home: Path, number: signal.Signals
) -> None:
    config = board(home / "pegboard.yaml", {"hung": peer("hung", timeouts={"stop": 0.5})})
    with serving(home, config, home / "data") as gateway, ask(gateway, "anything") as asked:
        done = ended(gateway.process, number)
        answer = asked.makefile("rb").read()
    assert (done.code, done.out) == (0, "")
    assert "Traceback" not in done.err
    assert "ERROR" not in done.err
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    told = json.loads(answer.partition(b"\r\n\r\n")[2])["result"]
    assert told["isError"] is True
    assert "hung~hung" in told["content"][0]["text"]


@pytest.mark.behaviour("run.ends_quietly")
def test_a_gateway_over_stdio_that_is_told_to_end_tells_who_waits_and_says_nothing_else(home: Path) -> None:
    board(home / "pegboard.yaml", {"hung": peer("hung", "--after-initialize", trust="open")})
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    with started(home, "stdio", "--config", "pegboard.yaml", "--data-dir", "data", python=sys.executable) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def say(id: int | None, method: str, **params: object) -> None:
            assert process.stdin is not None
            asked = {} if id is None else {"id": id}
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **asked, "method": method, "params": params}) + "\n")
            process.stdin.flush()

        said = iter(map(json.loads, process.stdout))
        say(1, "initialize", **client)
        say(None, "notifications/initialized")
        say(2, "tools/list")
        listed = next(message for message in said if message.get("id") == 2)
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["wait"]
        say(3, "tools/call", name="wait", arguments={})
        say(4, "ping")
        assert any(message.get("id") == 4 for message in said)
        process.send_signal(signal.SIGTERM)
        assert [message for message in said if "id" in message] == [
            {"jsonrpc": "2.0", "id": 3, "error": {"code": -32000, "message": "Connection closed"}}
        ]
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
        assert process.stderr is not None
        assert process.stderr.read() == ""
