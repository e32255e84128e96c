"""An embeddings endpoint elsewhere: asked as its API wants, never trusted, and told of nothing but texts."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from tests.providers.mcp.web import served

from pegboard.config.keys.features import EmbeddingEndpoint
from pegboard.config.references import expander
from pegboard.ports.models import EncodingError
from pegboard.providers.embedding.endpoint import EndpointEncoder

pytestmark = pytest.mark.anyio


@dataclass
class Endpoint:
    """Answers with vectors that tell which text they are of; or with what a test wants."""

    answer: Any = None
    status: int = 200
    asked: list[tuple[str, str | None, Any]] = field(default_factory=list[tuple[str, str | None, Any]])
    held: anyio.Event | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = json.loads(await request.body())
        self.asked.append((request.url.path, request.headers.get("authorization"), body))
        if self.held is not None:
            await self.held.wait()
        await self._answer(body)(scope, receive, send)

    def _answer(self, body: Any) -> Response:
        if isinstance(self.answer, bytes):
            return Response(self.answer, self.status)
        if self.answer is not None:
            return JSONResponse(self.answer, self.status)
        found = [{"index": at, "embedding": [0.0, float(len(text)), 4.0]} for at, text in enumerate(body["input"])]
        return JSONResponse({"data": found[::-1]}, self.status)


@asynccontextmanager
async def encoder(endpoint: Endpoint, **said: Any) -> AsyncIterator[EndpointEncoder]:
    async with served(endpoint) as web:
        settings = EmbeddingEndpoint(web.url.replace("/mcp", "/v1"), "small", **{"timeout": 20.0, **said})
        made = EndpointEncoder(settings, expander({"KEY": "hush-hush"}, Path()))
        try:
            yield made
        finally:
            await made.aclose()


@pytest.mark.behaviour("semantic.endpoint")
async def test_texts_are_sent_with_the_key_and_come_back_as_vectors_of_length_one() -> None:
    endpoint = Endpoint()
    async with encoder(endpoint, api_key="${KEY}", dimensions=256) as remote:
        vectors = await remote.encode_documents(["abc", ""])
        assert [vector.tolist() for vector in vectors] == [pytest.approx([0.0, 0.6, 0.8]), [0.0, 0.0, 1.0]]
    body = {"model": "small", "input": ["abc", ""], "encoding_format": "float", "dimensions": 256}
    assert endpoint.asked == [("/v1/embeddings", "Bearer hush-hush", body)]


async def test_many_texts_are_sent_in_several_requests_and_come_back_in_their_order() -> None:
    endpoint = Endpoint()
    async with encoder(endpoint) as remote:
        vectors = await remote.encode_documents(["x" * size for size in range(150)])
    assert [len(body["input"]) for _, _, body in endpoint.asked] == [64, 64, 22]
    assert [round(float(4 * vector[1] / vector[2])) for vector in vectors] == [*range(150)]


@pytest.mark.behaviour("semantic.endpoint")
@pytest.mark.parametrize(
    ("answer", "status", "why", "lasting"),
    [
        ({"error": {"message": "wrong\n key"}}, 401, "answers with 401: wrong key. See search.embeddings", True),
        ({"error": "model not found"}, 404, "answers with 404: model not found.", True),
        (b"<html>busy</html>", 503, "answers with 503. See", False),
        (b"\xff\xfe", 200, "something else than vectors", False),
        ({"data": []}, 200, "was asked for 1 vectors", False),
        ({"data": [{"index": 1, "embedding": [1.0]}]}, 200, "was asked for 1 vectors", False),
        ({"data": [{"index": 0, "embedding": []}]}, 200, "was asked for 1 vectors", False),
        ({"data": [{"index": 0, "embedding": [0.0, 0.0]}]}, 200, "has no direction", False),
        (b'{"data": [{"index": 0, "embedding": [1e999, 1]}]}', 200, "answers with", False),
        ({"data": [{"index": 0, "embedding": ["a"]}]}, 200, "something else than vectors", False),
        (
            {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 0.0]}]},
            200,
            "with vectors of different lengths. See search.embeddings in pegboard.yaml.",
            False,
        ),
    ],
)
async def test_an_answer_that_is_no_vector_is_told_and_nothing_of_the_key(
    answer: Any, status: int, why: str, lasting: bool
) -> None:
    async with encoder(Endpoint(answer, status), api_key="${KEY}") as remote:
        with pytest.raises(EncodingError) as caught:
            await remote.encode_query("anything")
    assert why in str(caught.value)
    assert "hush-hush" not in str(caught.value)
    assert caught.value.is_permanent is lasting


async def test_an_endpoint_that_does_not_answer_in_time_is_given_up() -> None:
    endpoint = Endpoint(held=anyio.Event())
    async with encoder(endpoint, timeout=0.2) as remote:
        with anyio.fail_after(30), pytest.raises(EncodingError, match="does not answer"):
            await remote.encode_query("anything")
        assert endpoint.held is not None
        endpoint.held.set()


async def test_an_endpoint_that_is_not_there_is_told() -> None:
    remote = EndpointEncoder(EmbeddingEndpoint("http://127.0.0.1:1/v1", "small"), expander({}, Path()))
    with pytest.raises(EncodingError, match=r"http://127\.0\.0\.1:1 does not answer"):
        await remote.encode_query("anything")
    await remote.aclose()


@pytest.mark.behaviour("semantic.endpoint")
async def test_a_key_that_is_not_set_is_told_before_anything_is_sent() -> None:
    endpoint = Endpoint()
    async with encoder(endpoint, api_key="${NO_SUCH_KEY}") as remote:
        assert "NO_SUCH_KEY" in (remote.unavailable_reason() or "")
        with pytest.raises(EncodingError, match="NO_SUCH_KEY"):
            await remote.encode_query("anything")
    assert endpoint.asked == []


@pytest.mark.behaviour("config.references_not_quoted")
@pytest.mark.parametrize(
    ("url", "key", "secret"),
    [
        ("http://127.0.0.1:1/v1", "MARKER\nMARKER", "MARKER"),
        ("http://127.0.0.1:1/v1", "MARKER\N{SNOWMAN}", "MARKER"),
        ("MARKER", "a-key", "MARKER"),
        ("ftp://MARKER/v1", "a-key", "MARKER"),
        ("http://127.0.0.1:MARKER/v1", "a-key", "MARKER"),
        ("http://[MARKER/v1", "a-key", "MARKER"),
    ],
)
async def test_an_address_or_key_that_cannot_be_used_is_not_quoted(url: str, key: str, secret: str) -> None:
    expand = expander({"URL": url, "KEY": key}, Path())
    made = EndpointEncoder(EmbeddingEndpoint("${URL}", "small", api_key="${KEY}", timeout=20.0), expand)
    with pytest.raises(EncodingError) as error:
        await made.encode_query("text")
    await made.aclose()
    assert secret not in str(error.value)
