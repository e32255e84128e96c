"""What is measured: the floor, Pegboard and the peers, each as the command that starts it."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.gateway.boards import NARROWING, SIGNED_IN, write_board
from benchmarks.gateway.peers import nginx
from benchmarks.gateway.peers.environment import (
    FASTMCP,
    MCP_PROXY,
    Ready,
    Unavailable,
    fastmcp_environment,
    mcp_proxy_environment,
)
from benchmarks.gateway.target import HttpUpstream, StdioUpstream, Target, arguments_of
from benchmarks.gateway.wire import Era

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
    eras: tuple[Era, ...] = tuple(Era)
    headers: tuple[tuple[str, str], ...] = ()
    beside: str = ""
    """The key of the contender whose process this row asks too, in its own way; empty for a process of its own."""


def floor_command(target: Target, folder: Path) -> Command:
    return (sys.executable, "-m", "benchmarks.gateway.floor", *arguments_of(target))


def nginx_command(target: Target, folder: Path) -> Command | Unavailable:
    if not isinstance(target.upstream, HttpUpstream):
        return Unavailable("it forwards HTTP only")
    # Debian keeps it where only an administrator's shell looks.
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        return Unavailable("nginx is not installed here")
    config = folder / "nginx.conf"
    config.write_text(nginx.config(target.port, target.upstream.url, folder))
    return (program, "-p", str(folder), "-c", str(config), "-e", str(folder / "errors"))


def mcp_proxy_command(target: Target, folder: Path) -> Command | Unavailable:
    if not isinstance(target.upstream, StdioUpstream):
        return Unavailable("it serves stdio servers only")
    match mcp_proxy_environment():
        case Ready(python):
            where = ("--host", "127.0.0.1", "--port", str(target.port), "--log-level", "ERROR")
            child = (target.upstream.program, *target.upstream.arguments)
            return (str(python), "-m", "mcp_proxy", *where, "--", *child)
        case Unavailable() as unavailable:
            return unavailable


def sdk_command(target: Target, folder: Path) -> Command:
    return (sys.executable, "-m", "benchmarks.gateway.peers.sdk", *arguments_of(target))


def fastmcp_command(target: Target, folder: Path) -> Command | Unavailable:
    return _in_fastmcp_environment(*arguments_of(target))


def shared_fastmcp_command(target: Target, folder: Path) -> Command | Unavailable:
    return _in_fastmcp_environment("--shared", *arguments_of(target))


def pegboard_command(target: Target, folder: Path) -> Command:
    return pegboard(write_board(folder, {"u0": target.upstream}), target.port, folder)


def pegboard(config: Path, port: int, folder: Path) -> Command:
    """`pegboard serve` with this board and a data directory of its own in the folder."""
    where = ("--host", "127.0.0.1", "--port", str(port), "--data-dir", str(folder / "pegboard"))
    return (sys.executable, "-m", "pegboard", "serve", "--config", str(config), *where)


CONTENDERS = (
    Contender(FLOOR, "floor: bare ASGI, raw pool, msgspec", floor_command),
    Contender("nginx", "nginx, no rewriting", nginx_command),
    Contender(PEGBOARD, "Pegboard, everything on", pegboard_command, headers=SIGNED_IN),
    Contender(
        "pegboard-narrowed",
        "Pegboard, narrowed by headers",
        pegboard_command,
        headers=(*SIGNED_IN, *NARROWING),
        beside=PEGBOARD,
    ),
    Contender("mcp-proxy", f"mcp-proxy {MCP_PROXY}", mcp_proxy_command, eras=(Era.SESSION,)),
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
