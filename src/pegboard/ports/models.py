"""Model servers, and encoders that compute embeddings."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from pegboard.core.json.values import JsonObject

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Vector: TypeAlias = "NDArray[np.float32]"
"""Of length one."""
Digest: TypeAlias = bytes
"""What a text is known by, together with the model that read it."""


class EncodingError(Exception):
    """Why there is no vector, and what to do. `is_permanent` when trying again changes nothing by itself."""

    def __init__(self, why: str, *, is_permanent: bool = False) -> None:
        super().__init__(why)
        self.is_permanent = is_permanent


@dataclass(frozen=True, slots=True)
class EncoderTraits:
    """What is known of an encoder before it is used."""

    name: str
    """As people may be shown it."""
    model: str
    """Vectors of one model can be compared with each other alone. Not to be shown: an address may be in it."""
    is_remote: bool
    """Whether texts leave this machine."""
    query_timeout_s: float
    """Seconds that a query may take; after that it is answered without."""
    min_similarity: float
    """The cosine below which two texts have nothing to do with each other."""


class Encoder(Protocol):
    """Both ways raise `EncodingError`, and nothing else."""

    @property
    def traits(self) -> EncoderTraits: ...

    def unavailable_reason(self) -> str | None:
        """Why it cannot be used, as far as that is known without trying, and what to do."""
        ...

    async def encode_query(self, text: str) -> Vector: ...

    async def encode_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One each, in their order. Has time: whatever else this machine does goes first."""
        ...


class VectorsUnavailable(Exception):  # noqa: N818 - it is told to a person as a sentence
    """Vectors can neither be read nor kept now; the message says why, and what to do."""


class VectorStore(Protocol):
    """Vectors by digest, as bytes. Raises `VectorsUnavailable`."""

    async def load(self, digests: Collection[Digest], now: datetime) -> Mapping[Digest, bytes]:
        """Those that are kept. They count as used now."""
        ...

    async def save(self, vectors: Mapping[Digest, bytes], now: datetime) -> None:
        """All of them or none; one that is kept already stays."""
        ...

    async def delete_unused(self, unused_since: datetime) -> int:
        """Removes those that nobody read since then; how many they were."""
        ...

    async def count(self) -> int: ...


# Servers that run language models, as the gateway asks them: the next message of a chat, piece by piece.


@dataclass(frozen=True, slots=True)
class TextPiece:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """What a server tells apart as the model's thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallPiece:
    """A piece of a call that the server itself has read out of the model's words. The first of a call has its name."""

    index: int
    """Which call: from 0, in the order in which they begin."""
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class StopPiece:
    """The message is whole. By the server's word: `stop`, `length`, `tool_calls`, `content_filter` or another."""

    reason: str


@dataclass(frozen=True, slots=True)
class UsagePiece:
    """Tokens, as the server counts them."""

    prompt_tokens: int
    completion_tokens: int


Piece: TypeAlias = TextPiece | ThinkingPiece | ToolCallPiece | StopPiece | UsagePiece


class ModelFault(Enum):
    """What went wrong, so far as whoever asked can act on it."""

    UNREACHABLE = "away"
    TIMEOUT = "silent"
    BAD_KEY = "key"
    NO_MODEL = "no_model"
    BUSY = "busy"
    REFUSED = "refused"
    MALFORMED = "garbled"
    TRUNCATED = "cut"


class ModelServerError(Exception):
    """Why there is no message, or not all of it, and what to do."""

    def __init__(self, fault: ModelFault, why: str, *, retry_after: str | None = None) -> None:
        super().__init__(why)
        self.fault = fault
        self.why = why
        self.retry_after = retry_after
        """When to try again, as the server said it."""


class ModelServer(Protocol):
    """Both ways raise `ModelServerError`, and nothing else for what a server does."""

    @property
    def name(self) -> str: ...

    async def models(self) -> Sequence[str]:
        """The models that it has, in its own order."""
        ...

    def chat(self, body: JsonObject) -> AbstractAsyncContextManager[AsyncIterator[Piece]]:
        """The pieces of the next message, as they come. To leave the block is to have the server stop."""
        ...
