"""Routes: reviews of new and changed tools."""

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Query
from fastapi.responses import Response

from pegboard.core.commands.commands import ApproveTool, ApproveTools, BlockTool
from pegboard.core.decision.resolve import Resolution
from pegboard.core.model.catalogue import Catalogue
from pegboard.core.model.ids import ProviderKey, ToolId, parse_tool_id
from pegboard.core.model.selection import View
from pegboard.core.model.tool import Fingerprint
from pegboard.core.overrides.model import OverrideIndex
from pegboard.core.policy.policy import Policy
from pegboard.core.review.review import (
    ApprovalState,
    PendingApproval,
    approvable_together,
    batch_fingerprint,
    blocked_tools,
    group_by_server,
    pending_approvals,
    pending_tools,
    review_tool,
    sort_oldest_first,
)
from pegboard.gateway.approvals import PendingSince
from pegboard.gateway.board import BoardState
from pegboard.gateway.operator import Operator
from pegboard.surfaces.rest.commands import IfMatchVersion, run_command
from pegboard.surfaces.rest.requests import ApprovalsBody, BlockBody, Name
from pegboard.surfaces.rest.responses import (
    JSON_TYPE,
    MAX_PAGE_SIZE,
    AfterParam,
    LimitParam,
    ProblemError,
    encode_json,
    make_router,
    paginate,
)
from pegboard.surfaces.rest.review_schemas import (
    ApprovalsResponse,
    ApproveToolsResponse,
    ToolReviewResponse,
    block_info,
    pending_server_infos,
    queued_tool_info,
    review_info,
)
from pegboard.surfaces.rest.schemas import ToolInfo, full_tool_info, tool_info
from pegboard.surfaces.rest.servers import find_provider
from pegboard.surfaces.rest.tools import find_tool


def approval_routes(board: BoardState, operator: Operator, pending_since: PendingSince) -> APIRouter:
    routes = make_router("approvals")

    async def find_waiting(server: ProviderKey | None = None) -> tuple[PendingApproval, ...]:
        return await anyio.to_thread.run_sync(
            _find_waiting, board.resolution(View()), board.catalogue, board.policy, server
        )

    def resolve_tool(text: str) -> ToolId:
        # Thousands may be named at once, and to look one up by anything but its id takes as long as the board is.
        if isinstance(id := parse_tool_id(text), ToolId) and id in board.catalogue.tools:
            return id
        return find_tool(board, text, board.resolution(View()))

    def approve_command(tool: ToolId, read: str) -> ApproveTool:
        return ApproveTool(tool, board.catalogue.tools[tool].spec, Fingerprint(read))

    def current_tool_infos(ids: list[ToolId]) -> list[ToolInfo]:
        resolution = board.resolution(View())
        return [tool_info(id, resolution) for id in ids if id in resolution.verdicts]

    @routes.get("/approvals", response_model=ApprovalsResponse)
    async def list_approvals(
        server: Annotated[Name | None, Query()] = None, limit: LimitParam = MAX_PAGE_SIZE, after: AfterParam = None
    ) -> Response:
        """What waits for a person, with what the scanner says of it, in pages; and what a person has blocked."""
        key = None if server is None else find_provider(board, server)
        resolution, catalogue, policy = board.resolution(View()), board.catalogue, board.policy
        since = await pending_since.since()
        return await anyio.to_thread.run_sync(
            _approvals_response, resolution, catalogue, policy, since, key, limit, after
        )

    @routes.get("/approvals/show")
    async def show_approval(tool: Annotated[Name, Query()]) -> ToolReviewResponse:
        """One tool as it is read before it is decided on: in full, what differs, and what looks wrong."""
        id = resolve_tool(tool)
        one, everything, policy = board.catalogue.tools[id], tuple(board.catalogue.tools.values()), board.policy
        whole = full_tool_info(one, board.resolution(View()), policy)
        read = await anyio.to_thread.run_sync(review_tool, one, policy, everything)
        since = None if read.approval_state is ApprovalState.APPROVED else (await pending_since.since()).get(id)
        told = None if since is None else since.isoformat()
        return {**whole, **review_info(read), "since": told, "policyVersion": policy.version}

    @routes.post("/approvals/approve")
    async def approve_tools(body: ApprovalsBody, if_match: IfMatchVersion = None) -> ApproveToolsResponse:
        """Approve tools exactly as they were read: all that are named, or none."""
        if body.server is None:
            approvals = [approve_command(resolve_tool(each.tool), each.fingerprint) for each in body.tools]
        else:
            approvals = await whole(find_provider(board, body.server), body.fingerprint)
        await run_command(operator, approvals[0] if len(approvals) == 1 else ApproveTools(tuple(approvals)), if_match)
        return {"approved": current_tool_infos([each.tool for each in approvals])}

    async def whole(key: ProviderKey, read: str | None) -> list[ApproveTool]:
        tools = group_by_server(await find_waiting(key)).get(key, ())
        at_once = approvable_together(tools)
        look = f"Look again: pegboard approvals list --server {key}"
        if not at_once:
            why = "all that waits of it looks poisoned, and is approved one by one" if tools else "nothing of it waits"
            raise ProblemError(HTTPStatus.CONFLICT, f"Nothing of {key} can be approved at once: {why}. {look}")
        if batch_fingerprint(at_once) != read:
            raise ProblemError(HTTPStatus.CONFLICT, f"What waits of {key} changed while you were reading it. {look}")
        return [ApproveTool(each.tool.id, each.tool.spec, each.fingerprint) for each in at_once]

    @routes.post("/approvals/block")
    async def block_tool(body: BlockBody, if_match: IfMatchVersion = None) -> ToolInfo:
        """Keep a tool locked, whatever it becomes, until a person approves it after all."""
        id = resolve_tool(body.tool)
        await run_command(operator, BlockTool(id, body.note), if_match)
        return tool_info(id, board.resolution(View()))

    return routes


def _find_waiting(
    resolution: Resolution, catalogue: Catalogue, policy: Policy, server: ProviderKey | None
) -> tuple[PendingApproval, ...]:
    """Not for the event loop: the scanner reads all of it, and a server may list thousands of long texts."""
    locked = [verdict for verdict in pending_tools(resolution) if server is None or verdict.tool.id.source == server]
    said = OverrideIndex(policy.decisions.manifest_overrides)
    return pending_approvals(locked, catalogue.tools.values(), said)


def _approvals_response(
    resolution: Resolution,
    catalogue: Catalogue,
    policy: Policy,
    since: Mapping[ToolId, datetime],
    server: ProviderKey | None,
    limit: int,
    after: str | None,
) -> Response:
    """Down to the bytes, since thousands of them take long to write too."""
    found = sort_oldest_first(_find_waiting(resolution, catalogue, policy, server), since)
    blocks = [pair for pair in blocked_tools(resolution) if server is None or pair[0].source == server]
    page, following = paginate(found, lambda each: str(each.tool.id), limit, after)
    shape: ApprovalsResponse = {
        **following,
        "pending": [queued_tool_info(each, since.get(each.tool.id)) for each in page],
        "servers": pending_server_infos(found),
        "blocked": [block_info(*pair) for pair in blocks],
        "policyVersion": policy.version,
    }
    return Response(encode_json(shape), media_type=JSON_TYPE)
