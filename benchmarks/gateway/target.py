"""How a gateway program of this benchmark is told where to listen and what is behind it. Standard library only,
because a peer reads it with the interpreter of its own environment."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class HttpUpstream:
    """The server over streamable HTTP, already running."""

    url: str


@dataclass(frozen=True, slots=True)
class StdioUpstream:
    """The server over stdio, started by each gateway as its own child in the folder of the repository."""

    program: str
    arguments: tuple[str, ...]


Upstream = HttpUpstream | StdioUpstream


@dataclass(frozen=True, slots=True)
class Target:
    """One gateway's job: listen on `port` at /mcp and forward to an upstream that has this many tools."""

    port: int
    tools: int
    upstream: Upstream

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


def arguments_of(target: Target) -> list[str]:
    """The command line that `target_of` reads back."""
    common = ["--port", str(target.port), "--tools", str(target.tools)]
    match target.upstream:
        case HttpUpstream(url):
            return [*common, "--url", url]
        case StdioUpstream(program, arguments):
            return [*common, "--", program, *arguments]


def target_of(arguments: Sequence[str] | None = None) -> Target:
    """The target on a gateway program's command line."""
    parser = argparse.ArgumentParser(description="A gateway in front of one MCP server, for the gateway benchmark.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tools", type=int, required=True)
    parser.add_argument("--url", help="the upstream over HTTP")
    parser.add_argument("command", nargs="*", help="the upstream over stdio, after --")
    chosen = parser.parse_args(arguments)
    if (chosen.url is None) == (not chosen.command):
        parser.error("name one upstream: --url URL, or a command after --")
    if chosen.url is not None:
        return Target(chosen.port, chosen.tools, HttpUpstream(chosen.url))
    program, *rest = chosen.command
    return Target(chosen.port, chosen.tools, StdioUpstream(program, tuple(rest)))
