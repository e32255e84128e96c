"""The board that Pegboard is measured with: everything on that an operator can switch on, and no tool locked by it."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import yaml

from benchmarks.gateway.target import ROOT, HttpUpstream, StdioUpstream, Upstream

DENIALS = 50
PRINCIPALS = 20
TOKEN = "of-no-use-outside-this-benchmark"
SIGNED_IN = (("authorization", f"Bearer {TOKEN}"),)
NARROWING = (("x-mcp-toolsets", "u0"),)
"""A caller's own narrowing that leaves every tool of the one server in: the same answers, by the longer way."""


def write_board(folder: Path, upstreams: Mapping[str, Upstream]) -> Path:
    """The board as a file in that folder."""
    config = folder / "pegboard.yaml"
    config.write_text(board(upstreams))
    return config


def board(upstreams: Mapping[str, Upstream]) -> str:
    """These servers, trusted openly, as a user would write it, with patterns that each must be held against a tool."""
    # Half of them name the tools' own beginnings, so that a pattern is not put aside by its first letter.
    denials = [f"*:lookup_*_{number}" if number % 2 else f"*:*forbidden_{number}*" for number in range(DENIALS)]
    servers = {name: {**_server(upstream), "trust": "open"} for name, upstream in upstreams.items()}
    principals = {f"caller{number}": {"token_sha256": _hash(f"{TOKEN}-{number}")} for number in range(1, PRINCIPALS)}
    principals["benchmark"] = {"token_sha256": _hash(TOKEN)}
    return yaml.safe_dump({"servers": servers, "deny": denials, "principals": principals}, sort_keys=False)


def _hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def _server(upstream: Upstream) -> dict[str, object]:
    match upstream:
        case HttpUpstream(url):
            return {"url": url, "transport": "http"}
        case StdioUpstream(program, arguments):
            return {"command": program, "args": list(arguments), "cwd": str(ROOT)}
