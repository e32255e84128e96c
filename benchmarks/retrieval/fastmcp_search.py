"""FastMCP's BM25 search over a set: `python -m benchmarks.retrieval.fastmcp_search`, a set in, rankings out, as JSON.

Runs in an environment of its own (see `benchmarks.gateway.peers.environment`), so of this benchmark it imports nothing.
A tool is called as it is when its server is mounted: `server_name`.
"""

import asyncio
import json
import sys
import time
from typing import Any

from fastmcp.server.transforms.search import BM25SearchTransform  # type: ignore[import-not-found]  # installed on demand, in an environment of its own
from fastmcp.tools.base import Tool  # type: ignore[import-not-found]  # the same

WARMING = 3


def mounted(tools: list[dict[str, Any]]) -> dict[str, tuple[str, Any]]:
    """The tools by name, each with its id in the set. A name that is taken gets a number, or its tool would be lost."""
    named: dict[str, tuple[str, Any]] = {}
    for tool in tools:
        whole = f"{tool['server']}_{tool['name']}" if tool["server"] else tool["name"]
        name, number = whole, 1
        while name in named:
            number += 1
            name = f"{whole}_{number}"
        parameters = tool["input_schema"] or {"type": "object", "properties": {}}
        if not isinstance(parameters.get("properties", {}), dict):
            parameters = {"type": "object", "properties": {}}
        named[name] = tool["id"], Tool(name=name, description=tool["description"], parameters=parameters)
    return named


async def answers(given: dict[str, Any]) -> list[dict[str, Any]]:
    named = mounted(given["tools"])
    tools, transform = [tool for _, tool in named.values()], BM25SearchTransform(max_results=given["best"])
    for query in given["queries"][:WARMING]:
        await transform._search(tools, query)
    told = []
    for query in given["queries"]:
        started = time.process_time_ns()
        found = await transform._search(tools, query)
        spent = time.process_time_ns() - started
        told.append({"found": [named[tool.name][0] for tool in found], "milliseconds": spent / 1e6})
    return told


def main() -> None:
    given = json.loads(sys.stdin.buffer.read())
    sys.stdout.write(json.dumps(asyncio.run(answers(given))))


if __name__ == "__main__":
    main()
