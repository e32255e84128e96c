"""Routes for one server on the board: its log, its tools, what it is given, and how far it is trusted."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.catalogue import Listing, ProviderOff
from pegboard.core.commands import SetTrust
from pegboard.core.loglines import LogLineLevel, log_levels
from pegboard.core.server import Trust
from pegboard.core.tokens import rough_tool_cost
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.ports.tail import LogLines

from .answers import make_router
from .bodies import TrustBody
from .claims import ToolHintsInfo, hints_info
from .deciding import IfMatchVersion, run_command
from .servers import find_provider
from .shapes import ServerInfo, ToolInfo, server_info, tool_info


class LogLevelParam(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ServerLogResponse(TypedDict):
    """The last lines, oldest first, and how grave each is by its own words."""

    id: str
    lines: list[str]
    levels: list[LogLevelParam]
    next: str | None
    """Send it as `after` to be told only what is written from now on."""
    continues: bool
    """Whether these lines go on where `after` was. If not, they are all there is."""


class ServerToolInfo(ToolInfo):
    hints: ToolHintsInfo
    tokens: int


class ServerTrustResponse(ServerInfo):
    policyVersion: int


class ServerToolsResponse(TypedDict):
    id: str
    tools: list[ServerToolInfo]
    tokens: int
    next: str | None
    policyVersion: int


def server_detail_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("servers")
    board = gateway.board

    @routes.get("/servers/{name}/log")
    async def show_server_log(
        name: str,
        level: Annotated[LogLevelParam, Query(description="Only what is at least so grave.")] = LogLevelParam.DEBUG,
        after: Annotated[str | None, Query(max_length=64, description="The `next` of an earlier answer.")] = None,
    ) -> ServerLogResponse:
        """The last lines that a server, or what a toolset brings itself, wrote to its error stream."""
        key = find_provider(gateway, name)
        lines = gateway.providers.log(key)
        tail = lines if isinstance(lines, LogLines) else LogLines(lines)
        told = [*log_levels(tail)]
        fresh, continues = tail.lines_after(after)
        pairs = [*zip(fresh, told[len(told) - len(fresh) :], strict=True)]
        least = LogLineLevel[level.name]
        kept = [(line, grade) for line, grade in pairs if grade >= least]
        return {
            "id": str(key),
            "lines": [line for line, _ in kept],
            "levels": [LogLevelParam[grade.name] for _, grade in kept],
            "next": tail.cursor if tail.log_id else None,
            "continues": continues,
        }

    @routes.get("/servers/{name}/tools")
    async def list_server_tools(
        name: str,
        limit: Annotated[int, Query(ge=1, le=2000)] = 500,
        after: Annotated[int, Query(ge=0, description="The `next` of an earlier answer.")] = 0,
    ) -> ServerToolsResponse:
        """The tools of one server with their verdicts, what they claim, and what each costs a model."""
        key = find_provider(gateway, name)
        resolution = board.resolution(View())
        tools = (board.catalogue.listings.get(key) or Listing(key, ProviderOff())).tools
        page = tools[after : after + limit]
        return {
            "id": str(key),
            "tools": [
                {**tool_info(tool.id, resolution), "hints": hints_info(tool.spec), "tokens": rough_tool_cost(tool.spec)}
                for tool in page
            ],
            "tokens": sum(rough_tool_cost(tool.spec) for tool in tools),
            "next": str(after + limit) if after + limit < len(tools) else None,
            "policyVersion": board.policy.version,
        }

    @routes.put("/servers/{name}/trust")
    async def set_trust(name: str, body: TrustBody, if_match: IfMatchVersion = None) -> ServerTrustResponse:
        """When its tools wait for a person: never, when new or changed after first sight, always."""
        key = find_provider(gateway, name)
        await run_command(gateway, SetTrust(key, Trust(body.trust)), if_match)
        return {
            **server_info(board.policy.servers[key], board, board.resolution(View())),
            "policyVersion": board.policy.version,
        }

    return routes
