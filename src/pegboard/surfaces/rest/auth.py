"""Authentication and scopes of the REST API; session and token routes."""

import hmac
import json
import re
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Annotated, Final, TypeAlias, TypeVar

import anyio
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, ConfigDict, Field
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.types import Scope as Asked
from typing_extensions import TypedDict

from pegboard.core.calls.call import OPERATOR_CLIENT
from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.principals import TokenScope, sort_scopes
from pegboard.gateway.access.authentication import CROSS_SITE_REQUEST, AuthRejection, OperatorAuthentication
from pegboard.gateway.access.sessions import LINK_SECONDS
from pegboard.gateway.access.tokens import Identity
from pegboard.gateway.access.tokens import hash_token as hash_token
from pegboard.gateway.signals import Subscription
from pegboard.ports.audit import StoreUnavailable
from pegboard.surfaces.rest.responses import PROBLEM_RESPONSES, ProblemError, problem_response

# Streams that somebody listens to for hours: they end with the token, or the visit, that opened them.

CHECK_INTERVAL_S: Final = 10.0
"""Seconds after which a stream is looked at even though nothing was decided: tokens expire, and visits end."""


async def serve_while_authorized(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, reception: OperatorAuthentication, who: Identity
) -> None:
    """Serves the request. If its answer is a stream of events, only while whoever asked would be let in again."""
    over = revoked = False
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            nonlocal revoked
            listener = Subscription()
            with reception.tokens.changes.attach(listener), reception.sessions.end_signal.attach(listener):
                while reception.is_still_valid(who, scope["headers"]):
                    with anyio.move_on_after(CHECK_INTERVAL_S):
                        await listener.wait()
            revoked = True
            tasks.cancel_scope.cancel()

        async def send_and_watch(message: Message) -> None:
            nonlocal over
            if message["type"] == "http.response.start" and _is_stream(message):
                tasks.start_soon(watch, name="token of a stream")
            over = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        await app(scope, receive, send_and_watch)
        tasks.cancel_scope.cancel()
    if revoked and not over:
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _is_stream(message: Message) -> bool:
    kind = dict(message["headers"]).get(b"content-type", b"")
    return bool(kind.lower().startswith(b"text/event-stream"))


_READ_METHODS: Final = frozenset({"GET", "HEAD"})
_SCOPES_ATTRIBUTE: Final = "__needs__"

Endpoint = TypeVar("Endpoint", bound=Callable[..., object])
RequiredScopes: TypeAlias = frozenset[TokenScope] | None
"""`None`: it is open to whoever is not known yet, to sign in."""

_identity: ContextVar[Identity | None] = ContextVar("who", default=None)


def requires_scopes(*scopes: TokenScope) -> Callable[[Endpoint], Endpoint]:
    """Written below a route's own line: all of these are asked for. Without it, GET needs read and the rest operate."""

    def mark_endpoint(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _SCOPES_ATTRIBUTE, frozenset(scopes))
        return endpoint

    return mark_endpoint


def allow_anonymous(endpoint: Endpoint) -> Endpoint:
    setattr(endpoint, _SCOPES_ATTRIBUTE, None)
    return endpoint


def required_scopes_of(endpoint: object, method: str) -> RequiredScopes:
    usual = frozenset({TokenScope.READ if method in _READ_METHODS else TokenScope.OPERATE})
    found: RequiredScopes = getattr(endpoint, _SCOPES_ATTRIBUTE, usual)
    return found


def current_identity() -> Identity:
    """Whoever makes the request that is being answered."""
    who = _identity.get()
    if who is None:
        raise ProblemError(HTTPStatus.UNAUTHORIZED, "Nobody is signed in. Send a token as Authorization: Bearer TOKEN.")
    return who


def decision_author() -> PrincipalId:
    """The name under which a decision is recorded."""
    return current_identity().principal


def require_scope(scope: TokenScope, what: str) -> None:
    """For what a route does with some bodies only: raises `ProblemError` for whoever lacks the scope."""
    who = current_identity()
    if scope not in who.scopes:
        detail, more = _missing_scope_problem(frozenset({scope}), who)
        raise ProblemError(HTTPStatus.FORBIDDEN, f"{what}. {detail}", more)


@dataclass(frozen=True, slots=True)
class ActingCaller:
    """In whose name a request calls tools."""

    principal: PrincipalId
    made_by: PrincipalId | None
    """Who makes the request, where that is somebody else."""

    @property
    def client(self) -> str:
        """As the activity and tickets name it."""
        return OPERATOR_CLIENT if self.made_by is None else f"{OPERATOR_CLIENT} {self.made_by}"


