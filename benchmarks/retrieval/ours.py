"""Pegboard's own search over a set: its tools hang on a real board, and each request is asked of its finder."""

import re
import time
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.boards import THEN, WRITTEN
from benchmarks.retrieval.scoring import BEST, Answer
from benchmarks.retrieval.sets import SetTool
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.catalogue import Listing, ProviderUp
from pegboard.core.model.ids import RESERVED_TOOLSETS, ProviderKey, ServerId, ServerKey, ToolId, ToolsetId, WireName
from pegboard.core.model.selection import View
from pegboard.core.model.server import Http, Server, Trust
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings, Policy
from pegboard.core.presentations.retrieval import MAX_QUERY_CHARS, ToolSearchQuery
from pegboard.gateway.board import BoardState
from pegboard.gateway.search import ToolSearch

_UNNAMED: Final = "unnamed"
_NO_ID: Final = re.compile(r"[^a-z0-9]+")
_WARMING: Final = ("list the files", "send mail", "find what is near")


class Hung:
    """A set's tools on a board of their own, each on the server that the set says."""

    def __init__(self, tools: Sequence[SetTool]) -> None:
        self.board = BoardState()
        self._ids: dict[ToolId, str] = {}
        listed: dict[ServerKey, list[Tool]] = {}
        for tool, key in _placed(tools):
            id = ToolId(key, tool.name)
            schema: JsonObject = {**_json(tool.input_schema)}
            spec = ToolSpec(tool.name, description=tool.description, input_schema=schema or {"type": "object"})
            listed.setdefault(key, []).append(Tool(id, spec))
            self._ids[id] = tool.id
        servers: dict[ProviderKey, Server] = {
            key: Server(key, Http("http://127.0.0.1:1/mcp"), WRITTEN, trust=Trust.OPEN) for key in listed
        }
        toolsets = {key.toolset: Toolset(key.toolset, WRITTEN) for key in listed}
        self.board.set_policy(Policy(DeclaredSettings(servers=servers, toolsets=toolsets)))
        for key, theirs in listed.items():
            self.board.publish(Listing(key, ProviderUp(THEN), tuple(theirs)))

    def id(self, name: str) -> str:
        """The set's own id of what an answer calls so."""
        return self._ids[self.board.resolution(View()).by_name[WireName(name)]]


async def answers(hung: Hung, finder: ToolSearch, queries: Sequence[str], ranker: str = "lexical") -> list[Answer]:
    """To each query in turn. The CPU time is that of the whole process, so it holds what other threads did for it."""

    async def found(query: str) -> list[str]:
        answer = await finder.retrieve(ToolSearchQuery(query[:MAX_QUERY_CHARS], BEST), View())
        if answer["ranker"] != ranker:
            raise RuntimeError(f"{query!r} was answered by the {answer['ranker']} ranker, not by the {ranker} one.")
        tools = answer["tools"]
        assert isinstance(tools, list)
        return [str(entry["name"]) for entry in tools if isinstance(entry, dict)]

    for query in _WARMING:
        await found(query)
    told = []
    for query in queries:
        started = time.process_time_ns()
        names = await found(query)
        spent = time.process_time_ns() - started
        told.append(Answer(tuple(map(hung.id, names)), spent / 1e6))
    return told


def _placed(tools: Sequence[SetTool]) -> Iterator[tuple[SetTool, ServerKey]]:
    """Each with its server. A server lists a name once, so what has the same name again is another server's."""
    keys: dict[tuple[str, int], ServerKey] = {}
    taken: set[str] = set()
    times: dict[tuple[str, str], int] = {}
    for tool in tools:
        again = times.get((tool.server, tool.name), 0)
        times[tool.server, tool.name] = again + 1
        if (tool.server, again) not in keys:
            id = _free(_slug(tool.server), taken)
            keys[tool.server, again] = ServerKey(ToolsetId(id), ServerId(id))
        yield tool, keys[tool.server, again]


def _slug(name: str) -> str:
    """An id that reads as the name does, as far as ids can."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return _NO_ID.sub("-", plain.lower()).strip("-")[:56].strip("-") or _UNNAMED


def _free(wanted: str, taken: set[str]) -> str:
    id, number = wanted, 1
    while id in taken or id in RESERVED_TOOLSETS:
        number += 1
        id = f"{wanted}-{number}"
    taken.add(id)
    return id


def _json(schema: object) -> dict[str, Json]:
    """It came from JSON."""
    assert isinstance(schema, dict)
    return schema
