"""What is measured: the floor, Pegboard and the peers, each as the command that starts it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import yaml

from benchmarks.gateway.peers.environment import FASTMCP, Ready, Unavailable, fastmcp_environment
from benchmarks.gateway.target import ROOT, HttpUpstream, StdioUpstream, Target, Upstream, arguments_of

FLOOR = "floor"
PEGBOARD = "pegboard"
FASTMCP_PROXY = "fastmcp"
FASTMCP_SHARED = "fastmcp-shared"

Command = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contender:
    """A gateway that can be put in front of the upstream. `command` may use the folder for its own files."""

    key: str
    title: str
    command: Callable[[Target, Path], Command | Unavailable]


def floor_command(target: Target, folder: Path) -> Command:
    return (sys.executable, "-m", "benchmarks.gateway.floor", *arguments_of(target))


def sdk_command(target: Target, folder: Path) -> Command:
    return (sys.executable, "-m", "benchmarks.gateway.peers.sdk", *arguments_of(target))


def fastmcp_command(target: Target, folder: Path) -> Command | Unavailable:
    return _in_fastmcp_environment(*arguments_of(target))


def shared_fastmcp_command(target: Target, folder: Path) -> Command | Unavailable:
    return _in_fastmcp_environment("--shared", *arguments_of(target))


def pegboard_command(target: Target, folder: Path) -> Command:
    config = folder / "pegboard.yaml"
    config.write_text(pegboard_config(target.upstream))
    where = ("--host", "127.0.0.1", "--port", str(target.port), "--data-dir", str(folder / "pegboard"))
    return (sys.executable, "-m", "pegboard", "serve", "--config", str(config), *where)


def pegboard_config(upstream: Upstream) -> str:
    """A board with the upstream as its only server, trusted openly, as a user would write it."""
    match upstream:
        case HttpUpstream(url):
            server: dict[str, object] = {"url": url, "transport": "http"}
        case StdioUpstream(program, arguments):
            server = {"command": program, "args": list(arguments), "cwd": str(ROOT)}
    return yaml.safe_dump({"servers": {"u0": {**server, "trust": "open"}}}, sort_keys=False)


CONTENDERS = (
    Contender(FLOOR, "floor: bare ASGI, raw pool, msgspec", floor_command),
    Contender(PEGBOARD, "Pegboard", pegboard_command),
    Contender("sdk", f"mcp {version('mcp')} server + open client", sdk_command),
    Contender(FASTMCP_SHARED, f"FastMCP {FASTMCP}, one shared client", shared_fastmcp_command),
    Contender(FASTMCP_PROXY, f"FastMCP {FASTMCP} create_proxy", fastmcp_command),
)


def _in_fastmcp_environment(*arguments: str) -> Command | Unavailable:
    match fastmcp_environment():
        case Ready(python):
            return (str(python), "-m", "benchmarks.gateway.peers.fastmcp_proxy", *arguments)
        case Unavailable() as unavailable:
            return unavailable
