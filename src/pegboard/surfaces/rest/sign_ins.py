"""Routes for signing in to servers, and out again. Tokens are in none of their answers."""

from collections.abc import Callable
from http import HTTPStatus

from fastapi import APIRouter

from pegboard.gateway.gateway import Gateway
from pegboard.ports import NoSignIn, SignIns

from .access import whoever
from .answers import routes_about
from .problems import Problem
from .server_shapes import SignedOutShape, SignInLinkShape, SignInShape
from .servers import server_named
from .shapes import moment


def sign_in_routes(gateway: Gateway, sign_ins: Callable[[], SignIns]) -> APIRouter:
    """`sign_ins` is asked for only when somebody signs in: it takes a while to load."""
    routes = routes_about("servers")

    @routes.get("/servers/{name}/sign-in")
    async def show_sign_in(name: str) -> SignInShape:
        """Whether somebody is signed in to a server, since when, and what went wrong at the last try."""
        key = server_named(gateway, name)
        found = sign_ins().state(key)
        if isinstance(found, NoSignIn):
            raise Problem(HTTPStatus.CONFLICT, found.why)
        return {
            "id": str(key),
            "signedIn": found.since is not None,
            "since": moment(found.since),
            "last": moment(found.last),
            "trouble": found.trouble,
        }

    @routes.post("/servers/{name}/sign-in")
    async def begin_sign_in(name: str) -> SignInLinkShape:
        """A link by which a person signs in to a server: it works once, and for a few minutes."""
        before = await show_sign_in(name)
        link = sign_ins().link(server_named(gateway, name), whoever())
        if isinstance(link, NoSignIn):
            raise Problem(HTTPStatus.CONFLICT, link.why)
        return {**before, "url": link}

    @routes.delete("/servers/{name}/sign-in")
    async def forget_sign_in(name: str) -> SignedOutShape:
        """Forget the sign-in to a server, here and where it can be told to do so too."""
        key = server_named(gateway, name)
        revoked = await sign_ins().forget(key)
        if isinstance(revoked, NoSignIn):
            raise Problem(HTTPStatus.CONFLICT, revoked.why)
        gateway.operator.record("sign_out", str(key), "signed out of it", whoever())
        gateway.roster.restart(key)
        return {"id": str(key), "signedIn": False, "revoked": revoked}

    return routes
