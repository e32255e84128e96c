"""The network at work: one text at a time, on one thread.

In eight bits the numbers inside depend on everything that is read together. Alone, a text has one vector, whatever else
is encoded, and nothing of another tool is in it; on one thread that is as fast as many at once.
"""

from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from pegboard.ports import EncodingError

from .model import MAX_TOKENS, NETWORK_FILE, NO_RUNTIME, VOCABULARY_FILE
from .network import EMBEDDING, IDS, MASK
from .wordpiece import WordPiece


class _Session(Protocol):
    def run(self, outputs: list[str], inputs: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]: ...


class EmbeddingNetwork:
    """Loaded from a folder. Raises `CannotEncode` for one that cannot be."""

    def __init__(self, folder: Path) -> None:
        try:
            self._tokenizer = WordPiece(read_vocabulary(folder / VOCABULARY_FILE))
            self._session = _open_session(folder / NETWORK_FILE)
        except (OSError, ValueError, KeyError) as error:
            raise EncodingError(_unusable_message(folder, error), is_permanent=True) from error

    def vector(self, text: str) -> NDArray[np.float32]:
        tokens = np.array([self._tokenizer.tokens(text, MAX_TOKENS)], np.int64)
        try:
            (found,) = self._session.run([EMBEDDING], {IDS: tokens, MASK: np.ones_like(tokens)})
        except _runtime_errors() as error:
            raise EncodingError(f"A text could not be read: {str(error).splitlines()[0]}") from error
        vector: NDArray[np.float32] = found[0]
        return vector


def read_vocabulary(file: Path) -> dict[str, int]:
    """A word a line; its number is the line's."""
    words = file.read_text("utf-8").removesuffix("\n").split("\n")
    return {word: number for number, word in enumerate(words)}


def _open_session(file: Path) -> _Session:
    try:
        import onnxruntime
    except ImportError as error:
        raise EncodingError(NO_RUNTIME, is_permanent=True) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Its arena keeps what the longest text ever took.
    options.enable_cpu_mem_arena = False
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except _runtime_errors() as error:
        raise ValueError(str(error).splitlines()[0]) from error
    return cast("_Session", session)


def _runtime_errors() -> tuple[type[Exception], ...]:
    """What the runtime raises: each kind is one of its own, and none of them is of another."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = (kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception))
    return (*own, RuntimeError)


def _unusable_message(folder: Path, error: Exception) -> str:
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return f"{folder} cannot be used: {why}. Make it anew: pegboard search setup --again"