def acting_caller(named: str | None) -> ActingCaller:
    """Without a name as the principal of the token. Raises `ProblemError` for another one where the scope `admin`
    lacks."""
    own = decision_author()
    if named is None or named == own:
        return ActingCaller(own, None)
    require_scope(TokenScope.ADMIN, f"Your token calls tools as {own!r}, and not as {named!r}")
    return ActingCaller(PrincipalId(named), own)


def refuse_references(said: object) -> None:
    """A reference stands for a variable or a file of the gateway's machine, the start-up token among them: whoever
    sends one somewhere reads it there."""
    if "${" in json.dumps(said, default=str):
        require_scope(
            TokenScope.ADMIN, "A reference such as ${NAME} reads variables and files of the gateway's machine"
        )


async def enforce_scopes(request: Request) -> None:
    """The same question once more, of the very function that answers: for every route, whatever way led there."""
    needed = required_scopes_of(request.scope.get("endpoint"), request.method)
    if needed is not None and (missing := needed - current_identity().scopes):
        raise ProblemError(HTTPStatus.FORBIDDEN, *_missing_scope_problem(missing, current_identity()))


class ApiAuthMiddleware:
    """Stands before everything else of the API: without the token not even a body is read."""

    def __init__(self, app: ASGIApp, reception: OperatorAuthentication, described: FastAPI) -> None:
        """`described` has the routes that `app` leads to."""
        self._app = app
        self._authentication = reception
        self._routes_app = described

    async def __call__(self, scope: Asked, receive: Receive, send: Send) -> None:
        method, headers = scope["method"], scope["headers"]
        peer = "" if scope.get("client") is None else str(scope["client"][0])
        needed = self._scopes_needed(method, scope["path"])
        who = self._authentication.authenticate(method, headers, peer)
        if needed is None:
            if self._authentication.is_cross_site(method, headers, peer):
                return await _send_rejection(
                    scope, receive, send, AuthRejection(HTTPStatus.FORBIDDEN, CROSS_SITE_REQUEST)
                )
        elif isinstance(who, AuthRejection):
            return await _send_rejection(scope, receive, send, who)
        elif missing := needed - who.scopes:
            detail, more = _missing_scope_problem(missing, who)
            return await problem_response(HTTPStatus.FORBIDDEN, detail, more)(scope, receive, send)
        token = _identity.set(None if isinstance(who, AuthRejection) else who)
        try:
            if isinstance(who, AuthRejection):
                return await self._app(scope, receive, send)
            await serve_while_authorized(self._app, scope, receive, send, self._authentication, who)
        finally:
            _identity.reset(token)
        return None

    def _scopes_needed(self, method: str, path: str) -> RequiredScopes:
        """What is not there needs what looking needs: a stranger is not even told that."""
        for methods, pattern, endpoint in self._routes:
            if method in methods and pattern.match(path):
                return required_scopes_of(endpoint, method)
        return frozenset({TokenScope.READ})

    @cached_property
    def _routes(self) -> list[tuple[frozenset[str], re.Pattern[str], object]]:
        return [
            (frozenset(route.methods), compile_path(route.path)[0], route.endpoint)
            for route in iter_route_contexts(self._routes_app.routes)
            if route.path is not None and route.methods is not None
        ]


async def _send_rejection(scope: Asked, receive: Receive, send: Send, turned: AuthRejection) -> None:
    answer = problem_response(HTTPStatus(turned.status), turned.why)
    if turned.status == HTTPStatus.UNAUTHORIZED:
        answer.headers["www-authenticate"] = "Bearer"
    if turned.retry_after is not None:
        answer.headers["retry-after"] = str(turned.retry_after)
    await answer(scope, receive, send)


def _missing_scope_problem(missing: frozenset[TokenScope], who: Identity) -> tuple[str, dict[str, object]]:
    names, has = sort_scopes(missing), sort_scopes(who.scopes)
    lacks = " and ".join(names)
    detail = (
        f"This needs the scope {lacks}, and your token has {', '.join(has) or 'none'}. "
        "Ask whoever runs this gateway for another token."
    )
    return detail, {"missingScopes": list(names), "scopes": list(has)}


# The visit of a browser: who is signed in, signing in, signing out.


class SessionResponse(TypedDict):
    principal: str
    scopes: list[str]
    tokenId: str | None
    """Of the API token by which this came in; null for the start-up token."""


class LoginLinkResponse(TypedDict):
    path: str
    """Relative to where the gateway listens."""
    expiresInSeconds: int
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
        return {"path": reception.login_path(), "expiresInSeconds": int(LINK_SECONDS)}

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
