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
from pegboard.core.scope import Scope, in_order
from pegboard.gateway.access.keys import hashed as hashed
from pegboard.gateway.access.reception import FOREIGN, Reception, Turned
from pegboard.gateway.access.who import Who

from .problems import Problem, problem_response
from .revoking import while_it_may

_READS: Final = frozenset({"GET", "HEAD"})
_NEEDS: Final = "__needs__"

Endpoint = TypeVar("Endpoint", bound=Callable[..., object])
Needs: TypeAlias = frozenset[Scope] | None
"""`None`: it is open to whoever is not known yet, to sign in."""

_who: ContextVar[Who | None] = ContextVar("who", default=None)


def needs(*scopes: Scope) -> Callable[[Endpoint], Endpoint]:
    """Written below a route's own line: all of these are asked for. Without it, GET needs read and the rest operate."""

    def marked(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _NEEDS, frozenset(scopes))
        return endpoint

    return marked


def open_to_strangers(endpoint: Endpoint) -> Endpoint:
    setattr(endpoint, _NEEDS, None)
    return endpoint


def needed_at(endpoint: object, method: str) -> Needs:
    usual = frozenset({Scope.READ if method in _READS else Scope.OPERATE})
    found: Needs = getattr(endpoint, _NEEDS, usual)
    return found


def current() -> Who:
    """Whoever makes the request that is being answered."""
    who = _who.get()
    if who is None:
        raise Problem(HTTPStatus.UNAUTHORIZED, "Nobody is signed in. Send a token as Authorization: Bearer TOKEN.")
    return who


def whoever() -> PrincipalId:
    """The name under which a decision is recorded."""
    return current().principal


def require(scope: Scope, what: str) -> None:
    """For what a route does with some bodies only: raises `Problem` for whoever lacks the scope."""
    who = current()
    if scope not in who.scopes:
        detail, more = _lacking(frozenset({scope}), who)
        raise Problem(HTTPStatus.FORBIDDEN, f"{what}. {detail}", more)


@dataclass(frozen=True, slots=True)
class Acting:
    """In whose name a request calls tools."""

    principal: PrincipalId
    made_by: PrincipalId | None
    """Who makes the request, where that is somebody else."""

    @property
    def client(self) -> str:
        """As the activity and tickets name it."""
        return OPERATOR_CLIENT if self.made_by is None else f"{OPERATOR_CLIENT} {self.made_by}"


def acting_as(named: str | None) -> Acting:
    """Without a name as the principal of the token. Raises `Problem` for another one where the scope `admin` lacks."""
    own = whoever()
    if named is None or named == own:
        return Acting(own, None)
    require(Scope.ADMIN, f"Your token calls tools as {own!r}, and not as {named!r}")
    return Acting(PrincipalId(named), own)


def refuse_references(said: object) -> None:
    """A reference stands for a variable or a file of the gateway's machine, the start-up token among them: whoever
    sends one somewhere reads it there."""
    if "${" in json.dumps(said, default=str):
        require(Scope.ADMIN, "A reference such as ${NAME} reads variables and files of the gateway's machine")


async def hold_to_scope(request: Request) -> None:
    """The same question once more, of the very function that answers: for every route, whatever way led there."""
    needed = needed_at(request.scope.get("endpoint"), request.method)
    if needed is not None and (missing := needed - current().scopes):
        raise Problem(HTTPStatus.FORBIDDEN, *_lacking(missing, current()))


class TokenGate:
    """Stands before everything else of the API: without the token not even a body is read."""

    def __init__(self, app: ASGIApp, reception: Reception, described: FastAPI) -> None:
        """`described` has the routes that `app` leads to."""
        self._app = app
        self._reception = reception
        self._described = described

    async def __call__(self, scope: Asked, receive: Receive, send: Send) -> None:
        method, headers = scope["method"], scope["headers"]
        peer = "" if scope.get("client") is None else str(scope["client"][0])
        needed = self._needed(method, scope["path"])
        who = self._reception.who(method, headers, peer)
        if needed is None:
            if self._reception.is_from_elsewhere(method, headers, peer):
                return await _refuse(scope, receive, send, Turned(HTTPStatus.FORBIDDEN, FOREIGN))
        elif isinstance(who, Turned):
            return await _refuse(scope, receive, send, who)
        elif missing := needed - who.scopes:
            detail, more = _lacking(missing, who)
            return await problem_response(HTTPStatus.FORBIDDEN, detail, more)(scope, receive, send)
        token = _who.set(None if isinstance(who, Turned) else who)
        try:
            if isinstance(who, Turned):
                return await self._app(scope, receive, send)
            await while_it_may(self._app, scope, receive, send, self._reception, who)
        finally:
            _who.reset(token)
        return None

    def _needed(self, method: str, path: str) -> Needs:
        """What is not there needs what looking needs: a stranger is not even told that."""
        for methods, pattern, endpoint in self._routes:
            if method in methods and pattern.match(path):
                return needed_at(endpoint, method)
        return frozenset({Scope.READ})

    @cached_property
    def _routes(self) -> list[tuple[frozenset[str], re.Pattern[str], object]]:
        return [
            (frozenset(route.methods), compile_path(route.path)[0], route.endpoint)
            for route in iter_route_contexts(self._described.routes)
            if route.path is not None and route.methods is not None
        ]


async def _refuse(scope: Asked, receive: Receive, send: Send, turned: Turned) -> None:
    answer = problem_response(HTTPStatus(turned.status), turned.why)
    if turned.status == HTTPStatus.UNAUTHORIZED:
        answer.headers["www-authenticate"] = "Bearer"
    if turned.retry_after is not None:
        answer.headers["retry-after"] = str(turned.retry_after)
    await answer(scope, receive, send)


def _lacking(missing: frozenset[Scope], who: Who) -> tuple[str, dict[str, object]]:
    names, has = in_order(missing), in_order(who.scopes)
    lacks = " and ".join(names)
    detail = (
        f"This needs the scope {lacks}, and your token has {', '.join(has) or 'none'}. "
        "Ask whoever runs this gateway for another token."
    )
    return detail, {"missing": list(names), "scopes": list(has)}
