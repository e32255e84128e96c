"""Routes for what a person decides about one tool: its switch, and the approval of its exact definition."""

from fastapi import APIRouter

from pegboard.core.commands import Approve, ThrowSwitch
from pegboard.core.ids import ToolId
from pegboard.core.tool import Fingerprint
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .answers import routes_about
from .bodies import ApproveBody, ToolSwitchBody
from .deciding import Version, done
from .shapes import ToolInFull, tool_in_full
from .tools import tool_named


def switch_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("tools")
    board = gateway.board

    def named(text: str) -> ToolId:
        return tool_named(gateway, text, board.resolution(View()))

    def shown(id: ToolId) -> ToolInFull:
        return tool_in_full(board.catalogue.tools[id], board.resolution(View()), board.policy)

    @routes.post("/tools/switch")
    async def switch_tool(body: ToolSwitchBody, if_match: Version = None) -> ToolInFull:
        """Switch one tool on or off."""
        id = named(body.tool)
        await done(gateway, ThrowSwitch(id, body.on, body.note), if_match)
        return shown(id)

    @routes.post("/tools/approve")
    async def approve_tool(body: ApproveBody, if_match: Version = None) -> ToolInFull:
        """Approve a tool exactly as it was read."""
        id = named(body.tool)
        await done(gateway, Approve(id, board.catalogue.tools[id].spec, Fingerprint(body.fingerprint)), if_match)
        return shown(id)

    return routes
