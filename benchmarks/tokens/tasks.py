"""Tasks: what a user wants, and which tools of a board it takes. From a folder, or made the same way each time."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.described import tools_of
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.presentations.retrieval import MAX_QUERY_CHARS

TOOLS: Final = "tools.jsonl"
QUERIES: Final = "queries.jsonl"
_ILLEGAL: Final = re.compile(r"[^a-z0-9_-]+")


class BadTasksError(Exception):
    """The folder holds no tasks; the message says what is wrong with which line."""


@dataclass(frozen=True, slots=True)
class Task:
    query: str
    needs: frozenset[ToolId]


@dataclass(frozen=True)
class Tasks:
    name: str
    tools: tuple[Tool, ...]
    tasks: tuple[Task, ...]


def made(count: int, tasks: int) -> Tasks:
    """Each about one tool, in words of its description."""
    tools, random = tools_of(count), Random(1)
    chosen = (random.choice(tools) for _ in range(tasks))
    wanted = tuple(Task(tool.spec.description.partition(".")[0], frozenset({tool.id})) for tool in chosen)
    return Tasks("made", tools, wanted)


def read(folder: Path) -> Tasks:
    """Of a folder with tools.jsonl ({id, server, name, description, input_schema?}) and queries.jsonl ({query,
    relevant}).

    Raises `BadTasksError`.
    """
    known: dict[str, Tool] = {}
    keys: dict[str, ServerKey] = {}
    for place, line in _lines(folder / TOOLS):
        name, server = _text(line, "name", place), _text(line, "server", place)
        key = keys.setdefault(server, _key(server, len(keys)))
        schema = line.get("input_schema") or {"type": "object"}
        spec = ToolSpec(name, description=line.get("description") or "", input_schema=schema)
        known[_text(line, "id", place)] = Tool(ToolId(key, name), spec)
    tasks: list[Task] = []
    for place, line in _lines(folder / QUERIES):
        relevant = line.get("relevant")
        if not isinstance(relevant, list) or not relevant or not all(id in known for id in relevant):
            raise BadTasksError(f"{place}: relevant must name tools of {TOOLS} by their ids, at least one.")
        needs = frozenset(known[id].id for id in relevant)
        tasks.append(Task(_text(line, "query", place)[:MAX_QUERY_CHARS], needs))
    if not tasks:
        raise BadTasksError(f"{folder / QUERIES} is empty: there is nothing to measure.")
    return Tasks(folder.name, tuple({tool.id: tool for tool in known.values()}.values()), tuple(tasks))


def _key(server: str, number: int) -> ServerKey:
    """A legal id from whatever its authors call it; the number keeps two apart."""
    legal = _ILLEGAL.sub("-", server.lower()).strip("-_")[:40] or "server"
    return ServerKey(ToolsetId(f"{legal}-{number}"), ServerId(f"{legal}-{number}"))


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise BadTasksError(f"{path} cannot be read: {error}. Give a folder with {TOOLS} and {QUERIES}.") from error
    for number, line in enumerate(text.splitlines(), 1):
        try:
            value = json.loads(line)
        except ValueError as error:
            raise BadTasksError(f"{path}:{number}: this is not JSON: {error}.") from error
        if not isinstance(value, dict):
            raise BadTasksError(f"{path}:{number}: this is not a JSON object.")
        yield f"{path}:{number}", value


def _text(line: dict[str, Any], name: str, place: str) -> str:
    value = line.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadTasksError(f"{place}: {name} must be a text.")
    return value
