"""Routes for one server on the board: its log, its tools, what it is given, and how far it is trusted."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from pegboard.core.catalogue import Listing, Off
from pegboard.core.commands import SetTrust
from pegboard.core.loglines import Level, levels
from pegboard.core.server import Trust
from pegboard.core.tokens import rough_cost
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.ports.tail import Tail

from .answers import routes_about
from .bodies import TrustBody
from .claims import Hints, hints_shape
from .deciding import Version, done
from .servers import provider_named
from .shapes import ServerShape, ToolShape, server_shape, tool_shape


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Log(TypedDict):
    """The last lines, oldest first, and how grave each is by its own words."""

    id: str
    lines: list[str]
    levels: list[LogLevel]
    next: str | None
    """Send it as `after` to be told only what is written from now on."""
    continues: bool
    """Whether these lines go on where `after` was. If not, they are all there is."""


class ServerTool(ToolShape):
    hints: Hints
    tokens: int


class TrustedServer(ServerShape):
    policyVersion: int


class ServerTools(TypedDict):
    id: str
    tools: list[ServerTool]
    tokens: int
    next: str | None
    policyVersion: int


def server_detail_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("servers")
    board = gateway.board

    @routes.get("/servers/{name}/log")
    async def show_server_log(
        name: str,
        level: Annotated[LogLevel, Query(description="Only what is at least so grave.")] = LogLevel.DEBUG,
        after: Annotated[str | None, Query(max_length=64, description="The `next` of an earlier answer.")] = None,
    ) -> Log:
        """The last lines that a server, or what a toolset brings itself, wrote to its error stream."""
        key = provider_named(gateway, name)
        lines = gateway.roster.log(key)
        tail = lines if isinstance(lines, Tail) else Tail(lines)
        told = [*levels(tail)]
        fresh, continues = tail.after(after)
        pairs = [*zip(fresh, told[len(told) - len(fresh) :], strict=True)]
        least = Level[level.name]
        kept = [(line, grade) for line, grade in pairs if grade >= least]
        return {
            "id": str(key),
            "lines": [line for line, _ in kept],
            "levels": [LogLevel[grade.name] for _, grade in kept],
            "next": tail.cursor if tail.mark else None,
            "continues": continues,
        }

    @routes.get("/servers/{name}/tools")
    async def list_server_tools(
        name: str,
        limit: Annotated[int, Query(ge=1, le=2000)] = 500,
        after: Annotated[int, Query(ge=0, description="The `next` of an earlier answer.")] = 0,
    ) -> ServerTools:
        """The tools of one server with their verdicts, what they claim, and what each costs a model."""
        key = provider_named(gateway, name)
        resolution = board.resolution(View())
        tools = (board.catalogue.listings.get(key) or Listing(key, Off())).tools
        page = tools[after : after + limit]
        return {
            "id": str(key),
            "tools": [
                {**tool_shape(tool.id, resolution), "hints": hints_shape(tool.spec), "tokens": rough_cost(tool.spec)}
                for tool in page
            ],
            "tokens": sum(rough_cost(tool.spec) for tool in tools),
            "next": str(after + limit) if after + limit < len(tools) else None,
            "policyVersion": board.policy.version,
        }

    @routes.put("/servers/{name}/trust")
    async def set_trust(name: str, body: TrustBody, if_match: Version = None) -> TrustedServer:
        """When its tools wait for a person: never, when new or changed after first sight, always."""
        key = provider_named(gateway, name)
        await done(gateway, SetTrust(key, Trust(body.trust)), if_match)
        return {
            **server_shape(board.policy.servers[key], board, board.resolution(View())),
            "policyVersion": board.policy.version,
        }

    return routes
