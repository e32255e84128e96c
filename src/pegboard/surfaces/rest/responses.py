"""Problem details: what is wrong with a request, where, and what to do.

Never the library's own text, which names its types and patterns.
"""

import functools
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from http import HTTPStatus
from typing import Annotated, Any, Final, NotRequired, TypeAlias, TypeVar, get_args, get_origin

import msgspec
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import TypedDict

from pegboard.core.json.values import materialize
from pegboard.core.model.foreign_names import PARAMETERS, near_member_hint
from pegboard.ports.audit import StoreUnavailable
from pegboard.surfaces.rest.schemas import ActionInfo

# What the OpenAPI document says of errors: every one is a problem document in the same words as everywhere.


class UnlistedProviderInfo(TypedDict):
    """A server or toolset of which nobody knows what it has: what was named may be a tool of it."""

    id: str
    message: str
    action: ActionInfo


class ProblemDetails(TypedDict):
    """RFC 9457. `detail` says what was wrong, where, and what to do."""

    type: str
    title: str
    status: int
    detail: str
    errors: NotRequired[list[str]]
    """Each by itself, where several things were wrong."""
    available: NotRequired[list[str]]
    """What could have been named instead."""
    tools: NotRequired[list[str]]
    """The tools that a name may mean, where it names several or none: those that have it, or are called nearly so."""
    unlistedProviders: NotRequired[list[UnlistedProviderInfo]]
    """Of a tool that nobody has: who has not listed its tools, why, and the one act that would change that."""
    missingScopes: NotRequired[list[str]]
    """The scopes that it takes and the token lacks."""
    scopes: NotRequired[list[str]]
    """Those that the token has."""
    policyVersion: NotRequired[int]
    """What the policy is at, where a decision was based on an older one."""


_PROBLEM_CONTENT: Final[dict[str, Any]] = {
    "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}
}

PROBLEM_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    "4XX": {"description": "What was asked cannot be done; the problem says why.", "content": _PROBLEM_CONTENT},
    "5XX": {"description": "The gateway or its store failed; the problem says how.", "content": _PROBLEM_CONTENT},
}


_FINGERPRINT: Final = "^[0-9a-f]{64}$"
_MESSAGES: Final[Mapping[str, str]] = {
    "missing": "this is missing. Give it.",
    "extra_forbidden": "this is unknown here. Leave it out, or correct its name.",
    "string_type": "this must be a text.",
    "dict_type": "this must be an object.",
    "model_type": "this must be an object.",
    "model_attributes_type": "this must be an object.",
    "list_type": "this must be a list.",
    "bool_type": "this must be true or false.",
    "bool_parsing": "this must be true or false.",
    "int_type": "this must be a whole number.",
    "int_parsing": "this must be a whole number.",
    "int_from_float": "this must be a whole number.",
    "float_type": "this must be a number.",
    "float_parsing": "this must be a number.",
    "finite_number": "this must be a number.",
    "datetime_type": "this must be a time with its zone, like 2026-07-28T14:30:00Z.",
    "datetime_parsing": "this must be a time with its zone, like 2026-07-28T14:30:00Z.",
    "datetime_from_date_parsing": "this must be a time with its zone, like 2026-07-28T14:30:00Z.",
    "timezone_aware": "this must be a time with its zone, like 2026-07-28T14:30:00Z.",
    "json_invalid": "the body is not JSON. Correct it.",
}
_BOUND_MESSAGES: Final[Mapping[str, str]] = {
    "greater_than_equal": "this must be at least {ge}.",
    "less_than_equal": "this must be at most {le}.",
    "greater_than": "this must be more than {gt}.",
    "less_than": "this must be less than {lt}.",
    "string_too_long": "this has more than {max_length} characters. Shorten it.",
    "string_too_short": "this must have {min_length} or more characters.",
    "too_short": "this must have at least {min_length} of what it lists.",
    "too_long": "this has more than {max_length} members. Leave some out.",
    "literal_error": "this must be {expected}.",
    "enum": "this must be {expected}.",
}
_NO_JSON: Final = "the body was not sent as JSON. Send it with the header Content-Type: application/json."
_NO_BODY: Final = "a body is missing. Send what /api/v1/openapi.json says of this route, as JSON."
_MESSAGES_BY_PLACE: Final[Mapping[str, str]] = {
    "scopes": "this names no scope. Name at least one of read, call, operate and admin.",
    "fileDigest": "this is not the digest of a file. Send the fileDigest that GET /api/v1/settings told.",
}
_WRONG_FORM: Final = "this does not have the form that is wanted. See: /api/v1/openapi.json"


