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

from pegboard.core.folded import plain

from .problem_shapes import PROBLEMS

JSON: Final = "application/json"


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else plain(value)


_encode: Final = msgspec.json.Encoder(enc_hook=_plain).encode
_Answered: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]


def written(value: object) -> bytes:
    """As JSON. Half a character or a number of hundreds of digits, which a server may have sent, is written all the
    same."""
    try:
        return _encode(value)
    except (UnicodeEncodeError, OverflowError, RecursionError):
        return json.dumps(value, default=_plain, separators=(",", ":")).encode()


_describing: Final = ContextVar("describing", default=False)


@contextmanager
def describing() -> Iterator[None]:
    """Routes that are made in this block know the shapes of their answers, for the document."""
    before = _describing.set(True)
    try:
        yield
    finally:
        _describing.reset(before)


class AnswerRoute(APIRoute):
    """Takes what its function returns for what it says it is. Shapes are worked out only for a document: it takes
    longer than all else that a gateway does for its first answer."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not _describing.get():
            options.update(response_model=None, responses=None)
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> _Answered:
        call = self.dependant.call
        if call is None or not inspect.iscoroutinefunction(call):
            return super().get_route_handler()
        self.dependant.call = _writing(call, self.status_code or 200)
        return super().get_route_handler()


def _writing(call: Callable[..., Awaitable[object]], status: int) -> Callable[..., Awaitable[Response]]:
    @functools.wraps(call)
    async def answer(*args: object, **options: object) -> Response:
        told = await call(*args, **options)
        return told if isinstance(told, Response) else Response(written(told), status, media_type=JSON)

    return answer


def routes_about(tag: str) -> APIRouter:
    return APIRouter(tags=[tag], route_class=AnswerRoute, responses=PROBLEMS)
