"""Embeddings from an endpoint with OpenAI's API."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from pegboard.config.keys.features import EmbeddingEndpoint
from pegboard.ports.models import EncoderTraits, EncodingError, Vector
from pegboard.ports.providers import Expand, UnresolvedReference
from pegboard.processes.output import SecretFilter, substituted_values

if TYPE_CHECKING:
    import httpx2


_BATCH_SIZE: Final = 64
_BATCH_TIMEOUT_S: Final = 60.0
"""Seconds for a batch of documents."""
_MAX_RESPONSE_BYTES: Final = 64_000_000
_MAX_MESSAGE_CHARS: Final = 200
MIN_SIMILARITY: Final = 0.3
_FIX_HINT: Final = "See search.embeddings in pegboard.yaml."


_PERMANENT_STATUSES: Final = frozenset({400, 401, 403, 404, 405, 422})
"""Answers that come again for as long as nobody changes the settings."""


class _Embedding(msgspec.Struct):
    index: int
    embedding: list[float]


class _EmbeddingsResponse(msgspec.Struct):
    data: list[_Embedding]


class _EmbeddingsErrorDetail(msgspec.Struct):
    message: str = ""


class _EmbeddingsErrorResponse(msgspec.Struct):
    error: _EmbeddingsErrorDetail | str = ""


class EndpointEncoder:
    """What the endpoint answers is not trusted: a wrong number of vectors, or one that is no vector, is an error."""

    def __init__(self, endpoint: EmbeddingEndpoint, expand: Expand) -> None:
        size = "" if endpoint.dimensions is None else f"/{endpoint.dimensions}"
        self._endpoint = endpoint
        self.traits = EncoderTraits(
            f"{endpoint.model} at {self._host}",
            f"{endpoint.url}/{endpoint.model}{size}",
            is_remote=True,
            query_timeout_s=endpoint.timeout,
            min_similarity=MIN_SIMILARITY,
        )
        self._expand = expand
        self._client: httpx2.AsyncClient | None = None

    def unavailable_reason(self) -> str | None:
        try:
            self._address()
        except EncodingError as error:
            return str(error)
        return None

    async def encode_query(self, text: str) -> Vector:
        (found,) = await self._encode([text], self._endpoint.timeout)
        return found

    async def encode_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        found: list[Vector] = []
        for start in range(0, len(texts), _BATCH_SIZE):
            found += await self._encode(texts[start : start + _BATCH_SIZE], _BATCH_TIMEOUT_S)
        return found

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def _encode(self, texts: Sequence[str], within: float) -> Sequence[Vector]:
        import httpx2

        body: dict[str, object] = {"model": self._endpoint.model, "input": [*texts], "encoding_format": "float"}
        if self._endpoint.dimensions is not None:
            body["dimensions"] = self._endpoint.dimensions
        url, headers, erase = self._address()
        if self._client is None:
            self._client = httpx2.AsyncClient(follow_redirects=False, limits=httpx2.Limits(max_connections=4))
        try:
            async with self._client.stream("POST", url, json=body, headers=headers, timeout=within) as answer:
                content = await _read_bounded(answer)
        except httpx2.HTTPError as error:
            why = erase(str(error)) or type(error).__name__
            raise EncodingError(f"{self._label} does not answer: {why}. {_FIX_HINT}") from None
        except (httpx2.InvalidURL, UnicodeError):
            # Its words quote a part of the address or of the key, and either may be a secret.
            what = f"{self._label} cannot be asked: no request can be made with this url and api_key"
            raise EncodingError(f"{what}. {_FIX_HINT}", is_permanent=True) from None
        if answer.status_code != 200:
            told = erase(self._refusal_message(answer.status_code, content))
            raise EncodingError(told, is_permanent=answer.status_code in _PERMANENT_STATUSES)
        return self._vectors(content, len(texts))

    def _address(self) -> tuple[str, dict[str, str], SecretFilter]:
        """Where to ask, with which headers, and what takes the values of references out of messages."""
        said = [self._expand(self._endpoint.url), self._expand(self._endpoint.api_key or "")]
        for each in said:
            if isinstance(each, UnresolvedReference):
                raise EncodingError(f"search.embeddings: {each.why}", is_permanent=True)
        url, key = map(str, said)
        erase = SecretFilter({key, *substituted_values(self._endpoint.url, url)})
        return f"{url.rstrip('/')}/embeddings", {"authorization": f"Bearer {key}"} if key else {}, erase

    @property
    def _host(self) -> str:
        """Without what a URL may hold of secrets."""
        parts = urlsplit(self._endpoint.url)
        if not parts.hostname:
            return "the address that search.embeddings tells"
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        try:
            port = "" if parts.port is None else f":{parts.port}"
        except ValueError:  # no number, and then perhaps no port: it may be a part of a password
            port = ""
        return f"{parts.scheme}://{host}{port}"

    @property
    def _label(self) -> str:
        return f"The embeddings endpoint {self._host}"

    def _refusal_message(self, status: int, content: bytes) -> str:
        said = ""
        try:
            told = msgspec.json.decode(content, type=_EmbeddingsErrorResponse).error
            said = told if isinstance(told, str) else told.message
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
        words = " ".join(said.split())[:_MAX_MESSAGE_CHARS]
        return f"{self._label} answers with {status}{f': {words}' if words else ''}. {_FIX_HINT}"

    def _vectors(self, content: bytes, count: int) -> Sequence[Vector]:
        import numpy as np

        try:
            told = sorted(msgspec.json.decode(content, type=_EmbeddingsResponse).data, key=lambda each: each.index)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, OverflowError) as error:
            raise EncodingError(
                f"{self._label} answers with something else than vectors: {error}. {_FIX_HINT}"
            ) from error
        if len({len(each.embedding) for each in told}) > 1:
            raise EncodingError(f"{self._label} answers with vectors of different lengths. {_FIX_HINT}")
        rows = np.array([each.embedding for each in told], np.float64)
        if [each.index for each in told] != [*range(count)] or rows.ndim != 2 or not rows.shape[1]:
            raise EncodingError(f"{self._label} was asked for {count} vectors, and answers with others. {_FIX_HINT}")
        lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            raise EncodingError(f"{self._label} answers with a vector that has no direction. {_FIX_HINT}")
        return [*(rows / lengths).astype(np.float32)]


async def _read_bounded(answer: "httpx2.Response") -> bytes:
    found = bytearray()
    async for chunk in answer.aiter_bytes():
        found += chunk
        if len(found) > _MAX_RESPONSE_BYTES:
            raise EncodingError(
                f"An embeddings endpoint answers with more than {_MAX_RESPONSE_BYTES // 1_000_000} MB. {_FIX_HINT}"
            )
    return bytes(found)
