"""Who may use the API: whoever holds the start-up token. It is compared as a hash, in constant time."""

import hashlib
import hmac
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .problems import problem_response


def hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class TokenGate:
    """Stands before everything else of the API: without the token not even a body is read."""

    def __init__(self, app: ASGIApp, token_hash: bytes) -> None:
        self._app = app
        self._token_hash = token_hash

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(hashed(token.strip()), self._token_hash):
            await self._app(scope, receive, send)
            return
        answer = problem_response(
            HTTPStatus.UNAUTHORIZED,
            "This is the operator's API. Send the start-up token from gateway.json in the data directory "
            "as Authorization: Bearer TOKEN.",
        )
        answer.headers["www-authenticate"] = "Bearer"
        await answer(scope, receive, send)
