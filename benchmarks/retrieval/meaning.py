"""The same search by words and meaning: the model that `pegboard search setup` makes, and vectors of every tool."""

import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import anyio
import anyio.lowlevel

from benchmarks.gateway.peers.environment import Unavailable
from benchmarks.gateway.target import ROOT
from benchmarks.retrieval.ours import Hung, answers
from benchmarks.retrieval.scoring import Answer
from pegboard.gateway.embeddings import EmbeddingIndex
from pegboard.gateway.search import ToolSearch
from pegboard.ports.models import Digest
from pegboard.providers.embedding.minilm import MiniLmEncoder, model_folder
from pegboard.providers.embedding.setup import ModelSetupError, SetupStep, set_up_model

MADE_HERE: Final = ROOT / ".cache" / "bench-search"
_PART: Final = 500
"""Vectors after which it is told how far it is."""


class Kept:
    """Vectors for this run alone."""

    def __init__(self) -> None:
        self._vectors: dict[Digest, bytes] = {}

    async def load(self, digests: Collection[Digest], now: datetime) -> Mapping[Digest, bytes]:
        await anyio.lowlevel.checkpoint()
        return {digest: self._vectors[digest] for digest in digests if digest in self._vectors}

    async def save(self, vectors: Mapping[Digest, bytes], now: datetime) -> None:
        await anyio.lowlevel.checkpoint()
        self._vectors |= vectors

    async def delete_unused(self, unused_since: datetime) -> int:
        await anyio.lowlevel.checkpoint()
        return 0

    async def count(self) -> int:
        await anyio.lowlevel.checkpoint()
        return len(self._vectors)


async def model_in(directory: Path | None) -> Path | Unavailable:
    """The data directory with the model: the given one, or one of the benchmark's own; it is made there if need be."""
    made = MADE_HERE if directory is None else directory
    try:
        await set_up_model(made, _tell)
    except ModelSetupError as problem:
        return Unavailable(str(problem))
    return made


async def hybrid_answers(
    hung: Hung, directory: Path | Unavailable, queries: Sequence[str]
) -> list[Answer] | Unavailable:
    if isinstance(directory, Unavailable):
        return directory
    encoder = MiniLmEncoder(model_folder(directory))
    meanings = EmbeddingIndex(encoder, Kept(), lambda: datetime.now(UTC), settling=0)
    finder = ToolSearch(hung.board, meanings)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(meanings.run, hung.board.changes, finder.embeddable)
            trouble = await all_read(meanings)
            told = Unavailable(trouble) if trouble else await answers(hung, finder, queries, "hybrid")
            tasks.cancel_scope.cancel()
    finally:
        encoder.close()
    return told


async def all_read(meanings: EmbeddingIndex) -> str | None:
    """Until every tool has a vector, or why none comes."""
    last = 0
    with meanings.progress.subscribe() as bell:
        meanings.wake()
        while True:
            state = meanings.state()
            if state.problem is not None:
                return state.problem
            if state.tools and state.vectors == state.tools:
                return None
            if state.vectors >= last + _PART:
                last = state.vectors
                print(f"  {state.vectors} of {state.tools} tools read for their meaning …", file=sys.stderr, flush=True)
            await bell.wait()


def _tell(step: SetupStep) -> None:
    if not step.total_bytes or step.done_bytes == step.total_bytes:
        print(f"  {step.message}", file=sys.stderr, flush=True)
