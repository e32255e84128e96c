"""Routes for signing in to servers, and out again. Tokens are in none of their answers."""

from collections.abc import Callable
from http import HTTPStatus

from fastapi import APIRouter

from pegboard.gateway.gateway import Gateway
from pegboard.ports import SignIns, SignInUnavailable

from .access import decision_author
from .answers import make_router
from .problems import ProblemError
from .server_shapes import SignInLinkResponse, SignInResponse, SignOutResponse
from .servers import find_server
from .shapes import iso_time


def sign_in_routes(gateway: Gateway, sign_ins: Callable[[], SignIns]) -> APIRouter:
    """`sign_ins` is asked for only when somebody signs in: it takes a while to load."""
    routes = make_router("servers")

    @routes.get("/servers/{name}/sign-in")
    async def show_sign_in(name: str) -> SignInResponse:
        """Whether somebody is signed in to a server, since when, and what went wrong at the last try."""
        key = find_server(gateway, name)
        found = sign_ins().state(key)
        if isinstance(found, SignInUnavailable):
            raise ProblemError(HTTPStatus.CONFLICT, found.why)
        return {
            "id": str(key),
            "signedIn": found.since is not None,
            "since": iso_time(found.since),
            "last": iso_time(found.last_at),
            "trouble": found.problem,
        }

    @routes.post("/servers/{name}/sign-in")
    async def begin_sign_in(name: str) -> SignInLinkResponse:
        """A link by which a person signs in to a server: it works once, and for a few minutes."""
        before = await show_sign_in(name)
        link = sign_ins().create_link(find_server(gateway, name), decision_author())
        if isinstance(link, SignInUnavailable):
            raise ProblemError(HTTPStatus.CONFLICT, link.why)
        return {**before, "url": link}

    @routes.delete("/servers/{name}/sign-in")
    async def forget_sign_in(name: str) -> SignOutResponse:
        """Forget the sign-in to a server, here and where it can be told to do so too."""
        key = find_server(gateway, name)
        revoked = await sign_ins().sign_out(key)
        if isinstance(revoked, SignInUnavailable):
            raise ProblemError(HTTPStatus.CONFLICT, revoked.why)
        gateway.operator.record("sign_out", str(key), "signed out of it", decision_author())
        gateway.providers.restart(key)
        return {"id": str(key), "signedIn": False, "revoked": revoked}

    return routes
