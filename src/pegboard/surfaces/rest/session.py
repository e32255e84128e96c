"""The visit of a browser: who is signed in, signing in, signing out."""

import hmac
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from pegboard.core.scope import Scope, in_order
from pegboard.gateway.access.login_links import LINK_SECONDS
from pegboard.gateway.access.reception import Reception, Turned
from pegboard.gateway.access.who import Who
from pegboard.ports import StoreAway

from .access import current, needs, open_to_strangers
from .problem_shapes import PROBLEMS
from .problems import Problem


class SessionShape(TypedDict):
    principal: str
    scopes: list[str]
    tokenId: str | None
    """Of the API token by which this came in; null for the start-up token."""


class LoginLinkShape(TypedDict):
    path: str
    """Relative to where the gateway listens."""
    seconds: int
    """How long it can be used."""


class SignIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    token: Annotated[str, Field(min_length=1, max_length=4_096, description="The start-up token, or an API token.")]


def session_routes(reception: Reception) -> APIRouter:
    routes = APIRouter(tags=["access"], responses=PROBLEMS)

    @routes.get("/session")
    async def show_session() -> SessionShape:
        """Who I am, and what I may do."""
        return _shape(current())

    @routes.post("/session")
    @open_to_strangers
    async def sign_in(body: SignIn, request: Request, response: Response) -> SessionShape:
        """Turns a token into a cookie, for a browser."""
        headers, peer = request.scope["headers"], request.client.host if request.client else ""
        secret = reception.sign_in(body.token, headers, peer)
        if isinstance(secret, Turned):
            more = {"retry-after": str(secret.retry_after)} if secret.retry_after is not None else {}
            raise Problem(HTTPStatus(secret.status), secret.why, headers=more)
        response.headers.append("set-cookie", reception.cookie(headers, peer).setting(secret))
        response.headers["cache-control"] = "no-store"
        who = reception.keys.holder(body.token.strip())
        assert who is not None
        return _shape(who)

    @routes.post("/session/link")
    @needs(Scope.ADMIN)
    async def make_login_link() -> LoginLinkShape:
        """An address that signs a browser in as the operator, once. Only the start-up token makes one: whoever could
        make one for a token of their own could lead another person's browser into their session."""
        if not hmac.compare_digest(current().digest, reception.keys.start_up):
            raise Problem(HTTPStatus.FORBIDDEN, "Only the start-up token makes such an address. Run: pegboard ui")
        return {"path": reception.login_path(), "seconds": int(LINK_SECONDS)}

    @routes.delete("/session", status_code=HTTPStatus.NO_CONTENT)
    @open_to_strangers
    async def sign_out(request: Request, response: Response) -> None:
        """Ends the visit, for whoever copied the cookie as well."""
        headers, peer = request.scope["headers"], request.client.host if request.client else ""
        reception.sign_out(headers)
        await reception.settle()
        response.headers.append("set-cookie", reception.cookie(headers, peer).clearing())

    @routes.delete("/sessions", status_code=HTTPStatus.NO_CONTENT)
    @needs(Scope.ADMIN)
    async def sign_out_all() -> None:
        """Ends the visits of all browsers, that of whoever asks included."""
        try:
            await reception.sign_out_all()
        except StoreAway as error:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error

    return routes


def _shape(who: Who) -> SessionShape:
    scopes = [scope.value for scope in in_order(who.scopes)]
    return {"principal": who.principal, "scopes": scopes, "tokenId": who.token}
