"""A process of its own that reads a board for its meaning, to be killed: python -m tests.gateway.reader URL.

It tells on standard output how many vectors are kept, each time there are more.
"""

import sys
from collections.abc import Sequence

import anyio
from tests.core.boards import NOW, key, tool
from tests.store.engines import now
from tests.support.doubles import Providers
from tests.support.encoders import SmallEncoder
from tests.support.house import declared, opened

from pegboard.core.model.selection import View
from pegboard.core.presentations.retrieval import ToolSearchQuery
from pegboard.gateway.embeddings import EmbeddingIndex
from pegboard.ports.models import Vector
from pegboard.store.open import open_store

SHED = key("farm~shed")
TOOLS = {SHED: tuple(tool(SHED, f"chore_{number}", f"Chore number {number}.") for number in range(2_000))}


async def read(url: str, encoder: SmallEncoder) -> None:
    """Until all of the board is read."""
    async with open_store(url, clock=now) as store:
        meanings = EmbeddingIndex(encoder, store.vectors, lambda: NOW, settling=0.0)
        async with opened(declared(SHED), Providers(TOOLS), meanings=meanings) as house:
            with meanings.progress.subscribe() as bell:
                await house.gateway.search.retrieve(ToolSearchQuery("chore"), View())
                while (state := meanings.state()).vectors < len(TOOLS[SHED]):
                    print(f"kept {state.vectors}", flush=True)
                    await bell.wait()


class Stalling(SmallEncoder):
    """Reads half of the board, and then no more."""

    async def encode_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        if 2 * len(self.read) >= len(TOOLS[SHED]):
            await anyio.sleep_forever()
        return await super().encode_documents(texts)


if __name__ == "__main__":
    anyio.run(read, sys.argv[1], Stalling())
