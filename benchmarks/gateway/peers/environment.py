"""The environment of a peer that Pegboard does not depend on: made once, kept under .cache, out of git's sight."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from benchmarks.gateway.target import ROOT

FASTMCP = "4.1.2"
MCP_PROXY = "0.13.0"
CACHE = ROOT / ".cache" / "bench-peers"
INSTALL_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Ready:
    """The interpreter that can import the peer."""

    python: Path


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why the peer cannot be measured here."""

    reason: str


@cache
def fastmcp_environment() -> Ready | Unavailable:
    """FastMCP with the same event loop and HTTP parser that the others have; a failure is not tried twice in a run."""
    return _equipped("fastmcp", FASTMCP)


@cache
def mcp_proxy_environment() -> Ready | Unavailable:
    """mcp-proxy, which needs an older release of the SDK than ours."""
    return _equipped("mcp-proxy", MCP_PROXY)


def _equipped(name: str, release: str) -> Ready | Unavailable:
    # Without uvloop and httptools its row would show what asyncio and h11 cost, not what the peer costs.
    requirements = (f"{name}=={release}", *(f"{one}=={version(one)}" for one in ("uvloop", "httptools")))
    return installed(requirements, CACHE / f"{name}-{release}-py{sys.version_info.major}.{sys.version_info.minor}")


def installed(requirements: tuple[str, ...], folder: Path) -> Ready | Unavailable:
    """An environment in that folder with these requirements: the one made before, or a new one."""
    python = folder / "bin" / "python"
    complete = folder / ".complete"
    if complete.is_file() and complete.read_text() == "\n".join(requirements):
        return Ready(python)
    print(f"installing {requirements[0]} into {folder} (once, about a minute) …", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    for step in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet", *requirements],
    ):
        if problem := _failure(step):
            shutil.rmtree(folder, ignore_errors=True)
            return Unavailable(f"{requirements[0]} could not be installed: {problem}")
    complete.write_text("\n".join(requirements))
    return Ready(python)


def _failure(step: list[str]) -> str | None:
    try:
        done = subprocess.run(step, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"{' '.join(step[1:4])} took longer than {INSTALL_SECONDS} s"
    except OSError as problem:
        return str(problem)
    if done.returncode == 0:
        return None
    complaints = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")] or done.stderr.splitlines()
    return complaints[-1].removeprefix("ERROR:").strip() if complaints else f"exit status {done.returncode}"
