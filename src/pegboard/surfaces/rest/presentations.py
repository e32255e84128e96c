"""The route for presentations: what each shows in a view, and what that costs a model."""

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.presentations.code import SEARCH_HINT
from pegboard.core.presentations.costs import presentation_costs
from pegboard.core.presentations.presenting import PresentationMode
from pegboard.gateway.gateway import Gateway

from .answers import make_router
from .bodies import ViewQuery
from .tools import checked_resolution


class PresentationInfo(TypedDict):
    name: PresentationMode
    path: str
    tools: int
    tokens: int
    """Estimated, and the same on every machine."""


class PresentationsResponse(TypedDict):
    chosen: PresentationMode
    threshold: int
    presentations: list[PresentationInfo]


def presentation_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("tools")
    board = gateway.board

    @routes.get("/presentations")
    async def list_presentations(asked: Annotated[ViewQuery, Query()]) -> PresentationsResponse:
        """How tools can be shown to this view: how many a model would be shown, and for how many tokens."""
        resolution, policy = checked_resolution(gateway, asked.view()), board.policy
        presenting = policy.declared.presentation
        counted = await to_thread.run_sync(presentation_costs, resolution, policy, gateway.code_mode.tool(SEARCH_HINT))
        return {
            "chosen": presenting.presentation,
            "threshold": presenting.threshold,
            "presentations": [
                {
                    "name": cost.presentation,
                    "path": f"/mcp/{cost.presentation.value}",
                    "tools": cost.tools,
                    "tokens": cost.tokens,
                }
                for cost in counted
            ],
        }

    return routes
