"""Routes for reviews: what waits for a person, what differs and looks wrong in it, and their yes or no."""

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Query
from fastapi.responses import Response

from pegboard.core.catalogue import Catalogue
from pegboard.core.commands import Approve, ApproveSeveral, Block
from pegboard.core.ids import ProviderKey, ToolId, tool_id
from pegboard.core.override import OverrideIndex
from pegboard.core.policy import Policy
from pegboard.core.resolve import Resolution
from pegboard.core.review import (
    Standing,
    Waiting,
    batch,
    blocked,
    by_server,
    oldest_first,
    pending,
    review,
    together,
    waiting,
)
from pegboard.core.tool import Fingerprint
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .answers import JSON, routes_about, written
from .bodies import ApprovalsBody, BlockBody, Name
from .deciding import Version, done
from .pages import MOST, After, Limit, page_of
from .problems import Problem
from .reviews import (
    ApprovalsShape,
    ApprovedShape,
    ReviewedTool,
    block_shape,
    queued_shape,
    review_shape,
    servers_shape,
)
from .servers import provider_named
from .shapes import ToolShape, tool_in_full, tool_shape
from .tools import tool_named


def approval_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("approvals")
    board = gateway.board

    async def reviewed(server: ProviderKey | None = None) -> tuple[Waiting, ...]:
        return await anyio.to_thread.run_sync(_waiting, board.resolution(View()), board.catalogue, board.policy, server)

    def named(text: str) -> ToolId:
        # Thousands may be named at once, and to look one up by anything but its id takes as long as the board is.
        if isinstance(id := tool_id(text), ToolId) and id in board.catalogue.tools:
            return id
        return tool_named(gateway, text, board.resolution(View()))

    def approving(tool: ToolId, read: str) -> Approve:
        return Approve(tool, board.catalogue.tools[tool].spec, Fingerprint(read))

    def shown(ids: list[ToolId]) -> list[ToolShape]:
        resolution = board.resolution(View())
        return [tool_shape(id, resolution) for id in ids if id in resolution.verdicts]

    @routes.get("/approvals", response_model=ApprovalsShape)
    async def list_approvals(
        server: Annotated[Name | None, Query()] = None, limit: Limit = MOST, after: After = None
    ) -> Response:
        """What waits for a person, with what the scanner says of it, in pages; and what a person has blocked."""
        key = None if server is None else provider_named(gateway, server)
        resolution, catalogue, policy = board.resolution(View()), board.catalogue, board.policy
        since = await gateway.waits.since()
        return await anyio.to_thread.run_sync(_written, resolution, catalogue, policy, since, key, limit, after)

    @routes.get("/approvals/show")
    async def show_approval(tool: Annotated[Name, Query()]) -> ReviewedTool:
        """One tool as it is read before it is decided on: in full, what differs, and what looks wrong."""
        id = named(tool)
        one, everything, policy = board.catalogue.tools[id], tuple(board.catalogue.tools.values()), board.policy
        whole = tool_in_full(one, board.resolution(View()), policy)
        read = await anyio.to_thread.run_sync(review, one, policy, everything)
        since = None if read.standing is Standing.APPROVED else (await gateway.waits.since()).get(id)
        told = None if since is None else since.isoformat()
        return {**whole, **review_shape(read), "since": told, "policyVersion": policy.version}

    @routes.post("/approvals/approve")
    async def approve_tools(body: ApprovalsBody, if_match: Version = None) -> ApprovedShape:
        """Approve tools exactly as they were read: all that are named, or none."""
        if body.server is None:
            approvals = [approving(named(each.tool), each.fingerprint) for each in body.tools]
        else:
            approvals = await whole(provider_named(gateway, body.server), body.fingerprint)
        await done(gateway, approvals[0] if len(approvals) == 1 else ApproveSeveral(tuple(approvals)), if_match)
        return {"approved": shown([each.tool for each in approvals])}

    async def whole(key: ProviderKey, read: str | None) -> list[Approve]:
        tools = by_server(await reviewed(key)).get(key, ())
        at_once = together(tools)
        look = f"Look again: pegboard approvals list --server {key}"
        if not at_once:
            why = "all that waits of it looks poisoned, and is approved one by one" if tools else "nothing of it waits"
            raise Problem(HTTPStatus.CONFLICT, f"Nothing of {key} can be approved at once: {why}. {look}")
        if batch(at_once) != read:
            raise Problem(HTTPStatus.CONFLICT, f"What waits of {key} changed while you were reading it. {look}")
        return [Approve(each.tool.id, each.tool.spec, each.fingerprint) for each in at_once]

    @routes.post("/approvals/block")
    async def block_tool(body: BlockBody, if_match: Version = None) -> ToolShape:
        """Keep a tool locked, whatever it becomes, until a person approves it after all."""
        id = named(body.tool)
        await done(gateway, Block(id, body.note), if_match)
        return tool_shape(id, board.resolution(View()))

    return routes


def _waiting(
    resolution: Resolution, catalogue: Catalogue, policy: Policy, server: ProviderKey | None
) -> tuple[Waiting, ...]:
    """Not for the event loop: the scanner reads all of it, and a server may list thousands of long texts."""
    locked = [verdict for verdict in pending(resolution) if server is None or verdict.tool.id.source == server]
    said = OverrideIndex(policy.decided.manifest_overrides)
    return waiting(locked, catalogue.tools.values(), said)


def _written(
    resolution: Resolution,
    catalogue: Catalogue,
    policy: Policy,
    since: Mapping[ToolId, datetime],
    server: ProviderKey | None,
    limit: int,
    after: str | None,
) -> Response:
    """Down to the bytes, since thousands of them take long to write too."""
    found = oldest_first(_waiting(resolution, catalogue, policy, server), since)
    blocks = [pair for pair in blocked(resolution) if server is None or pair[0].source == server]
    page, following = page_of(found, lambda each: str(each.tool.id), limit, after)
    shape: ApprovalsShape = {
        **following,
        "waiting": [queued_shape(each, since.get(each.tool.id)) for each in page],
        "servers": servers_shape(found),
        "blocked": [block_shape(*pair) for pair in blocks],
        "policyVersion": policy.version,
    }
    return Response(written(shape), media_type=JSON)
