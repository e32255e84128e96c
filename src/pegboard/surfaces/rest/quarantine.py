"""Routes for servers that wait for their review: one look at what they would bring, and their release."""

from http import HTTPStatus
from typing import cast

import anyio.to_thread
from fastapi import APIRouter

from pegboard.core.commands import Release
from pegboard.core.ids import ProviderKey, titled
from pegboard.core.review import noted
from pegboard.core.rules import under_review
from pegboard.core.server import mark_of
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.trial import tried

from .answers import routes_about
from .bodies import MarkBody
from .deciding import Version, done
from .problems import Problem
from .reviews import BroughtShape, ReviewedServer, trial_shape
from .server_trials import require_for_program
from .servers import provider_named
from .shapes import ServerShape, server_shape


def quarantine_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("servers")
    board = gateway.board

    def shown(key: ProviderKey) -> ServerShape:
        server = board.policy.servers.get(key)
        if server is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"{titled(key)} was removed just now.")
        return server_shape(server, board, board.resolution(View()))

    def as_read(key: ProviderKey, body: MarkBody | None) -> None:
        """What a person has read is what they decide about."""
        if body is not None and body.read not in (None, mark_of(board.policy.servers[key])):
            told = f"{titled(key)} is not the one that you read: somebody put another in its place. Nothing was done. "
            raise Problem(HTTPStatus.CONFLICT, f"{told}Look again: pegboard servers review {key}")

    @routes.post("/servers/{name}/review")
    async def review_server(name: str, body: MarkBody | None = None) -> ReviewedServer:
        """Start a server in quarantine once, aside from the board, to see what it lists; it is stopped again."""
        key = provider_named(gateway, name)
        as_read(key, body)
        if key not in {reason.server for reason in under_review(board.policy)}:
            told = f"{titled(key)} is not in quarantine. What waits of it: pegboard approvals list --server {key}"
            raise Problem(HTTPStatus.CONFLICT, told)
        require_for_program(board.policy.servers[key])
        trial = await tried(board.policy.servers[key], gateway.provider_for, gateway.clock)
        everything = tuple(board.catalogue.tools.values())
        board.hang_aside(trial.listing)

        def brings() -> BroughtShape:
            """Not for the event loop: the scanner reads all of it."""
            return trial_shape(trial, noted(trial.listing.tools, everything))

        return cast(ReviewedServer, {**shown(key), **await anyio.to_thread.run_sync(brings)})

    @routes.post("/servers/{name}/release")
    async def release_server(name: str, body: MarkBody | None = None, if_match: Version = None) -> ServerShape:
        """Let a server out of quarantine. It is started, and every tool it lists waits for approval."""
        key = provider_named(gateway, name)
        as_read(key, body)
        require_for_program(board.policy.servers[key])
        if if_match is None and body is not None and body.read is not None:
            # What the board shows now may be another one in the store already.
            if_match = str(board.policy.version)
        await done(gateway, Release(key), if_match)
        return shown(key)

    return routes
