"""Servers that are this very gateway, or one that leads back to it: a program runs no other through them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.cli.terminal import Gateway, Pegboard, board, peer, serving

BOARD = {"servers": {"everyday": peer("everyday", trust="open")}, "code": {"listed": True}}
TOLD = "A program cannot run another one: write both as one program."


@pytest.fixture
def through(home: Path, gateway: Gateway) -> Iterator[Gateway]:
    """Another gateway, whose only server is the first one, by another name of this machine."""
    address = gateway.url.replace("127.0.0.1", "localhost")
    servers = {"back": {"url": f"{address}/mcp/code", "trust": "open"}}
    file = board(home / "through.yaml", servers)
    with serving(home, file, home / "through") as second:
        yield second


@pytest.mark.behaviour("programs.comes_back", "programs.runs_no_other")
def test_a_program_runs_no_other_through_a_server_that_is_its_gateway(
    at_gateway: Pegboard, gateway: Gateway, through: Gateway
) -> None:
    roads = {
        "loop": (f"{gateway.url}/mcp/code", (), "await loop.python_execution(code='1 + 1')"),
        "old": (f"{gateway.url}/mcp/code", ("--protocol", "handshake"), "await old.python_execution(code='1 + 1')"),
        "meta": (
            f"{gateway.url}/mcp/search",
            (),
            "await meta.call_tool(name='python_execution', arguments={'code': '1 + 1'})",
        ),
        "other": (f"{through.url}/mcp/code", (), "await other.python_execution(code='1 + 1')"),
        "far": (f"{through.url}/mcp", (), "await far.back__python_execution(code='1 + 1')"),
    }
    for name, (url, more, code) in roads.items():
        added = at_gateway("servers", "add", name, "--url", url, "--trust", "open", *more)
        assert (added.code, "is up" in added.out) == (0, True), added
        done = at_gateway("run", "--json", "-", stdin=code)
        error = json.loads(done.out)["result"]["structuredContent"]["error"]
        assert (done.code, TOLD in error["message"]) == (1, True), (name, error)
        assert at_gateway("servers", "remove", name).code == 0


@pytest.mark.behaviour("programs.comes_back")
def test_a_call_that_is_no_programs_runs_one_through_a_server_that_is_its_gateway(
    at_gateway: Pegboard, gateway: Gateway
) -> None:
    assert at_gateway("servers", "add", "loop", "--url", f"{gateway.url}/mcp/code", "--trust", "open").code == 0
    done = at_gateway("tools", "call", "mcp:loop~loop:python_execution", '{"code": "1 + 1"}')
    assert (done.code, json.loads(done.out)["result"]) == (0, 2)
    assert at_gateway("servers", "remove", "loop").code == 0
