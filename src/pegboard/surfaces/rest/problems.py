"""Errors as problem+json: what was wrong, where, and what to do, in the same sentences as everywhere."""

import logging
from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from pegboard.ports import StoreUnavailable

from .misfits import validation_error_text

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
        """The framework raises it again after this answer: `LastResort` stands outside."""
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
