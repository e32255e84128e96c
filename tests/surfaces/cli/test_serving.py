"""`pegboard serve` from its start to its end, and what it leaves for other commands to find it."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.servers.peers import command
from tests.surfaces.cli.terminal import PATIENCE, Gateway, Pegboard, board, ended, peer, serving, started

from pegboard.config import paths as places
from pegboard.core.model.settings import PresentationMode
from pegboard.surfaces.cli.output import Exit, fail
from pegboard.surfaces.cli.serve import serve, stdio
from pegboard.surfaces.http.server import ListenError, bind_socket, is_open_to_others, local_url
from pegboard.surfaces.mcp.endpoint import PRESENTATION_PATHS

PYTHON = sys.executable
BOARD: dict[str, object] = {"servers": {}}


def told_until(process: subprocess.Popen[str], last: str) -> list[str]:
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line.rstrip("\n"))
        if lines[-1] == last:
            break
    return lines


@pytest.mark.behaviour("run.prints_snippets", "cli.serve", "cli.which_board")
def test_a_person_is_told_the_address_and_how_to_connect_each_client(home: Path) -> None:
    config = board(home / "pegboard.yaml", {"one": peer("many", "1")})
    with started(home, "serve", "--port", "0") as process:
        told = told_until(process, "  ● one~one: 1 tool")
        done = ended(process, signal.SIGINT)
    endpoint = next(line.split()[-1] for line in told if line.startswith("MCP endpoint"))
    assert endpoint.startswith("http://127.0.0.1:")
    assert endpoint.endswith("/mcp")
    assert {*PRESENTATION_PATHS} <= {
        word.strip(",") for word in told[told.index(f"MCP endpoint  {endpoint}") + 1].split()
    }
    assert f"Configuration {config}" in told
    assert f"    claude mcp add --transport http pegboard {endpoint}" in told
    heads = ["  Claude Code", "  Claude Desktop   (claude_desktop_config.json)"]
    heads += ["  Cursor           (.cursor/mcp.json)", "  VS Code          (.vscode/mcp.json)"]
    places_of = [told.index(head) for head in heads]
    desktop, cursor, code = (_json_after(told, place) for place in places_of[1:])
    data_dir = home / ".local" / "share" / "pegboard"
    started_by = desktop["mcpServers"]["pegboard"]
    assert Path(started_by["command"]).name == "pegboard"
    assert started_by["args"] == ["stdio", "--config", str(config), "--data-dir", str(data_dir)]
    assert cursor == {"mcpServers": {"pegboard": {"url": endpoint}}}
    assert code == {"servers": {"pegboard": {"type": "http", "url": endpoint}}}
    talking = told.index("Talk to this board from another terminal:")
    assert told[talking + 2 : told.index("    pegboard doctor")][-1] == f"    export PEGBOARD_DATA_DIR={data_dir}"
    assert (done.code, done.out, done.err) == (0, "", "")
    assert sorted(os.listdir(data_dir)) == ["gateway.lock", "pegboard.db"]


@pytest.mark.behaviour("present.costs", "present.chosen_by_the_operator")
@pytest.mark.parametrize("presentation", ["direct", "search"])
def test_a_person_is_told_when_showing_every_tool_costs_much(home: Path, presentation: str) -> None:
    said = {"presentation": presentation, "presentation_threshold": 2}
    config = board(home / "pegboard.yaml", {"three": peer("many", "3", trust="open")}, **said)
    with started(home, "serve", "--port", "0") as process:
        told = told_until(process, "  ● three~three: 3 tools")
        endpoint = next(line.split()[-1] for line in told if line.startswith("MCP endpoint"))
        names = [tool["name"] for tool in listed(endpoint)]
        costly = process.stderr.readline() if process.stderr is not None and presentation == "direct" else ""
        done = ended(process, signal.SIGINT)
    assert (names[0], len(names)) == (("tool_00000", 3) if presentation == "direct" else ("retrieve_tools", 4))
    assert costly.startswith("! 3 tools are shown each as itself at /mcp, which costs a model about ") == bool(costly)
    assert bool(costly) == (presentation == "direct")
    assert (done.code, done.err, config.exists()) == (0, "", True)


def listed(endpoint: str) -> list[dict[str, Any]]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    answer = httpx2.post(endpoint, json=message, headers={**headers, "mcp-method": "tools/list"}, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    tools: list[dict[str, Any]] = answer.json()["result"]["tools"]
    return tools


def _json_after(lines: list[str], place: int) -> Any:
    return json.loads("\n".join(lines[place + 1 : lines.index("    }", place) + 1]))


@pytest.mark.behaviour("cli.serve")
def test_by_default_it_listens_on_port_8460_of_this_machine_alone() -> None:
    defaults = {option.name: option.default for option in serve.params}
    assert (defaults["host"], defaults["port"]) == ("127.0.0.1", 8460)


def test_a_client_that_starts_the_gateway_itself_chooses_by_the_words_of_the_file() -> None:
    asked = next(option for option in stdio.params if option.name == "presentation")
    words = [asked.type.convert(presented.value, None, None) for presented in PresentationMode]
    assert words == [presented.value for presented in PresentationMode]
    assert all(type(word) is str for word in words)


@pytest.mark.behaviour("cli.json_everywhere")
def test_with_json_one_line_is_printed_when_it_listens(gateway: Gateway) -> None:
    left = gateway.data_dir / "gateway.json"
    address = json.loads(left.read_text())
    assert stat.S_IMODE(left.stat().st_mode) == 0o600
    assert address.keys() == {"url", "token", "pid"}
    assert address["pid"] == gateway.process.pid
    assert gateway.told == {
        "endpoint": f"{address['url']}/mcp",
        "ui": f"{address['url']}/ui/",
        "config": str(gateway.config),
        "dataDir": str(gateway.data_dir),
    }


def test_a_gateway_that_is_interrupted_while_it_starts_leaves_nothing(home: Path) -> None:
    board(home / "pegboard.yaml", {"stubborn": peer("stubborn", timeouts={"stop": "100ms"})})
    with started(home, "serve", "--port", "0", "--data-dir", "data", python=PYTHON) as process:
        lock = home / "data" / "gateway.lock"
        while not lock.exists():
            assert process.poll() is None
        done = ended(process, signal.SIGINT)
    # Whether it listened already when the signal came is a matter of moments; it must end well either way.
    assert done.code in (0, 130)
    assert "Traceback" not in done.err
    assert not (home / "data" / "gateway.json").exists()


def test_a_second_gateway_on_the_same_data_directory_is_told_of_the_first(
    at_gateway: Pegboard, gateway: Gateway
) -> None:
    second = at_gateway("serve", "--port", "0")
    assert (second.code, second.err) == (
        1,
        f"pegboard: a gateway runs at {gateway.url} (process {gateway.process.pid}) with the data directory "
        f"{gateway.data_dir}. Use that one, or choose another directory: --data-dir\n",
    )
    port = gateway.url.rpartition(":")[2]
    elsewhere = at_gateway("serve", "--port", port, "--data-dir", "other")
    assert (elsewhere.code, elsewhere.err) == (
        1,
        f"pegboard: 127.0.0.1:{port} cannot be listened on: Address already in use. Choose another: --port\n",
    )
    assert httpx2.get(f"{gateway.url}/health", timeout=PATIENCE).json() == {"status": "ok"}


def test_a_killed_gateway_is_found_dead_and_replaced(pegboard: Pegboard, home: Path) -> None:
    config = board(home / "pegboard.yaml", {})
    left = home / "data" / "gateway.json"
    with serving(home, config, home / "data", python=PYTHON) as killed:
        killed.process.kill()
        killed.process.wait()
    assert left.exists()
    assert pegboard("servers", "list", "--data-dir", "data", "--json").json["gatewayRunning"] is False
    found = pegboard("doctor", "--data-dir", "data", "--json")
    assert found.code == 0
    assert found.json["findings"] == [
        {
            "subject": "gateway",
            "message": f"{left} was left behind by a gateway that did not end in good order "
            f"(process {killed.process.pid}, which is no more). It does no harm.",
            "fix": f"rm {left}   or start a gateway, which replaces it",
            "severity": "warning",
        }
    ]
    with serving(home, config, home / "data"):
        assert pegboard("servers", "list", "--data-dir", "data", "--json").json["gatewayRunning"] is True
    assert not left.exists()


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8460"),
        ("0.0.0.0", "http://127.0.0.1:8460"),
        ("::", "http://[::1]:8460"),
        ("::1", "http://[::1]:8460"),
        ("192.0.2.7", "http://192.0.2.7:8460"),
        ("localhost", "http://localhost:8460"),
    ],
)
def test_this_machine_reaches_a_gateway_whatever_it_listens_on(host: str, url: str) -> None:
    assert local_url(host, 8460) == url


def test_an_address_that_cannot_be_listened_on_is_told_with_the_option_to_change() -> None:
    with bind_socket("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert not is_open_to_others(taken)
        with pytest.raises(ListenError, match=rf"127.0.0.1:{port} cannot be listened on: .* Choose another: --port"):
            bind_socket("127.0.0.1", port)
    for host, option in (("192.0.2.1", "--host"), ("a..b", "--host"), ("no such host", "--host")):
        with pytest.raises(ListenError, match=f"{option}$"):
            bind_socket(host, 0)
    with bind_socket("0.0.0.0", 0) as wide:
        assert is_open_to_others(wide)


def test_a_client_that_comes_before_the_gateway_is_ready_only_waits() -> None:
    with bind_socket("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname(), timeout=60) as early:
        assert early.getpeername() == listener.getsockname()


def test_whoever_asks_whether_a_gateway_runs_does_not_keep_one_from_starting(tmp_path: Path) -> None:
    assert not places.is_locked(tmp_path)
    with places.acquire_lock(tmp_path) as alone:
        assert alone
        assert places.is_locked(tmp_path)
        with places.acquire_lock(tmp_path) as again:
            assert not again
    assert not places.is_locked(tmp_path)
    with places.acquire_lock(tmp_path) as anew:
        assert anew


@pytest.mark.behaviour("cli.serve_tells_of_servers")
def test_a_server_that_comes_or_falls_while_it_runs_is_told_in_a_line(home: Path, pegboard: Pegboard) -> None:
    file = board(home / "pegboard.yaml", {"one": peer("many", "1")})
    with started(home, "serve", "--port", "0", "--data-dir", home / "data") as process:
        told_until(process, "  ● one~one: 1 tool")
        at = ("--data-dir", home / "data", "--config", file)
        assert pegboard("servers", "add", "two", *at, "--", *command("many", "2")).code == 0
        assert told_until(process, "  ● two~two: 2 tools")[-1] == "  ● two~two: 2 tools"
        assert pegboard("servers", "add", "bad", *at, "--", *command("crash_on_start")).code == 0
        assert told_until(process, "  ○ bad~bad is down: exited with code 3")[-1].endswith("exited with code 3")
        ended(process, signal.SIGINT)


def test_the_address_is_written_before_anything_is_answered(
    pegboard: Pegboard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for /health reads gateway.json next."""
    file, seen = home / "data" / "gateway.json", list[bool]()

    async def enter(self: object) -> None:
        seen.append(file.exists())
        fail(Exit.FAILED, "that is all")

    monkeypatch.setattr("pegboard.surfaces.http.server.HttpServer.__aenter__", enter)
    done = pegboard("serve", "--config", board(home / "pegboard.yaml", {}), "--data-dir", home / "data", "--port", "0")
    assert (done.code, seen, file.exists()) == (1, [True], False)
