"""Routes for what a person decides about tools: their switches, and the approval of one's exact definition."""

from http import HTTPStatus

from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.core.commands import ApproveTool, SetSwitch
from pegboard.core.ids import ToolId
from pegboard.core.settling import SetToolSwitches
from pegboard.core.tool import Fingerprint
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .answers import make_router
from .bodies import ApproveBody, ToolSwitchBody, ToolSwitchesBody
from .deciding import IfMatchVersion, run_command
from .problems import ProblemError
from .shapes import FullToolInfo, full_tool_info
from .tools import find_tool

_MAX_NAMED = 5
"""Of many ids that no tool has, so many are named."""


class SwitchToolsResponse(TypedDict):
    switched: int
    policyVersion: int


def switch_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("tools")
    board = gateway.board

    def resolve_tool(text: str) -> ToolId:
        return find_tool(gateway, text, board.resolution(View()))

    def current_tool_info(id: ToolId) -> FullToolInfo:
        return full_tool_info(board.catalogue.tools[id], board.resolution(View()), board.policy)

    @routes.post("/tools/switch")
    async def switch_tool(body: ToolSwitchBody, if_match: IfMatchVersion = None) -> FullToolInfo:
        """Switch one tool on or off."""
        id = resolve_tool(body.tool)
        await run_command(gateway, SetSwitch(id, body.on, body.note), if_match)
        return current_tool_info(id)

    @routes.post("/tools/switches")
    async def switch_tools(body: ToolSwitchesBody, if_match: IfMatchVersion = None) -> SwitchToolsResponse:
        """Switch tools on or off, each by its id: all that are named, or none."""
        known = {str(id): id for id in board.catalogue.tools}
        if unknown := [text for text in dict.fromkeys(body.tools) if text not in known]:
            raise ProblemError(HTTPStatus.NOT_FOUND, _unknown_ids_text(unknown))
        tools = tuple(dict.fromkeys(known[text] for text in body.tools))
        await run_command(gateway, SetToolSwitches(tools, body.on, body.note), if_match)
        return {"switched": len(tools), "policyVersion": board.policy.version}

    @routes.post("/tools/approve")
    async def approve_tool(body: ApproveBody, if_match: IfMatchVersion = None) -> FullToolInfo:
        """Approve a tool exactly as it was read."""
        id = resolve_tool(body.tool)
        await run_command(
            gateway, ApproveTool(id, board.catalogue.tools[id].spec, Fingerprint(body.fingerprint)), if_match
        )
        return current_tool_info(id)

    return routes


def _unknown_ids_text(unknown: list[str]) -> str:
    told = ", ".join(map(repr, unknown[:_MAX_NAMED]))
    more = f" and {len(unknown) - _MAX_NAMED:,} more" if len(unknown) > _MAX_NAMED else ""
    return f"No tool has the id {told}{more}. None was switched. See: pegboard tools list"