def validation_error_text(found: Mapping[str, Any], body: Any = None) -> str:
    """Of one finding of the library's: by its type, never by its message, but for sentences of our own. `body` is the
    type of what should have been sent."""
    if found["loc"] == ("body",) and isinstance(found.get("input"), bytes):
        return _NO_JSON
    # Of what is no JSON the library tells how many characters were read, in the place of a place.
    where = "" if found["type"] == "json_invalid" else _place_text(found["loc"])
    if found["type"] == "missing" and not where:
        return _NO_BODY
    if where in _MESSAGES_BY_PLACE and str(found["type"]) in ("too_short", "string_pattern_mismatch"):
        return f"{where}: {_MESSAGES_BY_PLACE[where]}"
    if found["type"] == "extra_forbidden" and (model := _model_at(body, found["loc"][1:-1])) is not None:
        return f"{where}: {unknown_member_text(str(found['loc'][-1]), member_names(model))}"
    what = _message(str(found["type"]), found.get("ctx") or {}, str(found["msg"]))
    return f"{where}: {what}" if where else what


def unknown_member_text(name: str, known: Iterable[str]) -> str:
    """For a member or a parameter that a route does not have."""
    hint = near_member_hint(name, known)
    return "this is unknown here. Leave it out" + ("." if hint is None else f", or d{hint[1:]}")


def member_names(model: type[BaseModel]) -> Iterator[str]:
    for name, member in model.model_fields.items():
        yield from dict.fromkeys((name, member.alias or name))


def _model_at(kind: Any, path: Sequence[int | str]) -> type[BaseModel] | None:
    """The model that stands at this place in what is sent, where one does."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if not path:
            return kind
        members = (member for name, member in kind.model_fields.items() if path[0] in (name, member.alias))
        inner = next((member.annotation for member in members), None)
        return None if inner is None else _model_at(inner, path[1:])
    rest = path[1:] if path and get_origin(kind) is list else path
    found = (_model_at(each, rest) for each in get_args(kind))
    return next((model for model in found if model is not None), None)


def _message(kind: str, bounds: Mapping[str, Any], said: str) -> str:
    if kind in _MESSAGES:
        return _MESSAGES[kind]
    if kind in _BOUND_MESSAGES:
        return _BOUND_MESSAGES[kind].format_map(bounds)
    if kind == "value_error":
        return said.removeprefix("Value error, ")
    if kind == "string_pattern_mismatch" and bounds.get("pattern") == _FINGERPRINT:
        return (
            "this is no fingerprint: one has 64 digits and letters from a to f. Copy it from: pegboard approvals show"
        )
    return _WRONG_FORM


def _place_text(path: tuple[int | str, ...]) -> str:
    """Without the first step, which tells the body from the query."""
    text = ""
    for step in path[1:]:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


# Errors as problem+json: what was wrong, where, and what to do, in the same sentences as everywhere.

MEDIA_TYPE = "application/problem+json"

log = logging.getLogger(__name__)


class ProblemError(Exception):
    """Raised by a route to end a request with this answer."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        more: Mapping[str, object] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.headers = headers or {}
        self.status = status
        self.detail = detail
        self.extra = more or {}


def problem_response(status: HTTPStatus, detail: str, more: Mapping[str, object] | None = None) -> JSONResponse:
    body = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail, **(more or {})}
    return JSONResponse(body, status.value, media_type=MEDIA_TYPE)


