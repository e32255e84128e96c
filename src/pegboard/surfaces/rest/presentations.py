"""The route for presentations: what each shows in a view, and what that costs a model."""

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.presentations.code import FOUND_BY
from pegboard.core.presentations.costs import costs
from pegboard.core.presentations.presenting import Presented
from pegboard.gateway.gateway import Gateway

from .answers import routes_about
from .bodies import ViewQuery
from .tools import resolution_of


class PresentationShape(TypedDict):
    name: Presented
    path: str
    tools: int
    tokens: int
    """Estimated, and the same on every machine."""


class PresentationsShape(TypedDict):
    chosen: Presented
    threshold: int
    presentations: list[PresentationShape]


def presentation_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("tools")
    board = gateway.board

    @routes.get("/presentations")
    async def list_presentations(asked: Annotated[ViewQuery, Query()]) -> PresentationsShape:
        """How tools can be shown to this view: how many a model would be shown, and for how many tokens."""
        resolution, policy = resolution_of(gateway, asked.view()), board.policy
        presenting = policy.declared.presenting
        counted = await to_thread.run_sync(costs, resolution, policy, gateway.code.tool(FOUND_BY))
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
