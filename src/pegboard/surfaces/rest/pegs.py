"""The route for one peg of the wall, also of a tool that its provider does not offer any more."""

from typing import Annotated

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.ids import ToolId, tool_id
from pegboard.gateway.gateway import Gateway

from .answers import routes_about
from .board import BoardPresentation, PegShape, peg_shape, presentation_shape
from .bodies import ToolQuery
from .tool_shapes import WithoutShape
from .tools import others_shape, resolution_of, tool_named


class OnePeg(TypedDict):
    peg: PegShape
    presentation: BoardPresentation | None
    others: list[WithoutShape]
    """Of a tool that this caller gets: who does not; of more than twenty the first twenty-one."""
    policyVersion: int


def peg_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("board")

    @routes.get("/board/peg")
    async def show_peg(asked: Annotated[ToolQuery, Query()]) -> OnePeg:
        """One tool of the wall: its state, why it is so, and the one act that would open it."""
        view = asked.view()
        await gateway.board.worked_out(view)
        resolution = resolution_of(gateway, view)
        hung = await gateway.walls.seen(view)
        given = tool_id(asked.tool)
        peg = hung.wall.of(given) if isinstance(given, ToolId) else None
        if peg is None:
            peg = hung.wall.of(tool_named(gateway, asked.tool, resolution))
        assert peg is not None, "every tool of the catalogue hangs on the wall"
        return {
            "peg": peg_shape(peg, hung),
            "presentation": presentation_shape(hung),
            "others": others_shape(gateway, view, peg.id),
            "policyVersion": hung.wall.policy_version,
        }

    return routes
