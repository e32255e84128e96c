"""The visit of a browser: who is signed in, signing in, signing out."""

import hmac
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from pegboard.core.scope import TokenScope, sort_scopes
from pegboard.gateway.access.login_links import LINK_SECONDS
from pegboard.gateway.access.reception import AuthRejection, OperatorAuthentication
from pegboard.gateway.access.who import Identity
from pegboard.ports import StoreUnavailable

from .access import allow_anonymous, current_identity, requires_scopes
from .problem_shapes import PROBLEM_RESPONSES
from .problems import ProblemError


class SessionResponse(TypedDict):
    principal: str
    scopes: list[str]
    tokenId: str | None
    """Of the API token by which this came in; null for the start-up token."""


class LoginLinkResponse(TypedDict):
    path: str
    """Relative to where the gateway listens."""
    seconds: int
    """How long it can be used."""


class SignInBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    token: Annotated[str, Field(min_length=1, max_length=4_096, description="The start-up token, or an API token.")]


def session_routes(reception: OperatorAuthentication) -> APIRouter:
    routes = APIRouter(tags=["access"], responses=PROBLEM_RESPONSES)

    @routes.get("/session")
    async def show_session() -> SessionResponse:
        """Who I am, and what I may do."""
        return _session_response(current_identity())

    @routes.post("/session")
    @allow_anonymous
    async def sign_in(body: SignInBody, request: Request, response: Response) -> SessionResponse:
        """Turns a token into a cookie, for a browser."""
        headers, peer = request.scope["headers"], request.client.host if request.client else ""
        secret = reception.sign_in(body.token, headers, peer)
        if isinstance(secret, AuthRejection):
            more = {"retry-after": str(secret.retry_after)} if secret.retry_after is not None else {}
            raise ProblemError(HTTPStatus(secret.status), secret.why, headers=more)
        response.headers.append("set-cookie", reception.cookie(headers, peer).set_header(secret))
        response.headers["cache-control"] = "no-store"
        who = reception.tokens.identify(body.token.strip())
        assert who is not None
        return _session_response(who)

    @routes.post("/session/link")
    @requires_scopes(TokenScope.ADMIN)
    async def make_login_link() -> LoginLinkResponse:
        """An address that signs a browser in as the operator, once. Only the start-up token makes one: whoever could
        make one for a token of their own could lead another person's browser into their session."""
        if not hmac.compare_digest(current_identity().digest, reception.tokens.startup_token_hash):
            raise ProblemError(HTTPStatus.FORBIDDEN, "Only the start-up token makes such an address. Run: pegboard ui")
        return {"path": reception.login_path(), "seconds": int(LINK_SECONDS)}

    @routes.delete("/session", status_code=HTTPStatus.NO_CONTENT)
    @allow_anonymous
    async def sign_out(request: Request, response: Response) -> None:
        """Ends the visit, for whoever copied the cookie as well."""
        headers, peer = request.scope["headers"], request.client.host if request.client else ""
        reception.sign_out(headers)
        await reception.save_sessions()
        response.headers.append("set-cookie", reception.cookie(headers, peer).clear_header())

    @routes.delete("/sessions", status_code=HTTPStatus.NO_CONTENT)
    @requires_scopes(TokenScope.ADMIN)
    async def sign_out_all() -> None:
        """Ends the visits of all browsers, that of whoever asks included."""
        try:
            await reception.sign_out_all()
        except StoreUnavailable as error:
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    return routes


def _session_response(who: Identity) -> SessionResponse:
    scopes = [scope.value for scope in sort_scopes(who.scopes)]
    return {"principal": who.principal, "scopes": scopes, "tokenId": who.token}
