"""Who may use the API: whoever holds the start-up token. It is compared as a hash, in constant time."""

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from fastapi import FastAPI, Request, Response

from .problems import problem_response


def hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def require_token(app: FastAPI, token_hash: bytes) -> None:
    @app.middleware("http")
    async def check(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(hashed(token.strip()), token_hash):
            answer = problem_response(
                HTTPStatus.UNAUTHORIZED,
                "This is the operator's API. Send the start-up token from gateway.json in the data directory "
                "as Authorization: Bearer TOKEN.",
            )
            answer.headers["www-authenticate"] = "Bearer"
            return answer
        return await proceed(request)
