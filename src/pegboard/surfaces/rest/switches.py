"""Routes for what a person decides about tools: their switches, and the approval of one's exact definition."""

from http import HTTPStatus

from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.core.commands import Approve, ThrowSwitch
from pegboard.core.ids import ToolId
from pegboard.core.settling import ThrowSeveral
from pegboard.core.tool import Fingerprint
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway

from .answers import routes_about
from .bodies import ApproveBody, ToolSwitchBody, ToolSwitchesBody
from .deciding import Version, done
from .problems import Problem
from .shapes import ToolInFull, tool_in_full
from .tools import tool_named

_NAMED = 5
"""Of many ids that no tool has, so many are named."""


class ThrownShape(TypedDict):
    switched: int
    policyVersion: int


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

    @routes.post("/tools/switches")
    async def switch_tools(body: ToolSwitchesBody, if_match: Version = None) -> ThrownShape:
        """Switch tools on or off, each by its id: all that are named, or none."""
        known = {str(id): id for id in board.catalogue.tools}
        if unknown := [text for text in dict.fromkeys(body.tools) if text not in known]:
            raise Problem(HTTPStatus.NOT_FOUND, _nowhere(unknown))
        tools = tuple(dict.fromkeys(known[text] for text in body.tools))
        await done(gateway, ThrowSeveral(tools, body.on, body.note), if_match)
        return {"switched": len(tools), "policyVersion": board.policy.version}

    @routes.post("/tools/approve")
    async def approve_tool(body: ApproveBody, if_match: Version = None) -> ToolInFull:
        """Approve a tool exactly as it was read."""
        id = named(body.tool)
        await done(gateway, Approve(id, board.catalogue.tools[id].spec, Fingerprint(body.fingerprint)), if_match)
        return shown(id)

    return routes


def _nowhere(unknown: list[str]) -> str:
    told = ", ".join(map(repr, unknown[:_NAMED]))
    more = f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else ""
    return f"No tool has the id {told}{more}. None was switched. See: pegboard tools list"
