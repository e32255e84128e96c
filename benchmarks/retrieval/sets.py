"""Sets of tools and requests, read from folders. Whatever is odd in one is told of, and the rest is measured."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

TOOLS: Final = "tools.jsonl"
QUERIES: Final = "queries.jsonl"
_MOST_NOTES: Final = 20
"""Of one kind of file: whoever gives a wrong file altogether need not read of each line."""


@dataclass(frozen=True, slots=True)
class SetTool:
    id: str
    server: str
    """Empty where the set does not say."""
    name: str
    description: str
    input_schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Request:
    query: str
    relevant: frozenset[str]
    """The ids of the tools that should be found; each is one of the set's."""


@dataclass(frozen=True, slots=True)
class ToolSet:
    name: str
    tools: tuple[SetTool, ...]
    requests: tuple[Request, ...]
    notes: tuple[str, ...]
    """What is odd in it."""


@dataclass
class _Notes:
    """What is odd, told by file and line, up to a number."""

    told: list[str] = field(default_factory=list[str])
    more: int = 0

    def add(self, where: str, what: str) -> None:
        if len(self.told) < _MOST_NOTES:
            self.told.append(f"{where}: {what}")
        else:
            self.more += 1

    def all(self) -> tuple[str, ...]:
        return (*self.told, *([f"and {self.more} more"] if self.more else []))


def sets_in(folder: Path) -> list[ToolSet]:
    """The set that the folder is, or those in it, by name."""
    if any((folder / name).is_file() for name in (TOOLS, QUERIES)):
        return [read_set(folder)]
    inner = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    return [read_set(path) for path in inner if any((path / name).is_file() for name in (TOOLS, QUERIES))]


def read_set(folder: Path) -> ToolSet:
    notes = _Notes()
    tools: dict[str, SetTool] = {}
    for where, line in _objects(folder / TOOLS, notes):
        tool = _tool(line)
        if tool is None:
            notes.add(where, "this tool has neither an id nor a name, and is left out")
        elif tool.id in tools:
            notes.add(where, f"the id {tool.id!r} is there twice, and the first one counts")
        else:
            tools[tool.id] = tool
    requests = []
    for where, line in _objects(folder / QUERIES, notes):
        request = _request(line, tools)
        if isinstance(request, str):
            notes.add(where, request)
        else:
            if missing := [id for id in _ids(line.get("relevant")) if id not in tools]:
                notes.add(where, f"no tool has the id {missing[0]!r}, so nobody is asked to find it")
            requests.append(request)
    return ToolSet(folder.name, tuple(tools.values()), tuple(requests), notes.all())


def _objects(file: Path, notes: _Notes) -> Iterator[tuple[str, dict[str, object]]]:
    """Each line that holds an object, with where it stands."""
    try:
        # Lines end at line feeds alone: within JSON text, other characters that end lines are plain letters.
        lines = file.read_text("utf-8", errors="replace").removeprefix("\ufeff").split("\n")
    except OSError as problem:
        notes.add(file.name, f"cannot be read ({problem.strerror})")
        return
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        where = f"{file.name}:{number}"
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            notes.add(where, "this is no JSON, and is left out")
            continue
        if isinstance(value, dict):
            yield where, value
        else:
            notes.add(where, "this is no object, and is left out")


def _tool(line: Mapping[str, object]) -> SetTool | None:
    server, schema = _text(line.get("server")), line.get("input_schema")
    name = _text(line.get("name")) or _text(line.get("id"))
    id = _text(line.get("id")) or (f"{server}/{name}" if server else name)
    if not name:
        return None
    return SetTool(id, server, name, _text(line.get("description")), schema if isinstance(schema, dict) else {})


def _request(line: Mapping[str, object], tools: Mapping[str, SetTool]) -> Request | str:
    """Or why nobody can be asked."""
    query = line.get("query")
    if not isinstance(query, str) or not query.strip():
        return "this request has no query, and is left out"
    relevant = frozenset(id for id in _ids(line.get("relevant")) if id in tools)
    return Request(query, relevant) if relevant else "none of the tools that this request asks for is there: left out"


def _ids(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [id for id in map(_text, values) if id]


def _text(value: object) -> str:
    """A number that was meant as a name is one. Halves of characters, which no UTF-8 can carry, are replaced."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
