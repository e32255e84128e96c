"""Routes for servers that wait for their review: one look at what they would bring, and their release."""

from http import HTTPStatus
from typing import cast

import anyio.to_thread
from fastapi import APIRouter

from pegboard.core.commands import ReleaseServer
from pegboard.core.ids import ProviderKey, provider_title
from pegboard.core.review import preview_approvals
from pegboard.core.rules import servers_under_review
from pegboard.core.server import server_fingerprint
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.trial import try_server

from .answers import make_router
from .bodies import ServerMarkBody
from .deciding import IfMatchVersion, run_command
from .problems import ProblemError
from .reviews import ServerPreviewInfo, ServerReviewResponse, server_preview_info
from .server_trials import require_admin_for_program
from .servers import find_provider
from .shapes import ServerInfo, server_info


def quarantine_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("servers")
    board = gateway.board

    def current_server_info(key: ProviderKey) -> ServerInfo:
        server = board.policy.servers.get(key)
        if server is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, f"{provider_title(key)} was removed just now.")
        return server_info(server, board, board.resolution(View()))

    def as_read(key: ProviderKey, body: ServerMarkBody | None) -> None:
        """What a person has read is what they decide about."""
        if body is not None and body.read not in (None, server_fingerprint(board.policy.servers[key])):
            told = (
                f"{provider_title(key)} is not the one that you read: somebody put another in its place. Nothing "
                "was done. "
            )
            raise ProblemError(HTTPStatus.CONFLICT, f"{told}Look again: pegboard servers review {key}")

    @routes.post("/servers/{name}/review")
    async def review_server(name: str, body: ServerMarkBody | None = None) -> ServerReviewResponse:
        """Start a server in quarantine once, aside from the board, to see what it lists; it is stopped again."""
        key = find_provider(gateway, name)
        as_read(key, body)
        if key not in {reason.server for reason in servers_under_review(board.policy)}:
            told = (
                f"{provider_title(key)} is not in quarantine. What waits of it: pegboard approvals list --server {key}"
            )
            raise ProblemError(HTTPStatus.CONFLICT, told)
        require_admin_for_program(board.policy.servers[key])
        trial = await try_server(board.policy.servers[key], gateway.provider_for, gateway.clock)
        everything = tuple(board.catalogue.tools.values())
        board.publish_preview(trial.listing)

        def brings() -> ServerPreviewInfo:
            """Not for the event loop: the scanner reads all of it."""
            return server_preview_info(trial, preview_approvals(trial.listing.tools, everything))

        return cast(ServerReviewResponse, {**current_server_info(key), **await anyio.to_thread.run_sync(brings)})

    @routes.post("/servers/{name}/release")
    async def release_server(
        name: str, body: ServerMarkBody | None = None, if_match: IfMatchVersion = None
    ) -> ServerInfo:
        """Let a server out of quarantine. It is started, and every tool it lists waits for approval."""
        key = find_provider(gateway, name)
        as_read(key, body)
        require_admin_for_program(board.policy.servers[key])
        if if_match is None and body is not None and body.read is not None:
            # What the board shows now may be another one in the store already.
            if_match = str(board.policy.version)
        await run_command(gateway, ReleaseServer(key), if_match)
        return current_server_info(key)

    return routes
