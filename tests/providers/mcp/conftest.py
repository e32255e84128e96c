"""The good server over each transport and in each era, for the suite that every provider passes."""

import subprocess
from collections.abc import Iterator

import pytest
from tests.providers.mcp.running import Peer, program
from tests.servers.peers import warm_command

from pegboard.core.model.server import Http, Transport
from pegboard.providers.mcp import lifecycle as connect


def _everyday(transport: str) -> Iterator[str]:
    process = subprocess.Popen(warm_command("everyday", f"--{transport}", "0"), stderr=subprocess.PIPE)
    with process:
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if line.startswith(b"PORT "))
            path = "mcp" if transport == "http" else "sse"
            yield f"http://127.0.0.1:{int(line.split()[1])}/{path}"
        finally:
            process.kill()


@pytest.fixture(scope="session")
def http_address() -> Iterator[str]:
    yield from _everyday("http")


@pytest.fixture(scope="session")
def sse_address() -> Iterator[str]:
    yield from _everyday("sse")


WAYS = (
    "stdio 2026-07-28",
    "stdio 2025-11-25",
    "http 2026-07-28",
    "http 2025-11-25",
    "sse 2026-07-28",
    "sse 2025-11-25",
)
AT_HOME = ("stdio 2026-07-28", "http 2026-07-28", "http 2025-11-25", "sse 2025-11-25")


@pytest.fixture(params=WAYS)
def peer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Peer:
    """Each transport in each era."""
    return _peer(request, monkeypatch)


@pytest.fixture(params=AT_HOME)
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Peer:
    """Each transport in the era it is at home in, for what does not depend on the era."""
    return _peer(request, monkeypatch)


def _peer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Peer:
    transport, _, era = request.param.partition(" ")
    if era == "2025-11-25":
        # The peer knows both eras: not asking for the new one is how it comes to speak the old one.
        monkeypatch.setattr(connect, "_PROBE_TIMEOUT_S", 0.0)
    if transport == "stdio":
        return Peer(program("everyday"), era)
    address = request.getfixturevalue(f"{transport}_address")
    return Peer(Http(address, Transport(transport), {"X-Peg": "board"}), era)
