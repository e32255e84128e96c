"""What a search costs on boards of many thousand tools: the product's own finder over a real board, query by query.

Every board is measured in a process of its own, so that its memory is its own.
"""

import gc
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import groupby
from multiprocessing import get_context
from random import Random
from statistics import median
from typing import Final

import anyio
import psutil

from benchmarks import table
from benchmarks.boards import THEN, WRITTEN
from benchmarks.described import tools_of
from benchmarks.fulltext import Fts5, has_fts5
from benchmarks.sample import ratio
from pegboard.core.model.catalogue import Listing, ProviderUp, build_catalogue
from pegboard.core.model.ids import ProviderKey, ServerKey
from pegboard.core.model.selection import View
from pegboard.core.model.server import Http, Server, Trust
from pegboard.core.model.tool import Tool
from pegboard.core.model.toolset import Toolset
from pegboard.core.policy.policy import DeclaredSettings, Policy
from pegboard.core.presentations.retrieval import ToolSearchQuery
from pegboard.gateway.board import BoardState
from pegboard.gateway.search import ToolSearch

QUERIES: Final = 300
PEER_QUERIES: Final = 30
GOALS: Final = {10_000: (3.0, 8.0), 100_000: (10.0, 30.0)}
"""Milliseconds of CPU, p50 and p99, that a query may take."""


@dataclass(frozen=True, slots=True)
class Large:
    tools: int
    build_seconds: float
    """CPU of the first search, which takes every tool apart."""
    build_megabytes: float
    """What the process holds more after it."""
    change_milliseconds: float
    """CPU of the first search after one server of twenty tools has listed anew."""
    p50: float
    p99: float
    peer_p50: float | None
    """Of FTS5 on the same queries; nothing where SQLite has none."""

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "goal_p50_p99": GOALS.get(self.tools), "times_peer": ratio(self.p50, self.peer_p50)}


def measured(size: int) -> Large:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        return processes.submit(_measured, size).result()


def board_with(tools: Sequence[Tool]) -> BoardState:
    """Every server is trusted openly, and lists its own."""
    by_source = groupby(tools, lambda one: one.id.source)
    listings = [Listing(source, ProviderUp(THEN), tuple(theirs)) for source, theirs in by_source]
    keys = [listing.source for listing in listings if isinstance(listing.source, ServerKey)]
    servers: dict[ProviderKey, Server] = {
        key: Server(key, Http("http://127.0.0.1:1/mcp"), WRITTEN, trust=Trust.OPEN) for key in keys
    }
    toolsets = {key.toolset: Toolset(key.toolset, WRITTEN) for key in keys}
    return BoardState(Policy(DeclaredSettings(servers=servers, toolsets=toolsets)), build_catalogue(listings))


def queries_about(tools: Sequence[Tool], count: int) -> list[str]:
    """Some words of a tool's own description and its title: long requests, of words that thousands of tools have."""
    random, asked = Random(1), []
    for _ in range(count):
        spec = random.choice(tools).spec
        words = spec.description.split()
        asked.append(f"{' '.join(random.sample(words, min(len(words), random.randint(3, 12))))} {spec.title}")
    return asked


def _measured(size: int) -> Large:
    tools = tools_of(size)
    board = board_with(tools)
    board.resolution(View())
    finder, asked = ToolSearch(board), queries_about(tools, QUERIES)

    def milliseconds(query: str) -> float:
        started = time.process_time_ns()
        anyio.run(finder.retrieve, ToolSearchQuery(query), View())
        return (time.process_time_ns() - started) / 1e6

    async def each() -> list[float]:
        spent = []
        for query in asked:
            started = time.process_time_ns()
            await finder.retrieve(ToolSearchQuery(query), View())
            spent.append((time.process_time_ns() - started) / 1e6)
        return spent

    gc.collect()
    before = _resident()
    build = milliseconds("warm up")
    gc.collect()
    held = _resident() - before
    spent = sorted(anyio.run(each))
    changed = board.catalogue.listings[tools[0].id.source]
    board.publish(Listing(changed.source, changed.health, changed.tools[1:]))
    board.resolution(View())
    change = milliseconds("warm up")
    return Large(
        size, build / 1e3, held / 1e6, change, median(spent), spent[int(0.99 * len(spent))], _peer(tools, asked)
    )


def _peer(tools: Sequence[Tool], asked: Sequence[str]) -> float | None:
    if not has_fts5():
        return None
    peer, spent = Fts5(tools), []
    for query in asked[:PEER_QUERIES]:
        started = time.process_time_ns()
        peer.best(query)
        spent.append((time.process_time_ns() - started) / 1e6)
    return median(spent)


def _resident() -> int:
    held: int = psutil.Process().memory_info().rss
    return held


def as_text(rows: Sequence[Large]) -> str:
    headings = ("a board of", "build CPU s", "MB", "change ms", "p50 ms", "p99 ms", "goal", "FTS5 p50", "of FTS5")
    cells = []
    for each in rows:
        goal = GOALS.get(each.tools)
        cells.append(
            (
                f"{each.tools:,} tools",
                table.number(each.build_seconds, 1),
                table.number(each.build_megabytes),
                table.number(each.change_milliseconds),
                table.number(each.p50, 2),
                table.number(each.p99, 2),
                table.ABSENT if goal is None else f"{goal[0]:g}/{goal[1]:g}",
                table.number(each.peer_p50, 2),
                table.times(ratio(each.p50, each.peer_p50)),
            )
        )
    return table.render(headings, cells)
