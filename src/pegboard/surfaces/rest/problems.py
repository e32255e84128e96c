"""Errors as problem+json: what was wrong, where, and what to do, in the same sentences as everywhere."""

from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):  # noqa: N818  it is an answer, and the answer's name is problem
    """Raised by a route to end a request with this answer."""

    def __init__(self, status: HTTPStatus, detail: str, more: Mapping[str, object] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.more = more or {}


def problem_response(status: HTTPStatus, detail: str, more: Mapping[str, object] | None = None) -> JSONResponse:
    body = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail, **(more or {})}
    return JSONResponse(body, status.value, media_type=MEDIA_TYPE)


def answer_problems(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def told(_: Request, problem: Problem) -> JSONResponse:
        return problem_response(problem.status, problem.detail, problem.more)

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> JSONResponse:
        return problem_response(HTTPStatus(error.status_code), str(error.detail))

    @app.exception_handler(RequestValidationError)
    async def misfit(_: Request, error: RequestValidationError) -> JSONResponse:
        wrong = [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()]
        return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(wrong), {"errors": wrong})
