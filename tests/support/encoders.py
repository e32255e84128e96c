"""An encoder that is small and always the same, and a place for vectors in memory, in the hands of a test."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import anyio
import numpy as np

from pegboard.ports.models import EncoderTraits, EncodingError, Vector, VectorsUnavailable

CONCEPTS = (
    {"leaves", "foliage", "rake", "autumn"},
    {"cow", "cattle", "milk", "dairy"},
    {"dig", "hole", "soil", "spade"},
    {"weather", "rain", "forecast", "umbrella"},
)
WIDTH = len(CONCEPTS) + 1


class SmallEncoder:
    """A vector tells how often each concept is meant. Whatever is asked of it is written down."""

    def __init__(self, *, remote: bool = False, patience: float = 20.0) -> None:
        self.traits = EncoderTraits(
            "small/1", "small/1", is_remote=remote, query_timeout_s=patience, min_similarity=0.5
        )
        self.read: list[str] = []
        self.queries: list[str] = []
        self.fails: str | None = None
        """Why it cannot encode, until it is None again."""
        self.is_missing: str | None = None
        self.hold: anyio.Event | None = None
        """Until it is set, everything waits."""
        self.wider = 0
        """By how many numbers the vector of a query is longer than that of a tool."""

    def unavailable_reason(self) -> str | None:
        return self.is_missing

    async def encode_query(self, text: str) -> Vector:
        self.queries.append(text)
        vector = (await self._encoded([text]))[0]
        return np.pad(vector, (0, self.wider))

    async def encode_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        found = await self._encoded(texts)
        self.read += texts
        return found

    async def _encoded(self, texts: Sequence[str]) -> Sequence[Vector]:
        await anyio.lowlevel.checkpoint()
        if self.hold is not None:
            await self.hold.wait()
        if self.fails is not None:
            raise EncodingError(self.fails)
        return [vector_of(text) for text in texts]


def vector_of(text: str) -> Vector:
    words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
    counts = [float(sum(word in concept for word in words)) for concept in CONCEPTS]
    vector = np.array([*counts, 0.05], np.float32)
    length: Vector = vector / np.sqrt((vector * vector).sum())
    return length


class MemoryVectors:
    """What a store keeps of vectors, as a dictionary."""

    def __init__(self) -> None:
        self.vectors: dict[bytes, bytes] = {}
        self.swept: list[datetime] = []
        self.away: str | None = None

    async def load(self, digests: Collection[bytes], now: datetime) -> Mapping[bytes, bytes]:
        await self._there()
        return {digest: self.vectors[digest] for digest in digests if digest in self.vectors}

    async def save(self, vectors: Mapping[bytes, bytes], now: datetime) -> None:
        await self._there()
        self.vectors = {**vectors, **self.vectors}

    async def delete_unused(self, unused_since: datetime) -> int:
        await self._there()
        self.swept.append(unused_since)
        return 0

    async def count(self) -> int:
        await self._there()
        return len(self.vectors)

    async def _there(self) -> None:
        await anyio.lowlevel.checkpoint()
        if self.away is not None:
            raise VectorsUnavailable(self.away)
