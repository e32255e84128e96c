"""FastMCP's search, asked in a process of its own."""

import json
import subprocess
from dataclasses import asdict
from typing import Final

from benchmarks.gateway.peers.environment import Ready, Unavailable, fastmcp_environment
from benchmarks.gateway.target import ROOT
from benchmarks.retrieval.scoring import BEST, Answer
from benchmarks.retrieval.sets import ToolSet

SECONDS: Final = 1_800


def peer_answers(one: ToolSet) -> list[Answer] | Unavailable:
    environment = fastmcp_environment()
    if isinstance(environment, Unavailable):
        return environment
    return _asked(environment, one)


def _asked(environment: Ready, one: ToolSet) -> list[Answer] | Unavailable:
    given = {
        "tools": [asdict(tool) for tool in one.tools],
        "queries": [request.query for request in one.requests],
        "best": BEST,
    }
    command = [str(environment.python), "-m", "benchmarks.retrieval.fastmcp_search"]
    try:
        done = subprocess.run(
            command, input=json.dumps(given).encode(), capture_output=True, cwd=ROOT, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Unavailable(f"it had not answered after {SECONDS} s")
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {done.returncode}"]
        return Unavailable(f"it failed: {lines[-1]}")
    return [Answer(tuple(each["found"]), each["milliseconds"]) for each in json.loads(done.stdout)]
