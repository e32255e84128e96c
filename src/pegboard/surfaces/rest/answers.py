"""Answers as bytes: what a route returns is written as it is. Its annotation is its promise in the OpenAPI document;
mypy holds the code to it, and the tests hold every answer to the document, so nobody looks at it again in between."""

import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any, Final, TypeAlias

import msgspec
from fastapi import APIRouter, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from pegboard.core.folded import materialize

from .problem_shapes import PROBLEM_RESPONSES

JSON_TYPE: Final = "application/json"


def _to_plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else materialize(value)


_encode: Final = msgspec.json.Encoder(enc_hook=_to_plain).encode
_RouteHandler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]


def encode_json(value: object) -> bytes:
    """As JSON. Half a character or a number of hundreds of digits, which a server may have sent, is written all the
    same."""
    try:
        return _encode(value)
    except (UnicodeEncodeError, OverflowError, RecursionError):
        return json.dumps(value, default=_to_plain, separators=(",", ":")).encode()


_has_response_models: Final = ContextVar("describing", default=False)


@contextmanager
def with_response_models() -> Iterator[None]:
    """Routes that are made in this block know the shapes of their answers, for the document."""
    before = _has_response_models.set(True)
    try:
        yield
    finally:
        _has_response_models.reset(before)


class JsonRoute(APIRoute):
    """Takes what its function returns for what it says it is. Shapes are worked out only for a document: it takes
    longer than all else that a gateway does for its first answer."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not _has_response_models.get():
            options.update(response_model=None, responses=None)
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> _RouteHandler:
        call = self.dependant.call
        if call is None or not inspect.iscoroutinefunction(call):
            return super().get_route_handler()
        self.dependant.call = _encode_result(call, self.status_code or 200)
        return super().get_route_handler()


def _encode_result(call: Callable[..., Awaitable[object]], status: int) -> Callable[..., Awaitable[Response]]:
    @functools.wraps(call)
    async def answer(*args: object, **options: object) -> Response:
        told = await call(*args, **options)
        return told if isinstance(told, Response) else Response(encode_json(told), status, media_type=JSON_TYPE)

    return answer


def make_router(tag: str) -> APIRouter:
    return APIRouter(tags=[tag], route_class=JsonRoute, responses=PROBLEM_RESPONSES)