def register_problem_handlers(app: FastAPI) -> None:
    @app.exception_handler(ProblemError)
    async def send_problem(_: Request, problem: ProblemError) -> JSONResponse:
        answer = problem_response(problem.status, problem.detail, problem.extra)
        answer.headers.update(problem.headers)
        return answer

    @app.exception_handler(StoreUnavailable)
    async def away(_: Request, error: StoreUnavailable) -> JSONResponse:
        return problem_response(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    @app.exception_handler(HTTPException)
    async def send_http_error(request: Request, error: HTTPException) -> JSONResponse:
        status = HTTPStatus(error.status_code)
        takes = (error.headers or {}).get("Allow")
        if status is HTTPStatus.NOT_FOUND:
            detail = f"Nothing is at {request.url.path}. What there is: /api/v1/openapi.json"
        elif status is HTTPStatus.BAD_REQUEST and error.__cause__ is not None:
            # Only the framework's reading of a body ends so: what is no JSON it tells otherwise.
            detail = "The body cannot be read: it is nested too deeply, or not in UTF-8. Send plain JSON."
        elif takes is not None:
            detail = f"{request.method} is not taken at {request.url.path}. Use {takes}."
        else:
            detail = str(error.detail)
        answer = problem_response(status, detail)
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(RequestValidationError)
    async def misfit(request: Request, error: RequestValidationError) -> JSONResponse:
        body = getattr(request.scope.get("route"), "body_field", None)
        wrong = [
            validation_error_text(item, None if body is None else body.field_info.annotation) for item in error.errors()
        ]
        return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(wrong), {"errors": wrong})

    @app.exception_handler(Exception)
    async def unforeseen(_: Request, error: Exception) -> JSONResponse:
        """The framework raises it again after this answer: `UnexpectedErrorMiddleware` stands outside."""
        detail = "This failed in an unforeseen way. The gateway's log has the details."
        return problem_response(HTTPStatus.INTERNAL_SERVER_ERROR, detail)


class UnexpectedErrorMiddleware:
    """What nobody foresaw is logged with its traceback here, and told to nobody else."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception:  # a request is supervised here: it was answered, and the gateway goes on
            log.exception("%s %s failed in an unforeseen way", scope["method"], scope["path"])


# What stands behind the question mark: a misspelt name is told and not passed over, because it may have been the
# one
# that mattered.


async def refuse_unknown_parameters(request: Request) -> None:
    """Raises `ProblemError`. A route that takes all its parameters as one model knows them by that model."""
    if not request.query_params:
        return
    route = request.scope.get("route")
    assert isinstance(route, APIRoute), "every route of the API is one"
    known = set(_parameter_names(route))
    unknown = [name for name in request.query_params if name not in known]
    if not unknown:
        return
    elsewhere = PARAMETERS.get(route.name, {})
    wrong = [f"{name}: {elsewhere.get(name) or unknown_member_text(name, known)}" for name in unknown]
    raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(wrong), {"errors": wrong})


def _parameter_names(route: APIRoute) -> Iterable[str]:
    for field in route.dependant.query_params:
        kind = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from member_names(kind)
        else:
            yield field.alias


# Answers as bytes: what a route returns is written as it is. Its annotation is its promise in the OpenAPI document;
# mypy holds the code to it, and the tests hold every answer to the document, so nobody looks at it again in
# between.

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


# Lists in pages: so many entries after one that is named, and the one to name for those that follow.

MAX_PAGE_SIZE: Final = 20_000
"""Entries of a page. Few boards have more, so whoever does not ask for pages gets all there is in one."""

T = TypeVar("T")


class PageResponse(TypedDict):
    """Part of an answer in pages. Whoever got all there is reads nothing of it."""

    next: NotRequired[str]
    """There where more entries follow: what to send as `after` for them."""


_LIMIT_DESCRIPTION: Final = "Entries of the page."
_AFTER_DESCRIPTION: Final = "The `next` of the page before."

LimitField = Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE, description=_LIMIT_DESCRIPTION)]
AfterField = Annotated[str | None, Field(max_length=2048, description=_AFTER_DESCRIPTION)]
"""The same two where a model has all parameters of a route."""

LimitParam = Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE, description=_LIMIT_DESCRIPTION)]
AfterParam = Annotated[str | None, Query(max_length=2048, description=_AFTER_DESCRIPTION)]


def paginate(
    entries: Sequence[T], name: Callable[[T], str], limit: int, after: str | None
) -> tuple[Sequence[T], PageResponse]:
    """Raises `ProblemError` where the entry has gone after which to go on: what was shown is not what there is now."""
    start = 0
    if after is not None:
        found = next((place for place, entry in enumerate(entries) if name(entry) == after), None)
        if found is None:
            told = f"after {after[:200]!r} is not in this list now. Ask for it from the beginning."
            raise ProblemError(HTTPStatus.CONFLICT, told)
        start = found + 1
    page = entries[start : start + limit]
    return page, {"next": name(page[-1])} if page and start + limit < len(entries) else {}
