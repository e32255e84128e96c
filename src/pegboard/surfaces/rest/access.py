"""Who may use the API, and for what: each route needs a scope, and whoever lacks it is told which."""

import json
import re
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Final, TypeAlias, TypeVar

from fastapi import FastAPI, Request
from fastapi.routing import iter_route_contexts
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Asked

from pegboard.core.call import OPERATOR_CLIENT
from pegboard.core.ids import PrincipalId
from pegboard.core.scope import TokenScope, sort_scopes
from pegboard.gateway.access.keys import hash_token as hash_token
from pegboard.gateway.access.reception import CROSS_SITE_REQUEST, AuthRejection, OperatorAuthentication
from pegboard.gateway.access.who import Identity

from .problems import ProblemError, problem_response
from .revoking import serve_while_authorized

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
    """For what a route does with some bodies only: raises `Problem` for whoever lacks the scope."""
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
    """Without a name as the principal of the token. Raises `Problem` for another one where the scope `admin` lacks."""
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
    return detail, {"missing": list(names), "scopes": list(has)}
