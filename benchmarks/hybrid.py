"""What a search by words and meaning costs on boards of many thousand tools: queries are read by the product's own
model. The tools' vectors are drawn by lot, because what a query costs is the same for any, and to read 100,000 tools
takes ten minutes; `benchmarks.retrieval --semantic` reads every one of its tools."""

import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Final

import anyio
import anyio.lowlevel
import numpy as np

from benchmarks import table
from benchmarks.described import tools_of
from benchmarks.large import board_with, queries_about
from benchmarks.retrieval.meaning import all_read
from pegboard.core.model.selection import View
from pegboard.core.presentations.retrieval import ToolSearchQuery
from pegboard.gateway.embeddings import EmbeddingIndex
from pegboard.gateway.search import ToolSearch
from pegboard.ports.models import Digest
from pegboard.providers.embedding.convert import WIDTH
from pegboard.providers.embedding.minilm import MiniLmEncoder, model_folder
from pegboard.search.semantic import pack_vector

QUERIES: Final = 200
GOALS: Final = {10_000: (30.0, 60.0), 100_000: (50.0, 100.0)}
"""Milliseconds of CPU, p50 and p99, that a query may take."""


class _Drawn:
    """A vector for every tool, always the same one."""

    async def load(self, digests: Collection[Digest], now: datetime) -> Mapping[Digest, bytes]:
        await anyio.lowlevel.checkpoint()
        return {digest: _vector(digest) for digest in digests}

    async def save(self, vectors: Mapping[Digest, bytes], now: datetime) -> None:
        raise AssertionError("Every vector is there.")

    async def delete_unused(self, unused_since: datetime) -> int:
        await anyio.lowlevel.checkpoint()
        return 0

    async def count(self) -> int:
        await anyio.lowlevel.checkpoint()
        return 0


def _vector(digest: Digest) -> bytes:
    drawn = np.random.default_rng(int.from_bytes(digest[:8], "little")).standard_normal(WIDTH).astype(np.float32)
    return pack_vector(drawn / np.linalg.norm(drawn))


@dataclass(frozen=True, slots=True)
class Hybrid:
    tools: int
    p50: float
    p99: float
    lexical_p50: float
    """The same queries by words alone."""

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "goal_p50_p99": GOALS.get(self.tools)}


def measured(size: int, model: Path) -> Hybrid:
    """`model` is a data directory in which one is set up. In a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        return processes.submit(_in_process, size, model).result()


def _in_process(size: int, model: Path) -> Hybrid:
    return anyio.run(_measured, size, model)


async def _measured(size: int, model: Path) -> Hybrid:
    tools = tools_of(size)
    board, asked = board_with(tools), queries_about(tools, QUERIES)
    board.resolution(View())
    encoder = MiniLmEncoder(model_folder(model))
    meanings = EmbeddingIndex(encoder, _Drawn(), lambda: datetime.now(UTC), settling=0)
    words, both = ToolSearch(board), ToolSearch(board, meanings)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(meanings.run, board.changes, both.embeddable)
            if (trouble := await all_read(meanings)) is not None:
                raise RuntimeError(trouble)
            lexical = await _spent(words, asked, "lexical")
            spent = await _spent(both, asked, "hybrid")
            tasks.cancel_scope.cancel()
    finally:
        encoder.close()
    return Hybrid(size, median(spent), spent[int(0.99 * len(spent))], median(lexical))


async def _spent(finder: ToolSearch, asked: Sequence[str], ranker: str) -> list[float]:
    await finder.retrieve(ToolSearchQuery("warm up"), View())
    spent = []
    for query in asked:
        started = time.process_time_ns()
        answer = await finder.retrieve(ToolSearchQuery(query), View())
        spent.append((time.process_time_ns() - started) / 1e6)
        if answer["ranker"] != ranker:
            raise RuntimeError(f"The answer was by {answer['ranker']!r}, and {ranker!r} is measured.")
    return sorted(spent)


def as_text(rows: Sequence[Hybrid]) -> str:
    headings = ("by words and meaning", "p50 ms", "p99 ms", "goal", "by words p50", "of words")
    cells = []
    for each in rows:
        goal = GOALS.get(each.tools)
        cells.append(
            (
                f"{each.tools:,} tools",
                table.number(each.p50, 2),
                table.number(each.p99, 2),
                table.ABSENT if goal is None else f"{goal[0]:g}/{goal[1]:g}",
                table.number(each.lexical_p50, 2),
                table.times(each.p50 / each.lexical_p50),
            )
        )
    return table.render(headings, cells)
