"""Texts as the numbers that the model was taught with: words taken apart into pieces of its vocabulary.

These are the rules of the uncased BERT models: accents and capitals fall, each Chinese character and each mark stands
alone, and of what is left the longest known piece is taken, from left to right.
"""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from pegboard.ports.models import EncodingError
from pegboard.providers.embedding.convert import EMBEDDING, IDS, MASK
from pegboard.providers.embedding.minilm import MAX_TOKENS, NETWORK_FILE, NO_RUNTIME, VOCABULARY_FILE

UNKNOWN, BEGIN, END = "[UNK]", "[CLS]", "[SEP]"
_CONTINUATION_PREFIX: Final = "##"
_MAX_WORD_CHARS: Final = 100
_CACHE_SIZE: Final = 16_384

_CHINESE_RANGES: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Raises `KeyError` for a vocabulary without the three tokens that every text needs."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._unknown, self._begin, self._end = (vocabulary[name] for name in (UNKNOWN, BEGIN, END))
        self._max_piece_chars = max(map(len, vocabulary))
        self._cached_pieces = lru_cache(maxsize=_CACHE_SIZE)(self._pieces)

    def tokens(self, text: str, most: int) -> list[int]:
        """At most so many, the two at its ends included; what comes after is cut off."""
        found: list[int] = []
        for word in split_words(text):
            found += self._cached_pieces(word)
            if len(found) > most - 2:
                break
        return [self._begin, *found[: most - 2], self._end]

    def _pieces(self, word: str) -> tuple[int, ...]:
        """A word of which any part is unknown is unknown."""
        if len(word) > _MAX_WORD_CHARS:
            return (self._unknown,)
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = _CONTINUATION_PREFIX if start else ""
            for end in range(min(len(word), start + self._max_piece_chars), start, -1):
                piece = self._vocabulary.get(prefix + word[start:end])
                if piece is not None:
                    found.append(piece)
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(found)


def split_words(text: str) -> list[str]:
    if not text.isascii():
        text = "".join(f" {letter} " if _is_chinese(letter) else letter for letter in text)
        text = "".join(letter for letter in unicodedata.normalize("NFD", text) if unicodedata.category(letter) != "Mn")
    return "".join(map(_normalize_character, text.lower())).split()


@lru_cache(maxsize=4096)
def _normalize_character(letter: str) -> str:
    """A letter as it is, a mark between spaces, a gap as a space, and nothing for what nobody sees."""
    category = unicodedata.category(letter)
    if letter in "\t\n\r" or category[0] == "Z":
        return " "
    if letter in "\0\ufffd" or category in ("Cc", "Cf", "Co"):
        return ""
    return f" {letter} " if category[0] == "P" or letter in "$+<=>^`|~" else letter


def _is_chinese(letter: str) -> bool:
    place = ord(letter)
    return any(first <= place <= last for first, last in _CHINESE_RANGES)


# The network at work: one text at a time, on one thread.
#
# In eight bits the numbers inside depend on everything that is read together. Alone, a text has one vector,
# whatever else
# is encoded, and nothing of another tool is in it; on one thread that is as fast as many at once.


class _Session(Protocol):
    def run(self, outputs: list[str], inputs: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]: ...


class EmbeddingNetwork:
    """Loaded from a folder. Raises `EncodingError` for one that cannot be."""

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
    return f"{folder} cannot be used: {why}. Make it anew: pegboard search setup --force"
