"""Which gateway a command speaks to: the one that runs on its data directory, if it is the one that was meant."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import httpx2
import pytest
from tests.surfaces.cli.terminal import PATIENCE, Gateway, Pegboard, board, of_board, peer

from pegboard.config import paths as places
from pegboard.surfaces.cli import client

PYTHON = sys.executable
BOARD: dict[str, object] = {
    "servers": {"one": peer("many", "1", trust="open"), "slow": peer("slow_list", "0.5", trust="open")}
}


def test_a_command_asks_the_running_gateway(at_gateway: Pegboard) -> None:
    listed = at_gateway("servers", "list", "--json")
    assert (listed.json["gatewayRunning"], listed.err) == (True, "")


def test_servers_that_are_just_starting_are_waited_for(at_gateway: Pegboard, gateway: Gateway) -> None:
    token = {"authorization": f"Bearer {gateway.token}"}
    assert httpx2.post(f"{gateway.url}/api/v1/servers/slow/restart", headers=token, timeout=PATIENCE).status_code == 200
    why = at_gateway("why", "mcp:slow~slow:echo", "--json").json
    assert why["verdict"] == "open"


def test_the_same_file_by_another_name_is_the_same(at_gateway: Pegboard, gateway: Gateway, home: Path) -> None:
    (home / "link.yaml").symlink_to(gateway.config)
    listed = at_gateway("servers", "list", "--json", "--config", "link.yaml")
    assert (listed.json["gatewayRunning"], listed.err) == (True, "")


def test_another_file_that_is_named_is_asked_by_itself(at_gateway: Pegboard, gateway: Gateway, home: Path) -> None:
    board(home / "other.yaml", {"two": peer("many", "2", trust="open")})
    listed = at_gateway("tools", "list", "--json", "--config", "other.yaml")
    assert [tool["id"] for tool in listed.json["tools"]] == ["mcp:two~two:tool_00000", "mcp:two~two:tool_00001"]
    assert listed.err == (
        f"! The gateway on this data directory serves {gateway.config}. This is other.yaml, by itself; "
        "give it a data directory of its own: --data-dir\n"
        f"  ● two~two: 2 tools\n{of_board(gateway.data_dir)}"
    )


def test_a_file_in_this_folder_that_the_gateway_does_not_serve_is_told(
    at_gateway: Pegboard, gateway: Gateway, home: Path
) -> None:
    here = board(home / "pegboard.yaml", {})
    listed = at_gateway("servers", "list", "--json")
    assert listed.json["gatewayRunning"] is True
    assert listed.err == (
        f"! The running gateway serves {gateway.config}, not {here}. To ask about that one: --config {here}\n"
    )


@pytest.fixture
def copied_address(gateway: Gateway, tmp_path: Path) -> Iterator[Path]:
    """A data directory that is held like a running gateway's, with an address that a test may spoil."""
    directory = tmp_path / "copied"
    directory.mkdir(mode=0o700)
    with places.acquire_lock(directory) as alone:
        assert alone
        shutil.copy2(gateway.data_dir / "gateway.json", directory)
        yield directory


def test_a_copied_address_is_as_good_as_its_own(pegboard: Pegboard, copied_address: Path) -> None:
    assert pegboard("servers", "list", "--json", "--data-dir", copied_address).json["gatewayRunning"] is True


def spoil(directory: Path, **changes: object) -> None:
    file = directory / "gateway.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


@pytest.mark.behaviour("cli.exit_codes")
def test_a_token_that_is_not_taken_is_told(pegboard: Pegboard, copied_address: Path, gateway: Gateway) -> None:
    spoil(copied_address, token="wrong")
    refused = pegboard("servers", "list", "--data-dir", copied_address)
    assert (refused.code, refused.err) == (
        6,
        f"pegboard: the gateway at {gateway.url} does not take the token in {copied_address / 'gateway.json'} "
        f"(HTTP 401). End the process {gateway.process.pid} and start it again: pegboard serve\n",
    )


class Failing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(500)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.behaviour("cli.exit_codes")
def test_a_gateway_that_fails_is_not_said_to_refuse_the_token(
    pegboard: Pegboard, copied_address: Path, gateway: Gateway
) -> None:
    with HTTPServer(("127.0.0.1", 0), Failing) as failing:
        thread = Thread(target=failing.handle_request)
        thread.start()
        url = f"http://127.0.0.1:{failing.server_port}"
        spoil(copied_address, url=url)
        refused = pegboard("servers", "list", "--data-dir", copied_address)
        thread.join(PATIENCE)
    assert (refused.code, refused.err) == (
        6,
        f"pegboard: the gateway at {url} cannot say what runs; its log says why (HTTP 500). End the process "
        f"{gateway.process.pid} and start it again: pegboard serve\n",
    )


def test_a_gateway_that_broke_off_is_told(pegboard: Pegboard, copied_address: Path) -> None:
    spoil(copied_address, url="http://127.0.0.1:9")
    refused = pegboard("servers", "list", "--data-dir", copied_address)
    assert (refused.code, refused.out) == (6, "")
    assert refused.err.startswith("pegboard: the gateway at http://127.0.0.1:9 broke off: ")


@pytest.mark.parametrize("spoilt", ["{half", "[]", '{"url": "http://127.0.0.1:9"}', ""])
def test_an_address_that_is_none_is_waited_for_and_then_told(
    pegboard: Pegboard, copied_address: Path, spoilt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "START_TIMEOUT_S", 0.0)
    (copied_address / "gateway.json").write_text(spoilt)
    refused = pegboard("servers", "list", "--data-dir", copied_address)
    assert (refused.code, refused.err) == (
        6,
        "  … a gateway is starting here; waiting for it\n"
        f"pegboard: a gateway runs with the data directory {copied_address}, but {copied_address / 'gateway.json'} is "
        "not what a gateway writes. End that gateway and start it again: pegboard serve\n",
    )


def test_an_address_that_others_may_read_is_not_used(
    pegboard: Pegboard, copied_address: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "START_TIMEOUT_S", 0.0)
    (copied_address / "gateway.json").chmod(0o644)
    refused = pegboard("servers", "list", "--data-dir", copied_address)
    assert refused.code == 6
    assert "but others than you may use" in refused.err


def test_a_gateway_that_hangs_is_told_with_its_process(
    at_gateway: Pegboard, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "CONNECT_TIMEOUT_S", 0.2)
    pid = gateway.process.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        refused = at_gateway("servers", "list")
        doctor = at_gateway("doctor", "--json")
    finally:
        os.kill(pid, signal.SIGCONT)
    told = (
        f"the gateway at {gateway.url} does not answer. Look at the process {pid}; if it hangs, end it and start it "
        f"again: kill {pid}; pegboard serve"
    )
    assert (refused.code, refused.err) == (6, f"pegboard: {told}\n")
    assert doctor.code == 1
    assert [finding["message"] for finding in doctor.json["findings"]] == [told]


def test_without_a_gateway_a_left_address_is_not_even_tried(pegboard: Pegboard, gateway: Gateway, home: Path) -> None:
    directory = home / "stale"
    directory.mkdir(mode=0o700)
    shutil.copy2(gateway.data_dir / "gateway.json", directory)
    assert pegboard("servers", "list", "--json", "--data-dir", directory).json["gatewayRunning"] is False
