"""Texts as vectors on this machine, by the model that `pegboard search setup` makes. Loaded by the first who asks."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import anyio.to_thread

from pegboard.ports import EncoderTraits, EncodingError, Vector

from .model import IDENTITY, MIN_SIMILARITY, NO_RUNTIME, NOT_SET_UP, QUERY_TIMEOUT_S, is_set_up

if TYPE_CHECKING:
    from .running import EmbeddingNetwork

T = TypeVar("T")

_NICENESS: Final = 15


class MiniLmEncoder:
    """Set up while a gateway runs, it is used from then on."""

    def __init__(self, folder: Path) -> None:
        self.traits = EncoderTraits(
            IDENTITY, IDENTITY, is_remote=False, query_timeout_s=QUERY_TIMEOUT_S, min_similarity=MIN_SIMILARITY
        )
        self._folder = folder
        self._loaded_network: EmbeddingNetwork | None = None
        self._load_lock = threading.Lock()
        self._query_limiter = anyio.CapacityLimiter(2)
        # A thread of its own: one that lets others go first can never be an equal again.
        self._background = ThreadPoolExecutor(1, "vectors", _lower_priority)

    def unavailable_reason(self) -> str | None:
        if self._loaded_network is not None:
            return None
        if find_spec("onnxruntime") is None:
            return NO_RUNTIME
        return None if is_set_up(self._folder) else NOT_SET_UP

    async def encode_query(self, text: str) -> Vector:
        encode = partial(self._vector, text)
        return await anyio.to_thread.run_sync(encode, abandon_on_cancel=True, limiter=self._query_limiter)

    async def encode_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [await self._run_in_background(partial(self._vector, text)) for text in texts]

    def close(self) -> None:
        self._background.shutdown(wait=False, cancel_futures=True)

    async def _run_in_background(self, encode: Callable[[], T]) -> T:
        future: asyncio.Future[T] = asyncio.wrap_future(self._background.submit(encode))
        return await future

    def _vector(self, text: str) -> Vector:
        return self._load_network().vector(text)

    def _load_network(self) -> "EmbeddingNetwork":
        loaded = self._loaded_network
        if loaded is not None:
            return loaded
        with self._load_lock:
            if self._loaded_network is None:
                if not is_set_up(self._folder):
                    raise EncodingError(NOT_SET_UP, is_permanent=True)
                from .running import EmbeddingNetwork

                self._loaded_network = EmbeddingNetwork(self._folder)
            return self._loaded_network


def _lower_priority() -> None:
    """On Linux each thread has a priority of its own."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
