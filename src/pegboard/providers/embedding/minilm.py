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

from pegboard.ports import CannotEncode, Traits, Vector

from .model import FLOOR, IDENTITY, NO_RUNTIME, NOT_SET_UP, PATIENCE, is_set_up

if TYPE_CHECKING:
    from .running import Network

T = TypeVar("T")

_NICE: Final = 15


class MiniLm:
    """Set up while a gateway runs, it is used from then on."""

    def __init__(self, folder: Path) -> None:
        self.traits = Traits(IDENTITY, IDENTITY, is_remote=False, patience=PATIENCE, floor=FLOOR)
        self._folder = folder
        self._loaded: Network | None = None
        self._one = threading.Lock()
        self._queries = anyio.CapacityLimiter(2)
        # A thread of its own: one that lets others go first can never be an equal again.
        self._aside = ThreadPoolExecutor(1, "vectors", _let_others_first)

    def trouble(self) -> str | None:
        if self._loaded is not None:
            return None
        if find_spec("onnxruntime") is None:
            return NO_RUNTIME
        return None if is_set_up(self._folder) else NOT_SET_UP

    async def query(self, text: str) -> Vector:
        encode = partial(self._vector, text)
        return await anyio.to_thread.run_sync(encode, abandon_on_cancel=True, limiter=self._queries)

    async def documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [await self._beside(partial(self._vector, text)) for text in texts]

    def close(self) -> None:
        self._aside.shutdown(wait=False, cancel_futures=True)

    async def _beside(self, encode: Callable[[], T]) -> T:
        future: asyncio.Future[T] = asyncio.wrap_future(self._aside.submit(encode))
        return await future

    def _vector(self, text: str) -> Vector:
        return self._network().vector(text)

    def _network(self) -> "Network":
        loaded = self._loaded
        if loaded is not None:
            return loaded
        with self._one:
            if self._loaded is None:
                if not is_set_up(self._folder):
                    raise CannotEncode(NOT_SET_UP, lasting=True)
                from .running import Network

                self._loaded = Network(self._folder)
            return self._loaded


def _let_others_first() -> None:
    """On Linux each thread has a priority of its own."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
