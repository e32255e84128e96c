"""What the server itself means to read for a statement: its plan, held against what the statement was admitted to
read."""

import json
from collections.abc import Iterator
from typing import Any

from .found import SYSTEM
from .relations import Reach


async def beyond(connection: Any, text: str, arguments: list[object], reach: Reach) -> bool:
    """Whether it would read something else. Nothing is run: the question is for the plan alone."""
    question = await connection.prepare(f"EXPLAIN (FORMAT JSON, VERBOSE, COSTS OFF) {text}", name="")
    told = await question.fetchval(*arguments)
    for schema, name in scanned(json.loads(told)):
        if schema in SYSTEM and reach.catalogue:
            continue
        if (schema, name) not in reach.relations:
            return True
    return False


def scanned(plan: Any) -> Iterator[tuple[str, str]]:
    """Schema and name of each table in a plan."""
    ahead = [plan]
    while ahead:
        node = ahead.pop()
        if isinstance(node, list):
            ahead += node
        elif isinstance(node, dict):
            if "Relation Name" in node:
                yield node.get("Schema", ""), node["Relation Name"]
            ahead += [value for value in node.values() if isinstance(value, list | dict)]
