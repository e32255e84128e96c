"""The route for one peg of the wall, also of a tool that its provider does not offer any more."""

from typing import Annotated

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.ids import ToolId, parse_tool_id
from pegboard.gateway.gateway import Gateway

from .answers import make_router
from .board import BoardPresentationInfo, ToolCardInfo, board_presentation_info, tool_card_info
from .bodies import ToolQuery
from .tool_shapes import CallerWithoutInfo
from .tools import caller_without_infos, checked_resolution, find_tool


class ToolCardResponse(TypedDict):
    peg: ToolCardInfo
    presentation: BoardPresentationInfo | None
    others: list[CallerWithoutInfo]
    """Of a tool that this caller gets: who does not; of more than twenty the first twenty-one."""
    policyVersion: int


def tool_card_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("board")

    @routes.get("/board/peg")
    async def show_peg(asked: Annotated[ToolQuery, Query()]) -> ToolCardResponse:
        """One tool of the wall: its state, why it is so, and the one act that would open it."""
        view = asked.view()
        await gateway.board.resolve_off_loop(view)
        resolution = checked_resolution(gateway, view)
        hung = await gateway.dashboards.snapshot(view)
        given = parse_tool_id(asked.tool)
        peg = hung.dashboard.card_of(given) if isinstance(given, ToolId) else None
        if peg is None:
            peg = hung.dashboard.card_of(find_tool(gateway, asked.tool, resolution))
        assert peg is not None, "every tool of the catalogue hangs on the wall"
        return {
            "peg": tool_card_info(peg, hung),
            "presentation": board_presentation_info(hung),
            "others": caller_without_infos(gateway, view, peg.id),
            "policyVersion": hung.dashboard.policy_version,
        }

    return routes
